// One HTTP exchange, with a limit in time. Invariants: a response is handed on only when its body has arrived whole, streams apart; a redirect
// is never followed, so that a token goes nowhere but to the vault; and the caller's signal ends the exchange at once.
import { ConnectionError } from './errors.js';

/** A request that can be sent more than once. */
export interface Outgoing {
  method: string;
  url: string;
  headers: Headers;
  body: ArrayBuffer | undefined;
  signal: AbortSignal | undefined;
}

/**
 * The `fetch` of the platform, or what stands in for it.
 *
 * @example
 * createVault({ url, org, credential, fetch: (input, init) => env.VAULT.fetch(input, init) });
 */
export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

/** Bodies that have no end, or whose reader wants the parts as they come. */
const STREAMS = ['text/event-stream', 'application/x-ndjson'];
/** Statuses that have no body. */
const EMPTY = [204, 304];

/**
 * Sends a request once.
 * @throws ConnectionError without a whole response; the reason of the signal, if that has ended it.
 */
export async function attempt(fetch: Fetch, { method, url, headers, body, signal }: Outgoing, timeout: number): Promise<Response> {
  signal?.throwIfAborted();
  const ending = new AbortController();
  const onAbort = () => ending.abort(signal?.reason);
  signal?.addEventListener('abort', onAbort, { once: true });
  let isLate = false;
  const timer = setTimeout(() => {
    isLate = true;
    ending.abort();
  }, timeout);
  let keepsSignal = false;
  try {
    const response = await fetch(url, { method, headers, body, redirect: 'manual', signal: ending.signal });
    if (response.type === 'opaqueredirect' || (response.status >= 300 && response.status < 400 && response.status !== 304))
      throw new ConnectionError('The URL redirects elsewhere, and a token is not sent on: set url to the final address.', {
        code: 'CONNECTION_FAILED',
        status: response.status,
      });
    if (response.ok && STREAMS.some((type) => response.headers.get('Content-Type')?.startsWith(type))) {
      keepsSignal = true;
      return response;
    }
    const whole = await response.arrayBuffer();
    return new Response(EMPTY.includes(response.status) ? null : whole, { status: response.status, headers: response.headers });
  } catch (error) {
    if (signal?.aborted) throw signal.reason;
    if (error instanceof ConnectionError) throw error;
    throw isLate
      ? new ConnectionError(`The vault did not answer within ${timeout} ms.`, { code: 'TIMED_OUT', status: 0 })
      : new ConnectionError('The connection to the vault failed.', { code: 'CONNECTION_FAILED', status: 0, cause: error });
  } finally {
    clearTimeout(timer);
    if (!keepsSignal) signal?.removeEventListener('abort', onAbort);
  }
}
