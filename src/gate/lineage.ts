// What a credential descends from, and what is remembered of callers between requests.

import type QuickLRU from 'quick-lru';
import type { Caller, PermissionSet } from '../auth/authorize';
import { stillAccepts } from '../auth/trusts';
import { type CredentialRow, parentIdOf } from '../db/schema';
import type { Refusal } from '../errors';
import type { Allowance } from './rate-limit';
import type { Rows } from './rows';

/** Who a request comes from, as far as can be said; and why it is refused as such. */
export interface Identity {
  caller: Caller;
  refusal: Refusal | null;
  allowances: Allowance[];
  /** Rows that say so: while one is in doubt, so is the caller. */
  links: string[];
  /** Asks D1 about a token that the gate does not know. To be asked only within the rate limit. */
  lookUp?(): Promise<Identity>;
}

/** What D1 said of tokens that the gate does not know. */
export type Strangers = QuickLRU<string, { identity: Identity; until: number }>;

/** What a credential and the agents above it hold in common, by their revisions: patterns are costly to compare. */
export type Overlaps = QuickLRU<string, PermissionSet>;

/** A session token as its trust bounds it now: it lives for no longer than the trust says. */
function boundedBy(trust: CredentialRow, session: CredentialRow): CredentialRow {
  const end = session.created_at + (trust.trust?.ttl ?? 0) * 1000;
  // safety: shortened-trust-shortens-sessions
  return session.expires_at !== null && session.expires_at <= end ? session : { ...session, expires_at: end };
}

/**
 * A credential and those that it ends with, itself first. One whose ancestor is gone has ended, and one whose trust no longer accepts its
 * workload.
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
      if (!stillAccepts(above, session)) return [{ ...row, revoked_at: row.revoked_at ?? 0 }, ...lineage.slice(1)];
      lineage[lineage.length - 1] = boundedBy(above, session);
    }
    lineage.push(above);
    parent = parentIdOf(above);
  }
  return lineage;
}
