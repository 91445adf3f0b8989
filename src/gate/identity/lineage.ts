// The lineage of a credential, and cached facts about callers.

import QuickLRU from 'quick-lru';
import type { Caller, PermissionSet } from '../../auth/authorize';
import { stillAccepts } from '../../auth/trusts';
import { type CredentialRow, parentIdOf } from '../../db/schema';
import type { Refusal } from '../../errors';
import type { Allowance } from '../limits/allowances';
import { part } from '../part';
import type { Rows } from '../rows/store';

/** The identified caller of a request, and why it is refused, if it is. */
export interface Identity {
  caller: Caller;
  refusal: Refusal | null;
  allowances: Allowance[];
  /** The rows that the identity depends on: while one is in doubt, so is the caller. */
  links: string[];
  /** Asks D1 about a token that the gate does not know. Only within the rate limit. */
  lookUp?(): Promise<Identity>;
}

/** D1's answers about tokens unknown to the gate. */
export const unknownTokens = part(
  () => new QuickLRU<string, { identity: Identity; until: number }>({ maxSize: 2500 }),
);

/**
 * The intersection of the permissions of a credential and the agents above it, by revision: comparing
 * patterns is expensive.
 */
export const overlaps = part(() => new QuickLRU<string, PermissionSet>({ maxSize: 1000 }));

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
      lineage[lineage.length - 1] = boundedBy(above, session);
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
