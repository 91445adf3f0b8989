// `createVault`: one organisation's vault, for one credential. Invariant: values are returned only as
// `Secret`.
/// <reference lib="esnext.disposable" preserve="true" />
import { type Api, apiOf } from './api/client.js';
import { documented } from './api/documented.js';
import { AuthenticationError, InvalidRequestError, NotFoundError, VaultError } from './api/errors.js';
import { BOUND_URL, type Bound, boundBy, withOrg } from './binding.js';
import { checkCall, checkListener, checkOptions, checkValue } from './checks.js';
import { type Credential, type Home, tokensOf } from './credentials/sources.js';
import type {
  BoundOptions,
  CallOptions,
  FindOptions,
  Rotated,
  RotateOptions,
  SecretInfo,
  SetOptions,
  ValuesOptions,
  VaultOptions,
} from './options.js';
import { bulkRead } from './reads/bulk.js';
import { Cache, isUnreachable, type Loaded } from './reads/cache.js';
import { Listeners, type ListenOptions } from './reads/listeners.js';
import { Values } from './reads/values.js';
import { type Change, Watcher } from './reads/watcher.js';
import { Secret } from './secret.js';
import { LONGEST_WAIT } from './transport/retry.js';
import { type CallOptions as Limits, type Tokens, Transport, wellFormed } from './transport/transport.js';

/** Limits for a read with a stale value as fallback: it is not worth waiting for. */
const QUICK = { retries: 0, timeout: 3_000 };

/** How long the organisation's default environment is cached, in milliseconds. */
const DEFAULT_KEPT = 60_000;

/**
 * One organisation's vault, created by {@link createVault}.
 *
 * @example
 * using vault = createVault({ url, org, credential });
 * const secret = await vault.get('DATABASE_URL');
 */
export class Vault {
  /** Every operation of the vault, typed. */
  readonly api: Api;
  readonly #options: Omit<VaultOptions, 'url' | 'org' | 'credential'>;
  readonly #url: string;
  readonly #org: () => string;
  readonly #bound: Bound | null;
  readonly #transport: Transport;
  readonly #tokens: Tokens | null;
  readonly #quick: Api;
  readonly #cache: Cache;
  readonly #watcher: Watcher;
  readonly #listeners = new Listeners();
  #default: { slug: string; readAt: number } | null = null;
  #isClosed = false;

