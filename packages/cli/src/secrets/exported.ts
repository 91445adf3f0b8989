// The file of svc export: one that the vault generates, or several in one where there are more secrets than
// one file may hold. Invariants: no two secrets become one name in the file; all parts of a file show one
// revision of the environment.
import type { components } from '@secrets-vault/client';
import type { Context } from '../context.ts';
import { CliError } from '../errors.ts';
import { variableOf, withoutPrefix } from '../names.ts';
import { clean, counted } from '../text.ts';
import { namesIn } from './expected.ts';

export const FORMATS = [
  'dotenv',
  'json',
  'yaml',
  'shell',
  'docker-env',
  'compose-secrets',
  'kubernetes',
  'external-secrets',
  'helm',
  'tfvars',
  'tfvars-json',
  'ansible',
  'systemd',
  'github-actions',
  'dev-vars',
  'properties',
] as const;

type Format = (typeof FORMATS)[number];
type File = components['schemas']['GeneratedFile'];

interface Wanted {
  format: Format;
  only?: string[];
  prefixes?: string[];
}

/** The most names of one request. */
const MOST_NAMES = 1000;
/** How often an export in parts starts again because secrets changed meanwhile. */
const MOST_STARTS = 5;

/** How two files of a format become one. The others have a frame around their entries. */
const JOINED: Partial<Record<Format, (contents: string[]) => string>> = {
  ...Object.fromEntries(
    [
      'dotenv',
      'yaml',
      'shell',
      'docker-env',
      'tfvars',
      'systemd',
      'github-actions',
      'dev-vars',
      'properties',
    ].map((format) => [format, (contents: string[]) => contents.join('')]),
  ),
  json: joinedJson,
  'tfvars-json': joinedJson,
};

/** An object of entries: assigning to `__proto__` would lose it. */
function joinedJson(contents: string[]): string {
  const entries = contents.flatMap((content) =>
    Object.entries(JSON.parse(content) as Record<string, string>),
  );
  return `${JSON.stringify(Object.fromEntries(entries), null, 2)}\n`;
}

/** The file of the secrets that are wanted. */
export async function exported(context: Context, wanted: Wanted): Promise<File> {
  const names = wanted.prefixes ? await namesOf(context, wanted) : wanted.only;
  if (!names || names.length <= MOST_NAMES) {
    try {
      return await generated(context, wanted, names);
    } catch (error) {
      if (!has(error, 'RESULT_TOO_LARGE')) throw error;
    }
  }
  return ofOneRevision(context, wanted, () => inParts(context, wanted));
}

const has = (error: unknown, code: string) => (error as { code?: string }).code === code;

/** The names to export. */
async function namesOf(context: Context, { only, prefixes }: Wanted): Promise<string[]> {
  const names = selected(await namesIn(context, await context.environment(), prefixes), { only, prefixes });
  if (names.length > 0) return names;
  throw new CliError(`No secret begins with ${prefixes?.map(clean).join(' or ')}.`, {
    exit: 'notFound',
    code: 'NOT_FOUND',
    next: 'svc list',
  });
}

/**
 * The result of work that takes several requests, all of one revision of the environment: again if secrets
 * changed meanwhile. A cursor of the environment's values tells: the vault refuses it from the first change
 * on.
 */
async function ofOneRevision<Result>(
  context: Context,
  wanted: Wanted,
  work: () => Promise<Result>,
): Promise<Result> {
  for (let starts = 1; ; starts++) {
    const cursor = await pageOfValues(context, wanted);
    const [outcome] = await Promise.allSettled([work()]);
    try {
      // safety: cli-export-one-revision
      if (cursor) await pageOfValues(context, wanted, cursor);
      if (outcome.status === 'rejected') throw outcome.reason;
      return outcome.value;
    } catch (error) {
      if (!has(error, 'CONFLICT')) throw error;
      if (starts < MOST_STARTS) continue;
      throw new CliError('Secrets kept changing while they were exported. Nothing was written.', {
        exit: 'conflict',
        code: 'CONFLICT',
        next: 'Repeat the command',
      });
    }
  }
}

/** Reads the smallest page of values after a cursor, for the cursor of the next one. */
async function pageOfValues(
  context: Context,
  { prefixes }: Wanted,
  cursor?: string,
): Promise<string | null | undefined> {
  const { vault, org_id } = await context.vault();
  const { data } = await vault.api.GET('/orgs/{org_id}/environments/{environment}/values', {
    params: {
      path: { org_id, environment: await context.environment() },
      query: { prefix: prefixes?.filter(Boolean), limit: 1, cursor },
    },
  });
  return data.next_cursor;
}

/** The names to export: of those that become one without their prefixes, that of the later prefix. */
function selected(names: string[], { only, prefixes = [''] }: Omit<Wanted, 'format'>): string[] {
  const chosen = new Map<string, { name: string; prefix: number }>();
  for (const name of names) {
    const { prefix = 0, rest = name } = withoutPrefix(name, prefixes) ?? {};
    if (only && !only.includes(rest)) continue;
    if ((chosen.get(rest)?.prefix ?? -1) < prefix) chosen.set(rest, { name, prefix });
  }
  return [...chosen.values()].map(({ name }) => name);
}

async function generated(
  context: Context,
  { format, prefixes }: Wanted,
  names: string[] | undefined,
): Promise<File> {
  const { vault, org_id } = await context.vault();
  const stripPrefixes = prefixes?.filter(Boolean);
  const { data } = await vault.api.POST('/orgs/{org_id}/integrations/generate', {
    params: { path: { org_id } },
    headers: context.approved(),
    body: {
      format,
      environmentId: await context.environment(),
      names,
      stripPrefixes: stripPrefixes?.length ? stripPrefixes : undefined,
    },
  });
  return data;
}

/** The file of all names, from files of as many as the vault takes at once. */
async function inParts(context: Context, wanted: Wanted): Promise<File> {
  const names = await namesOf(context, wanted);
  const join = JOINED[wanted.format];
  if (!join && names.length > MOST_NAMES) throw tooLarge(names, wanted);
  refuseCollisions(names, wanted);
  const files: File[] = [];
  for (let at = 0, size = MOST_NAMES; at < names.length; ) {
    try {
      files.push(await generated(context, wanted, names.slice(at, at + size)));
      at += size;
    } catch (error) {
      // Long values: fewer names at once.
      if (!has(error, 'RESULT_TOO_LARGE') || size === 1) throw error;
      if (!join) throw tooLarge(names, wanted);
      size = Math.ceil(size / 2);
    }
  }
  const [first] = files as [File];
  return { ...first, content: join ? join(files.map(({ content }) => content)) : first.content };
}

const tooLarge = (names: string[], { format }: Wanted) =>
  new CliError(`A file of the format ${format} cannot hold ${counted(names.length, 'secret')}.`, {
    exit: 'usage',
    code: 'RESULT_TOO_LARGE',
    next: 'Select fewer with --prefix',
  });

/** The vault refuses names of one file that become one. Between files nobody else does. */
function refuseCollisions(names: string[], { format, prefixes = [''] }: Wanted): void {
  if (format === 'json' || format === 'yaml') return;
  const seen = new Map<string, string>();
  for (const name of names) {
    const variable = variableOf(withoutPrefix(name, prefixes)?.rest ?? name) ?? name;
    const other = seen.get(variable);
    // safety: cli-export-collision
    if (other)
      throw new CliError(`${clean(other)} and ${clean(name)} become one name in the file.`, {
        exit: 'usage',
        code: 'NAME_COLLISION',
        next: 'Rename one of them',
      });
    seen.set(variable, name);
  }
}
