// The environment of a child: that of this process without svc's own credentials, plus the secrets.
// Invariant: a secret sets a variable that steers programs only if `.svc.json` lists the secret, or the user
// names the variable on the command line.
import { variableOf, withoutPrefix } from '../names.ts';
import { clean, counted } from '../text.ts';
import { isReserved, isSteering } from './steering.ts';

/** Credentials of svc and their sources, which are never passed to a child. */
const OWN = ['SVC_TOKEN', 'SVC_TRUST_ID', 'SVC_ID_TOKEN', 'SVC_ID_TOKEN_FILE'];

export interface Choice {
  /**
   * Only names that begin with one of these, which is removed. Of two secrets that become one variable, that
   * of the later prefix wins.
   */
  prefixes?: readonly string[];
  /** Only these variables. */
  only?: readonly string[];
  /** Variables that the user allows, whatever they do. */
  allowed?: readonly string[];
  /** The secrets that `.svc.json` lists. */
  listed?: readonly string[];
  /** Whether a secret that is not listed is left out. */
  onlyListed?: boolean;
  /** Whether existing variables take precedence over secrets. */
  preserve?: boolean;
}

type Reason = 'reserved' | 'steering' | 'unlisted' | 'name' | 'collision' | 'value' | 'preserved';

export interface Variables {
  env: NodeJS.ProcessEnv;
  /** Variables set from secrets. */
  names: string[];
  /** Secrets that are not passed, and why. */
  left: { name: string; why: Reason }[];
  /** What was asked for by name, and no secret becomes. */
  missing: string[];
}

interface Candidate {
  /** The full name of the secret. */
  name: string;
  value: string;
  prefix: number;
  /** Whether the variable is the name itself, without a replaced character. */
  isExact: boolean;
}

/** The environment of a child. */
export function variablesOf(
  values: ReadonlyMap<string, string>,
  own: NodeJS.ProcessEnv,
  choice: Choice,
): Variables {
  // Without a prototype, so that __proto__ is an ordinary name.
  const passed = Object.entries(own).filter(([name]) => !OWN.includes(name.toUpperCase()));
  const env: NodeJS.ProcessEnv = Object.assign(Object.create(null), Object.fromEntries(passed));
  const variables: Variables = { env, names: [], left: [], missing: [...new Set(choice.only)] };
  for (const [variable, candidates] of candidatesIn(values, choice, variables)) {
    const chosen = winner(candidates);
    if (!chosen) {
      for (const { name } of candidates) variables.left.push({ name, why: 'collision' });
      continue;
    }
    // An earlier prefix gives way silently. Names of one prefix that become one variable are a mistake.
    for (const { name, prefix } of candidates)
      if (name !== chosen.name && prefix === chosen.prefix) variables.left.push({ name, why: 'collision' });
    const why = whyNot(chosen, variable, own, choice);
    if (why) {
      variables.left.push({ name: chosen.name, why });
      continue;
    }
    env[variable] = chosen.value;
    variables.names.push(variable);
  }
  return variables;
}

/** The selected secrets by variable. Secrets without one are left out. */
function candidatesIn(
  values: ReadonlyMap<string, string>,
  { prefixes = [''], only }: Choice,
  variables: Variables,
): Map<string, Candidate[]> {
  const found = new Map<string, Candidate[]>();
  for (const [name, value] of values) {
    const { prefix, rest } = withoutPrefix(name, prefixes) ?? {};
    if (prefix === undefined || rest === undefined) continue;
    const variable = variableOf(rest);
    if (only && !only.includes(rest) && !(variable && only.includes(variable))) continue;
    variables.missing = variables.missing.filter((one) => one !== rest && one !== variable);
    if (variable === undefined) variables.left.push({ name, why: 'name' });
    else
      found.set(variable, [
        ...(found.get(variable) ?? []),
        { name, value, prefix, isExact: variable === rest },
      ]);
  }
  return found;
}

/**
 * The secret that sets a variable: of the latest prefix the only one, or the one whose name is the variable
 * itself.
 */
function winner(candidates: Candidate[]): Candidate | undefined {
  const latest = Math.max(...candidates.map(({ prefix }) => prefix));
  const among = candidates.filter(({ prefix }) => prefix === latest);
  return among.length === 1 ? among[0] : among.find(({ isExact }) => isExact);
}

function whyNot(
  { name, value }: Candidate,
  variable: string,
  own: NodeJS.ProcessEnv,
  choice: Choice,
): Reason | undefined {
  const { allowed = [], listed, onlyListed, preserve } = choice;
  const isAllowed = allowed.includes(variable);
  const isListed = listed?.includes(name);
  // safety: cli-reserved-name
  if (isReserved(variable) && !isAllowed) return 'reserved';
  // safety: cli-steering-name
  if (isSteering(variable) && !isAllowed && !isListed) return 'steering';
  // safety: cli-only-listed
  if (onlyListed && !isAllowed && !isListed) return 'unlisted';
  if (value.includes('\0')) return 'value';
  return preserve && own[variable] !== undefined ? 'preserved' : undefined;
}

const WHY: Partial<Record<Reason, readonly [one: string, several: string, remedy: string]>> = {
  reserved: [
    'is reserved',
    'are reserved',
    '. Rename the secret, or allow the variable with --allow-reserved',
  ],
  steering: [
    'can change how programs run, and .svc.json does not list it',
    'can change how programs run, and .svc.json does not list them',
    '. If you expect that, add the name to "secrets" in .svc.json, or allow the variable with --allow-reserved',
  ],
  unlisted: ['is not listed in .svc.json', 'are not listed in .svc.json', ''],
  name: ['begins with a digit, as no variable can', 'begin with a digit, as no variable can', ''],
  collision: [
    'becomes the same variable as another secret',
    'become the same variable as another secret',
    '. Rename all but one',
  ],
  value: ['contains a NUL byte', 'contain a NUL byte', ', which environment variables cannot contain'],
};
/** The most names in one warning. */
const MOST_NAMED = 10;

/** That secrets are left out, in one line with the first names. */
export function leftOut(names: string[], one: string, several: string): string {
  if (names.length === 1) return `${clean(names[0] ?? '')} is left out: ${one}.`;
  const more = names.length > MOST_NAMED ? ` and ${names.length - MOST_NAMED} more` : '';
  return `${counted(names.length, 'secret')} are left out: ${names.slice(0, MOST_NAMED).map(clean).join(', ')}${more}: ${several}.`;
}

/** Warnings about secrets that are not passed to the child: one for each reason. */
export const warningsOf = ({ left }: Variables): string[] =>
  Object.entries(WHY).flatMap(([reason, [one, several, remedy]]) => {
    const names = left.filter(({ why }) => why === reason).map(({ name }) => name);
    return names.length === 0 ? [] : [leftOut(names, `it ${one}${remedy}`, `they ${several}${remedy}`)];
  });