  /** @internal */
  constructor(
    options: VaultOptions | BoundOptions,
    tokensFor: (credential: Credential, home: Home) => Tokens,
  ) {
    this.#options = options;
    this.#bound = boundBy(options);
    const { retries = 3, maxRetryAfter = LONGEST_WAIT, timeout = 30_000, concurrency = 6, reason } = options;
    const limits = { retries, maxRetryAfter, timeout, concurrency, reason };
    if (this.#bound) {
      this.#url = BOUND_URL;
      this.#org = this.#bound.org;
      this.#transport = new Transport({ ...limits, fetch: this.#bound.fetch });
      this.#tokens = null;
    } else {
      const { url, org, credential, fetch } = options as VaultOptions;
      this.#url = originOf(url);
      this.#org = () => org;
      this.#transport = new Transport({ ...limits, fetch });
      this.#tokens = tokensFor(credential, { url: this.#url, org, transport: this.#transport });
    }
    this.api = apiOf(this.#url, (request, limits) => this.#send(request, limits));
    this.#quick = apiOf(this.#url, (request, limits) => this.#send(request, { ...QUICK, ...limits }));
    this.#cache = new Cache({
      maxAge: options.maxAge ?? 0,
      staleFor: options.staleFor ?? 0,
      onDifference: (environment, versions) => this.#listeners.found(environment, versions),
    });
    this.#watcher = new Watcher({
      open: (query, lastEventId, signal) => this.#open(query, lastEventId, signal),
      onChange: (change, version) => {
        // Cached reads first, so that a listener reads the new value.
        for (const name of change.names) this.#cache.invalidate(change.environment, name);
        this.#listeners.heard(change, version);
      },
      onConnection: (n) => {
        this.#cache.connection = n;
        if (n > 0) this.#listeners.revive();
      },
      poll: () => this.#cache.refresh(),
      onRefused: (error) => {
        if (error instanceof AuthenticationError) this.#cache.clear();
        this.#listeners.fail(error);
      },
    });
  }

  /**
   * The organisation's id. Of a vault with a binding and without `org`, it is empty until the first call.
   *
   * @example
   * vault.org; // 'org_6TuVw7XyZa8BcDe9FgHi0j'
   */
  get org(): string {
    return this.#org();
  }

  /**
   * Reads a secret by name.
   *
   * @example
   * const secret = await vault.get('DATABASE_URL');
   * connect(secret.reveal());
   */
  async get(name: string, call: CallOptions = {}): Promise<Secret> {
    checkCall('get', name, call);
    const environment = this.#environmentOf(call);
    const load = async (api: Api, _: string | null, signal?: AbortSignal): Promise<Loaded<Secret>> => {
      const { data } = await api.GET('/orgs/{org_id}/secrets/by-name/{name}', {
        params: { path: { org_id: this.org, name }, query: { environment } },
        headers: headersOf(call),
        signal,
      });
      const { value } = documented(data, {
        name: 'string',
        environment: 'string',
        version: 'number',
        value: 'string',
        expires_at: 'string?',
      });
      return {
        data: new Secret(value, data),
        etag: null,
        environment: data.environment,
        versions: new Map([[data.name, data.version]]),
        endsAt: data.expires_at === null ? null : Date.parse(data.expires_at),
      };
    };
    return this.#read(`get ${environment ?? ''} ${name}`, (other) => other === name, load, call);
  }

  /**
   * Reads all secrets of an environment that the credential may read, or only those whose names begin with
   * `prefix` or with one of several prefixes. It reads very many secrets in pages, all of one revision of the
   * environment.
   *
   * @example
   * const values = await vault.values({ prefix: 'SMTP_' });
   * const password = values.get('SMTP_PASSWORD')?.reveal();
   */
  async values(call: ValuesOptions = {}): Promise<Values> {
    checkCall('values', 'any', call);
    const environment = await this.environment(call);
    const prefix = call.prefix === undefined ? undefined : [call.prefix].flat();
    const load = async (
      api: Api,
      etag: string | null,
      signal?: AbortSignal,
    ): Promise<Loaded<Values> | null> => {
      const read = await bulkRead(api, {
        org: this.org,
        environment,
        prefix,
        headers: headersOf(call, etag),
        signal,
      });
      if (!read) return null;
      const { data } = read;
      const versions = new Map(Object.entries(data.versions));
      const secretOf = (name: string, value: string) =>
        new Secret(value, { name, environment: data.environment, version: versions.get(name) ?? 0 });
      const secrets = Object.entries(data.values).map(
        ([name, value]) => [name, secretOf(name, value)] as const,
      );
      return {
        data: new Values(data.environment, secrets, { ...data, expiresAt: endsOf(data.expires_at) }),
        etag: read.etag,
        environment: data.environment,
        versions,
        endsAt: null,
      };
    };
    const covers = (name: string) => (prefix ?? ['']).some((beginning) => name.startsWith(beginning));
    const found = await this.#read(
      `values ${environment} ${JSON.stringify(prefix ?? [''])}`,
      covers,
      load,
      call,
    );
    // What was read before may have expired since.
    const ended = (name: string) =>
      Date.now() >= (found.expiresAt.get(name)?.getTime() ?? Number.POSITIVE_INFINITY);
    const living = [...found].filter(([name]) => !ended(name));
    return new Values(found.environment, living, found);
  }

  /**
   * Finds a secret by name without reading its value. Returns undefined if this credential sees no such
   * secret. Deleted secrets are not found.
   *
   * @example
   * const info = await vault.find('DATABASE_URL');
   * console.log(info?.version, info?.updated_at);
   */
  async find(name: string, call: FindOptions = {}): Promise<SecretInfo | undefined> {
    checkCall('find', name, call);
    return this.#find(name, call);
  }

  async #find(name: string, call: FindOptions): Promise<SecretInfo | undefined> {
    const environment = await this.environment(call);
    // Of the names that begin with this one, sorted, the name itself is the first.
    const { data } = await this.api.GET('/orgs/{org_id}/secrets', {
      params: { path: { org_id: this.org }, query: { environment, prefix: name, sort: 'name', limit: 1 } },
      headers: headersOf({ reason: call.reason }),
      signal: call.signal,
    });
    const found = documented(data, { data: 'list' }).data.find((secret) => secret?.name === name);
    return found && documented(found, INFO);
  }

  /**
   * The environment of a call with these options: the one that the call or {@link VaultOptions} names, or the
   * organisation's default one.
   *
   * @example
   * console.log(`Reading from ${await vault.environment()}`);
   */
  async environment(call: Pick<CallOptions, 'environment' | 'signal'> = {}): Promise<string> {
    const named = this.#environmentOf(call);
    if (named !== undefined) return named;
    const known = this.#knownDefault(DEFAULT_KEPT);
    if (known !== undefined) return known;
    const readAt = Date.now();
    const stale = this.#knownDefault(this.#options.staleFor ?? 0);
    const api = stale === undefined ? this.api : this.#quick;
    const answer = await api.GET('/whoami', { signal: call.signal }).catch((error: unknown) => {
      if (stale === undefined || !isUnreachable(error)) throw error;
      return undefined;
    });
    if (!answer) return stale as string;
    const { data } = answer;
    if (this.#bound && this.org === '') this.#learn(data);
    const { default_environment: slug } = documented(data, { default_environment: 'string?' });
    if (slug === null) {
      const message = 'This credential cannot reach the default environment. Name the environment to use.';
      throw new InvalidRequestError(message, { code: 'ENVIRONMENT_NEEDED', status: 0 });
    }
    this.#default = { slug, readAt };
    return slug;
  }

  /** The organisation's default environment, if it was read less than `ms` ago. */
  #knownDefault(ms: number): string | undefined {
    return this.#default && Date.now() - this.#default.readAt < ms ? this.#default.slug : undefined;
  }

  /**
   * Creates a secret, or changes the value of an existing one. An equal value does not create a new version.
   *
   * @example
   * await vault.set('SMTP_PASSWORD', password, { type: 'password', environment: 'staging' });
   */
  async set(name: string, value: string | Secret, call: SetOptions = {}): Promise<SecretInfo> {
    checkCall('set', name, call);
    checkValue(value);
    const { type, description, tags, ttlSeconds, ifMatch, create } = call;
    const { data } = await this.api.PUT('/orgs/{org_id}/secrets/by-name/{name}', {
      params: { path: { org_id: this.org, name }, query: { environment: this.#environmentOf(call) } },
      headers: {
        ...headersOf(call),
        ...(ifMatch !== undefined && { 'If-Match': ifMatch }),
        ...(create && { 'If-None-Match': '*' }),
      },
      body: { value: textOf(value), type, description, tags, ttlSeconds },
      signal: call.signal,
    });
    return documented(data, INFO);
  }

  /**
   * Gives a secret a new value, either passed or generated by the vault.
   *
   * @example
   * const { secret } = await vault.rotate('SESSION_KEY');
   * restartWith(secret.reveal());
   */
  async rotate(name: string, call: RotateOptions = {}): Promise<Rotated> {
    checkCall('rotate', name, call);
    const { value, generate, ifMatch } = call;
    const found = await this.#find(name, call);
    if (!found)
      throw new NotFoundError('There is no secret of this name.', { code: 'NOT_FOUND', status: 404 });
    const { data } = await this.api.POST('/orgs/{org_id}/secrets/{id}/rotate', {
      params: { path: { org_id: this.org, id: found.id } },
      headers: { ...headersOf(call), ...(ifMatch !== undefined && { 'If-Match': ifMatch }) },
      body: { ...(value !== undefined && { value: textOf(value) }), ...(generate && { generate }) },
      signal: call.signal,
    });
    const {
      value: generated,
      public_key,
      ...info
    } = documented(data, { ...INFO, ...(data?.value != null && { value: 'string' }) });
    return {
      info,
      secret: generated == null ? null : new Secret(generated, info),
      publicKey: public_key ?? null,
    };
  }

  /**
   * Calls `listener` when secrets are created, changed, renamed, deleted, restored or revoked, or expire. The
   * listener gets names, not values. Catch errors in it: one that it throws, or rejects with, is an uncaught
   * error of your program. The first listener opens the event stream, and {@link Vault.close} closes it.
   * Without a stream, the client revalidates its cached reads every 15 seconds. `onError` is called when
   * changes can no longer be reported, because the vault refuses.
   *
   * @returns a function that removes the listener
   * @example
   * const stop = vault.onChange(
   *   async ({ names }) => {
   *     if (!names.includes('DATABASE_URL')) return;
   *     try {
   *       await reconnect(await vault.get('DATABASE_URL'));
   *     } catch (error) {
   *       log.error(`DATABASE_URL cannot be read: ${error.code}`); // for example NOT_FOUND after it was deleted
   *     }
   *   },
   *   { onError: (error) => log.error(`changes are no longer watched: ${error.code}`) },
   * );
   */
  onChange(listener: (change: Change) => void, options?: ListenOptions): () => void {
    checkListener(listener, options);
    const remove = this.#listeners.add(listener, options);
    if (!this.#isClosed) this.#watcher.start();
    return remove;
  }

  /**
   * Closes the event stream and clears the cache. Later calls fail with `CLOSED`.
   *
   * @example
   * process.once('SIGTERM', () => vault.close());
   */
  close(): void {
    this.#isClosed = true;
    this.#listeners.clear();
    this.#watcher.stop();
    this.#cache.clear();
  }

  /** The same as {@link Vault.close}, for `using`. */
  [Symbol.dispose](): void {
    this.close();
  }

  /**
   * The token of a request that {@link Vault.api} does not send, or another one after the vault refused it.
   *
   * @internal
   */
  async token(refused?: string, signal?: AbortSignal): Promise<string | null> {
    this.#assertOpen();
    if (!this.#tokens) return null;
    const token = await (refused === undefined
      ? this.#tokens.current(signal)
      : this.#tokens.after(refused, signal));
    return token === null ? null : wellFormed(token);
  }

  #environmentOf(call: CallOptions): string | undefined {
    return call.environment ?? this.#options.environment;
  }

  /**
   * A read, from the cache if allowed. A read with its own reason, call or approval always goes to the vault.
   */
  async #read<T>(
    key: string,
    covers: (name: string) => boolean,
    load: (api: Api, etag: string | null, signal?: AbortSignal) => Promise<Loaded<T> | null>,
    { signal, reason, call, approval }: CallOptions,
  ): Promise<T> {
    this.#assertOpen();
    const { cache = true } = this.#options;
    const isOwn = reason !== undefined || call !== undefined || approval !== undefined;
    if (!cache || isOwn) return ((await load(this.api, null, signal)) as Loaded<T>).data;
    if (cache === 'watch') this.#watcher.start();
    return this.#cache.read(
      { key, covers, load: (etag, hasOther) => load(hasOther ? this.#quick : this.api, etag) },
      signal,
    );
  }

  #assertOpen(): void {
    if (this.#isClosed)
      throw new VaultError('This vault is closed. Create a new one.', { code: 'CLOSED', status: 0 });
  }

  /** Sends a call. A change invalidates cached reads; a 401 removes them. */
  async #send(request: Request, limits: Omit<Limits, 'tokens'> = {}): Promise<Response> {
    this.#assertOpen();
    try {
      const known = await this.#withOrg(request);
      return await this.#transport.send(known, { tokens: this.#tokens, ...limits });
    } catch (error) {
      if (error instanceof AuthenticationError) this.#cache.clear();
      throw error;
    } finally {
      if (request.method !== 'GET') this.#cache.invalidateAll();
    }
  }

  /** The request, for the organisation of the binding if it named none. */
  async #withOrg(request: Request): Promise<Request> {
    if (!this.#bound || this.org !== '' || request.url.endsWith('/whoami')) return request;
    const { data } = await this.api.GET('/whoami', { signal: request.signal });
    this.#learn(data);
    return withOrg(request, this.org);
  }

  #learn(data: { org_id: string | null }): void {
    this.#bound?.learn(documented(data, { org_id: 'string' }).org_id as string);
  }

  async #open(query: string, lastEventId: string | null, signal: AbortSignal): Promise<Response> {
    const headers = {
      Accept: 'text/event-stream',
      ...(lastEventId !== null && { 'Last-Event-ID': lastEventId }),
    };
    const request = new Request(`${this.#url}/api/v1/orgs/${this.org}/events/stream?${query}`, {
      headers,
      signal,
    });
    return this.#transport.send(await this.#withOrg(request), {
      tokens: this.#tokens,
      retries: 0,
      isStream: true,
    });
  }
}

