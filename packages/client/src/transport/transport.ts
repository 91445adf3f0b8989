// Sends calls to the vault: credential, retries and concurrency. Invariants: all attempts of a change have
// the same Idempotency-Key and, unless the vault refuses it, the same token, because a stored response shows
// a one-time value only to that token; every refusal becomes an error.
import { CredentialError, errorOf, VaultError } from '../api/errors.js';
import { Slots, sleep } from '../wait.js';
import { attempt, type Fetch, type Outgoing } from './attempt.js';
import { delayBefore, isRepeatable, takesKey } from './retry.js';

/** The tokens of a credential. */
export interface Tokens {
  /** The token for a call. */
  current(signal?: AbortSignal): Promise<string>;
  /** A new token after the vault refused one; null if there is none. */
  after(refused: string, signal?: AbortSignal): Promise<string | null>;
}

export interface TransportOptions {
  fetch: Fetch | undefined;
  retries: number;
  maxRetryAfter: number;
  timeout: number;
  concurrency: number;
  reason: string | undefined;
}

/** Options of one call. */
export interface CallOptions {
  /** The source of its token; `null` for none. */
  tokens: Tokens | null;
  retries?: number;
  timeout?: number;
  /** Whether it may be retried although it may have taken effect. */
  repeatable?: boolean;
  /** Whether the response is the event stream, which does not occupy a slot. */
  isStream?: boolean;
  /** Whether the caller reads a response that is a stream as it arrives. */
  mayStream?: boolean;
}

export class Transport {
  readonly #options: TransportOptions;
  readonly #slots: Slots;

  constructor(options: TransportOptions) {
    this.#options = options;
    this.#slots = new Slots(options.concurrency);
  }

  /**
   * Sends a call, with retries.
   * @returns a response with status 2xx or 304
   * @throws VaultError for every other outcome
   */
  async send(request: Request, call: CallOptions): Promise<Response> {
    const { retries = this.#options.retries } = call;
    const outgoing = await this.#outgoing(request);
    const repeatable = call.repeatable ?? isRepeatable(outgoing.method, outgoing.headers);
    const { signal } = outgoing;
    let token = (await call.tokens?.current(signal)) ?? null;
    let renewed = false;
    let isRepeat = false;
    for (let attempts = 1; ; attempts++) {
      try {
        return await this.#once(outgoing, token, call);
      } catch (error) {
        if (isRepeat && outgoing.method === 'DELETE' && error instanceof VaultError && error.status === 404)
          return new Response(null, { status: 204 });
        if (!renewed && token && call.tokens && isRefusedToken(error)) {
          renewed = true;
          token = await call.tokens.after(token, signal);
          if (!token) throw error;
          attempts--;
          continue;
        }
        const delay =
          attempts > retries ? null : delayBefore(error, repeatable, attempts, this.#options.maxRetryAfter);
        if (delay === null) throw error;
        isRepeat ||= (error as VaultError).status !== 429;
        await sleep(delay, signal);
      }
    }
  }

  /** A request whose body can be sent again, with the common headers. */
  async #outgoing(request: Request): Promise<Outgoing> {
    const { method, url, signal } = request;
    const headers = new Headers(request.headers);
    if (this.#options.reason !== undefined && !headers.has('X-Access-Reason'))
      headers.set('X-Access-Reason', this.#options.reason);
    if (takesKey(method, new URL(url).pathname) && !headers.has('Idempotency-Key'))
      headers.set('Idempotency-Key', newKey());
    const body = method === 'GET' || method === 'HEAD' ? undefined : await request.arrayBuffer();
    return { method, url, headers, body: body?.byteLength ? body : undefined, signal, request };
  }

  /** One attempt, when a slot is free. */
  async #once(outgoing: Outgoing, token: string | null, call: CallOptions): Promise<Response> {
    const headers = new Headers(outgoing.headers);
    if (token !== null && !headers.has('Authorization'))
      headers.set('Authorization', `Bearer ${wellFormed(token)}`);
    const send = this.#options.fetch ?? ((url, init) => globalThis.fetch(url, init));
    const task = async () => {
      const response = await attempt(
        send,
        { ...outgoing, headers, mayStream: call.isStream || call.mayStream },
        call.timeout ?? this.#options.timeout,
      );
      if (response.ok || (response.status === 304 && headers.has('If-None-Match'))) return response;
      throw await errorOf(response);
    };
    return call.isStream ? task() : this.#slots.run(task, outgoing.signal);
  }
}

/** The token. Refuses one that no header can hold: the platform's own error would quote it. */
export function wellFormed(token: string): string {
  if (/^[\x21-\x7e]+$/.test(token)) return token;
  const message =
    'The token contains a line break, a space or another character that no token has. Check where it is read from.';
  throw new CredentialError(message, { code: 'MALFORMED_CREDENTIAL', status: 0 });
}

/** A 401 that a new token of the same credential may fix. */
const isRefusedToken = (error: unknown) =>
  error instanceof VaultError && error.status === 401 && !error.code.startsWith('DEVICE_PROOF_');

/** A unique idempotency key. */
function newKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return `svc-${Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')}`;
}
