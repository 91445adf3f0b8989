// Locks by name, in memory: whoever changes a row has it alone until D1 has answered. Taken in sorted order, so that no two wait
// for each other; they go with the gate's memory, as do those who hold them.

export interface Locks {
  /** Runs `work` once all names are free, and frees them after it, whatever happens. */
  hold<T>(names: string[], work: () => Promise<T>): Promise<T>;
}

export function createLocks(): Locks {
  const tails = new Map<string, Promise<void>>();
  return {
    async hold(names, work) {
      const releases: (() => void)[] = [];
      try {
        for (const name of [...new Set(names)].sort()) {
          const before = tails.get(name);
          const { promise, resolve } = Promise.withResolvers<void>();
          tails.set(name, promise);
          releases.push(() => {
            if (tails.get(name) === promise) tails.delete(name);
            resolve();
          });
          // safety: row-locks-wait
          await before;
        }
        return await work();
      } finally {
        for (const release of releases) release();
      }
    },
  };
}
