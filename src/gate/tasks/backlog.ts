// What waits in a gate: entries and events that have not moved on, deliveries that are due, changes that D1
// lacks.
// It grows while D1, the queue or a receiver is away. Invariants: a count reads a bounded number of rows; a
// gate warns of each kind at most once a minute.
import type { Core } from '../core';
import { journal } from '../journal/records';
import { part } from '../part';

export interface Backlog {
  /** Audit entries that have not moved to D1. Requests are refused at 100,000. */
  audit_entries: number;
  /** Audit entries that D1 refuses. */
  audit_entries_refused: number;
  /** Events that have not moved to D1. The oldest are deleted at 100,000. */
  events: number;
  /** Deliveries that have not succeeded yet, counted up to 20,000. */
  deliveries: number;
  /** How long the most overdue of them has been due, in seconds; 0 if none is. */
  deliveries_late_seconds: number;
  /** Changes that D1 does not have yet. At 20,000, only those that end access are made. */
  changes: number;
  /** How long the oldest of them has waited, in seconds. */
  changes_late_seconds: number;
}

/** From which count the log warns: none is reached while D1, the queue and receivers work. */
export const warnings: Readonly<Record<keyof Backlog, number>> = {
  audit_entries: 10_000,
  audit_entries_refused: 1,
  events: 10_000,
  deliveries: 5000,
  deliveries_late_seconds: 900,
  changes: 2000,
  changes_late_seconds: 60,
};

const MOST_COUNTED = 20_000;
const BETWEEN_WARNINGS = 60_000;
/** How often it is counted for warnings: tasks may run many times a second. */
const BETWEEN_COUNTS = 10_000;

export interface Backlogs {
  of(now: number): Backlog;
  /** Warns of what has grown. */
  warn(org: string, now: number): void;
}

/** For the gate of `core`; a test gives other numbers. */
export function createBacklogs(core: Core): Backlogs {
  const { auditLog, outbox, storage } = core;
  const warned = new Map<string, number>();
  let counted = Number.NEGATIVE_INFINITY;
  const of = (now: number): Backlog => {
    const due = storage.sql
      .exec<{ n: number; oldest: number | null }>(
        "select count(*) n, min(next_at) oldest from (select next_at from deliveries where status = 'pending' limit ?)",
        MOST_COUNTED,
      )
      .one();
    const { records, since } = journal(core).extent();
    return {
      audit_entries: auditLog.size(),
      audit_entries_refused: auditLog.held().length,
      events: outbox.head() - outbox.moved(),
      deliveries: due.n,
      deliveries_late_seconds: due.oldest === null ? 0 : Math.max(0, Math.floor((now - due.oldest) / 1000)),
      changes: records,
      changes_late_seconds: since === null ? 0 : Math.max(0, Math.floor((now - since) / 1000)),
    };
  };
  return {
    of,
    warn(org, now) {
      if (now - counted < BETWEEN_COUNTS) return;
      counted = now;
      const found = of(now);
      for (const [kind, count] of Object.entries(found) as [keyof Backlog, number][]) {
        if (count < warnings[kind] || now - (warned.get(kind) ?? Number.NEGATIVE_INFINITY) < BETWEEN_WARNINGS)
          continue;
        warned.set(kind, now);
        console.warn(
          JSON.stringify({ level: 'warn', event: 'backlog', org, kind, count, warns_from: warnings[kind] }),
        );
      }
    },
  };
}

export const backlogs = part(createBacklogs);
