// Where D1 stands: which term of the journal it follows, up to which record, and whether that is what this
// gate left there. Invariants: only the gate that begins a term knows it; what D1 takes meanwhile is no
// difference.

import { ApiError, refuse } from '../../errors';
import { lastAlive } from '../archive/age';
import { reportViolation } from '../audit/integrity';
import type { Core } from '../core';
import { part } from '../part';
import { journal } from './records';

/**
 * How long before a start the storage may have been written last, if D1 is away. A gate that lives writes
 * every hour, so older storage may be a copy.
 */
const ALIVE = 2 * 3_600_000;

/** When the mirror is tried again after D1 held something else. */
export const RETRY_STOPPED = 60_000;

/** Noted in the gate from the beginning of an adoption to its end. */
export const ADOPTING = 'adopting';

/** What D1 says of an organisation. */
export interface Position {
  /** Null where D1 has no position of it. */
  term: string | null;
  position: number;
  /** The id of the record there. */
  record: string;
  /** The last sequence of the audit log. */
  sequence: number;
}

/** Its columns, for a query whose first parameter is the organisation. */
export const POSITION = `(select term from journal_positions where org_id = ?1) term,
  coalesce((select position from journal_positions where org_id = ?1), 0) position,
  coalesce((select record from journal_positions where org_id = ?1), '') record,
  coalesce((select max(last_sequence) from audit_segments where org_id = ?1), 0) sequence`;

/** Null if D1 does not respond. */
export async function positionInD1({ database, org }: Core): Promise<Position | null> {
  const found = await database.all<Position>({ sql: `select ${POSITION}`, params: [org] }).catch(() => null);
  return found?.[0] ?? null;
}

/** Whether D1 has, or had, the organisation. Throws UNAVAILABLE if D1 does not respond. */
export async function isInDatabase({ database, org }: Core): Promise<boolean> {
  const [found] = await database.all<{ known: number }>({
    sql: `select exists (select 1 from orgs where id = ?1) or exists (select 1 from journal_positions where org_id = ?1) known`,
    params: [org],
  });
  return found?.known !== 0;
}

/**
 * What D1 is to this gate: it follows the gate; or the gate is behind, because D1 has a record or an audit
 * entry that this gate never made; or it is another database.
 */
export function compare(
  core: Core,
  { term, position, record, sequence }: Position,
): 'follows' | 'behind' | 'diverged' {
  const own = journal(core);
  // safety: older-gate-by-position, older-gate-by-sequence
  if (position > own.last() || sequence > core.auditLog.head().sequence) return 'behind';
  if (own.term() === null) return 'diverged';
  // The first record of an organisation begins it in D1 too.
  if (term === null && own.position() === 0) return 'follows';
  if (term !== own.term() || position < own.position()) return 'diverged';
  // Storage that was put back from a copy gives numbers again.
  // safety: older-gate-by-record
  return own.idOf(position) === record ? 'follows' : 'behind';
}

/** The same, asked of D1; null if it does not respond. What it takes meanwhile is no difference. */
export async function compared(core: Core): Promise<ReturnType<typeof compare> | null> {
  const own = journal(core);
  const before = [own.term(), own.position()].join();
  const found = await positionInD1(core);
  if (found === null) return null;
  return [own.term(), own.position()].join() === before ? compare(core, found) : 'follows';
}

export interface Standing {
  /** Whether D1 has later changes than this gate; null until D1 has answered. */
  isBehind: boolean | null;
  /** Why D1 cannot follow: it refuses a record, or it stands elsewhere than the gate left it. */
  stopped: { why: 'refused' | 'diverged'; at: number } | null;
  /**
   * Whether the storage was last written long before this instance began. Then nothing is served before D1
   * has answered.
   */
  isStale(): boolean;
  /** The question to D1 under way. */
  asking: Promise<boolean | null> | null;
  askedAt: number;
}

export const standing = part((core): Standing => {
  const alive = lastAlive(core);
  let stale: boolean | null = null;
  return {
    isBehind: null,
    stopped: null,
    isStale: () => {
      stale ??= alive > 0 && core.now() - alive > ALIVE;
      return stale;
    },
    asking: null,
    askedAt: 0,
  };
});

/** Notes that D1 has later changes. */
export function noteBehind(core: Core): void {
  standing(core).isBehind = true;
  console.error(JSON.stringify({ level: 'error', event: 'gate_behind', org: core.org }));
}

/**
 * Notes that D1 cannot follow from a record on, and reports it once as an integrity violation. `record`: what
 * is known of it.
 */
export function noteStopped(
  core: Core,
  why: 'refused' | 'diverged',
  at: number,
  { request, resource }: { request: string | null; resource: string | null } = NOTHING,
  detail: object = {},
): void {
  const before = standing(core).stopped;
  standing(core).stopped = { why, at };
  core.schedule.at('mirror', core.now() + RETRY_STOPPED);
  if (before?.why === why && before.at === at) return;
  reportViolation(
    core,
    { event: 'database_diverged', resource: resource ?? core.org, status: 503 },
    { request_id: request ?? '', ip: '', user_agent: null },
    detail,
  );
}

const NOTHING = { request: null, resource: null };

export const newTerm = (): string => crypto.randomUUID();

/**
 * Begins a term in D1, with its own id as that of the record before it: nothing of an earlier one can take
 * effect there any more. `seen`: the position that the caller has read. Throws UNAVAILABLE if D1 has another
 * one by then, or does not respond.
 */
export async function beginTerm(core: Core, seen: Position, term: string, position: number): Promise<void> {
  const [holds, ...params] =
    seen.term === null
      ? ['not exists (select 1 from journal_positions where org_id = ?)', core.org]
      : [
          '(select term = ? and position = ? and record = ? from journal_positions where org_id = ?)',
          ...[seen.term, seen.position, seen.record, core.org],
        ];
  const { end } = await core.database.write([
    // A batch of an earlier release carries an epoch.
    { sql: 'update fences set epoch = epoch + 1 where org_id = ?', params: [core.org] },
    {
      // safety: adoption-guarded-by-term
      sql: `insert into journal_positions (org_id, term, position, record, holds) values (?, ?, ?, ?, ${holds})
        on conflict do update set term = excluded.term, position = excluded.position, record = excluded.record, holds = excluded.holds`,
      params: [core.org, term, position, term, ...params],
    },
  ]);
  if (end !== 'done') throw new ApiError(refuse('UNAVAILABLE', { retry_after: 2 }));
}
