// Whose quotas a caller uses: the member or the API key at the top of its lineage. Invariant: whatever a
// caller creates uses the quotas of the same root, so nobody gets further quotas by creating credentials;
// only an owner makes API keys that are roots of their own.
import type { Caller } from '../../auth/authorize';
import type { RowReader } from '../../db/rows';
import { type CredentialRow, isMadeByOwner, parentIdOf } from '../../db/schema';

/**
 * The rows of a gate. `rootOf`: the root for which a row was counted, also after those that made it have left
 * the gate.
 */
export interface RootReader extends RowReader {
  rootOf(kind: 'credential', id: string): string | null;
}

/** Whether a credential is a root: an API key that an owner made, and that ends with no other credential. */
const isRoot = (row: CredentialRow): boolean =>
  row.kind === 'api_key' && parentIdOf(row) === null && isMadeByOwner(row);

/** What stands above a credential on the way to its root; itself if it is one. */
// safety: quota-root-above-makers
export const aboveOf = (row: CredentialRow): string =>
  isRoot(row) ? row.id : (row.member_id ?? parentIdOf(row) ?? row.created_by);

/** The root of a credential, by its id. A credential that the gate no longer knows is its own. */
export function rootOfCredential({ rows }: { rows: RootReader }, id: string): string {
  for (let at = id; ; ) {
    const known = rows.rootOf('credential', at);
    if (known !== null) return known;
    const row = rows.get('credential', at);
    const above = row === null ? at : aboveOf(row);
    if (above === at) return at;
    at = above;
  }
}

/** The root whose quotas a caller uses. */
export const quotaRootOf = (
  { rows }: { rows: RootReader },
  { kind, id, credential, root }: Caller,
): string =>
  kind === 'member' ? id : rows.get('credential', credential) ? rootOfCredential({ rows }, credential) : root;

/** The root whose quotas a call uses; null for work of the service itself. */
export const payerOf = ({ core, caller }: { core: { rows: RootReader }; caller: Caller }): string | null =>
  caller.kind === 'system' ? null : quotaRootOf(core, caller);
