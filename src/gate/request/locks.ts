// Locks by name, in memory: a change holds its rows exclusively from what it fetches until it is decided.
// Invariants: locks are acquired in one order, so no two holders wait for each other; waiters are served in
// order of arrival. Locks disappear together with the gate's memory and their holders.

import { part } from '../part';

export interface Locks {
  /** Runs `work` once all names are free, and releases them afterwards in any case. */
  run<T>(names: string[], work: () => Promise<T>): Promise<T>;
}

export function createLocks(): Locks {
  /** The last holder or waiter of each name. */
  const last = new Map<string, Promise<void>>();

  /** Waits in turn for a name; `take` registers how to release it before waiting. */
  async function acquire(name: string, take: (release: () => void) => void) {
    const { promise, resolve } = Promise.withResolvers<void>();
    const before = last.get(name);
    last.set(name, promise);
    take(() => {
      if (last.get(name) === promise) last.delete(name);
      resolve();
    });
    // safety: row-locks-wait
    await before;
  }

  return {
    async run(names, work) {
      const releases: (() => void)[] = [];
      try {
        for (const name of [...new Set(names)].sort())
          await acquire(name, (release) => void releases.push(release));
        return await work();
      } finally {
        for (const release of releases) release();
      }
    },
  };
}

export const locks = part(() => createLocks());
