// D1 follows the journal: batches of records, one at a time, each only if D1 has exactly the records before.
// Invariants: D1 holds a prefix of the journal, each record once; a record leaves the journal only once D1
// says that it has it, or an adoption that has been noted gives it up; after an error the gate reads where D1
// stands and never guesses. Where D1 holds something else, the mirror stops and reports an integrity
// violation.

import { ApiError, type Refusal, refuse } from '../../errors';
import type { Core } from '../core';
import { withinTime } from '../d1';
import { part } from '../part';
import { batchOf, positionOf } from './batch';
import {
  ADOPTING,
  compare,
  compared,
  noteBehind,
  noteStopped,
  positionInD1,
  RETRY_STOPPED,
  standing,
} from './position';
import { type JournalRecord, journal } from './records';

/** The most records and bytes of one batch. */
const MOST_RECORDS = 200;
const MOST_BYTES = 1_000_000;
/** How long D1 may lag behind where nothing waits for it. */
export const LAG = 1000;
/** When it is tried again after D1 did not respond. */
const RETRY = 5000;
/** How long a request that waits pauses between attempts. */
const PAUSE = 100;

/** The most that a journal holds, so that a gate never runs out of storage while D1 is away. */
export const BOUND = { records: 20_000, bytes: 256 * 1024 * 1024 };

export interface Mirror {
  /** Whether a request is adopting the database. */
  isAdopting: boolean;
  /** Whether an adoption has begun and not ended: nothing is sent, and no change can begin. */
  isPaused(): boolean;
  /** Sends what D1 lacks. Returns whether D1 has everything. */
  follow(): Promise<boolean>;
  /**
   * The same for an adoption: replaces what D1 holds of the rows, so that it refuses none because of them. A
   * record that D1 cannot store even so is given up.
   */
  force(): Promise<boolean>;
  /** Until D1 has a record, for at most this many milliseconds. Returns whether it has. */
  reached(n: number, patience: number): Promise<boolean>;
}

type Step = 'on' | 'smaller' | 'failed';
/** How a batch is sent: only to rows as the gate left them, over whatever D1 holds, or without its rows. */
type Way = 'follow' | 'force' | 'give up';

function createMirror(core: Core): Mirror {
  let running: Promise<boolean> | null = null;
  const run = (way: Way) => {
    running = followed(core, mirror, way).finally(() => {
      running = null;
    });
    return running;
  };
  const mirror: Mirror = {
    isAdopting: false,
    isPaused: () => core.meta.get(ADOPTING) !== null,
    follow: () => running ?? run('follow'),
    async force() {
      while (running) await running;
      return run('force');
    },
    async reached(n, patience) {
      const until = Date.now() + patience;
      while (journal(core).position() < n) {
        const left = until - Date.now();
        if (left <= 0) return false;
        const isDone = await withinTime(mirror.follow(), left);
        if (journal(core).position() >= n) break;
        if (standing(core).stopped) return false;
        if (isDone === false) await withinTime(null, Math.min(PAUSE, until - Date.now()));
      }
      return true;
    },
  };
  return mirror;
}

export const mirror = part(createMirror);

async function followed(core: Core, own: Mirror, way: Way): Promise<boolean> {
  let most = MOST_RECORDS;
  for (;;) {
    // safety: no-batch-during-adoption
    if (way === 'follow' && own.isPaused()) return false;
    if (journal(core).term() === null || standing(core).isBehind) return false;
    const records = journal(core).next(most, MOST_BYTES);
    if (records.length === 0) {
      if (standing(core).stopped) await lookAgain(core);
      return true;
    }
    const step = await send(core, records, way);
    if (step === 'failed') return false;
    // Of several records only one may be refused.
    most = step === 'smaller' ? 1 : MOST_RECORDS;
  }
}

/** D1 stood elsewhere than the gate left it. With nothing to send, it is asked whether it was put back. */
async function lookAgain(core: Core): Promise<void> {
  // safety: stopped-until-database-is-back
  if ((await compared(core)) === 'follows') standing(core).stopped = null;
}

