// The kinds of credentials and their tokens. Invariants: an OIDC token is sent only to the operation that
// exchanges it for a session token, and an API key reads nothing until its last minute; a new terminal
// session is saved before its token is used.
import { apiOf } from '../api/client.js';
import { documented } from '../api/documented.js';
import { AuthenticationError, CredentialError, PermissionError } from '../api/errors.js';
import type { CallOptions, Tokens, Transport } from '../transport/transport.js';
import { fixedToken, RenewedTokens, type Token, tokenOf } from './renewal.js';

/**
 * A session of `svc login`, as returned by `POST /auth/device/token` and `POST /auth/refresh`.
 *
 * @example
 * const session: TerminalSession = JSON.parse(await readFile('session.json', 'utf8'));
 */
export interface TerminalSession {
  /** A JWT that is valid for ten minutes. */
  token: string;
  /** When `token` expires, in ISO 8601. */
  expiresAt: string;
  /** Valid once: each refresh returns the next one. */
  refresh_token: string;
}

/**
 * Storage for a terminal session. Several processes may share it.
 *
 * @example
 * const terminal: TerminalStore = {
 *   load: async () => JSON.parse(await keychain.get('vault')),
 *   save: (session) => keychain.set('vault', JSON.stringify(session)),
 * };
 * createVault({ url, org, credential: { terminal } });
 */
export interface TerminalStore {
  /**
   * The current session, or null. Called before each refresh, because another process may have refreshed it.
   */
  load(): Promise<TerminalSession | null> | TerminalSession | null;
  /** Stores a new session. The client waits for this before it uses the new token. */
  save(session: TerminalSession): Promise<void> | void;
}

/**
 * An OIDC token of the platform that runs this program, accepted by a trust of the organisation.
 *
 * @example
 * createVault({ url, org, credential: { oidc: { file: '/var/run/vault/token' }, trustId: 'trs_6TuVw7XyZa8BcDe9FgHi0j' } });
 */
export interface OidcCredential {
  /**
   * The token, a file that contains it (read each time), a function that returns one, or `'ci'` to find it in
   * the platform's environment.
   */
  oidc: string | { file: string } | (() => Promise<string> | string);
  /** The trust's id, `trs_…`. */
  trustId: string;
  /** The audience, if `'ci'` requests a token from the platform. Default: the deployment's URL. */
  audience?: string;
}

/**
 * The credential of the caller:
 * - an API key (`svc_live_…`): the client exchanges it for session tokens, and renews them;
 * - any other token (agent, session, break-glass): sent directly;
 * - an {@link OidcCredential}: exchanged for a session token;
 * - a {@link TerminalStore}: a member's session from `svc login`;
 * - a {@link TokenSource}: tokens that the caller manages, such as those of a browser session.
 *
 * @example
 * createVault({ url, org, credential: process.env.VAULT_KEY });
 * createVault({ url, org, credential: { oidc: 'ci', trustId: 'trs_6TuVw7XyZa8BcDe9FgHi0j' } });
 */
export type Credential = string | OidcCredential | { terminal: TerminalStore } | TokenSource;

/**
 * Tokens that the caller manages, such as those of a browser session.
 *
 * @example
 * createVault({ url, org, credential: { current: async () => session.token, after: async () => (await session.renew()).token } });
 */
export interface TokenSource {
  /** The token for a call. */
  current(signal?: AbortSignal): Promise<string>;
  /** A new token after the vault refused one; null if there is none. */
  after(refused: string, signal?: AbortSignal): Promise<string | null>;
}

/** The vault that issues the tokens. */
export interface Home {
  url: string;
  org: string;
  transport: Transport;
}

/**
 * The lifetime of a session token of an API key, in seconds. It is short because a process that exits leaves
 * the token behind.
 */
const SESSION_TTL = 900;
/** The shortest lifetime that the vault gives a session token, in seconds. */
const SHORTEST_TTL = 60;
/**
 * The vault accepts the same refresh token twice within 10 seconds, for lost responses; later reuse ends the
 * session. Two attempts fit.
 */
