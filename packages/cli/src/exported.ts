// The file of svc export: one that the vault generates, or several in one where there are more secrets than one file may hold. Invariant: no
// two secrets become one name in the file.
import type { components } from '@secrets-vault/client';
import type { Context } from './context.ts';
import { CliError } from './errors.ts';
import { namesIn } from './expected.ts';
import { variableOf, withoutPrefix } from './names.ts';
import { clean } from './text.ts';

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

/** How two files of a format become one. The others have a frame around their entries. */
const JOINED: Partial<Record<Format, (contents: string[]) => string>> = {
  ...Object.fromEntries(
    ['dotenv', 'yaml', 'shell', 'docker-env', 'tfvars', 'systemd', 'github-actions', 'dev-vars', 'properties'].map((format) => [
      format,
      (contents: string[]) => contents.join(''),
    ]),
  ),
  json: joinedJson,
  'tfvars-json': joinedJson,
};

/** An object of entries: assigning to `__proto__` would lose it. */
function joinedJson(contents: string[]): string {
  const entries = contents.flatMap((content) => Object.entries(JSON.parse(content) as Record<string, string>));
  return `${JSON.stringify(Object.fromEntries(entries), null, 2)}\n`;
}

/** The file of the secrets that are wanted. */
export async function exported(context: Context, wanted: Wanted): Promise<File> {
  const { only, prefixes } = wanted;
  if (!prefixes && (!only || only.length <= MOST_NAMES)) {
    try {
      return await generated(context, wanted, only);
    } catch (error) {
      if (only || !isTooLarge(error)) throw error;
    }
  }
  const names = selected(await namesIn(context, await context.environment(), prefixes), wanted);
  if (names.length === 0)
    throw new CliError(`No secret begins with ${prefixes?.map(clean).join(' or ')}.`, {
      exit: 'notFound',
      code: 'NOT_FOUND',
      next: 'svc list',
    });
  const files = await inParts(context, wanted, names);
  const [first] = files as [File];
  if (files.length === 1) return first;
  const join = JOINED[wanted.format];
  if (!join)
    throw new CliError(`A file of the format ${wanted.format} cannot hold ${names.length.toLocaleString('en')} secrets.`, {
      exit: 'usage',
      code: 'RESULT_TOO_LARGE',
      next: 'Select fewer with --prefix',
    });
  refuseCollisions(names, wanted);
  return { ...first, content: join(files.map(({ content }) => content)) };
}

const isTooLarge = (error: unknown) => (error as { code?: string }).code === 'RESULT_TOO_LARGE';

/** The names to export: of those that become one without their prefixes, that of the later prefix. */
function selected(names: string[], { only, prefixes = [''] }: Wanted): string[] {
  const chosen = new Map<string, { name: string; prefix: number }>();
  for (const name of names) {
    const { prefix = 0, rest = name } = withoutPrefix(name, prefixes) ?? {};
    if (only && !only.includes(rest)) continue;
    if ((chosen.get(rest)?.prefix ?? -1) < prefix) chosen.set(rest, { name, prefix });
  }
  return [...chosen.values()].map(({ name }) => name);
}

async function generated(context: Context, { format, prefixes }: Wanted, names: string[] | undefined): Promise<File> {
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

/** The files of all names, of as many as the vault takes at once. */
async function inParts(context: Context, wanted: Wanted, names: string[]): Promise<File[]> {
  const files: File[] = [];
  for (let at = 0, size = MOST_NAMES; at < names.length; ) {
    try {
      files.push(await generated(context, wanted, names.slice(at, at + size)));
      at += size;
    } catch (error) {
      // Long values: fewer names at once.
      if (!isTooLarge(error) || size === 1) throw error;
      size = Math.ceil(size / 2);
    }
  }
  return files;
}

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
