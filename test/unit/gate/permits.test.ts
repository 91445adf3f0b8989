// Permits of jobs to begin calls elsewhere: what a change ends is waited for, and no longer than that.
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createPermits } from '../../../src/gate/request/permits';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

/** A permit that a commit ends. */
function endable(permits: ReturnType<typeof createPermits>, holder: string, lasts: number) {
  let isEnded = false;
  permits.give(holder, lasts, () => isEnded);
  return () => {
    isEnded = true;
    permits.follow();
  };
}

/** Whether a reply that waits from now on has gone after so many milliseconds. */
function replied(permits: ReturnType<typeof createPermits>) {
  let has = false;
  void permits.settled().then(() => {
    has = true;
  });
  return async (ms: number) => {
    await vi.advanceTimersByTimeAsync(ms);
    return has;
  };
}

describe('permits', () => {
  it('permits: a reply waits until what its change ended has run out or was given back', async () => {
    const permits = createPermits();
    endable(permits, 'one', 250)();
    endable(permits, 'two', 2000)();
    const hasGone = replied(permits);
    expect([await hasGone(2000), await hasGone(300)]).toEqual([false, true]);
    endable(permits, 'three', 2000)();
    const next = replied(permits);
    permits.giveBack('three');
    expect(await next(150)).toBe(true);
  });

  it('permits: whoever ends one permit after another keeps no earlier reply waiting', async () => {
    const permits = createPermits();
    endable(permits, 'one', 250)();
    const hasGone = replied(permits);
    for (let n = 0; n < 5; n++) {
      await hasGone(200);
      // Of the same job, or of another.
      endable(permits, n % 2 ? 'one' : `more ${n}`, 250)();
    }
    expect(await hasGone(0)).toBe(true);
  });
});
