// svc copy: copies secrets from one environment to another. Invariant: existing secrets are unchanged unless --overwrite is given.
import { command } from '../command.ts';
import type { CommonOptions, Context } from '../context.ts';
import { CliError, usage } from '../errors.ts';
import { listSecrets, type SecretInfo, secretNamed } from '../secrets.ts';
import { clean } from '../text.ts';

interface Options extends CommonOptions {
  from?: string;
  to?: string;
  prefix?: string;
  overwrite?: boolean;
}

export default command<Options>({
  needs: 'vault',
  confirms: true,
  args: { '[names...]': 'names of the secrets; or use --prefix' },
  options: {
    '--from <slug>': 'environment to copy from',
    '--to <slug>': 'environment to copy to',
    '-p, --prefix <text>': 'copy all names that begin with this; "" for every name',
    '--overwrite': 'give existing secrets a new version',
  },
  examples: {
    'copy DATABASE_URL SMTP_PASSWORD --from staging --to production': 'Copy two secrets, skipping those that exist',
    'copy --prefix billing/ --from staging --to production --overwrite': 'Copy all secrets whose names begin with billing/',
  },
  notes: ['Type, description and tags are copied too. Earlier versions are not.'],
  async run(context, { rest: names, options }) {
    const { from, to, prefix, overwrite } = options;
    if (!from || !to) throw usage('Both --from and --to are required.', 'svc copy NAME --from ENV --to ENV');
    if (from === to) throw usage('--from and --to are the same environment.');
    if (names.length > 0 === (prefix !== undefined)) throw usage('Pass either names or --prefix.');
    const sources = await chosen(context, from, names, prefix);
    const existing = await existingIn(context, to, sources);
    const replaced = overwrite ? sources.filter(({ name }) => existing.has(name)) : [];
    if (replaced.length > 0)
      await context.confirmDestruction(`${replaced.map(({ name }) => name).join(', ')} in ${to} will get new values.`);
    const rows: Row[] = [];
    for (const secret of sources) {
      const isThere = existing.has(secret.name);
      try {
        const outcome = isThere && !overwrite ? 'skipped' : await copyOne(context, secret, to, !isThere);
        rows.push({ name: secret.name, outcome });
      } catch (error) {
        const done = rows.filter(({ outcome }) => outcome !== 'skipped').map(({ name }) => clean(name));
        context.out.warn(`${clean(secret.name)} could not be copied. Copied before it: ${done.join(', ') || 'nothing'}.`);
        throw error;
      }
    }
    context.out.list(
      rows,
      { name: (row) => row.name, outcome: (row) => (row.outcome === 'skipped' ? 'skipped: already exists' : row.outcome) },
      'There is nothing to copy.',
    );
    return 0;
  },
});

interface Row {
  name: string;
  outcome: 'created' | 'updated' | 'skipped';
}

async function chosen(context: Context, from: string, names: string[], prefix: string | undefined): Promise<SecretInfo[]> {
  const { vault } = await context.vault();
  if (prefix !== undefined) return listSecrets(vault, from, { prefix: prefix || undefined, status: 'active' });
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

/** Which of the names exist in the environment. */
async function existingIn(context: Context, to: string, sources: SecretInfo[]): Promise<Set<string>> {
  const { vault } = await context.vault();
  const wanted = new Set(sources.map(({ name }) => name));
  const there = new Set<string>();
  const [only] = sources;
  for (const { name } of await listSecrets(vault, to, { prefix: sources.length === 1 ? only?.name : undefined }))
    if (wanted.has(name)) there.add(name);
  return there;
}

async function copyOne(
  context: Context,
  { name, environment, type, description, tags }: SecretInfo,
  to: string,
  isNew: boolean,
): Promise<Row['outcome']> {
  const { vault, org_id } = await context.vault();
  const { data } = await vault.api.GET('/orgs/{org_id}/secrets/by-name/{name}', {
    params: { path: { org_id, name }, query: { environment } },
  });
  try {
    await vault.api.PUT('/orgs/{org_id}/secrets/by-name/{name}', {
      params: { path: { org_id, name }, query: { environment: to } },
      headers: isNew ? { 'If-None-Match': '*' } : {},
      body: { value: data.value, type, description, tags },
    });
  } catch (error) {
    // Another client has created it in the meantime.
    if (isNew && (error as { status?: number }).status === 412) return 'skipped';
    throw error;
  }
  return isNew ? 'created' : 'updated';
}
