// Locks by name, in memory: whoever changes a row has it alone until D1 has answered. Invariants: locks are taken in one order, so that
// no two wait for each other; whoever waits for a lock comes before those who ask for it later. Locks go with the gate's memory, as do
// those who hold them.

export interface Locks {
  /** Runs `work` once all names are free, and frees them after it, whatever happens. */
  hold<T>(names: string[], work: () => Promise<T>, also?: Extra): Promise<T>;
}

/** A lock that is taken after all others: by one alone, or by many who share it. */
export interface Extra {
  name: string;
  isShared: boolean;
}

/** Who has a lock or waits for it: the last to want it alone, and those who share it after that. */
interface Queue {
  alone: Promise<void> | null;
  sharing: Set<Promise<void>>;
}

export function createLocks(): Locks {
  const queues = new Map<string, Queue>();

  /** Waits in turn for a lock; `take` notes how to free it before it waits. */
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
    async hold(names, work, also) {
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
