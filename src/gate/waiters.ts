// Requests that wait for an approval to be decided. In memory alone: a gate that starts anew has none, and whoever waited asks again.

export interface Waiters {
  /** Resolves when the approval changes, or after so many milliseconds. Past the bound it resolves at once. */
  wait(id: string, ms: number): Promise<void>;
  /** The approval has changed. */
  notify(id: string): void;
}

/** Requests that wait at a time. */
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
