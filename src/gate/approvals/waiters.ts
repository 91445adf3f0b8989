// Requests waiting for a decision on an approval. Only in memory: after a restart the gate has none, and
// clients ask again.

import { part } from '../part';

export interface Waiters {
  /**
   * Resolves when the approval is no longer waiting, or after this many milliseconds; immediately if too many
   * wait, of all or of this root.
   */
  wait(root: string, isWaiting: () => boolean, ms: number): Promise<void>;
  /** Something has changed: whoever need not wait any more is woken shortly. */
  check(): void;
}

/** The most waiting requests of an organisation, and of one root. */
const MOST_WAITING = 1000;
const MOST_OF_ONE = 100;
/** How long changes are gathered, in milliseconds: each check judges every approval that is waited for. */
const GATHERED = 50;

export function createWaiters(): Waiters {
  const waiting = new Map<() => void, { root: string; isWaiting(): boolean }>();
  // safety: waiters-bounded
  const isFull = (root: string) =>
    waiting.size >= MOST_WAITING ||
    [...waiting.values()].filter((one) => one.root === root).length >= MOST_OF_ONE;
  let checking = false;
  return {
    wait(root, isWaiting, ms) {
      if (isFull(root)) return Promise.resolve();
      return new Promise<void>((resolve) => {
        const end = () => {
          clearTimeout(timer);
          if (waiting.delete(end)) resolve();
        };
        const timer = setTimeout(end, ms);
        waiting.set(end, { root, isWaiting });
      });
    },
    check() {
      if (checking || waiting.size === 0) return;
      checking = true;
      setTimeout(() => {
        checking = false;
        for (const [end, { isWaiting }] of waiting) if (!isWaiting()) end();
      }, GATHERED);
    },
  };
}

export const approvalWaiters = part(() => createWaiters());
