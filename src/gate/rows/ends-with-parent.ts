// What a credential ends with: its lineage, which is the credential itself, its parent, and so on up.
// Invariant: a credential ends with its parent, and with a trust that no longer accepts its workload.
import { isBinding } from '../../auth/authentication/bindings';
import { stillAccepts } from '../../auth/authentication/trusts';
import { type CredentialRow, parentIdOf } from '../../db/schema';
import type { Rows } from './store';

/** A session token, limited by the current lifetime of its trust. */
function boundedBy(trust: CredentialRow, session: CredentialRow): CredentialRow {
  const end = session.created_at + (trust.trust?.ttl ?? 0) * 1000;
  // safety: shortened-trust-shortens-sessions
  return session.expires_at !== null && session.expires_at <= end ? session : { ...session, expires_at: end };
}

/**
 * A credential and its lineage, itself first. A credential with a missing ancestor has ended, as has one
 * whose trust no longer accepts its workload.
 */
export function lineageOf(core: { rows: Pick<Rows, 'get'> }, row: CredentialRow): CredentialRow[] {
  const lineage = [row];
  // safety: ends-with-parent
  for (let parent = parentIdOf(row); parent !== null; ) {
    const above = core.rows.get('credential', parent);
    // safety: ends-with-missing-parent
    if (!above) return [{ ...row, revoked_at: row.revoked_at ?? 0 }, ...lineage.slice(1)];
    if (above.kind === 'trust') {
      const session = lineage.at(-1) as CredentialRow;
      // safety: repointed-trust-ends-sessions
      if (!stillAccepts(above, session))
        return [{ ...row, revoked_at: row.revoked_at ?? 0 }, ...lineage.slice(1)];
      if (!isBinding(above)) lineage[lineage.length - 1] = boundedBy(above, session);
    }
    lineage.push(above);
    parent = parentIdOf(above);
  }
  return lineage;
}

/** The credentials whose requests an actor's count for: the actor, and everything that it ends with. */
export function linksOf(rows: Pick<Rows, 'get'>, actor: string, parent: string | null): string[] {
  const row = rows.get('credential', actor);
  if (row) return lineageOf({ rows }, row).map(({ id }) => id);
  return parent === null ? [actor] : [actor, parent];
}