/**
 * Creates a client for an organisation's vault. No request is sent before the first call.
 *
 * @example
 * const vault = createVault({
 *   url: 'https://vault.example.com',
 *   org: 'org_6TuVw7XyZa8BcDe9FgHi0j',
 *   credential: process.env.VAULT_KEY,
 * });
 * const secret = await vault.get('DATABASE_URL');
 * @example
 * const vault = createVault({ binding: env.VAULT }); // in a Worker of the same Cloudflare account
 */
export function createVault(options: BoundOptions): Vault;
export function createVault(options: VaultOptions): Vault;
export function createVault(options: VaultOptions | BoundOptions): Vault {
  checkOptions(options);
  return new Vault(options, tokensOf);
}

/** What the client relies on of a secret without its value. */
const INFO = { id: 'string', name: 'string', environment: 'string', version: 'number' } as const;

/** Times by name. One that is no time has passed. */
const endsOf = (times: Record<string, string> = {}): Map<string, Date> =>
  new Map(Object.entries(times).map(([name, text]) => [name, new Date(Date.parse(text) || 0)]));

const textOf = (value: string | Secret) => (typeof value === 'string' ? value : value.reveal());

/** The headers of a call's options. */
const headersOf = (
  { reason, call, approval }: CallOptions,
  etag: string | null = null,
): Record<string, string> => ({
  ...(reason !== undefined && { 'X-Access-Reason': reason }),
  ...(call !== undefined && { 'X-Access-Call': call }),
  ...(approval !== undefined && { 'Approval-Id': approval }),
  ...(etag !== null && { 'If-None-Match': etag }),
});

const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/;

/**
 * The deployment's address, without a trailing slash. Plain http is for this machine, and for a page that
 * came from there itself.
 */
function originOf(text: string): string {
  if (!URL.canParse(text)) throw new TypeError('url must be an address such as https://vault.example.com');
  const url = new URL(text);
  const isOwnPage = (globalThis as { location?: { origin?: string } }).location?.origin === url.origin;
  if (url.protocol !== 'https:' && !(url.protocol === 'http:' && (isOwnPage || LOOPBACK.test(url.hostname))))
    throw new TypeError('url must begin with https://. Plain http is allowed only for this machine.');
  if (url.username || url.password || url.search || url.hash)
    throw new TypeError('url must be an origin, such as https://vault.example.com');
  return `${url.origin}${url.pathname.replace(/\/+$/, '')}`;
}
