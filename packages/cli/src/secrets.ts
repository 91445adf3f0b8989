// Secrets by their names. Invariant: looking a secret up by its name reads no value, so it leaves no read in the audit log and needs no
// permission to read.
import type { components, Vault } from '@secrets-vault/client';
import type { Context } from './context.ts';
import { CliError, usage } from './errors.ts';
import { clean } from './text.ts';

export type SecretInfo = components['schemas']['Secret'];

const NAME = /^[A-Za-z0-9_][A-Za-z0-9_./-]{0,254}$/;

/** A name of a secret. What holds `=` is refused without repeating it, since a value follows. */
export function secretNamed(text: string): string {
  // safety: cli-value-in-name
  if (text.includes('=')) throw valueInArgument();
  if (!NAME.test(text)) throw usage('A name has up to 255 characters of A-Z, a-z, 0-9, _, ., / and -.');
  return text;
}

/** What is said where a value stands on the command line. */
export const valueInArgument = () =>
  usage(
    'A value is not taken from the command line. Other users of this machine see arguments, and the history of the shell keeps them.',
    'Type it at the prompt of svc set NAME, or pass it through stdin: svc set NAME < FILE. If it was real, replace it where it was issued',
  );

type Filters = { status?: 'active' | 'expired' | 'revoked' | 'deleted'; prefix?: string; type?: SecretInfo['type']; tag?: string };

/** Secrets of an environment, without values, as far as `most`. */
export async function listSecrets(
  vault: Vault,
  environment: string | undefined,
  filters: Filters,
  most = Number.POSITIVE_INFINITY,
): Promise<SecretInfo[]> {
  return pages(most, async (limit, cursor) => {
    const query = { environment, ...filters, limit, cursor };
    const { data } = await vault.api.GET('/orgs/{org_id}/secrets', { params: { path: { org_id: vault.org }, query } });
    return data;
  });
}

/** The rows of a paged list, as far as `most`. */
export async function pages<Row>(
  most: number,
  fetchPage: (limit: number, cursor: string | undefined) => Promise<{ data: Row[]; next_cursor: string | null }>,
): Promise<Row[]> {
  const rows: Row[] = [];
  let cursor: string | undefined;
  do {
    const page = await fetchPage(Math.min(100, most - rows.length), cursor);
    rows.push(...page.data);
    cursor = page.next_cursor ?? undefined;
  } while (cursor !== undefined && rows.length < most);
  return rows;
}

/** The secret of a name, without its value. */
export async function findSecret(context: Context, name: string, status?: Filters['status']): Promise<SecretInfo> {
  const found = await lookUpSecret(context, name, status);
  if (found) return found;
  const environment = context.setting('environment')?.value;
  const where = environment ? ` in ${environment}` : '';
  throw new CliError(`There is no ${status === 'deleted' ? 'deleted ' : ''}secret ${clean(name)}${where}.`, {
    exit: 'notFound',
    code: 'NOT_FOUND',
    next: `See what there is: svc list${status === 'deleted' ? ' --status deleted' : ''}`,
  });
}

/** The same, or undefined. */
export async function lookUpSecret(context: Context, name: string, status?: Filters['status']): Promise<SecretInfo | undefined> {
  const { vault } = await context.vault();
  const rows = await listSecrets(vault, context.setting('environment')?.value, { prefix: secretNamed(name), status });
  return rows.find((row) => row.name === name);
}
