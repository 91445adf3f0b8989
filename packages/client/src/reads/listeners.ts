// The listeners for changes. Invariants: a change is reported once, whether an event or a read shows it
// first; an error in a listener affects neither the stream nor other listeners; the end of change
// notifications is reported once, until the stream is open again.
import type { VaultError } from '../api/errors.js';
import type { Change } from './watcher.js';

/**
 * Options of {@link Vault.onChange}.
 *
 * @example
 * vault.onChange(reload, { onError: (error) => console.error(`No more changes: ${error.code}`) });
 */
export interface ListenOptions {
  /**
   * Called when the vault refuses to report changes: the credential expired, was revoked or lost a
   * permission. A failed connection does not call it: the client reconnects, and misses no change.
   */
  onError?: (error: VaultError) => void;
}

interface Listening extends ListenOptions {
  listener: (change: Change) => void;
  isTold: boolean;
}

/** The number of versions that are remembered as reported. */
const MOST_TOLD = 10_000;

export class Listeners {
  readonly #all = new Set<Listening>();
  /** The version last reported, by environment and name; 0 for a removed secret. */
  readonly #told = new Map<string, number>();

  /** Adds a listener. Returns a function that removes it. */
  add(listener: (change: Change) => void, { onError }: ListenOptions = {}): () => void {
    const one = { listener, onError, isTold: false };
    this.#all.add(one);
    return () => {
      this.#all.delete(one);
    };
  }

  clear(): void {
    this.#all.clear();
  }

  /** Reports an event. @param version of the first name */
  heard(change: Change, version: number | null): void {
    const { environment, names } = change;
    for (const [at, name] of names.entries())
      this.#tell(environment, name, isGone(change) || at > 0 ? 0 : (version ?? 0));
    this.#report(change);
  }

  /** Reports the versions that a read shows to have changed, but for those that an event has reported. */
  found(environment: string, versions: ReadonlyMap<string, number>): void {
    const names = [...versions]
      .filter(([name, version]) => this.#told.get(`${environment} ${name}`) !== version)
      .map(([name]) => name);
    for (const name of names) this.#tell(environment, name, versions.get(name) ?? 0);
    if (names.length > 0) this.#report({ environment, names, type: null });
  }

  #tell(environment: string, name: string, version: number): void {
    if (this.#all.size === 0) return;
    if (this.#told.size >= MOST_TOLD) this.#told.clear();
    this.#told.set(`${environment} ${name}`, version);
  }

  #report(change: Change): void {
    for (const { listener } of this.#all) contained(() => listener(change));
  }

  /** Reports that changes can no longer be reported. */
  fail(error: VaultError): void {
    for (const one of this.#all) {
      if (one.isTold) continue;
      one.isTold = true;
      contained(() => one.onError?.(error));
    }
  }

  /** Called when changes can be reported again. */
  revive(): void {
    for (const one of this.#all) one.isTold = false;
  }
}

const isGone = ({ type }: Change) =>
  ['SECRET_DELETED', 'SECRET_REVOKED', 'SECRET_EXPIRED'].includes(type ?? '');

/** Calls a listener. Its errors are rethrown outside the client. */
function contained(call: () => void): void {
  try {
    call();
  } catch (error) {
    queueMicrotask(() => {
      throw error;
    });
  }
}
