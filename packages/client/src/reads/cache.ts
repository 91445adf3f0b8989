// Cached reads and their freshness. Invariants: a value is returned without a request only while the event
// stream would have reported a change, or within `maxAge`; while the vault is unreachable, within `staleFor`;
// never after a 401, 403, 404 or 410; and never after the secret expires.
import { AuthenticationError, ConnectionError, VaultError } from '../api/errors.js';
import { orAborted } from '../wait.js';

/** The result of a read. `versions`, by name, shows what changed. */
export interface Loaded<T> {
  data: T;
  etag: string | null;
  /** The slug of the environment. */
  environment: string;
  versions: ReadonlyMap<string, number>;
  /** When the value expires, in milliseconds. */
  endsAt: number | null;
}

/** A read to be cached. */
export interface Wanted<T> {
  key: string;
  /** Whether the read includes a secret of this name. */
  covers(name: string): boolean;
  /**
   * Requests the value; null if the ETag still matches. With `hasOther`, a stale value can be returned
   * instead, so it tries only once.
   */
  load(etag: string | null, hasOther: boolean): Promise<Loaded<T> | null>;
}

export interface CacheOptions {
  maxAge: number;
  staleFor: number;
  /**
   * Called with the names that a new read shows to have changed, and their current versions; 0 for a removed
   * secret.
   */
  onDifference(environment: string, versions: ReadonlyMap<string, number>): void;
}

interface Entry<T = unknown> extends Wanted<T> {
  held: Loaded<T> | null;
  /** When the vault last confirmed the cached value. */
  confirmedAt: number;
  /** The event stream connection at that time; 0 if there was none. */
  connection: number;
  /** The number of changes reported so far. */
  changes: number;
  isDirty: boolean;
  /**
   * After a failure, the time before which the vault is not asked again if the cached value can be returned.
   */
  notBefore: number;
  loading: Promise<T> | null;
}

/**
 * The revalidation interval even with a stream: the stream does not report that a credential has lost access
 * to a secret.
 */
const CONFIRM_AFTER = 60_000;
const AFTER_FAILURE = 2_000;
const MOST_ENTRIES = 1_000;

export class Cache {
  readonly #options: CacheOptions;
  readonly #entries = new Map<string, Entry>();
  /** The number of the current event stream connection; 0 if there is none. */
  connection = 0;

  constructor(options: CacheOptions) {
    this.#options = options;
  }

  /**
   * Reads from the cache if the entry is fresh, otherwise from the vault. Concurrent reads share one request.
   */
  async read<T>(wanted: Wanted<T>, signal?: AbortSignal): Promise<T> {
    signal?.throwIfAborted();
    const entry = this.#entryOf(wanted);
    if (entry.held && (this.#isFresh(entry) || (Date.now() < entry.notBefore && this.#mayServe(entry))))
      return entry.held.data;
    entry.loading ??= this.#load(entry).finally(() => {
      entry.loading = null;
    });
    return orAborted(entry.loading, signal);
  }

  /** Marks reads that include this secret as changed, so that the next read asks the vault. */
  invalidate(environment: string, name: string): void {
    for (const entry of this.#entries.values())
      if ((!entry.held || entry.held.environment === environment) && entry.covers(name)) soil(entry);
  }

  /** Marks every read as changed. */
  invalidateAll(): void {
    for (const entry of this.#entries.values()) soil(entry);
  }

  /** Removes all entries. */
  clear(): void {
    this.#entries.clear();
  }

  /** Revalidates all cached entries that are not fresh. Returns whether any entry is still cached. */
  async refresh(): Promise<boolean> {
    const held = [...this.#entries.values()].filter((entry) => entry.held && !this.#isFresh(entry));
    await Promise.all(held.map((entry) => this.read(entry).catch(() => {})));
    return [...this.#entries.values()].some((entry) => entry.held);
  }

  #entryOf<T>(wanted: Wanted<T>): Entry<T> {
    const known = this.#entries.get(wanted.key) as Entry<T> | undefined;
    if (known) return known;
    const [oldest] = this.#entries.keys();
    if (this.#entries.size >= MOST_ENTRIES && oldest !== undefined) this.#entries.delete(oldest);
    const { key, covers, load } = wanted;
    const entry: Entry<T> = {
      key,
      covers,
      load,
      held: null,
      confirmedAt: 0,
      connection: 0,
      changes: 0,
      isDirty: false,
      notBefore: 0,
      loading: null,
    };
    this.#entries.set(key, entry as Entry);
    return entry;
  }

  #isFresh({ held, isDirty, confirmedAt, connection }: Entry<never> | Entry): boolean {
    const now = Date.now();
    if (!held || isDirty || (held.endsAt !== null && now >= held.endsAt)) return false;
    const isWatched = connection !== 0 && connection === this.connection;
    return now - confirmedAt < (isWatched ? CONFIRM_AFTER : this.#options.maxAge);
  }

  /** Whether the cached value may be returned while the vault is unreachable. */
  #mayServe({ held, confirmedAt }: Entry<never> | Entry): boolean {
    const now = Date.now();
    return (
      held !== null &&
      (held.endsAt === null || now < held.endsAt) &&
      now - confirmedAt < this.#options.staleFor
    );
  }

  async #load<T>(entry: Entry<T>): Promise<T> {
    const { changes, held } = entry;
    const asked = Date.now();
    const connection = this.connection;
    try {
      const loaded = await entry.load(held?.etag ?? null, this.#mayServe(entry as Entry));
      const now = loaded ?? (held as Loaded<T>);
      Object.assign(entry, {
        held: now,
        confirmedAt: asked,
        connection,
        notBefore: 0,
        isDirty: entry.changes !== changes,
      });
      if (held && loaded && this.#entries.get(entry.key) === (entry as Entry)) this.#tell(held, loaded);
      return now.data;
    } catch (error) {
      if (isUnreachable(error)) {
        if (!this.#mayServe(entry as Entry)) throw error;
        entry.notBefore = Date.now() + AFTER_FAILURE;
        return (held as Loaded<T>).data;
      }
      // Refused: the cached value is never returned again, even if the vault becomes unreachable.
      entry.held = null;
      if (error instanceof AuthenticationError) this.clear();
      else if (this.#entries.get(entry.key) === (entry as Entry)) this.#entries.delete(entry.key);
      if (held && error instanceof VaultError && [404, 410].includes(error.status)) this.#tell(held, null);
      throw error;
    }
  }

  #tell(before: Loaded<unknown>, after: Loaded<unknown> | null): void {
    const names = new Set([...before.versions.keys(), ...(after?.versions.keys() ?? [])]);
    const changed = [...names].filter((name) => before.versions.get(name) !== after?.versions.get(name));
    const versions = new Map(changed.map((name) => [name, after?.versions.get(name) ?? 0]));
    if (changed.length > 0) this.#options.onDifference(before.environment, versions);
  }
}

/** Marks an entry as changed. `changes` covers a read in progress, which may have missed the change. */
function soil(entry: Entry): void {
  entry.changes++;
  entry.isDirty = true;
}

/** Whether there was no response, or a response that says nothing about the secret. */
export const isUnreachable = (error: unknown) =>
  error instanceof ConnectionError ||
  (error instanceof VaultError && (error.status === 429 || error.status >= 500));
