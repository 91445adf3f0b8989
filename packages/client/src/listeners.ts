// Who is told of changes. Invariants: a listener's fault is its own, and ends neither the stream nor the other listeners; that changes can no
// longer be told is told once, until the stream is open again.
import type { VaultError } from './errors.js';
import type { Change } from './watcher.js';

/** What goes with a listener of {@link Vault.onChange}. */
export interface ListenOptions {
  /**
   * Called when no more changes can be told, because the vault refuses: the credential has ended, or may no longer read. Not called when the
   * connection fails: the client connects again, and misses nothing.
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

  /** Adds one. Returns how to remove it. */
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

  /** Changes can no longer be told. */
  fail(error: VaultError): void {
    for (const one of this.#all) {
      if (one.isTold) continue;
      one.isTold = true;
      contained(() => one.onError?.(error));
    }
  }

  /** Changes are told again. */
  revive(): void {
    for (const one of this.#all) one.isTold = false;
  }
}

/** Calls what is not ours. */
function contained(call: () => void): void {
  try {
    call();
  } catch (error) {
    queueMicrotask(() => {
      throw error;
    });
  }
}
