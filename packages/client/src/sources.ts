// The kinds of credential, and the tokens of each. Invariants: an API key and an OIDC token are sent only to the one operation that makes
// session tokens of them; a new terminal session is saved before its token is used.
import { fileToken, platformToken } from './ci.js';
import { apiOf } from './client.js';
import { fixedToken, RenewedTokens, type Token, type Tokens, tokenOf } from './credentials.js';
import { AuthenticationError, CredentialError } from './errors.js';
import type { CallOptions, Transport } from './transport.js';

/**
 * A session of `svc login`, as `POST /auth/device/token` and `POST /auth/refresh` answer it.
 *
 * @example
 * const session: TerminalSession = JSON.parse(await readFile('session.json', 'utf8'));
 */
export interface TerminalSession {
  /** A JWT of ten minutes. */
  token: string;
  /** When `token` ends, in ISO 8601. */
  expiresAt: string;
  /** Serves once: each refresh gives the next one. */
  refresh_token: string;
}

/**
 * Where a terminal session is kept. Several processes may share it.
 *
 * @example
 * const terminal: TerminalStore = {
 *   load: async () => JSON.parse(await keychain.get('vault')),
 *   save: (session) => keychain.set('vault', JSON.stringify(session)),
 * };
 * createVault({ url, org, credential: { terminal } });
 */
export interface TerminalStore {
  /** The session that is kept now, or null. Called before each refresh, since another process may have refreshed. */
  load(): Promise<TerminalSession | null> | TerminalSession | null;
  /** Keeps a new session. The client awaits it before it uses the new token. */
  save(session: TerminalSession): Promise<void> | void;
}

/**
 * An OIDC token of the platform that runs this program, which a trust of the organisation accepts.
 *
 * @example
 * createVault({ url, org, credential: { oidc: { file: '/var/run/vault/token' }, trustId: 'trs_6TuVw7XyZa8BcDe9FgHi0j' } });
 */
export interface OidcCredential {
  /**
   * The token, a file that holds it (read anew each time), a function that gets one, or `'ci'`: found in the environment of the platform.
   */
  oidc: string | { file: string } | (() => Promise<string> | string);
  /** The trust's id, `trs_…`. */
  trustId: string;
  /** Who the token is for, where `'ci'` asks the platform for one. The deployment's URL by default. */
  audience?: string;
}

/**
 * Who calls:
 * - an API key (`svc_live_…`): the client makes session tokens of it, and renews them;
 * - any other token (an agent's, a session's, break-glass): used as it is;
 * - an {@link OidcCredential}: exchanged for a session token;
 * - a {@link TerminalStore}: a person's session, made by `svc login`;
 * - a {@link TokenSource}: tokens that the caller keeps itself, such as those of a browser session.
 *
 * @example
 * createVault({ url, org, credential: process.env.VAULT_KEY });
 * createVault({ url, org, credential: { oidc: 'ci', trustId: 'trs_6TuVw7XyZa8BcDe9FgHi0j' } });
 */
export type Credential = string | OidcCredential | { terminal: TerminalStore } | TokenSource;

/**
 * Tokens that the caller keeps itself, such as those of a browser session.
 *
 * @example
 * createVault({ url, org, credential: { current: async () => session.token, after: async () => (await session.renew()).token } });
 */
export interface TokenSource {
  /** A token for a call. */
  current(signal?: AbortSignal): Promise<string>;
  /** Another token in place of one that the vault refused; null if there is none. */
  after(refused: string, signal?: AbortSignal): Promise<string | null>;
}

/** Where tokens are made. */
export interface Home {
  url: string;
  org: string;
  transport: Transport;
}

/** How long a session token of an API key lasts, in seconds. Short: a process that ends leaves it behind. */
const SESSION_TTL = 900;
/** A refresh token that comes twice within 10 seconds is a lost reply; later it ends the session. Two attempts fit in. */
const REFRESH = { timeout: 4_000, retries: 1, repeatable: true };
/** What a kept token must still be good for, in milliseconds. */
const SPARE = 30_000;

/** The tokens of a credential. */
export function tokensOf(credential: Credential, home: Home): Tokens {
  if (typeof credential !== 'string') {
    if ('current' in credential) return credential;
    return 'terminal' in credential ? terminalTokens(credential.terminal, home) : exchanged(credential, home);
  }
  if (credential === '') throw new TypeError('credential must not be empty: is its environment variable set?');
  return credential.startsWith('svc_live_') ? sessionsOf(credential, home) : fixedToken(credential);
}

/** Session tokens of an API key. */
function sessionsOf(key: string, { url, org, transport }: Home): Tokens {
  const api = apiOf(url, (request) => transport.send(request, { tokens: fixedToken(key) }));
  return new RenewedTokens(async () => {
    const { data, response } = await api.POST('/orgs/{org_id}/access-tokens', {
      params: { path: { org_id: org } },
      body: { ttlSeconds: SESSION_TTL },
    });
    return tokenOf(data.token as string, data.expiresAt, response);
  });
}

/** Session tokens that a trust gives for an OIDC token. Each exchange asks for a fresh one. */
function exchanged({ oidc, trustId, audience }: OidcCredential, home: Home): Tokens {
  const find = async () => {
    if (oidc === 'ci') return platformToken(audience ?? home.url);
    if (typeof oidc === 'string') return oidc;
    return typeof oidc === 'function' ? oidc() : fileToken(oidc.file);
  };
  return new RenewedTokens(async () => {
    const token = await find();
    const { data, response } = await signIn(home, 'exchange', { org_id: home.org, trust_id: trustId, token });
    return tokenOf(data.token, data.expiresAt, response);
  });
}

/** Tokens of a person's session, whose refresh token changes with each use. */
function terminalTokens(store: TerminalStore, home: Home): Tokens {
  const load = async () => {
    const session = await store.load();
    if (session) return session;
    throw new CredentialError('There is no session: sign in with svc login.', { code: 'NO_CREDENTIAL', status: 0 });
  };
  const refreshed = async (session: TerminalSession): Promise<Token> => {
    const body = { refresh_token: session.refresh_token };
    const { data, response } = await signIn(home, 'refresh', body, REFRESH);
    const { token, expiresAt, refresh_token } = data;
    await store.save({ ...session, token, expiresAt, refresh_token });
    return tokenOf(token, expiresAt, response);
  };
  return new RenewedTokens(async (refused) => {
    const session = await load();
    const kept = tokenOf(session.token, session.expiresAt);
    if (session.token !== refused && Date.now() < kept.until - SPARE) return kept;
    try {
      return await refreshed(session);
    } catch (error) {
      if (!(error instanceof AuthenticationError)) throw error;
      // Another process may have used the refresh token meanwhile, and kept what it got.
      const now = await load();
      if (now.refresh_token === session.refresh_token) throw error;
      const theirs = tokenOf(now.token, now.expiresAt);
      return now.token !== refused && Date.now() < theirs.until - SPARE ? theirs : refreshed(now);
    }
  });
}

/** A call that signs in, without a token. An exchange whose reply was lost leaves a session that nobody holds, and it ends by itself. */
async function signIn(
  { url, transport }: Home,
  at: 'exchange' | 'refresh',
  body: object,
  limits: Omit<CallOptions, 'tokens'> = { repeatable: true },
) {
  const request = new Request(`${url}/api/v1/auth/${at}`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify(body),
  });
  const response = await transport.send(request, { tokens: null, ...limits });
  return { data: (await response.json()) as TerminalSession, response };
}
