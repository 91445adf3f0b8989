// Marks: an increasing number on each commit, in its marker in D1 and in the gate. They tell which of the two
// is older, after storage was put back from a copy. Invariants: a mark is never given twice; a gate with
// older storage than D1 has finds that out before its first answer, if D1 responds, and before its first
// change in any case; if D1 does not, only storage that was written lately is served from.
import { lastAlive } from '../audit/age';
import type { Core } from '../core';
import { part } from '../part';
import { type Intent, intents } from './intents';

const KEY = 'mark';
/**
 * How long the first request of a gate that starts waits for D1, and how often D1 is asked again; in
 * milliseconds.
 */
const PATIENCE = 1500;
const AGAIN = 5000;

/**
 * How long before a start the storage may have been written last, if D1 is away. A gate that lives writes
 * every hour, so older storage may be a copy.
 */
const ALIVE = 2 * 3_600_000;

/** Intents of earlier releases have no mark: their marker has the time. */
const markOf = ({ mark, at }: Intent): number => mark ?? at;

export interface Marks {
  /** A mark for a new commit. */
  next(now: number): number;
  /** The highest mark that D1 took; 0 before the first. */
  applied(): number;
  /** D1 took this commit, or the gate began from it. */
  took(mark: number): void;
  /** The highest mark given. */
  given(): number;
  /** Whether D1 has later changes than this gate; null until D1 has answered. */
  isBehind: boolean | null;
  /**
   * Whether the storage was last written long before this instance began. Then nothing is served before D1
   * has answered.
   */
  isStale(): boolean;
  /** The question to D1 under way. */
  asking: Promise<boolean | null> | null;
  askedAt: number;
}

export const marks = part((core): Marks => {
  // Until the first commit of this release, the time of the newest entry is at least that of the last commit.
  const stored = () => Number(core.meta.get(KEY) ?? 0);
  let given = Math.max(stored() || core.auditLog.time(), ...intents(core).unsettled().map(markOf));
  const alive = lastAlive(core);
  let stale: boolean | null = null;
  return {
    next: (now) => {
      given = Math.max(given + 1, now);
      return given;
    },
    applied: stored,
    took(mark) {
      given = Math.max(given, mark);
      if (mark > stored()) core.meta.set(KEY, String(mark));
    },
    given: () => given,
    isBehind: null,
    isStale: () => {
      stale ??= alive > 0 && core.now() - alive > ALIVE;
      return stale;
    },
    asking: null,
    askedAt: 0,
  };
});

/** Records that D1 took a commit; in the transaction in which it takes effect here. */
export const noteMark = (core: Core, intent: Intent): void => marks(core).took(markOf(intent));

/** The highest mark in D1, and the last sequence of the audit log there. */
export const newest =
  '(select max(created_at) from commits where org_id = ?1) mark, (select max(last_sequence) from audit_segments where org_id = ?1) sequence';

export interface Newest {
  mark: number | null;
  sequence: number | null;
}

/** Whether D1 has a later commit or audit entry than this gate ever made. */
export const isLater = (core: Core, { mark, sequence }: Newest): boolean =>
  // safety: older-gate-by-mark, older-gate-by-sequence
  (mark ?? 0) > marks(core).given() || (sequence ?? 0) > core.auditLog.head().sequence;

/** Asks D1 whether this gate is behind it. Null if D1 does not respond. */
async function ask(core: Core): Promise<boolean | null> {
  const known = marks(core);
  const found = await core.database
    .all<Newest>({ sql: `select ${newest}`, params: [core.org] })
    .catch(() => null);
  if (found === null) return null;
  known.isBehind = found[0] !== undefined && isLater(core, found[0]);
  if (known.isBehind) console.error(JSON.stringify({ level: 'error', event: 'gate_behind', org: core.org }));
  return known.isBehind;
}

/**
 * Whether this gate is behind D1, as after a copy of its storage was put back. Asked once; without an answer,
 * again later. `patient`: waits for D1 as long as a change does.
 */
export async function isBehind(core: Core, patient = false): Promise<boolean | null> {
  const known = marks(core);
  if (known.isBehind !== null) return known.isBehind;
  if (!known.asking && !patient && Date.now() - known.askedAt < AGAIN) return null;
  known.askedAt = Date.now();
  known.asking ??= ask(core).finally(() => {
    known.asking = null;
  });
  if (patient) return known.asking;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<null>((done) => {
    timer = setTimeout(done, PATIENCE, null);
  });
  return Promise.race([known.asking, late]).finally(() => clearTimeout(timer));
}
