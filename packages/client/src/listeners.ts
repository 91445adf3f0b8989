// The listeners for changes. Invariants: an error in a listener affects neither the stream nor other listeners; the end of change
// notifications is reported once, until the stream is open again.
import type { VaultError } from './errors.js';
import type { Change } from './watcher.js';

/**
 * Options of {@link Vault.onChange}.
 *
 * @example
 * vault.onChange(reload, { onError: (error) => console.error(`No more changes: ${error.code}`) });
 */
export interface ListenOptions {
  /**
   * Called when the vault refuses to report changes: the credential expired, was revoked or lost a permission. A failed connection does not
   * call it: the client reconnects, and misses no change.
   */
  onError?: (error: VaultError) => void;
}

interface Listening extends ListenOptions {
  listener: (change: Change) => void;
  isTold: boolean;
}

export class Listeners {
  readonly #all = new Set<Listening>();

  get size(): number {
    return this.#all.size;
  }

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

  report(change: Change): void {
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
