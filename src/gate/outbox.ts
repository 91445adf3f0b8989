// The newest events of an organisation: ids, names and versions, never a value. Invariants: an event is
// written in the same turn as the audit entry that it reports (for a checkpoint, as the note that it is
// stored), so neither exists without the other; it gets its number in that turn, and numbers have no gaps
// but those of events whose stored row was altered.
// Closed ranges move to D1 (`archive/event-segments.ts`). Events past their retention, and the oldest beyond
// the limit, are deleted.
import { newId } from '../db/ids';
import { DAY } from '../db/rows';
import type { Meta } from './meta';

/** The kinds of event that this release raises. */
export const eventTypes = [
  'CREDENTIAL_CREATED',
  'CREDENTIAL_REVOKED',
  'BREAK_GLASS_ISSUED',
  'BREAK_GLASS_USED',
  'MEMBER_ENROLLED',
  'MEMBER_ADDED',
  'MEMBER_CHANGED',
  'MEMBER_REMOVED',
  'GRANT_CREATED',
  'GRANT_REMOVED',
  'POLICY_CREATED',
  'POLICY_CHANGED',
  'POLICY_REMOVED',
  'TRUST_CHANGED',
  'SSO_CHANGED',
  'ENROLMENT_CREATED',
  'ORG_RECOVERED',
  'SECRET_ROTATION_DUE',
  'SECRET_ROTATED',
  'POLICY_VIOLATED',
  'APPROVAL_REQUESTED',
  'APPROVAL_DECIDED',
  'DEVICE_REGISTERED',
  'DEVICE_ASSIGNED',
  'DEVICE_UNASSIGNED',
  'DEVICE_BLOCKED',
  'DEVICE_REMOVED',
  'AUDIT_CHECKPOINT',
  'SECRET_CREATED',
  'SECRET_UPDATED',
  'SECRET_DELETED',
  'SECRET_RESTORED',
  'SECRET_SHARED',
  'SECRET_REVOKED',
  'SECRET_EXPIRING',
  'SECRET_EXPIRED',
  'SECRET_LEAKED',
  'CREDENTIAL_EXPIRING',
  'WEBHOOK_DISABLED',
  'SYNC_COMPLETED',
  'SYNC_FAILED',
  'INCIDENT_OPENED',
  'LOG_STREAM_CHANGED',
  'LOG_STREAM_DISABLED',
  'UPSTREAM_CHANGED',
] as const;
export type EventType = (typeof eventTypes)[number];

/**
 * Kinds that every notify connection gets, regardless of its subscription: owners must learn of unusual
 * access.
 */
export const alwaysNotified: ReadonlySet<string> = new Set<EventType>([
  'BREAK_GLASS_ISSUED',
  'BREAK_GLASS_USED',
  'ORG_RECOVERED',
  'ENROLMENT_CREATED',
]);

/** An event to raise. `data` contains ids, names, versions and counts. */
export interface Raised {
  type: EventType;
  data: Record<string, unknown>;
}

/** A stored event, with its number, id and time. */
export interface StoredEvent {
  sequence: number;
  id: string;
  type: EventType;
  at: number;
  data: Record<string, unknown>;
}

export interface Outbox {
  put(event: Raised, now: number): void;
  /** Events after this sequence stay in the gate, for whoever still reads them here. */
  keepAfter(sequence: () => number): void;
  /** The last sequence that may move to D1. */
  movable(): number;
  /** Calls this for each event, in the turn that raises it. */
  follow(raised: (now: number) => void): void;
  /** Up to `limit` events in the gate with a greater sequence that can be read, oldest first. */
  from(sequence: number, limit: number): StoredEvent[];
  /** Up to `limit` events in the gate, oldest first. */
  oldest(limit: number): StoredEvent[];
  /** The sequence of the newest event; 0 if there is none yet. */
  head(): number;
  /** The last sequence no longer in the gate: up to there, events are in D1 or deleted. */
  moved(): number;
  /** The last sequence whose event was deleted. */
  gone(): number;
  /** Whether there are enough events to move a range to D1. */
  canClose(): boolean;
  /** Deletes events that are now in D1, up to a sequence. */
  move(sequence: number): void;
  /** Deletes events up to a sequence. */
  forgetThrough(sequence: number): void;
  /** Deletes events whose row cannot be read. Returns the sequences of up to `limit` of them. */
  dropAltered(limit: number): number[];
  /** Deletes events older than 30 days, and the oldest beyond the limit. */
  sweep(now: number): void;
}

