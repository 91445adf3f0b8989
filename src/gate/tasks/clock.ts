// The gate's clock against its audit log. The times of entries only grow, so after a clock that was ahead and
// was put right, they stay ahead until it has passed them. Until the operator says that the clock is right,
// that looks like a clock that was set back. Invariants: saying so changes no row and no time that decides
// about access or retention; it holds for this log and this clock only.
import type { Core } from '../core';

const KEY = 'clock_accepted';
/** How far the clock may be behind: clocks of different machines differ. */
const BEHIND = 60_000;

interface Accepted {
  /** The time of the log then. */
  log: number;
  /**
   * The latest time that the clock has shown since, to the minute: the health check asks often, and a write
   * costs.
   */
  seen: number;
}

/** Whether the clock is behind the audit log, or behind what it has shown since it was accepted. */
export function isClockBehind({ auditLog, meta, now }: Core): boolean {
  const log = auditLog.time();
  const time = now();
  if (log <= time + BEHIND) return false;
  const accepted = JSON.parse(meta.get(KEY) ?? 'null') as Accepted | null;
  // safety: accepted-clock-only
  if (accepted?.log !== log || accepted.seen > time + BEHIND) return true;
  if (time > accepted.seen + BEHIND) meta.set(KEY, JSON.stringify({ log, seen: time } satisfies Accepted));
  return false;
}

/**
 * The clock is right: what waits for a time that only a clock ahead of it showed goes on. Returns how far the
 * log is ahead. Safe to repeat.
 */
export function acceptClock(core: Core): number {
  const log = core.auditLog.time();
  const now = core.now();
  core.meta.set(KEY, JSON.stringify({ log, seen: now } satisfies Accepted));
  core.rules.bringForward(core, now);
  core.schedule.bringForward(now);
  return Math.max(0, log - now);
}
