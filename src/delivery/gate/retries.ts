// When a failed delivery is tried again. Pure. Invariant: the delays only grow, and a target can make one
// longer, never shorter.

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
/** The delays before a failed attempt is repeated; after the last attempt the delivery has failed. */
export const RETRIES = [5 * SECOND, 5 * MINUTE, 30 * MINUTE, 2 * HOUR, 5 * HOUR, 10 * HOUR, 10 * HOUR];
const MOST_RETRY_AFTER = 12 * HOUR;
/** The longest time until a delivery is due again, jitter included. */
export const LONGEST_WAIT = 12 * HOUR;

/**
 * The delay before the next attempt after a number of failed ones; null for no further attempt. Jitter
 * spreads retries.
 */
export function retryIn(attempts: number, retryAfter: number | null, random = Math.random()): number | null {
  const delay = RETRIES[attempts - 1];
  if (delay === undefined) return null;
  return Math.max(
    Math.round(delay * (1 + random * 0.2)),
    Math.min((retryAfter ?? 0) * SECOND, MOST_RETRY_AFTER),
  );
}
