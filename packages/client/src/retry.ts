// When a call may be sent again, and after how long. Pure. Invariant: a change that may have been made is sent again only where the vault
// tells a repeat from a new call (Idempotency-Key), or where a repeat changes nothing (reads, DELETE, an unconditional PUT).
import { ConnectionError, VaultError } from './errors.js';

const FIRST_DELAY = 200;
const LONGEST_DELAY = 8_000;
/** The longest wait that a Retry-After can ask for: rate limits are counted by the minute. */
const LONGEST_WAIT = 61_000;

/** What the vault does anew each time, whatever the key: messages and tests that are sent, scans, files, challenges. */
const UNKEPT = /\/(integrations\/(notify|generate)|webhooks\/[^/]+\/test|scans|passkeys\/options)$/;

/** Whether the vault keeps the response of a POST under its Idempotency-Key. Sign-in, exchange and share pages do not either. */
export const takesKey = (method: string, path: string): boolean =>
  method === 'POST' && (/\/api\/v1\/(orgs|deployment)(\/|$)/.test(path) || path.includes('/api/v1/provider/')) && !UNKEPT.test(path);

/** Whether a call may be sent again although it may have had its effect. */
export function isRepeatable(method: string, headers: Headers): boolean {
  if (method === 'GET' || method === 'HEAD') return true;
  if (method === 'POST') return headers.has('Idempotency-Key');
  const isConditional = headers.has('If-Match') || headers.has('If-None-Match');
  return method === 'DELETE' || (method === 'PUT' && !isConditional);
}

/**
 * How long to wait before the next attempt, in milliseconds; null if there must be none.
 * @param repeatable see {@link isRepeatable}
 * @param attempts how many there have been
 * @param random a number below 1
 */
export function delayBefore(error: unknown, repeatable: boolean, attempts: number, random = Math.random()): number | null {
  if (!mayPass(error, repeatable)) return null;
  const backoff = Math.min(LONGEST_DELAY, FIRST_DELAY * 2 ** (attempts - 1)) * (0.5 + random / 2);
  const asked = error instanceof VaultError && error.retryAfter !== undefined ? error.retryAfter * 1000 : 0;
  if (asked > LONGEST_WAIT) return null;
  return Math.max(asked + (asked ? random * 250 : 0), backoff);
}

/** Whether the same call may succeed later. */
function mayPass(error: unknown, repeatable: boolean): boolean {
  if (!(error instanceof VaultError)) return false;
  if (error instanceof ConnectionError) return repeatable && error.status === 0;
  if (error.status === 429) return true; // refused before anything was done
  if (error.code === 'IDEMPOTENCY_IN_PROGRESS') return true;
  if (error.code === 'MISCONFIGURED' || error.code.startsWith('TARGET_')) return false;
  return repeatable && [500, 502, 503, 504].includes(error.status);
}
