// Refused attempts by client address, for requests without a credential to count by. A Durable Object per
// address keeps the count (`objects/throttle.ts`). Invariant: an isolate that knows that an address is over
// the limit does not ask again until the limit allows more.

import QuickLRU from 'quick-lru';
import { clientOf } from '../../auth/addresses';
import type { Env } from '../../env';
import { ApiError, refuse } from '../../errors';

/** Until when an address is over the limit, in milliseconds. */
const over = new QuickLRU<string, number>({ maxSize: 5000 });

/** How many seconds an address must wait, as far as this isolate knows; 0 if it is not over the limit. */
export function waitOf(ip: string, now = Date.now()): number {
  const until = over.get(clientOf(ip)) ?? 0;
  return until > now ? Math.ceil((until - now) / 1000) : 0;
}

/** Counts one refused attempt. Returns 0, or how many seconds to wait before the next one. */
export async function countRefused(
  { THROTTLE }: Pick<Env, 'THROTTLE'>,
  ip: string,
  now = Date.now(),
): Promise<number> {
  const known = waitOf(ip, now);
  if (known) return known;
  const client = clientOf(ip);
  const wait = await THROTTLE.getByName(client).refused();
  if (wait) over.set(client, now + wait * 1000);
  return wait;
}

/**
 * Attempts per minute that are counted whether they succeed or not. Many people can share an address, and
 * each starts their own logins.
 */
const ATTEMPTS = { 'device login': 100, 'user code': 20 };

/** Counts one attempt, successful or not. Returns 0, or how many seconds to wait before the next one. */
export const countAttempt = (
  { THROTTLE }: Pick<Env, 'THROTTLE'>,
  what: keyof typeof ATTEMPTS,
  who: string,
): Promise<number> => THROTTLE.getByName(`${what} ${who}`).refused(ATTEMPTS[what]).catch(unavailable);

/**
 * Polls of terminal logins from one address, per minute: a hundred terminals that poll every five seconds.
 */
const MOST_POLLS = 1200;

/**
 * Counts one poll of a terminal login, in memory alone. Returns 0, or how many seconds to wait before the
 * next one.
 */
export const countPoll = ({ THROTTLE }: Pick<Env, 'THROTTLE'>, ip: string): Promise<number> =>
  THROTTLE.getByName(`device poll ${clientOf(ip)}`)
    .counted(MOST_POLLS)
    .catch(unavailable);

/** What one address may have checked at a time, where a check takes long. */
const MOST_CHECKS = 10;

interface Checking {
  env: Pick<Env, 'THROTTLE'>;
  request: { ip: string };
  defer(work: Promise<unknown>): void;
}

/**
 * Does a check that takes long, and only then shows whether an attempt is refused: many at once would all be
 * done before the first is counted. Returns how many seconds to wait if an address has too many at a time.
 */
export function checking<T>(context: Checking, check: () => Promise<T>): Promise<T | number> {
  const work = checked(context, check);
  // If the client leaves, the check still ends and gives its place back.
  // safety: left-check-ends
  context.defer(work.catch(() => {}));
  return work;
}

async function checked<T>(
  { env: { THROTTLE }, request: { ip } }: Checking,
  check: () => Promise<T>,
): Promise<T | number> {
  const throttle = THROTTLE.getByName(`check ${clientOf(ip)}`);
  // safety: checks-at-a-time
  if (await throttle.counted(MOST_CHECKS).catch(unavailable)) return 1;
  try {
    return await check();
  } finally {
    await throttle.forget().catch(() => {});
  }
}

function unavailable(): never {
  throw new ApiError(refuse('UNAVAILABLE', { retry_after: 1 }));
}
