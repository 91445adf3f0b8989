// Checkpoints: points of the audit chain that the Worker signs, because the key never enters the gate: the
// end of each segment, and the head of the log every ten minutes. Invariants: a statement never changes, so a
// repeated job stores the same row; what is deleted from the log is decided by what the gate itself moved,
// never by D1; a wanted signature is requested until it is stored; an idle log requests none.

import type { Core } from '../core';
import { part } from '../part';

/** A point of the chain, and when its statement was made. */
export interface Statement {
  sequence: number;
  hash: string;
  time: number;
}

/** The end of a segment, and when its last entry was written. */
export interface SegmentEnd {
  sequence: number;
  hash: string;
  at: number;
}

export interface Checkpoints {
  /** Requests a signature; an existing statement on this sequence stays unchanged. */
  want(statement: Statement): void;
  /** Up to `limit` statements without a stored signature, oldest first. */
  waiting(limit: number): Statement[];
  /** The statement on a sequence. */
  statement(sequence: number): Statement | null;
  /** Records that D1 has the signature of a statement. */
  stored(sequence: number): void;
  /** The sequences of up to `limit` statements stored in D1, from one on. */
  from(sequence: number, limit: number): number[];
  /** The newest statement, stored or not. */
  newest(): Statement | null;
  /** Removes all stored statements except these, after a restore lost the others in D1. */
  keep(sequences: readonly number[]): void;
  /** A segment has moved to D1. */
  closed(end: SegmentEnd): void;
  end(sequence: number): SegmentEnd | null;
  /** The newest segment end whose entries are older than a time and whose sequence is at most `most`. */
  endBefore(time: number, most: number): SegmentEnd | null;
  /** Removes everything older than a cut. */
  forget(cut: number): void;
}

/** The longest time that entries go without a checkpoint. */
export const CHECKPOINT_EVERY = 600_000;

function createTables(sql: SqlStorage): void {
  sql.exec(
    'create table if not exists checkpoints (sequence integer primary key, hash text not null, time integer not null, stored integer not null default 0)',
  );
  sql.exec('create index if not exists checkpoints_waiting on checkpoints (sequence) where stored = 0');
  sql.exec(
    'create table if not exists segment_ends (sequence integer primary key, hash text not null, at integer not null)',
  );
}

type Row<T> = T & Record<string, SqlStorageValue>;

export function createCheckpoints(sql: SqlStorage): Checkpoints {
  createTables(sql);
  return {
    want: ({ sequence, hash, time }) =>
      void sql.exec(
        'insert or ignore into checkpoints (sequence, hash, time) values (?, ?, ?)',
        sequence,
        hash,
        time,
      ),
    waiting: (limit) =>
      sql
        .exec<Row<Statement>>(
          'select sequence, hash, time from checkpoints where stored = 0 order by sequence limit ?',
          limit,
        )
        .toArray(),
    statement: (sequence) =>
      sql
        .exec<Row<Statement>>('select sequence, hash, time from checkpoints where sequence = ?', sequence)
        .toArray()[0] ?? null,
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
      sql
        .exec<Row<Statement>>('select sequence, hash, time from checkpoints order by sequence desc limit 1')
        .toArray()[0] ?? null,
    keep: (sequences) =>
      void sql.exec(
        'delete from checkpoints where stored = 1 and sequence not in (select value from json_each(?))',
        JSON.stringify(sequences),
      ),
    closed: ({ sequence, hash, at }) =>
      void sql.exec('insert or ignore into segment_ends values (?, ?, ?)', sequence, hash, at),
    end: (sequence) =>
      sql.exec<Row<SegmentEnd>>('select * from segment_ends where sequence = ?', sequence).toArray()[0] ??
      null,
    endBefore: (time, most) =>
      sql
        .exec<Row<SegmentEnd>>(
          'select * from segment_ends where at < ? and sequence <= ? order by sequence desc limit 1',
          time,
          most,
        )
        .toArray()[0] ?? null,
    forget(cut) {
      sql.exec('delete from checkpoints where sequence < ?', cut);
      sql.exec('delete from segment_ends where sequence < ?', cut);
    },
  };
}

export const checkpoints = part(({ storage, auditLog, schedule }) => {
  auditLog.follow((_, now) => schedule.at('checkpoint', now + CHECKPOINT_EVERY));
  return createCheckpoints(storage.sql);
});

/** Up to `limit` segment ends after a sequence, oldest first. */
export const segmentEndsAfter = ({ storage }: Core, sequence: number, limit: number): SegmentEnd[] =>
  storage.sql
    .exec<Row<SegmentEnd>>(
      'select * from segment_ends where sequence > ? order by sequence limit ?',
      sequence,
      limit,
    )
    .toArray();

/** A segment has moved: its end needs a signature. */
export function closeSegment(core: Core, end: SegmentEnd, now: number): void {
  checkpoints(core).closed(end);
  checkpoints(core).want({ sequence: end.sequence, hash: end.hash, time: now });
  core.schedule.at('checkpoint', now);
}

/**
 * Requests signatures for the head of the log, at most every ten minutes, and for the ends of segments. An
 * idle log needs none.
 */
export async function requestCheckpoint(core: Core, now: number): Promise<number | null> {
  // A deleted organisation has no key.
  if (core.rows.get('org', core.org)?.deleted_at !== null) return null;
  const head = core.auditLog.head();
  const due = (checkpoints(core).newest()?.time ?? 0) + CHECKPOINT_EVERY;
  if (head.sequence > (checkpoints(core).newest()?.sequence ?? 0) && now >= due)
    checkpoints(core).want({ ...head, time: now });
  if (checkpoints(core).waiting(1).length) {
    await core.enqueue('checkpoint');
    // Messages can be lost: check again later.
    return now + CHECKPOINT_EVERY;
  }
  return head.sequence > (checkpoints(core).newest()?.sequence ?? 0) ? due : null;
}
