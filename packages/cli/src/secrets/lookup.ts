// Looks up secrets by name. Invariant: a look-up does not read the value, so it creates no read entry in the
// audit log and does not need permission to read values.
import type { components, Vault } from '@secrets-vault/client';
import type { Context } from '../context.ts';
import { CliError, usage } from '../errors.ts';
import { isSecretName } from '../names.ts';
import { notDocumented } from '../requests/answers.ts';
import { clean } from '../text.ts';

export type SecretInfo = components['schemas']['Secret'];

/**
 * Validates the name of a secret. A text with `=` is refused without repeating it, because it probably
 * contains a value.
 */
export function secretNamed(text: string): string {
  // safety: cli-value-in-name
  if (text.includes('=')) throw valueInArgument();
  if (!isSecretName(text))
    throw usage(
      'A secret name must have at most 255 characters of A-Z, a-z, 0-9, _, ., / and -, and begin with a letter, digit or _.',
    );
  return text;
}

/** The error for a value on the command line. */
export const valueInArgument = () =>
  usage(
    'Values are not accepted on the command line. Other users of this machine can see arguments, and the shell history keeps them.',
    'Type the value at the prompt of svc set NAME, or pass it on stdin: svc set NAME < FILE. If this was a real value, rotate it',
  );

type Filters = {
  sort?: 'name';
  status?: 'active' | 'expired' | 'revoked' | 'deleted';
  prefix?: string;
  type?: SecretInfo['type'];
  tag?: string;
};

/** Up to `most` secrets of an environment, without values. */
export async function listSecrets(
  vault: Vault,
  environment: string | undefined,
  filters: Filters,
  most = Number.POSITIVE_INFINITY,
): Promise<SecretInfo[]> {
  return pages(most, async (limit, cursor) => {
    const query = { environment, ...filters, limit, cursor };
    const { data } = await vault.api.GET('/orgs/{org_id}/secrets', {
      params: { path: { org_id: vault.org }, query },
    });
    return data;
  });
}

/** More pages than any list of a vault has: a hostile one could name a next page for ever. */
const MOST_PAGES = 10_000;

/** Up to `most` rows of a paginated list. */
export async function pages<Row>(
  most: number,
  fetchPage: (
    limit: number,
    cursor: string | undefined,
  ) => Promise<{ data: Row[]; next_cursor: string | null }>,
): Promise<Row[]> {
  const rows: Row[] = [];
  const mostPages = MOST_PAGES + (Number.isFinite(most) ? most / 100 : 0);
  let cursor: string | undefined;
  for (let count = 1; ; count++) {
    // safety: cli-pages-bounded
    if (count > mostPages) throw notDocumented(200);
    const page = await fetchPage(Math.min(100, most - rows.length), cursor);
    for (const row of page.data) rows.push(row);
    const next = page.next_cursor ?? undefined;
    if (next === undefined || rows.length >= most) return rows;
    // The same page would come again.
    if (next === cursor) throw notDocumented(200);
    cursor = next;
  }
}

/** Every row of a paginated list. */
export const everything = <Row>(
  fetchPage: (query: {
    limit: number;
    cursor: string | undefined;
  }) => Promise<{ data: Row[]; next_cursor: string | null }>,
): Promise<Row[]> => pages(Number.POSITIVE_INFINITY, (limit, cursor) => fetchPage({ limit, cursor }));

/** The secret of this name, without its value. Throws if there is none. */
export async function findSecret(
  context: Context,
  name: string,
  status?: Filters['status'],
): Promise<SecretInfo> {
  const found = await lookUpSecret(context, name, status);
  if (found) context.seen.note(found.id, found);
  if (found) return found;
  const kind = status === 'deleted' ? 'deleted secret' : 'secret';
  throw new CliError(`There is no ${kind} ${clean(name)} in ${clean(await context.environment())}.`, {
    exit: 'notFound',
    code: 'NOT_FOUND',
    next: `List the secrets: svc list${status === 'deleted' ? ' --status deleted' : ''}`,
  });
}

/** Like `findSecret`, but returns undefined if there is none. */
export async function lookUpSecret(
  context: Context,
  name: string,
  status?: Filters['status'],
): Promise<SecretInfo | undefined> {
  const { vault } = await context.vault();
  const environment = await context.environment();
  if (status === undefined) return vault.find(secretNamed(name), { environment });
  const rows = await listSecrets(vault, environment, { prefix: secretNamed(name), status });
  // Several deleted secrets may have had the name: the one that was deleted last is meant.
  const named = rows.filter((row) => row.name === name);
  return named.sort((one, other) => (other.deleted_at ?? '').localeCompare(one.deleted_at ?? ''))[0];
}
