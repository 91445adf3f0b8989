// One HTTP attempt with a timeout. Invariants: a response is returned only after its whole body has arrived,
// except a stream where the caller takes one; no body takes more memory than the largest response of a vault;
// a redirect is never followed, so a token is sent only to the vault; the caller's signal aborts the attempt
// immediately.
import { ConnectionError, VaultError } from '../api/errors.js';

/** A request that can be sent more than once. */
export interface Outgoing {
  method: string;
  url: string;
  headers: Headers;
  body: ArrayBuffer | undefined;
  signal: AbortSignal | undefined;
  /** The request itself: in Node its signal follows the caller's only while the request is reachable. */
  request: Request;
  /** Whether a body of one of the types of streams is left to the caller, who bounds it. */
  mayStream?: boolean;
}

/**
 * The platform's `fetch`, or a replacement for it.
 *
 * @example
 * createVault({ url, org, credential, fetch: (input, init) => proxied(input, init) });
 */
export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

/** Content types of bodies that are read as they arrive. */
const STREAMS = ['text/event-stream', 'application/x-ndjson'];
/**
 * The request of each stream, which keeps it reachable as long as its body: otherwise nothing could abort the
 * stream.
 */
const requests = new WeakMap<ReadableStream, Request>();
/** Statuses without a body. */
const EMPTY = [204, 304];
/**
 * The largest body of a response: the vault answers with up to 16 MiB of values, whose bytes take up to seven
 * characters each (a control character of a file in a JSON text), and with their names.
 */
const LARGEST = 128 * 1024 * 1024;
/** The largest body of a refusal. */
const LARGEST_REFUSAL = 1024 * 1024;

/**
 * Sends a request once.
 * @throws ConnectionError if there is no complete response; the signal's reason, if the signal aborted the
 *   request.
 */
export async function attempt(
  fetch: Fetch,
  { method, url, headers, body, signal, request, mayStream }: Outgoing,
  timeout: number,
): Promise<Response> {
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
    if (
      response.type === 'opaqueredirect' ||
      (response.status >= 300 && response.status < 400 && response.status !== 304)
    )
      throw new ConnectionError(
        'The URL redirects to another address. Tokens are not sent to redirect targets: set url to the final address.',
        {
          code: 'CONNECTION_FAILED',
          status: response.status,
        },
      );
    const isStream = STREAMS.some((type) => response.headers.get('Content-Type')?.startsWith(type));
    if (response.ok && mayStream && isStream) {
      keepsSignal = true;
      if (response.body) requests.set(response.body, request);
      return response;
    }
    const whole = await bodyOf(response);
    return new Response(EMPTY.includes(response.status) ? null : whole, {
      status: response.status,
      headers: response.headers,
    });
  } catch (error) {
    if (signal?.aborted) throw signal.reason;
    if (error instanceof VaultError) throw error;
    throw isLate
      ? new ConnectionError(`The vault did not respond within ${timeout} ms.`, {
          code: 'TIMED_OUT',
          status: 0,
        })
      : new ConnectionError('The connection to the vault failed.', {
          code: 'CONNECTION_FAILED',
          status: 0,
          cause: error,
        });
  } finally {
    clearTimeout(timer);
    if (!keepsSignal) signal?.removeEventListener('abort', onAbort);
  }
}

/** The whole body. Refuses one that is too large as soon as that is known. */
async function bodyOf({ body, headers, ok, status }: Response): Promise<Uint8Array<ArrayBuffer>> {
  const most = ok ? LARGEST : LARGEST_REFUSAL;
  const chunks: Uint8Array[] = [];
  const reader = body?.getReader();
  let size = 0;
  while (reader) {
    if (Math.max(size, Number(headers.get('Content-Length'))) > most) {
      reader.cancel().catch(() => {});
      const message = 'The response is larger than any response of a vault: check the URL and any proxies.';
      throw new VaultError(message, { code: 'UNEXPECTED_RESPONSE', status });
    }
    const { done, value } = await reader.read();
    if (done) break;
    chunks.push(value);
    size += value.byteLength;
  }
  const whole = new Uint8Array(size);
  let at = 0;
  for (const chunk of chunks) {
    whole.set(chunk, at);
    at += chunk.byteLength;
  }
  return whole;
}
