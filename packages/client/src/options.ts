// What callers pass, and what they get.
import type { components } from './api.js';
import type { Fetch } from './attempt.js';
import type { Secret } from './secret.js';
import type { Credential } from './sources.js';

type SecretSchema = components['schemas']['Secret'];

/**
 * What {@link createVault} takes. Times are in milliseconds.
 *
 * @example
 * const vault = createVault({ url, org, credential, environment: 'production', cache: 'watch', staleFor: 10 * 60_000 });
 */
export interface VaultOptions {
  /** The deployment's origin, such as `https://vault.example.com`. */
  url: string;
  /** The organisation's id, `org_…`. */
  org: string;
  /** Who calls. See {@link Credential}. */
  credential: Credential;
  /** The environment that calls mean where they name none: a slug or an id. The organisation's default environment by default. */
  environment?: string;
  /**
   * Whether reads may come from memory. With `'watch'` the client opens the event stream at the first read, and serves reads from memory until
   * an event says that they changed; call {@link Vault.close} when done. With `true`, the default, each read asks the vault with an ETag,
   * unless {@link Vault.onChange} has opened the stream. With `false` nothing is kept.
   */
  cache?: boolean | 'watch';
  /** How long a read may come from memory without asking the vault while there is no event stream. 0 by default. */
  maxAge?: number;
  /**
   * How long the last known value serves after the vault was last reached. 0 by default: a read fails if the vault cannot be reached. It is
   * also how long a credential that was revoked meanwhile can read what this process has in memory.
   */
  staleFor?: number;
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

/**
 * What every method takes.
 *
 * @example
 * await vault.get('DATABASE_URL', { environment: 'staging', reason: 'incident 42', signal: AbortSignal.timeout(2_000) });
 */
export interface CallOptions {
  /** The environment's slug or id. */
  environment?: string;
  /** Ends the call. */
  signal?: AbortSignal;
  /** The reason for this call, in its audit log entry. A read with a reason always asks the vault. */
  reason?: string;
  /** The id of an approval (`apr_…`), to repeat the call that it was asked for. */
  approval?: string;
}

/**
 * What {@link Vault.values} reads.
 *
 * @example
 * await vault.values({ environment: 'production', prefix: 'billing/' });
 */
export interface ValuesOptions extends CallOptions {
  /** Only names that begin with this. */
  prefix?: string;
}

/**
 * How {@link Vault.set} stores a value.
 *
 * @example
 * await vault.set('SMTP_PASSWORD', password, { type: 'password', tags: { team: 'mail' }, create: true });
 */
export interface SetOptions extends CallOptions {
  /** The secret's type: `generic` where a new secret gives none. */
  type?: components['schemas']['SecretPut']['type'];
  /** What the secret is for. It is not encrypted. */
  description?: string | null;
  /** Labels to find it by. They are not encrypted. */
  tags?: Record<string, string>;
  /** A lifetime from now on, in seconds; `null` for none. */
  ttlSeconds?: number | null;
  /** Replaces what has this ETag only; anything else is a {@link ConflictError} with `VERSION_CONFLICT`. */
  ifMatch?: string;
  /** Creates only: a name that exists is a {@link ConflictError}. */
  create?: boolean;
}

/**
 * How {@link Vault.rotate} finds the new value.
 *
 * @example
 * await vault.rotate('SESSION_KEY', { generate: { length: 48 } });
 */
export interface RotateOptions extends CallOptions {
  /** The new value. Without one the vault generates it, where the type allows. */
  value?: string | Secret;
  /** How a value is generated. */
  generate?: components['schemas']['Rotate']['generate'];
  /** Rotates what has this ETag only. */
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
 * What {@link Vault.rotate} did.
 *
 * @example
 * const { info, secret } = await vault.rotate('SESSION_KEY');
 * console.log(`version ${info.version}`);
 * restartWith(secret?.reveal());
 */
export interface Rotated {
  /** The secret with its new version. */
  info: SecretInfo;
  /** The value that the vault generated, if it did. */
  secret: Secret | null;
  /** The public key, where the vault generated a key pair. */
  publicKey: string | null;
}
