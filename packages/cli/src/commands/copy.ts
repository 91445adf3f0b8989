// svc copy: copies secrets from one environment to another. Invariant: existing secrets are unchanged unless
// --overwrite is given.
import type { CommonOptions, Context } from '../context.ts';
import { command } from '../definition/command.ts';
import { CliError, usage } from '../errors.ts';
import { listSecrets, type SecretInfo, secretNamed } from '../secrets/lookup.ts';
import { clean } from '../text.ts';

interface Options extends CommonOptions {
  from?: string;
  to?: string;
  prefix?: string;
  overwrite?: boolean;
  dryRun?: boolean;
}

export default command<Options>({
  needs: 'vault',
  confirms: true,
  completes: 'secrets',
  args: { '[names...]': 'names of the secrets; or use --prefix' },
  options: {
    '--from <slug>': 'environment to copy from',
    '--to <slug>': 'environment to copy to',
    '-p, --prefix <text>': {
      description: 'copy all names that begin with this; "" for every name',
      empty: true,
    },
    '--overwrite': 'give existing secrets a new version',
    '--dry-run': 'show what would be copied, without reading or writing a value',
  },
  examples: {
    'copy DATABASE_URL SMTP_PASSWORD --from staging --to production':
      'Copy two secrets, skipping those that exist',
    'copy --prefix billing/ --from staging --to production --overwrite':
      'Copy all secrets whose names begin with billing/',
  },
  notes: ['Type, description and tags are copied too. Earlier versions are not.'],
  async run(context, { rest: names, options }) {
    const { from, to, prefix, overwrite } = options;
    if (!from || !to) throw usage('Both --from and --to are required.', 'svc copy NAME --from ENV --to ENV');
    if (from === to) throw usage('--from and --to are the same environment.');
    if (names.length > 0 === (prefix !== undefined)) throw usage('Pass either names or --prefix.');
    const sources = await chosen(context, from, names, prefix);
    const existing = await existingIn(context, to, sources);
    if (options.dryRun) {
      const word = (name: string) => (!existing.has(name) ? 'created' : overwrite ? 'updated' : 'skipped');
      print(
        context,
        sources.map(({ name }) => ({ name, outcome: word(name) })),
        'would be ',
      );
      context.out.note('Dry run: nothing was written.');
      return 0;
    }
    const replaced = overwrite ? sources.filter(({ name }) => existing.has(name)) : [];
    if (replaced.length > 0)
      await context.confirmDestruction(
        `${replaced.map(({ name }) => name).join(', ')} in ${to} will get new values.`,
      );
    const rows: Row[] = [];
    for (const secret of sources) {
      const there = existing.get(secret.name);
      try {
        const outcome = there && !overwrite ? 'skipped' : await copyOne(context, secret, to, there);
        rows.push({ name: secret.name, outcome });
      } catch (error) {
        const done = rows.filter(({ outcome }) => outcome !== 'skipped').map(({ name }) => clean(name));
        context.out.warn(
          `${clean(secret.name)} could not be copied. Copied before it: ${done.join(', ') || 'nothing'}.`,
        );
        throw error;
      }
    }
    print(context, rows);
    return 0;
  },
});

/** @param before what stands before each outcome */
const print = ({ out }: Context, rows: Row[], before = '') =>
  out.list(
    rows,
    {
      name: (row) => row.name,
      outcome: (row) => `${before}${row.outcome}${row.outcome === 'skipped' ? ': already exists' : ''}`,
    },
    'There is nothing to copy.',
    before ? { dry_run: true } : {},
  );

interface Row {
  name: string;
  outcome: 'created' | 'updated' | 'skipped';
}

async function chosen(
  context: Context,
  from: string,
  names: string[],
  prefix: string | undefined,
): Promise<SecretInfo[]> {
  const { vault } = await context.vault();
  if (prefix !== undefined)
    return listSecrets(vault, from, { prefix: prefix || undefined, status: 'active' });
  const found: SecretInfo[] = [];
  for (const name of names) {
    const row = await vault.find(secretNamed(name), { environment: from });
    if (!row)
      throw new CliError(`There is no secret ${clean(name)} in ${clean(from)}.`, {
        exit: 'notFound',
        code: 'NOT_FOUND',
        next: `List the secrets there: svc list --env ${from}`,
      });
    found.push(row);
  }
  return found;
}

/** The ETags of those names that exist in the environment. */
async function existingIn(context: Context, to: string, sources: SecretInfo[]): Promise<Map<string, string>> {
  const { vault } = await context.vault();
  const wanted = new Set(sources.map(({ name }) => name));
  const there = new Map<string, string>();
  const [only] = sources;
  for (const { name, etag } of await listSecrets(vault, to, {
    prefix: sources.length === 1 ? only?.name : undefined,
  }))
    if (wanted.has(name)) there.set(name, etag);
  return there;
}

async function copyOne(
  context: Context,
  { name, environment, type, description, tags }: SecretInfo,
  to: string,
  etag: string | undefined,
): Promise<Row['outcome']> {
  const { vault, org_id } = await context.vault();
  const { data } = await vault.api.GET('/orgs/{org_id}/secrets/by-name/{name}', {
    params: { path: { org_id, name }, query: { environment } },
  });
  try {
    await vault.api.PUT('/orgs/{org_id}/secrets/by-name/{name}', {
      params: { path: { org_id, name }, query: { environment: to } },
      headers: etag ? { 'If-Match': etag } : { 'If-None-Match': '*' },
      body: { value: data.value, type, description, tags },
    });
  } catch (error) {
    // Another client has created it in the meantime.
    if (!etag && (error as { status?: number }).status === 412) return 'skipped';
    throw error;
  }
  return etag ? 'updated' : 'created';
}