const REFRESH = { timeout: 4_000, retries: 1, repeatable: true };
/** What every issued token has. */
const ISSUED = { token: 'string', expiresAt: 'string' } as const;
/** The minimum remaining lifetime of a stored token, in milliseconds. */
const SPARE = 30_000;

/** The tokens of a credential. */
export function tokensOf(credential: Credential, home: Home): Tokens {
  // Programs without types pass a variable of the environment that is not set.
  const missing = home.org == null ? 'org' : !credential && 'credential';
  if (missing) throw new TypeError(`${missing} is missing: check that its environment variable is set.`);
  if (typeof credential !== 'string') {
    // The error about `in` would quote what is no object.
    const isObject = typeof credential === 'object';
    if (isObject && 'current' in credential) return credential;
    if (isObject && 'terminal' in credential) return terminalTokens(credential.terminal, home);
    if (isObject && 'oidc' in credential && credential.trustId) return exchanged(credential, home);
    throw new TypeError(
      'credential must be a token, or an object with oidc and trustId, terminal, or current and after.',
    );
  }
  return credential.startsWith('svc_live_') ? sessionsOf(credential, home) : fixedToken(credential);
}

/** Session tokens of an API key. */
function sessionsOf(key: string, { url, org, transport }: Home): Tokens {
  const api = apiOf(url, (request) => transport.send(request, { tokens: fixedToken(key) }));
  const mint = async (ttlSeconds: number) => {
    const { data, response } = await api.POST('/orgs/{org_id}/access-tokens', {
      params: { path: { org_id: org } },
      body: { ttlSeconds },
    });
    const { token, expiresAt } = documented(data, ISSUED);
    return tokenOf(token as string, expiresAt, response);
  };
  return new RenewedTokens(async () => {
    try {
      return await mint(SESSION_TTL);
    } catch (error) {
      if (!(error instanceof PermissionError) || error.code !== 'SCOPE_EXCEEDS_PARENT') throw error;
      // A session token cannot outlive its key, and this key expires soon. In its last minute it is used
      // itself.
      const { data, response } = await api.GET('/whoami');
      if (data.expires_at === null) throw error;
      const rest = tokenOf(key, data.expires_at, response);
      // The Date header is in whole seconds, and the next request takes time too.
      const left = Math.floor((rest.until - Date.now()) / 1000) - 2;
      return left < SHORTEST_TTL ? { ...rest, renewAt: rest.until } : mint(Math.min(left, SESSION_TTL));
    }
  });
}

/** Session tokens that a trust issues for an OIDC token. Each exchange uses a fresh OIDC token. */
function exchanged({ oidc, trustId, audience }: OidcCredential, home: Home): Tokens {
  const find = async () => {
    if (typeof oidc === 'function') return oidc();
    if (typeof oidc === 'string' && oidc !== 'ci') return oidc;
    // Only where it is needed: browsers never load it.
    const { fileToken, platformToken } = await import('./ci.js');
    return oidc === 'ci' ? platformToken(audience ?? home.url) : fileToken(oidc.file);
  };
  return new RenewedTokens(async () => {
    const token = await find();
    const { data, response } = await signIn(home, 'exchange', { org_id: home.org, trust_id: trustId, token });
    return tokenOf(data.token, data.expiresAt, response);
  });
}

/** Tokens of a member's session, whose refresh token changes with each use. */
function terminalTokens(store: TerminalStore, home: Home): Tokens {
  const load = async () => {
    const session = await store.load();
    if (session) return session;
    throw new CredentialError('There is no session: sign in with svc login.', {
      code: 'NO_CREDENTIAL',
      status: 0,
    });
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
      // Another process may have used the refresh token in the meantime and stored the new session.
      const now = await load();
      if (now.refresh_token === session.refresh_token) throw error;
      const theirs = tokenOf(now.token, now.expiresAt);
      return now.token !== refused && Date.now() < theirs.until - SPARE ? theirs : refreshed(now);
    }
  });
}

/**
 * A sign-in request, without a token. If the response of an exchange is lost, its session is unused and
 * expires on its own.
 */
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
  const data = (await response.json().catch(() => undefined)) as TerminalSession;
  return {
    data: documented(data, at === 'refresh' ? { ...ISSUED, refresh_token: 'string' } : ISSUED),
    response,
  };
}
