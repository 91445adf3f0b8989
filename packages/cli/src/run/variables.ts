// The environment of a child: that of this process without svc's own credentials, plus the secrets. Invariant: a secret never sets a
// variable that changes which code runs or where traffic is sent, unless the user names that variable on the command line.
import { clean } from '../text.ts';
import { isReserved } from './reserved.ts';

/** Credentials of svc and their sources, which are never passed to a child. */
const OWN = ['SVC_TOKEN', 'SVC_TRUST_ID', 'SVC_ID_TOKEN', 'SVC_ID_TOKEN_FILE'];

export interface Choice {
  /** Only names that begin with this, which is removed from the variable name. */
  prefix?: string;
  /** Only these names. */
  only?: string[];
  /** Reserved names that the user allows. */
  allowed?: string[];
  /** Whether existing variables take precedence over secrets. */
  preserve?: boolean;
}

export interface Variables {
  env: NodeJS.ProcessEnv;
  /** Variables set from secrets. */
  names: string[];
  /** Secrets that are not passed, and why. */
  left: { name: string; why: 'reserved' | 'name' | 'value' | 'preserved' }[];
}

/** The environment of a child. */
export function variablesOf(values: ReadonlyMap<string, string>, own: NodeJS.ProcessEnv, choice: Choice): Variables {
  const env = Object.fromEntries(Object.entries(own).filter(([name]) => !OWN.includes(name.toUpperCase())));
  const variables: Variables = { env, names: [], left: [] };
  for (const [full, value] of values) {
    if (choice.prefix && !full.startsWith(choice.prefix)) continue;
    const name = full.slice(choice.prefix?.length ?? 0);
    if (choice.only && !choice.only.includes(name)) continue;
    const why = whyNot(name, value, own, choice);
    if (why) {
      variables.left.push({ name, why });
      continue;
    }
    env[name] = value;
    variables.names.push(name);
  }
  return variables;
}

function whyNot(name: string, value: string, own: NodeJS.ProcessEnv, { allowed, preserve }: Choice) {
  if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name)) return 'name';
  // safety: cli-reserved-name
  if (isReserved(name) && !allowed?.includes(name)) return 'reserved';
  if (value.includes('\0')) return 'value';
  return preserve && own[name] !== undefined ? 'preserved' : undefined;
}

const WHY = {
  reserved: 'is reserved: it changes how programs run. Rename the secret, or allow it with --allow-reserved',
  name: 'is not a valid name for an environment variable',
  value: 'contains a NUL byte, which environment variables cannot contain',
} as const;

/** Warnings about secrets that are not passed to the child. */
export const warningsOf = ({ left }: Variables): string[] =>
  left.flatMap(({ name, why }) => (why === 'preserved' ? [] : [`${clean(name)} is left out: it ${WHY[why]}.`]));
