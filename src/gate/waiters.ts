// Requests waiting for a decision on an approval. Only in memory: after a restart the gate has none, and clients ask again.

export interface Waiters {
  /** Resolves when the approval changes, or after this many milliseconds; immediately if too many are waiting. */
  wait(id: string, ms: number): Promise<void>;
  /** The approval has changed. */
  notify(id: string): void;
}

/** The most waiting requests. */
const MOST_WAITING = 1000;

export function createWaiters(): Waiters {
  const waiting = new Map<string, Set<() => void>>();
  let count = 0;
  return {
    wait(id, ms) {
      if (count >= MOST_WAITING) return Promise.resolve();
      count++;
      const others = waiting.get(id) ?? new Set();
      waiting.set(id, others);
      return new Promise<void>((resolve) => {
        const end = () => {
          clearTimeout(timer);
          if (!others.delete(end)) return;
          if (others.size === 0) waiting.delete(id);
          count--;
          resolve();
        };
        const timer = setTimeout(end, ms);
        others.add(end);
      });
    },
    notify(id) {
      for (const end of waiting.get(id) ?? []) end();
    },
  };
}
