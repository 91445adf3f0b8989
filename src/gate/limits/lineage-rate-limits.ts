// Whose rate limits a request counts against. Invariant: a child credential has no more than what its
// ancestors have left.
import type { CredentialRow } from '../../db/schema';

/** A credential whose rate limit a request counts against, and its requests a minute. */
export interface Allowance {
  id: string;
  limit: number;
}

/**
 * The rate limits that a request counts against: that of each credential of the lineage, so that child
 * credentials do not multiply it.
 */
// safety: rate-limit-of-lineage
export const allowancesOf = (lineage: readonly CredentialRow[]): Allowance[] =>
  lineage.map(({ id, rate_limit }) => ({ id, limit: rate_limit }));
