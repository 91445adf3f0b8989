// The time by which data is old enough to be deleted. It follows the clock, but each hourly run of retention
// moves it by at most a day: a clock that leapt forward must not delete in one run what is kept for months.
// Invariant: it is never ahead of the clock.
import { DAY } from '../../db/rows';
import type { Core } from '../core';

const KEY = 'age';
const HOUR = 3_600_000;

interface Kept {
  /** The time reached by the last run, and when that run was. */
  to: number;
  at: number;
}

/** Before the first run, the newest audit entry says until when this gate has lived. */
const kept = ({ meta, auditLog }: Core, now: number): Kept =>
  JSON.parse(meta.get(KEY) ?? 'null') ?? { to: auditLog.time() || now, at: Number.NEGATIVE_INFINITY };

/** The time by which rows, events and audit entries are deleted by their age. */
// safety: age-held-after-leap
export const ageAt = (core: Core, now: number): number => Math.min(now, kept(core, now).to + DAY);

/** Moves that time, once an hour. A gate or a service that stood still catches up by a day an hour. */
export function advanceAge(core: Core, now: number): number {
  const before = kept(core, now);
  const age = ageAt(core, now);
  // Runs that follow each other at once count as one. A clock that was set back counts from there.
  // safety: age-moves-once-an-hour
  if (now >= before.at && now - before.at < HOUR - 60_000) return age;
  core.meta.set(KEY, JSON.stringify({ to: age, at: now } satisfies Kept));
  if (age < now) {
    const held = {
      level: 'warn',
      event: 'retention_held_back',
      org: core.org,
      days: Math.ceil((now - age) / DAY),
    };
    console.warn(JSON.stringify(held));
  }
  return age;
}

/** When this gate last showed a sign of life in its storage: an audit entry, or an hourly run. */
export const lastAlive = (core: Core): number => Math.max(core.auditLog.time(), kept(core, 0).at);
