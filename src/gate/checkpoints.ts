// Checkpoints: points of the audit chain that the Worker signs, because the key never enters the gate. Here are the statements, and the ends of
// the segments that lie in D1. Invariants: a statement never changes once it is made, so that a repeated job stores the same row; what is cut
// off the log is decided from what the gate itself moved, never from what D1 says.
import type { Core } from './core';

/** A point of the chain, and when its statement was made. */
export interface Statement {
  sequence: number;
  hash: string;
  time: number;
}

/** Where a segment ends, and when its last entry was made. */
export interface SegmentEnd {
  sequence: number;
  hash: string;
  at: number;
}

export interface Checkpoints {
  /** Asks for a signature; a statement on this sequence stays as it is. */
  want(statement: Statement): void;
  /** Up to `limit` statements that are not stored yet, oldest first. */
  waiting(limit: number): Statement[];
  /** What was stated of a sequence. */
  statement(sequence: number): Statement | null;
  /** Notes that D1 holds the signature of a statement. */
  stored(sequence: number): void;
  /** The sequences of up to `limit` statements that D1 holds, from one on. */
  from(sequence: number, limit: number): number[];
  /** The newest statement, stored or not. */
  newest(): Statement | null;
  /** Forgets those that D1 has lost with a restore: all but these. */
  keep(sequences: readonly number[]): void;
  /** A segment has moved to D1. */
  closed(end: SegmentEnd): void;
  end(sequence: number): SegmentEnd | null;
  /** The newest end of a segment whose entries are older than a time, and whose sequence is at most `most`. */
  endBefore(time: number, most: number): SegmentEnd | null;
  /** Forgets what is older than a cut. */
  forget(cut: number): void;
}

/** How long entries may go without a checkpoint. */
export const CHECKPOINT_EVERY = 600_000;

export function createCheckpoints(sql: SqlStorage): Checkpoints {
  sql.exec(
    'create table if not exists checkpoints (sequence integer primary key, hash text not null, time integer not null, stored integer not null default 0)',
  );
  sql.exec('create index if not exists checkpoints_waiting on checkpoints (sequence) where stored = 0');
  sql.exec('create table if not exists segment_ends (sequence integer primary key, hash text not null, at integer not null)');
  type Row<T> = T & Record<string, SqlStorageValue>;
  return {
    want: ({ sequence, hash, time }) =>
      void sql.exec('insert or ignore into checkpoints (sequence, hash, time) values (?, ?, ?)', sequence, hash, time),
    waiting: (limit) =>
      sql.exec<Row<Statement>>('select sequence, hash, time from checkpoints where stored = 0 order by sequence limit ?', limit).toArray(),
    statement: (sequence) =>
      sql.exec<Row<Statement>>('select sequence, hash, time from checkpoints where sequence = ?', sequence).toArray()[0] ?? null,
    stored: (sequence) => void sql.exec('update checkpoints set stored = 1 where sequence = ?', sequence),
    from: (sequence, limit) =>
      sql
        .exec<{ sequence: number }>(
          'select sequence from checkpoints where sequence >= ? and stored = 1 order by sequence limit ?',
          sequence,
          limit,
        )
        .toArray()
        .map((row) => row.sequence),
    newest: () =>
      sql.exec<Row<Statement>>('select sequence, hash, time from checkpoints order by sequence desc limit 1').toArray()[0] ?? null,
    keep: (sequences) =>
      void sql.exec(
        'delete from checkpoints where stored = 1 and sequence not in (select value from json_each(?))',
        JSON.stringify(sequences),
      ),
    closed: ({ sequence, hash, at }) => void sql.exec('insert or ignore into segment_ends values (?, ?, ?)', sequence, hash, at),
    end: (sequence) => sql.exec<Row<SegmentEnd>>('select * from segment_ends where sequence = ?', sequence).toArray()[0] ?? null,
    endBefore: (time, most) =>
      sql
        .exec<Row<SegmentEnd>>('select * from segment_ends where at < ? and sequence <= ? order by sequence desc limit 1', time, most)
        .toArray()[0] ?? null,
    forget(cut) {
      sql.exec('delete from checkpoints where sequence < ?', cut);
      sql.exec('delete from segment_ends where sequence < ?', cut);
    },
  };
}

/** A segment has moved: its end is to be signed. */
export function closeSegment(core: Core, end: SegmentEnd, now: number): void {
  core.checkpoints.closed(end);
  core.checkpoints.want({ sequence: end.sequence, hash: end.hash, time: now });
  core.schedule.at('checkpoint', now);
}

/** Has the Worker sign the head of the log, at most every ten minutes, and the ends of segments. An idle log needs nothing. */
export async function requestCheckpoint(core: Core, org: string, now: number): Promise<number | null> {
  // An organisation that has ended has no key.
  if (core.rows.get('org', org)?.deleted_at !== null) return null;
  const head = core.auditLog.head();
  const due = (core.checkpoints.newest()?.time ?? 0) + CHECKPOINT_EVERY;
  if (head.sequence > (core.checkpoints.newest()?.sequence ?? 0) && now >= due) core.checkpoints.want({ ...head, time: now });
  if (core.checkpoints.waiting(1).length) {
    await core.enqueue('checkpoint');
    // A message can be lost: whether the job was done is looked at again.
    return now + CHECKPOINT_EVERY;
  }
  return head.sequence > (core.checkpoints.newest()?.sequence ?? 0) ? due : null;
}
