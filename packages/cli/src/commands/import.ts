// svc import: imports secrets from the export of another tool. The vault parses the export; its format is
// detected here.
import fs from 'node:fs';
import path from 'node:path';
import { type CommonOptions, type Context, isProduction } from '../context.ts';
import { command } from '../definition/command.ts';
import { EXIT_CODES, usage } from '../errors.ts';
import { type ImportSource, SOURCES, sourcesOf } from '../secrets/import-sources.ts';
import { readStdin } from '../terminal/prompts.ts';
import { clean } from '../text.ts';

interface Options extends CommonOptions {
  source?: ImportSource;
  dryRun?: boolean;
  onConflict?: 'skip' | 'overwrite' | 'fail';
  prefix?: string;
  empty?: boolean;
  keepPaths?: boolean;
  whole?: boolean;
}

export default command<Options>({
  needs: 'environment',
  confirms: true,
  args: { '<file>': 'the exported file; - for stdin' },
  options: {
    '--source <tool>': { description: 'tool that wrote the file, if svc cannot detect it', choices: SOURCES },
    '--dry-run': 'show the outcome without writing anything',
    '--on-conflict <what>': {
      description: 'what to do with secrets that exist, fail by default',
      choices: ['skip', 'overwrite', 'fail'],
    },
    '--empty': 'import empty values too',
    '--keep-paths': 'begin names with their paths, of an export of HashiCorp Vault',
    '--whole': 'keep each secret as one, of an export of AWS Secrets Manager, for its clients',
    '-p, --prefix <text>': 'add this before each name, such as billing/',
  },
  examples: {
    'import .env --dry-run': 'Preview an import',
    'import .env --env development': 'Import a .env file',
    'import export.json --source vault --on-conflict skip':
      'Import an export of HashiCorp Vault, skipping secrets that exist',
  },
  notes: ['svc does not delete the file. Delete it after the import.'],
  async run(context, { args: [file = ''], options }) {
    const text = file === '-' ? await readStdin(context.host, 'The export') : readExport(context, file);
    const source = options.source ?? detected(file, text);
    const environment = await context.environment();
    const onConflict = options.onConflict ?? 'fail';
    if (onConflict === 'overwrite' && !options.dryRun) {
      const what = `Secrets that exist in ${environment} will get the imported values.`;
      if (isProduction(environment)) await context.confirmDestruction(what);
    }
    const { vault, org_id } = await context.vault();
    const { data } = await vault.api.POST('/orgs/{org_id}/integrations/import', {
      params: { path: { org_id } },
      headers: context.approved(),
      body: {
        source,
        data: text,
        environmentId: environment,
        onConflict,
        dryRun: options.dryRun,
        prefix: options.prefix,
        keepPaths: options.keepPaths,
        whole: options.whole,
        refuseEmpty: !options.empty,
      },
    });
    report(context, source, environment, Boolean(options.dryRun), data);
    return data.failed.length > 0 ? EXIT_CODES.failure[0] : 0;
  },
});

function readExport(context: Context, file: string): string {
  const at = path.resolve(context.host.cwd, file);
  let bytes: Buffer;
  try {
    if (!fs.statSync(at).isFile()) throw usage(`${clean(file)} is not a file.`);
    bytes = fs.readFileSync(at);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code)
      throw usage(`${clean(file)} cannot be read.`, 'Check its name and permissions');
    throw error;
  }
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw usage(`${clean(file)} is not UTF-8 text.`);
  }
}

/**
 * The tool that wrote the export. An ambiguous file is refused: with the wrong parser, values could become
 * names.
 */
function detected(file: string, text: string): ImportSource {
  const found = sourcesOf(file, text);
  const [only] = found;
  if (only && found.length === 1) return only;
  throw usage(
    found.length === 0
      ? `svc cannot detect which tool wrote ${clean(file)}.`
      : `${clean(file)} matches several tools: ${found.join(', ')}.`,
    `Choose one with --source: ${SOURCES.join(', ')}`,
  );
}

interface Imported {
  created: string[];
  updated: string[];
  skipped: string[];
  failed: { name: string; reason: string }[];
}

function report(
  { out }: Context,
  source: ImportSource,
  environment: string,
  dryRun: boolean,
  imported: Imported,
): void {
  out.result({ source, environment, dry_run: dryRun, ...imported }, () => {
    const before = dryRun ? 'would be ' : '';
    const rows = (['created', 'updated', 'skipped'] as const).flatMap((outcome) =>
      imported[outcome].map((name) => [name, `${before}${outcome}`]),
    );
    const why = (reason: string) =>
      `${dryRun ? 'would fail' : 'failed'}: ${reason === 'VALUE_EMPTY' ? 'the value is empty. To import it, pass --empty' : reason}`;
    const failed = imported.failed.map(({ name, reason }) => [name, why(reason)]);
    out.table(['name', 'outcome'], [...rows, ...failed]);
    const { created, updated, skipped } = imported;
    const counts = `${created.length} created, ${updated.length} updated, ${skipped.length} skipped, ${failed.length} failed`;
    const what = `(${source}) into ${environment}`;
    out.note(
      dryRun
        ? `Dry run ${what}: nothing was written. There would be ${counts}.`
        : `Imported ${what}: ${counts}.`,
    );
  });
}
