// Waiting event streams, in memory only: after a restart of the gate they ask again. Invariant: all are woken in the turn in which an event
// is written or a row changes that may end a caller.

export interface Listeners {
  /** Resolves when something has happened, or after this many milliseconds. */
  wait(root: string, ms: number): Promise<void>;
  /** Whether the limit is reached, for all callers or for this one. */
  isFull(root: string): boolean;
  wake(): void;
  count(): number;
}

/** The most concurrent streams of an organisation, and of one caller. */
const MOST = 1000;
const MOST_OF_ONE = 100;

export function createListeners(): Listeners {
  const waiting = new Set<() => void>();
  const counts = new Map<string, number>();
  return {
    wait(root, ms) {
      counts.set(root, (counts.get(root) ?? 0) + 1);
      return new Promise<void>((resolve) => {
        const end = () => {
          clearTimeout(timer);
          if (!waiting.delete(end)) return;
          const left = (counts.get(root) ?? 1) - 1;
          if (left) counts.set(root, left);
          else counts.delete(root);
          resolve();
        };
        const timer = setTimeout(end, ms);
        waiting.add(end);
      });
    },
    // safety: listeners-bounded
    isFull: (root) => waiting.size >= MOST || (counts.get(root) ?? 0) >= MOST_OF_ONE,
    count: () => waiting.size,
    wake() {
      for (const end of [...waiting]) end();
    },
  };
}
