// Tokens and their renewal. Invariants: concurrent calls share one renewal; a call's signal never aborts a
// renewal that others wait for; a token is renewed before it expires, or once when the vault refuses it.
import { AuthenticationError, VaultError } from '../api/errors.js';
import type { Tokens } from '../transport/transport.js';
import { orAborted } from '../wait.js';

/** A token and its lifetime. */
export interface Token {
  token: string;
  /** When it expires, in milliseconds of this machine's clock. */
  until: number;
  /** When to fetch a new one. */
  renewAt: number;
}

/** A token that is never renewed. */
export const fixedToken = (token: string): Tokens => ({
  current: async () => token,
  after: async () => null,
});

/** Tokens that `renew` fetches. */
export class RenewedTokens implements Tokens {
  readonly #renew: (refused: string | null) => Promise<Token>;
  #held: Token | null = null;
  #renewal: Promise<Token> | null = null;

  constructor(renew: (refused: string | null) => Promise<Token>) {
    this.#renew = renew;
  }

  async current(signal?: AbortSignal): Promise<string> {
    const held = this.#held;
    const now = Date.now();
    if (held && now < held.renewAt) return held.token;
    const renewal = this.#fetch(null);
    if (!held || now >= held.until) return (await orAborted(renewal, signal)).token;
    // The old token is still valid: use it if the renewal fails temporarily.
    return (
      await orAborted(renewal, signal).catch((error) => (isTemporary(error) ? held : Promise.reject(error)))
    ).token;
  }

  async after(refused: string, signal?: AbortSignal): Promise<string | null> {
    if (this.#held && this.#held.token !== refused) return this.#held.token;
    this.#held = null;
    return (await orAborted(this.#fetch(refused), signal)).token;
  }

  #fetch(refused: string | null): Promise<Token> {
    this.#renewal ??= this.#renew(refused)
      .then((token) => {
        this.#held = token;
        return token;
      })
      .finally(() => {
        this.#renewal = null;
      });
    return this.#renewal;
  }
}

const isTemporary = (error: unknown) =>
  error instanceof VaultError &&
  !(error instanceof AuthenticationError) &&
  (error.status === 0 || error.status === 429 || error.status >= 500);

/**
 * A token issued by the vault. Its lifetime is counted from the response's Date header, so a wrong clock on
 * this machine does not matter.
 * @param expiresAt ISO 8601
 */
export function tokenOf(token: string, expiresAt: string, response?: Response): Token {
  const now = Date.now();
  const issued = Date.parse(response?.headers.get('Date') ?? '') || now;
  const left = Math.max(0, Date.parse(expiresAt) - issued);
  return { token, until: now + left, renewAt: now + Math.max(left * 0.8, left - 120_000) };
}
