// How long a target asks to wait, in all the ways that vendors report it:
// https://www.rfc-editor.org/rfc/rfc9110#section-10.2.3 and vendor headers and fields. Invariant: unreadable
// data counts as absent.

/** The parts of a response that may contain it. */
export interface Refusal {
  status: number;
  headers: Headers;
  /** The body as JSON; undefined if it is not JSON. */
  body: unknown;
}

const RESETS = ['x-ratelimit-reset', 'ratelimit-reset'];

/**
 * Milliseconds that a refusal asks to wait, regardless of its status; null if it does not say so readably.
 */
export function waitOf({ status, headers, body }: Refusal, now: number): number | null {
  const wait =
    retryAfter(headers.get('retry-after'), now) ??
    (isLimit(status, headers) ? (resetOf(headers, now) ?? inBody(body, now)) : null);
  return wait !== null && wait <= YEAR ? wait : null;
}

/** Longer times are ignored. */
const YEAR = 365 * 86_400_000;

const isLimit = (status: number, headers: Headers): boolean =>
  status === 429 || (status < 500 && headers.get('x-ratelimit-remaining') === '0');

/** Seconds, or a date. */
function retryAfter(text: string | null, now: number): number | null {
  if (text === null) return null;
  const seconds = numberIn(text);
  if (seconds !== null) return seconds * 1000;
  const date = /^[A-Z][a-z]{2}/.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(date) ? null : Math.max(0, date - now);
}

function resetOf(headers: Headers, now: number): number | null {
  for (const name of RESETS) {
    const wait = moment(headers.get(name), now);
    if (wait !== null) return wait;
  }
  return null;
}

interface Fields {
  retry_after?: unknown;
  parameters?: { retry_after?: unknown } | null;
  error?: { limit?: { reset?: unknown; resetMs?: unknown } | null } | null;
}

/** The fields of Discord, Telegram and Vercel. */
function inBody(body: unknown, now: number): number | null {
  if (typeof body !== 'object' || body === null) return null;
  const { retry_after, parameters, error } = body as Fields;
  const seconds = numberIn(retry_after) ?? numberIn(parameters?.retry_after);
  if (seconds !== null) return seconds * 1000;
  return moment(error?.limit?.resetMs, now) ?? moment(error?.limit?.reset, now);
}

/**
 * A time or a duration: over a billion it is the Unix time in seconds, over a trillion in milliseconds,
 * otherwise seconds from now.
 */
function moment(value: unknown, now: number): number | null {
  const number = numberIn(value);
  if (number === null) return null;
  if (number > 1e12) return Math.max(0, number - now);
  return number > 1e9 ? Math.max(0, number * 1000 - now) : number * 1000;
}

function numberIn(value: unknown): number | null {
  const number = typeof value === 'string' && /^\s*\d+(\.\d+)?\s*$/.test(value) ? Number(value) : value;
  return typeof number === 'number' && Number.isFinite(number) && number >= 0 ? number : null;
}