/** How long events are kept. */
export const EVENTS_KEPT = 30 * DAY;
/** The most events in the gate, reached only while D1 rejects writes. */
export const MOST_EVENTS = 100_000;
/** Events in a range that moves, and how many stay in the gate, because deliveries are created from them. */
export const EVENTS_A_SEGMENT = 1000;
const STAY = 1000;

/** Whether a row can be read, whatever its columns hold. */
const READABLE = `(typeof(id) = 'text' and id like 'evt\\_%' escape '\\' and typeof(type) = 'text'
  and typeof(at) = 'integer' and typeof(data) = 'text'
  and case when json_valid(data) then json_type(data) = 'object' else 0 end)`;

/** The greatest number of a deleted row that could not be read: it is not used again. */
const lastAltered = (meta: Meta): number => Number(meta.get('events:altered') ?? 0);

function dropAltered(sql: SqlStorage, meta: Meta, limit: number): number[] {
  const dropped = sql
    .exec<{ sequence: number }>(
      `select sequence from outbox where not ${READABLE} order by sequence limit ?`,
      limit,
    )
    .toArray()
    .map(({ sequence }) => sequence);
  const last = dropped.at(-1);
  if (last === undefined) return [];
  sql.exec(`delete from outbox where sequence <= ? and not ${READABLE}`, last);
  // safety: altered-event-number-not-reused
  meta.set('events:altered', String(Math.max(last, lastAltered(meta))));
  return dropped;
}

export function createOutbox(sql: SqlStorage, meta: Meta): Outbox {
  sql.exec(
    'create table if not exists outbox (sequence integer primary key, id text not null, type text not null, at integer not null, data text not null)',
  );
  const moved = () => Number(meta.get('events:moved') ?? 0);
  const gone = () => Number(meta.get('events:gone') ?? 0);
  let head = Math.max(
    sql.exec<{ n: number | null }>('select max(sequence) n from outbox').one().n ?? moved(),
    lastAltered(meta),
  );
  const followers: ((now: number) => void)[] = [];
  const readers: (() => number)[] = [];
  const put = ({ type, data }: Raised, now: number) => {
    // safety: events-numbered
    sql.exec(
      'insert into outbox values (?, ?, ?, ?, ?)',
      head + 1,
      newId('evt', now),
      type,
      now,
      JSON.stringify(data),
    );
    head++;
    for (const raised of followers) raised(now);
  };
  const from = (sequence: number, limit: number): StoredEvent[] =>
    sql
      .exec<{ sequence: number; id: string; type: EventType; at: number; data: string }>(
        `select sequence, id, type, at, data from outbox where sequence > ? and ${READABLE} order by sequence limit ?`,
        sequence,
        limit,
      )
      .toArray()
      .map(({ data, ...event }) => ({ ...event, data: JSON.parse(data) }));
  const move = (sequence: number) => {
    if (sequence <= moved()) return;
    meta.set('events:moved', String(sequence));
    sql.exec('delete from outbox where sequence <= ?', sequence);
    head = Math.max(head, sequence);
  };
  const forgetThrough = (sequence: number) => {
    if (sequence <= gone()) return;
    meta.set('events:gone', String(sequence));
    move(sequence);
  };
  return {
    put,
    follow: (raised) => void followers.push(raised),
    keepAfter: (sequence) => void readers.push(sequence),
    movable: () => Math.min(Number.MAX_SAFE_INTEGER, ...readers.map((read) => read())),
    from,
    oldest: (limit) => from(0, limit),
    head: () => head,
    moved,
    gone,
    canClose: () => head - moved() >= EVENTS_A_SEGMENT + STAY,
    move,
    forgetThrough,
    dropAltered: (limit) => dropAltered(sql, meta, limit),
    sweep(now) {
      const old = sql
        .exec<{ n: number | null }>('select max(sequence) n from outbox where at < ?', now - EVENTS_KEPT)
        .one().n;
      forgetThrough(Math.max(old ?? 0, head - MOST_EVENTS));
    },
  };
}
