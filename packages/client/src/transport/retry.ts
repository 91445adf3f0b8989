// Which calls are retried, and when. Pure. Invariant: a change that may have taken effect is retried only if
// the vault can recognise the repeat (Idempotency-Key), or if a repeat changes nothing (reads, DELETE, an
// unconditional PUT).
import { ConnectionError, VaultError } from '../api/errors.js';

const FIRST_DELAY = 200;
const LONGEST_DELAY = 8_000;
/** The longest Retry-After that is honoured by default: rate limits are counted per minute. */
export const LONGEST_WAIT = 61_000;

/** Operations that run each time regardless of the key: messages, tests, scans, files, challenges. */
const UNKEPT =
  /\/(integrations\/(notify|generate)|(webhooks|log-streams|sso-connections)\/[^/]+\/test|scans|passkeys\/options)$/;

/**
 * Whether the vault keeps the response of a POST under its Idempotency-Key. Sign-in, exchange and share pages
 * are not covered either.
 */
export const takesKey = (method: string, path: string): boolean =>
  method === 'POST' &&
  (/\/api\/v1\/(orgs|deployment|auth\/aws)(\/|$)/.test(path) || path.includes('/api/v1/provider/')) &&
  !UNKEPT.test(path);

/** Whether a call may be retried although it may have taken effect. */
export function isRepeatable(method: string, headers: Headers): boolean {
  if (method === 'GET' || method === 'HEAD') return true;
  if (method === 'POST') return headers.has('Idempotency-Key');
  const isConditional = headers.has('If-Match') || headers.has('If-None-Match');
  return method === 'DELETE' || (method === 'PUT' && !isConditional);
}

/**
 * The delay before the next attempt, in milliseconds; null if there must be no retry.
 * @param repeatable see {@link isRepeatable}
 * @param attempts the number of attempts so far
 * @param longest the longest Retry-After that is honoured, in milliseconds
 */
export function delayBefore(
  error: unknown,
  repeatable: boolean,
  attempts: number,
  longest: number,
): number | null {
  if (!mayPass(error, repeatable)) return null;
  const random = Math.random();
  const backoff = Math.min(LONGEST_DELAY, FIRST_DELAY * 2 ** (attempts - 1)) * (0.5 + random / 2);
  const asked = error instanceof VaultError && error.retryAfter !== undefined ? error.retryAfter * 1000 : 0;
  if (asked > longest) return null;
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
