// Events that are still to be delivered, thin: ids, names and versions, never a value. Invariant: an event is written in the same turn
// as the audit entry of what it reports (of a checkpoint: as the note that it is stored), so that neither exists without the other; it goes once it is delivered, or after a month.
import { newId } from '../db/ids';
import { DAY } from '../db/rows';

/** The kinds of event that this release raises. */
export type EventType =
  | 'CREDENTIAL_CREATED'
  | 'CREDENTIAL_REVOKED'
  | 'BREAK_GLASS_ISSUED'
  | 'BREAK_GLASS_USED'
  | 'MEMBER_ENROLLED'
  | 'SECRET_ROTATION_DUE'
  | 'SECRET_ROTATED'
  | 'POLICY_VIOLATED'
  | 'APPROVAL_REQUESTED'
  | 'APPROVAL_DECIDED'
  | 'DEVICE_REGISTERED'
  | 'DEVICE_ASSIGNED'
  | 'DEVICE_UNASSIGNED'
  | 'DEVICE_BLOCKED'
  | 'DEVICE_REMOVED'
  | 'AUDIT_CHECKPOINT'
  | 'SECRET_CREATED'
  | 'SECRET_UPDATED'
  | 'SECRET_DELETED'
  | 'SECRET_RESTORED'
  | 'SECRET_SHARED'
  | 'SECRET_REVOKED'
  | 'SECRET_EXPIRING'
  | 'SECRET_EXPIRED'
  | 'SECRET_LEAKED'
  | 'CREDENTIAL_EXPIRING'
  | 'WEBHOOK_DISABLED';

/** What happened. `data` holds ids, names, versions and counts. */
export interface Raised {
  type: EventType;
  data: Record<string, unknown>;
}

export interface Outbox {
  put(event: Raised, now: number): void;
  /** Counts more uses of a break-glass token: the first is an event at once, later ones are one event a minute. */
  emergency(credential: string, count: number, now: number): void;
  /** Raises the events of minutes that are over; answers when the next one will be, or null. */
  flush(now: number): number | null;
  /** Up to `limit` events, oldest first. */
  oldest(limit: number): { id: string; type: string; at: number; data: Record<string, unknown> }[];
  /** Drops what nobody fetched for a month, and the oldest of what is too much. */
  sweep(now: number): void;
  /** Forgets that a break-glass token was used: it is gone. */
  forget(credential: string): void;
}

const KEPT = 30 * DAY;
const MOST_EVENTS = 100_000;
const MINUTE = 60_000;

export function createOutbox(sql: SqlStorage): Outbox {
  sql.exec(
    'create table if not exists outbox (id text primary key, type text not null, at integer not null, data text not null) without rowid',
  );
  sql.exec(
    'create table if not exists emergencies (credential text not null, minute integer not null, count integer not null, primary key (credential, minute)) without rowid',
  );
  const put = ({ type, data }: Raised, now: number) =>
    void sql.exec('insert into outbox values (?, ?, ?, ?)', newId('evt', now), type, now, JSON.stringify(data));
  return {
    put,
    emergency(credential, count, now) {
      // Minute 0 stands for the first use: it says that there was one.
      const isFirst = sql.exec('insert or ignore into emergencies values (?, 0, 1)', credential).rowsWritten > 0;
      if (isFirst) return put({ type: 'BREAK_GLASS_USED', data: { credential_id: credential, count } }, now);
      sql.exec(
        'insert into emergencies values (?, ?, ?) on conflict do update set count = count + excluded.count',
        credential,
        Math.floor(now / MINUTE),
        count,
      );
    },
    flush(now) {
      const minute = Math.floor(now / MINUTE);
      for (const { credential, count } of sql
        .exec<{ credential: string; count: number }>('select credential, count from emergencies where minute between 1 and ?', minute - 1)
        .toArray())
        put({ type: 'BREAK_GLASS_USED', data: { credential_id: credential, count } }, now);
      sql.exec('delete from emergencies where minute between 1 and ?', minute - 1);
      const next = sql.exec<{ n: number | null }>('select min(minute) n from emergencies where minute > 0').one().n;
      return next === null ? null : (next + 1) * MINUTE;
    },
    oldest: (limit) =>
      sql
        .exec<{ id: string; type: string; at: number; data: string }>('select * from outbox order by id limit ?', limit)
        .toArray()
        .map(({ data, ...event }) => ({ ...event, data: JSON.parse(data) })),
    sweep(now) {
      sql.exec('delete from outbox where at < ?', now - KEPT);
      sql.exec('delete from outbox where id <= (select id from outbox order by id desc limit 1 offset ?)', MOST_EVENTS);
    },
    forget: (credential) => void sql.exec('delete from emergencies where credential = ?', credential),
  };
}
