// `createVault`: one organisation's vault, for one credential. Invariant: values leave it as `Secret` alone.
import type { components } from './api.js';
import type { Fetch } from './attempt.js';
import { type Api, apiOf } from './client.js';
import { Secret } from './secret.js';
import { type Credential, tokensOf } from './sources.js';
import { Transport } from './transport.js';

/** What {@link createVault} takes. Times are in milliseconds. */
export interface VaultOptions {
  /** The deployment's origin, such as `https://vault.example.com`. */
  url: string;
  /** The organisation's id, `org_…`. */
  org: string;
  /** Who calls. See {@link Credential}. */
  credential: Credential;
  /** The environment that calls mean where they name none: a slug or an id. The organisation's default environment by default. */
  environment?: string;
  /** How often a call is sent again after a failure that may pass. 3 by default. */
  retries?: number;
  /** How long one attempt may take. 30 seconds by default. */
  timeout?: number;
  /** How many calls go at a time; others wait. 6 by default. */
  concurrency?: number;
  /** Kept in the audit log entry of every call, as `X-Access-Reason`. */
  reason?: string;
  /** Used instead of the global `fetch`: a Worker's service binding, a proxy agent, a test. */
  fetch?: Fetch;
}

/** What every method takes. */
export interface CallOptions {
  /** The environment's slug or id. */
  environment?: string;
  /** Ends the call. */
  signal?: AbortSignal;
  /** The reason for this call, in its audit log entry. */
  reason?: string;
  /** The id of an approval (`apr_…`), to repeat the call that it was asked for. */
  approval?: string;
}

/** How {@link Vault.set} stores a value. */
export interface SetOptions extends CallOptions {
  /** The secret's type: `generic` where a new secret gives none. */
  type?: components['schemas']['SecretPut']['type'];
  description?: string | null;
  tags?: Record<string, string>;
  /** A lifetime from now on, in seconds; `null` for none. */
  ttlSeconds?: number | null;
  /** Replaces this version only; any other is a {@link ConflictError} with `VERSION_CONFLICT`. */
  version?: number;
  /** Creates only: a name that exists is a {@link ConflictError}. */
  create?: boolean;
}

/** A secret without its value. */
export type SecretInfo = components['schemas']['Secret'];

/** One organisation's vault. Made by {@link createVault}. */
export interface Vault {
  /** The organisation's id. */
  readonly org: string;
  /** Every operation of the vault, typed. */
  readonly api: Api;
  /**
   * Reads a secret by its name.
   *
   * @example
   * const secret = await vault.get('DATABASE_URL');
   * connect(secret.reveal());
   */
  get(name: string, options?: CallOptions): Promise<Secret>;
  /**
   * Creates a secret, or gives the one of that name a new value.
   *
   * @example
   * await vault.set('SMTP_PASSWORD', await readLine(), { type: 'password' });
   */
  set(name: string, value: string | Secret, options?: SetOptions): Promise<SecretInfo>;
}

/**
 * Opens an organisation's vault. Nothing is sent before the first call.
 *
 * @example
 * const vault = createVault({
 *   url: 'https://vault.example.com',
 *   org: 'org_6TuVw7XyZa8BcDe9FgHi0j',
 *   credential: process.env.VAULT_KEY,
 * });
 * const secret = await vault.get('DATABASE_URL');
 */
export function createVault(options: VaultOptions): Vault {
  const url = originOf(options.url);
  const { org } = options;
  const transport = new Transport({
    fetch: options.fetch,
    retries: options.retries ?? 3,
    timeout: options.timeout ?? 30_000,
    concurrency: options.concurrency ?? 6,
    reason: options.reason,
  });
  const tokens = tokensOf(options.credential, { url, org, transport });
  const api = apiOf(url, (request) => transport.send(request, { tokens }));
  const environmentOf = (call: CallOptions) => call.environment ?? options.environment;

  return {
    org,
    api,
    async get(name, call = {}) {
      const { data } = await api.GET('/orgs/{org_id}/secrets/by-name/{name}', {
        params: { path: { org_id: org, name }, query: { environment: environmentOf(call) } },
        headers: headersOf(call),
        signal: call.signal,
      });
      return new Secret(data.value, data);
    },
    async set(name, value, call = {}) {
      const { type, description, tags, ttlSeconds, version, create } = call;
      const { data } = await api.PUT('/orgs/{org_id}/secrets/by-name/{name}', {
        params: { path: { org_id: org, name }, query: { environment: environmentOf(call) } },
        headers: {
          ...headersOf(call),
          ...(version !== undefined && { 'If-Match': `"v${version}"` }),
          ...(create && { 'If-None-Match': '*' }),
        },
        body: { value: typeof value === 'string' ? value : value.reveal(), type, description, tags, ttlSeconds },
        signal: call.signal,
      });
      return data;
    },
  };
}

/** The headers of a call's options. */
const headersOf = ({ reason, approval }: CallOptions): Record<string, string> => ({
  ...(reason !== undefined && { 'X-Access-Reason': reason }),
  ...(approval !== undefined && { 'Approval-Id': approval }),
});

/** An address without a path; http only where nothing but this machine listens, since a token would be readable on the way. */
function originOf(text: string): string {
  const url = new URL(text);
  if (url.protocol !== 'https:' && url.protocol !== 'http:') throw new TypeError('url must begin with https://');
  if (url.username || url.password || url.search || url.hash)
    throw new TypeError('url must be an origin, such as https://vault.example.com');
  return `${url.origin}${url.pathname.replace(/\/+$/, '')}`;
}
