// Locks by name, in memory: a change holds its rows exclusively from what it fetches until it is decided.
// Invariants: locks are acquired in one order, so no two holders wait for each other; waiters are served in
// order of arrival. Locks disappear together with the gate's memory and their holders.

import { part } from '../part';

export interface Locks {
  /** Runs `work` once all names are free, and releases them afterwards in any case. */
  run<T>(names: string[], work: () => Promise<T>, extra?: Extra): Promise<T>;
}

/** A lock that is acquired after all others, exclusively or shared. */
export interface Extra {
  name: string;
  isShared: boolean;
}

/** The holders and waiters of a lock: the last exclusive one, and those that share it after that. */
interface Queue {
  alone: Promise<void> | null;
  sharing: Set<Promise<void>>;
}

export function createLocks(): Locks {
  const queues = new Map<string, Queue>();

  /** Waits in turn for a lock; `take` registers how to release it before waiting. */
  async function acquire(name: string, isShared: boolean, take: (release: () => void) => void) {
    const { promise, resolve } = Promise.withResolvers<void>();
    const queue: Queue = queues.get(name) ?? { alone: null, sharing: new Set() };
    queues.set(name, queue);
    const before = isShared ? [queue.alone] : [queue.alone, ...queue.sharing];
    if (isShared) queue.sharing.add(promise);
    else Object.assign(queue, { alone: promise, sharing: new Set() });
    take(() => {
      queue.sharing.delete(promise);
      if (queue.alone === promise) queue.alone = null;
      if (queue.alone === null && queue.sharing.size === 0) queues.delete(name);
      resolve();
    });
    // safety: row-locks-wait
    await Promise.all(before);
  }

  return {
    async run(names, work, also) {
      const releases: (() => void)[] = [];
      const take = (release: () => void) => releases.push(release);
      try {
        for (const name of [...new Set(names)].sort()) await acquire(name, false, take);
        if (also) await acquire(also.name, also.isShared, take);
        return await work();
      } finally {
        for (const release of releases) release();
      }
    },
  };
}

export const locks = part(() => createLocks());