/** Sends a batch, and finds out what became of it. */
async function send(core: Core, records: JournalRecord[], way: Way): Promise<Step> {
  const term = journal(core).term() as string;
  const from = journal(core).position();
  const { n: to, id: record } = records.at(-1) as JournalRecord;
  const step = { term, from, to, after: journal(core).idOf(from) ?? '', record };
  const statements =
    way === 'give up' ? [positionOf(core.org, step)] : batchOf(core.org, records, step, way === 'force');
  const { end, ...rest } = await core.database.write(statements);
  const isCurrent = () => journal(core).term() === term && journal(core).position() === from;
  if (!isCurrent()) return 'failed';
  if (end === 'done') return advance(core, to);
  const there = await positionInD1(core);
  if (there === null || !isCurrent()) return 'failed';
  const found = compare(core, there);
  if (found === 'behind') {
    noteBehind(core);
    return 'failed';
  }
  // safety: lost-reply-settled-by-position
  if (found === 'follows' && there.position > from) return advance(core, there.position);
  const isRefused = found === 'follows';
  // safety: outage-is-no-violation
  if (isRefused && end === 'unknown') return 'failed';
  // safety: given-up-alone
  if (isRefused && records.length > 1) return 'smaller';
  if (isRefused && way === 'force') return giveUp(core, records);
  const first = records[0] as JournalRecord;
  noteStopped(core, isRefused ? 'refused' : 'diverged', first.n, first, rest);
  return 'failed';
}

/** D1 goes on without a record. The adoption names what that loses, so no change may come before its end. */
function giveUp(core: Core, records: JournalRecord[]): Promise<Step> {
  // safety: given-up-once-noted
  core.meta.set(ADOPTING, '1');
  return send(core, records, 'give up');
}

function advance(core: Core, to: number): Step {
  // safety: record-kept-until-stored
  core.storage.transactionSync(() => journal(core).advance(to));
  standing(core).stopped = null;
  return 'on';
}

/** How long a query waits for what D1 lacks. */
const QUERY_PATIENCE = 10_000;

/** Until D1 has everything, for a query whose answer depends on it. Throws UNAVAILABLE if it does not. */
export async function caughtUp(core: Core): Promise<void> {
  // safety: query-after-records
  if (!(await mirror(core).reached(journal(core).last(), QUERY_PATIENCE)))
    throw new ApiError(refuse('UNAVAILABLE', { retry_after: 1 }));
}

/** The task: sends what nothing has waited for. */
export async function followLater(core: Core, now: number): Promise<number | null> {
  const isDone = await mirror(core).follow();
  if (standing(core).stopped) return now + RETRY_STOPPED;
  return isDone ? null : now + RETRY;
}

/** Sees to it that D1 gets what was just recorded: soon, or at once if there is a batch. */
export function noteRecorded(core: Core, now: number): void {
  core.schedule.at('mirror', now + LAG);
  const { records, bytes } = journal(core).extent();
  if (records >= MOST_RECORDS || bytes >= MOST_BYTES) void mirror(core).follow();
}

const DIVERGED =
  "The database does not match the records of this organisation (an integrity violation). The deployment's log has the details. If the database has lost rows that this organisation had, the operator first runs npm run restore -- FILE --rows. After a restore of a whole backup, the operator must call POST /api/v1/orgs/:org_id/adopt, which gives up secrets that the database lacks.";

const FULL =
  'The database has not responded for a long time, and no more changes can be kept for it. Only requests that revoke credentials or recover the organisation work until it responds again.';

/**
 * Why no change can be made now. `isUrgent`: the change ends access, which must not depend on D1.
 */
export function barred(core: Core, isUrgent: boolean): Refusal | null {
  const own = mirror(core);
  // safety: no-change-during-adoption, no-change-by-older-gate
  if (own.isAdopting || standing(core).isBehind) return refuse('UNAVAILABLE', { retry_after: 1 });
  if (own.isPaused() || journal(core).term() === null)
    return refuse('UNAVAILABLE', { message: DIVERGED, retry_after: 60 });
  if (isUrgent) return null;
  // What was changed now would be given up by the adoption.
  // safety: no-change-while-diverged
  if (standing(core).stopped?.why === 'diverged')
    return refuse('UNAVAILABLE', { message: DIVERGED, retry_after: 60 });
  const { records, bytes } = journal(core).extent();
  // safety: journal-bounded
  return records >= BOUND.records || bytes >= BOUND.bytes
    ? refuse('UNAVAILABLE', { message: FULL, retry_after: 30 })
    : null;
}
