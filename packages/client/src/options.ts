// The options of the public functions, and their results.
import type { components } from './api/openapi.js';
import type { Credential } from './credentials/sources.js';
import type { Secret } from './secret.js';
import type { Fetch } from './transport/attempt.js';

type SecretSchema = components['schemas']['Secret'];

/**
 * Options of {@link createVault}. Times are in milliseconds.
 *
 * @example
 * const vault = createVault({ url, org, credential, environment: 'production', cache: 'watch', staleFor: 10 * 60_000 });
 */
export interface VaultOptions {
  /** The deployment's origin, such as `https://vault.example.com`. */
  url: string;
  /** The organisation's id, `org_…`. */
  org: string;
  /** The credential to authenticate with. See {@link Credential}. */
  credential: Credential;
  /**
   * The environment for calls that do not name one: a slug or an id. Default: the organisation's default
   * environment.
   */
  environment?: string;
  /**
   * Whether reads may be cached. With `'watch'`, the client opens the event stream at the first read, and
   * returns reads from memory until an event reports a change; call {@link Vault.close} when done. With
   * `true`, the default, the vault is asked at each read, unless {@link Vault.onChange} has opened the
   * stream; {@link Vault.values} sends an ETag. With `false`, nothing is cached.
   */
  cache?: boolean | 'watch';
  /** How long a cached read is returned without revalidation if there is no event stream. Default: 0. */
  maxAge?: number;
  /**
   * How long the last known value is returned while the vault is unreachable. Default: 0, so a read fails if
   * the vault is unreachable. This is also how long a credential that is revoked in the meantime can read the
   * values in this process's memory.
   */
  staleFor?: number;
  /** How often a call is retried after a temporary failure. Default: 3. */
  retries?: number;
  /**
   * The longest `Retry-After` that a call waits for. If it is longer, the call fails immediately. Default: 61
   * seconds.
   */
  maxRetryAfter?: number;
  /** The timeout of one attempt. Default: 30 seconds. */
  timeout?: number;
  /** The maximum number of concurrent requests; others wait. Default: 6. */
  concurrency?: number;
  /** The reason for every call, sent as `X-Access-Reason` and recorded in the audit log. */
  reason?: string;
  /**
   * A replacement for the global `fetch`, for example a proxy agent or a test.
   */
  fetch?: Fetch;
}

/**
 * A service binding to the entrypoint `Vault` of a vault on the same Cloudflare account, such as `env.VAULT`.
 *
 * @example
 * const vault = createVault({ binding: env.VAULT });
 */
export interface VaultBinding {
  /** Sends a request to the vault, in the name that the binding's `props` give. */
  fetch(url: string, init?: object): Promise<unknown>;
}

/**
 * Options of {@link createVault} in a Worker with a service binding, which needs neither an address nor a
 * credential.
 *
 * @example
 * const vault = createVault({ binding: env.VAULT, environment: 'production' });
 */
export interface BoundOptions extends Omit<VaultOptions, 'url' | 'org' | 'credential' | 'fetch'> {
  /** The binding to the entrypoint `Vault`. */
  binding: VaultBinding;
  /** The organisation's id, `org_…`. Without it, the first call asks the vault once for each isolate. */
  org?: string;
}

/**
 * Options of every method.
 *
 * @example
 * await vault.get('DATABASE_URL', { environment: 'staging', reason: 'incident 42', signal: AbortSignal.timeout(2_000) });
 */
export interface CallOptions {
  /** The environment's slug or id. */
  environment?: string;
  /** Aborts the call. */
  signal?: AbortSignal;
  /** The reason for this call, recorded in the audit log. A read with a reason is never cached. */
  reason?: string;
  /**
   * What this call is for, as an approver needs to see it, such as the whole command that a program runs: 1
   * to 8,000 printable ASCII characters. If a policy holds the call, approvers are shown it, and the approval
   * is only for calls with the same text. Never cached either.
   */
  call?: string;
  /** The id of an approval (`apr_…`), to repeat the call that it approves. */
  approval?: string;
}

/**
 * Options of {@link Vault.find}.
 *
 * @example
 * await vault.find('DATABASE_URL', { environment: 'staging' });
 */
export type FindOptions = Omit<CallOptions, 'approval' | 'call'>;

/**
 * Options of {@link Vault.values}.
 *
 * @example
 * await vault.values({ environment: 'production', prefix: 'billing/' });
 */
export interface ValuesOptions extends CallOptions {
  /** Only names that begin with this, or with one of these: up to 10. */
  prefix?: string | readonly string[];
}

/**
 * Options of {@link Vault.set}.
 *
 * @example
 * await vault.set('SMTP_PASSWORD', password, { type: 'password', tags: { team: 'mail' }, create: true });
 */
export interface SetOptions extends CallOptions {
  /** The secret's type. Default for a new secret: `generic`. */
  type?: components['schemas']['SecretPut']['type'];
  /** The purpose of the secret. It is not encrypted. */
  description?: string | null;
  /** Labels for searching. They are not encrypted. */
  tags?: Record<string, string>;
  /** The lifetime from now, in seconds; `null` for no expiry. */
  ttlSeconds?: number | null;
  /**
   * Replaces the secret only if it has this ETag; otherwise throws a {@link ConflictError} with
   * `VERSION_CONFLICT`.
   */
  ifMatch?: string;
  /** Only creates: throws a {@link ConflictError} if the name exists. */
  create?: boolean;
}

/**
 * Options of {@link Vault.rotate}.
 *
 * @example
 * await vault.rotate('SESSION_KEY', { generate: { length: 48 } });
 */
export interface RotateOptions extends CallOptions {
  /** The new value. If omitted, the vault generates one, for types that allow it. */
  value?: string | Secret;
  /** How to generate the value. */
  generate?: components['schemas']['Rotate']['generate'];
  /** Rotates the secret only if it has this ETag. */
  ifMatch?: string;
}

/**
 * A secret without its value.
 *
 * @example
 * const { version, updated_at } = await vault.set('SMTP_PASSWORD', password);
 * console.log(`version ${version}, ${updated_at}`);
 */
export interface SecretInfo extends SecretSchema {}

/**
 * The result of {@link Vault.rotate}.
 *
 * @example
 * const { info, secret } = await vault.rotate('SESSION_KEY');
 * console.log(`version ${info.version}`);
 * restartWith(secret?.reveal());
 */
export interface Rotated {
  /** The secret with its new version. */
  info: SecretInfo;
  /** The value, if the vault generated it. */
  secret: Secret | null;
  /** The public key, if the vault generated a key pair. */
  publicKey: string | null;
}
