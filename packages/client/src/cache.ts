// What was read from the vault, and whether it still holds. Invariants: a value is served without asking only while the event stream would
// have told of a change, or within `maxAge`; while the vault cannot be reached, within `staleFor`; after a 401, 403, 404 or 410 never; and
// never past the end of its own lifetime.
import { AuthenticationError, ConnectionError, VaultError } from './errors.js';
import { orAborted } from './wait.js';

/** What a read gave: `versions` by name, to tell what changed. */
export interface Loaded<T> {
  data: T;
  etag: string | null;
  /** The slug of the environment. */
  environment: string;
  versions: ReadonlyMap<string, number>;
  /** When the value's lifetime ends, in milliseconds. */
  endsAt: number | null;
}

/** What is asked for. */
export interface Wanted<T> {
  key: string;
  /** Whether a secret of that name belongs to it. */
  covers(name: string): boolean;
  /** Asks the vault; null if what has this ETag still holds. `hasOther` is set where an older value can serve instead: then it tries once. */
  load(etag: string | null, hasOther: boolean): Promise<Loaded<T> | null>;
}

export interface CacheOptions {
  maxAge: number;
  staleFor: number;
  /** Told the names that a new read shows to have changed, with their version now; 0 for those that are gone. */
  onDifference(environment: string, versions: ReadonlyMap<string, number>): void;
}

interface Entry<T = unknown> extends Wanted<T> {
  held: Loaded<T> | null;
  /** When the vault last confirmed what is held. */
  confirmedAt: number;
  /** The connection of the event stream at that time; 0 without one. */
  connection: number;
  /** How often a change was heard of. */
  changes: number;
  isDirty: boolean;
  /** After a failure: not before then is the vault asked again while what is held can serve. */
  notBefore: number;
  loading: Promise<T> | null;
}

/** Even with a stream the vault is asked so often: it does not tell a credential of what it may no longer see. */
const CONFIRM_AFTER = 60_000;
const AFTER_FAILURE = 2_000;
const MOST_ENTRIES = 1_000;

export class Cache {
  readonly #options: CacheOptions;
  readonly #entries = new Map<string, Entry>();
  /** The number of the event stream's connection while it is open, else 0. */
  connection = 0;

  constructor(options: CacheOptions) {
    this.#options = options;
  }

  /** What is wanted: from memory if it still holds, else from the vault. Reads at the same time share one call. */
  async read<T>(wanted: Wanted<T>, signal?: AbortSignal): Promise<T> {
    signal?.throwIfAborted();
    const entry = this.#entryOf(wanted);
    if (entry.held && (this.#isFresh(entry) || (Date.now() < entry.notBefore && this.#mayServe(entry)))) return entry.held.data;
    entry.loading ??= this.#load(entry).finally(() => {
      entry.loading = null;
    });
    return orAborted(entry.loading, signal);
  }

  /** A change of a secret was heard of: what holds it is read anew. */
  invalidate(environment: string, name: string): void {
    for (const entry of this.#entries.values())
      if ((!entry.held || entry.held.environment === environment) && entry.covers(name)) soil(entry);
  }

  /** Anything may have changed. */
  invalidateAll(): void {
    for (const entry of this.#entries.values()) soil(entry);
  }

  /** Forgets everything. */
  clear(): void {
    this.#entries.clear();
  }

  /** Asks the vault about everything that is held and may have changed. Answers whether something still is held. */
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
      ...{ key, covers, load, held: null, confirmedAt: 0, connection: 0, changes: 0, isDirty: false, notBefore: 0, loading: null },
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

  /** Whether what is held may serve while the vault cannot be reached. */
  #mayServe({ held, confirmedAt }: Entry<never> | Entry): boolean {
    const now = Date.now();
    return held !== null && (held.endsAt === null || now < held.endsAt) && now - confirmedAt < this.#options.staleFor;
  }

  async #load<T>(entry: Entry<T>): Promise<T> {
    const { changes, held } = entry;
    const [asked, connection] = [Date.now(), this.connection];
    try {
      const loaded = await entry.load(held?.etag ?? null, this.#mayServe(entry as Entry));
      const now = loaded ?? (held as Loaded<T>);
      Object.assign(entry, { held: now, confirmedAt: asked, connection, notBefore: 0, isDirty: entry.changes !== changes });
      if (held && loaded && this.#entries.get(entry.key) === (entry as Entry)) this.#tell(held, loaded);
      return now.data;
    } catch (error) {
      if (isUnreachable(error)) {
        if (!this.#mayServe(entry as Entry)) throw error;
        entry.notBefore = Date.now() + AFTER_FAILURE;
        return (held as Loaded<T>).data;
      }
      // Refused: what was read before serves no more, whatever happens to the vault next.
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

/** A read that is under way may have missed the change. */
function soil(entry: Entry): void {
  entry.changes++;
  entry.isDirty = true;
}

/** The vault gave no answer, or none that says anything about the secret. */
const isUnreachable = (error: unknown) =>
  error instanceof ConnectionError || (error instanceof VaultError && (error.status === 429 || error.status >= 500));
