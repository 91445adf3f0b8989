// Permits to begin calls to targets, in memory: a job that writes elsewhere asks for one, and begins its
// calls while it lasts. Invariant: once a commit has ended what a permit was given for, no change is answered
// before the permit has run out. So no call begins after the reply to a cancellation, a revocation or a
// deletion, however slow the target is.

import { part } from '../part';

/**
 * How long a permit lasts for its holder, counted from when it was asked for: longer after one that had run
 * out on its way.
 */
const SHORTEST = 250;
export const permitLasts = (tries: number): number => SHORTEST * 2 ** Math.min(tries, 3);
export const LONGEST_PERMIT = permitLasts(Number.POSITIVE_INFINITY);
/** A holder's clock stands still while it computes. */
const MARGIN = 250;

export interface Permits {
  /** Gives a permit for this many milliseconds, unless `isEnded` says otherwise after a commit. */
  give(holder: string, lasts: number, isEnded: () => boolean): void;
  /** An earlier instance of the gate may have given permits that still last. */
  resume(): void;
  /** The holder begins nothing more under its permit. */
  giveBack(holder: string): void;
  /** A commit has been applied: permits that it has ended are waited for. */
  follow(): void;
  /** Until no permit that has ended by now can be used. Real time, whatever clock the gate has. */
  settled(): Promise<void>;
}

export function createPermits(): Permits {
  const given = new Map<string, { until: number; isEnded(): boolean }>();
  const ended = new Map<string, number>();
  return {
    give: (holder, lasts, isEnded) => void given.set(holder, { until: Date.now() + lasts + MARGIN, isEnded }),
    resume: () => void given.set('', { until: Date.now() + LONGEST_PERMIT + MARGIN, isEnded: () => true }),
    giveBack(holder) {
      given.delete(holder);
      ended.delete(holder);
    },
    follow() {
      for (const [holder, { until, isEnded }] of given) {
        const isOver = until <= Date.now();
        if (isOver) given.delete(holder);
        // safety: ended-permits-waited-for
        if (!isOver && isEnded()) ended.set(holder, until);
      }
    },
    async settled() {
      // Whoever goes on ending permits keeps nobody else waiting for those.
      // safety: later-ends-not-waited-for
      const waited = new Map(ended);
      for (let wait = remaining(waited, ended); wait > 0; wait = remaining(waited, ended))
        await new Promise((resolve) => setTimeout(resolve, wait));
    },
  };
}

/**
 * Milliseconds until the last of the waited permits has run out, at most a short step, since permits are
 * given back; forgets ended ones that are over.
 */
function remaining(waited: ReadonlyMap<string, number>, ended: Map<string, number>): number {
  const now = Date.now();
  for (const [holder, until] of ended) if (until <= now) ended.delete(holder);
  const left = [...waited].map(([holder, until]) => (ended.has(holder) ? until - now : 0));
  return Math.min(100, Math.max(0, ...left));
}

export const permits = part(() => createPermits());
