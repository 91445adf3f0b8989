// Deliveries of events to endpoints (webhooks, and connections that receive messages) with their results; the state of each endpoint is in
// `delivery-endpoints.ts`. Stored in the gate's own storage, with a copy of each event, for 30 days. Invariants: each event that an endpoint
// subscribes to has one delivery there, which ends as delivered or failed; only one job at a time sends a delivery, while its lease lasts,
// and any other job may afterwards; an endpoint has only a few deliveries in progress at a time.
import { newId } from '../db/ids';
import { DAY } from '../db/rows';
import { createDeliveryEndpoints, type DeliveryEndpoints } from './delivery-endpoints';
import type { Meta } from './meta';

export const deliveryStatuses = ['pending', 'delivered', 'failed'] as const;
export type DeliveryStatus = (typeof deliveryStatuses)[number];

export interface Delivery {
  id: string;
  webhook: string;
  event: string;
  type: string;
  status: DeliveryStatus;
  attempts: number;
  created_at: number;
  /** While it is pending: when it may be leased. */
  next_at: number | null;
  tried_at: number | null;
  /** The duration of the last attempt. */
  ms: number | null;
  response_status: number | null;
  error: string | null;
  response: string | null;
}

/** An event as it is sent. */
export interface Sent {
  id: string;
  type: string;
  at: number;
  data: Record<string, unknown>;
}

/** A delivery that a job has leased. */
export interface Taken {
  id: string;
  lease: number;
  event: Sent;
}

/** The result of an attempt. */
export interface Attempt {
  status: number | null;
  error: string | null;
  response: string;
  ms: number;
  /** In seconds, as the receiver requested. */
  retry_after: number | null;
}

/** The state of endpoints. */
type Known = Pick<DeliveryEndpoints, 'endpoints' | 'attendedSince' | 'attend' | 'isBusy' | 'disabling' | 'reset'>;

export interface Deliveries extends Known {
  /** The sequence up to which events have their deliveries; null before the first. */
  cursor(): number | null;
  advance(sequence: number): void;
  /** Creates the deliveries of an event. Over the limit of an endpoint, a delivery fails immediately and can be redelivered. `combines`: it waits for others of its kind. */
  add(endpoints: { id: string; combines: boolean }[], event: Sent, now: number): void;
  /** Records a delivery that has already ended. */
  note(webhook: string, event: Sent, attempt: Attempt, now: number): Delivery;
  /** When the next delivery of an endpoint is due, or null. */
  dueAt(webhook: string, now: number): number | null;
  /** Leases due deliveries. */
  take(webhook: string, now: number): Taken[];
  /** Leases due deliveries of one kind, to be sent as one message; none while others of the endpoint are in progress. */
  takeTogether(webhook: string, now: number): Taken[];
  /** Records their result. They stay together: repeated deliveries are due at the same time. `isFinal`: nothing is repeated. */
  reportTogether(together: Pick<Taken, 'id' | 'lease'>[], attempt: Attempt, isFinal: boolean, now: number): void;
  /** Records the result of a leased delivery. */
  report(id: string, lease: number, attempt: Attempt, now: number): void;
  /** Ends up to `limit` pending deliveries of a disabled endpoint. Returns whether there may be more. */
  end(webhook: string, limit: number, now: number): boolean;
  /** Deletes up to `limit` deliveries of a deleted endpoint. Returns whether there may be more. */
  forget(webhook: string, limit: number): boolean;
  get(webhook: string, id: string): Delivery | null;
  /** Up to `limit` deliveries before an id, newest first. */
  page(webhook: string, status: DeliveryStatus | null, before: string | null, limit: number): Delivery[];
  /** Schedules a delivery again. */
  again(id: string, now: number): void;
  /** Schedules up to `limit` failed deliveries of events since a time again. Returns how many, and whether more are left. */
  againSince(webhook: string, since: number, limit: number, now: number): { redelivered: number; more: boolean };
  /** Deletes expired deliveries, and the oldest ones over the limit, up to a maximum per call. Returns whether more are left. */
  sweep(now: number): boolean;
  clear(): void;
}

/** How long events are collected before their deliveries are created. */
export const COLLECTED_FOR = 250;
/** The maximum number of deliveries in one message. */
export const MOST_TOGETHER = 500;
const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
/** The delays before a failed attempt is repeated; after the last attempt the delivery has failed. */
export const RETRIES = [5 * SECOND, 5 * MINUTE, 30 * MINUTE, 2 * HOUR, 5 * HOUR, 10 * HOUR, 10 * HOUR];
const MOST_RETRY_AFTER = 12 * HOUR;
const KEPT = 30 * DAY;
/** The maximum number of pending deliveries of an endpoint. */
export const MOST_PENDING = 20_000;
/** The maximum number of deliveries of an organisation. */
const MOST_KEPT = 500_000;
const PER_SWEEP = 5000;

const COLUMNS = 'id, webhook, event, type, status, attempts, created_at, next_at, tried_at, ms, response_status, error, response';

type Found<T> = T & Record<string, SqlStorageValue>;

function createTables(sql: SqlStorage): void {
  sql.exec(`create table if not exists deliveries (id text primary key, webhook text not null, event text not null, type text not null, status text not null,
    attempts integer not null default 0, created_at integer not null, next_at integer, lease integer not null default 0, tried_at integer, ms integer,
    response_status integer, error text, response text) without rowid`);
  sql.exec('create index if not exists deliveries_of on deliveries (webhook, id)');
  sql.exec("create index if not exists deliveries_pending on deliveries (webhook, next_at) where status = 'pending'");
  sql.exec("create index if not exists deliveries_failed on deliveries (webhook, id) where status = 'failed'");
  sql.exec(
    'create table if not exists delivery_events (id text primary key, type text not null, at integer not null, data text not null) without rowid',
  );
}

/** The delay before the next attempt after a number of failed ones; null for no further attempt. Jitter spreads retries. */
export function retryIn(attempts: number, retryAfter: number | null, random = Math.random()): number | null {
  const delay = RETRIES[attempts - 1];
  if (delay === undefined) return null;
  return Math.max(Math.round(delay * (1 + random * 0.2)), Math.min((retryAfter ?? 0) * SECOND, MOST_RETRY_AFTER));
}

// biome-ignore lint/complexity/noExcessiveLinesPerFunction: its methods share the statements and the counts.
export function createDeliveries(sql: SqlStorage, meta: Meta, mostPending = MOST_PENDING, mostKept = MOST_KEPT): Deliveries {
  createTables(sql);
  const known = createDeliveryEndpoints(sql);
  const all = <T>(query: string, ...params: SqlStorageValue[]) => sql.exec<Found<T>>(query, ...params).toArray();
  const one = <T>(query: string, ...params: SqlStorageValue[]): T | undefined => all<T>(query, ...params)[0];
  const many = (webhook: string) =>
    one<{ n: number }>("select count(*) n from deliveries where webhook = ? and status = 'pending'", webhook)?.n ?? 0;
  /** An upper bound of the pending deliveries of each endpoint, and when they were counted. They are counted again only if the bound reaches the limit, because counting many is slow. */
  const waiting = new Map<string, { most: number; at: number }>();
  const hasRoom = (webhook: string, now: number): boolean => {
    let counted = waiting.get(webhook);
    if (!counted || (counted.most >= mostPending && counted.at !== now)) {
      counted = { most: many(webhook), at: now };
      waiting.set(webhook, counted);
    }
    return counted.most++ < mostPending;
  };
  const keep = ({ id, type, at, data }: Sent) =>
    void sql.exec('insert or ignore into delivery_events values (?, ?, ?, ?)', id, type, at, JSON.stringify(data));
  /** Inserts deliveries of one event, each as id, endpoint, status, due time and error. One statement, because it is part of every change. */
  const insert = (event: Sent, deliveries: (readonly [string, string, DeliveryStatus, number | null, string | null])[], now: number) => {
    keep(event);
    sql.exec(
      `insert into deliveries (id, webhook, status, next_at, error, event, type, created_at)
        select value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4, ?, ?, ? from json_each(?)`,
      ...[event.id, event.type, now, JSON.stringify(deliveries)],
    );
  };
  const get = (id: string) => one<Delivery>(`select ${COLUMNS} from deliveries where id = ?`, id) ?? null;
  const tried = (id: string, { status, error, response, ms }: Attempt, now: number) =>
    void sql.exec(
      'update deliveries set attempts = attempts + 1, tried_at = ?, ms = ?, response_status = ?, error = ?, response = ? where id = ?',
      ...[now, ms, status, error, response, id],
    );
  const settle = (id: string, status: DeliveryStatus, next: number | null) =>
    void sql.exec('update deliveries set status = ?, next_at = ? where id = ?', status, next, id);
  const again = (id: string, now: number) => {
    // More are pending than were counted.
    waiting.clear();
    // Invalidates an active lease.
    sql.exec("update deliveries set status = 'pending', attempts = 0, next_at = ?, lease = lease + 1 where id = ?", now, id);
  };

  /** Leases due deliveries of an endpoint. */
  const lease = (webhook: string, now: number, which: string, params: SqlStorageValue[], most: number): Taken[] =>
    all<{ id: string; lease: number; event: string; type: string; at: number; data: string }>(
      `select deliveries.id, lease + 1 lease, event, delivery_events.type, at, data from deliveries join delivery_events on delivery_events.id = event
          where webhook = ? and status = 'pending' and next_at <= ? ${which} order by next_at limit ?`,
      ...[webhook, now, ...params, most],
    ).map(({ id, lease, event, type, at, data }) => {
      // safety: delivery-leased
      sql.exec('update deliveries set lease = ?, next_at = ? where id = ?', lease, known.lease(webhook, id, now), id);
      return { id, lease, event: { id: event, type, at, data: JSON.parse(data) } };
    });
  /** A delivery with its attempt recorded; null if its lease is no longer valid. */
  const noted = (id: string, lease: number, attempt: Attempt, now: number): Delivery | null => {
    const row = one<Delivery & { lease: number }>(`select ${COLUMNS}, lease from deliveries where id = ?`, id);
    if (!row) return null;
    const isCurrent = row.lease === lease && row.status === 'pending';
    // A success counts whichever job reports it; the failure of an earlier attempt says nothing about a later one.
    // safety: late-failure-ignored
    if (!isCurrent && attempt.error !== null) return null;
    known.release(id);
    tried(id, attempt, now);
    return row;
  };

  const { endpoints, attendedSince, attend, isBusy, disabling, reset } = known;
  return {
    ...{ endpoints, attendedSince, attend, isBusy, disabling, reset },
    cursor: () => (meta.get('deliveries:through') === null ? null : Number(meta.get('deliveries:through'))),
    advance: (sequence) => meta.set('deliveries:through', String(sequence)),
    add(endpoints, event, now) {
      if (endpoints.length === 0) return;
      const made = endpoints.map(({ id: webhook, combines }) => {
        const id = newId('dlv', now);
        known.know(webhook);
        // safety: deliveries-pending-bounded
        if (!hasRoom(webhook, now)) return [id, webhook, 'failed', null, 'backlog_full'] as const;
        return [id, webhook, 'pending', combines ? known.windowOf(webhook, event.type, now) : now, null] as const;
      });
      insert(event, made, now);
    },
    note(webhook, event, attempt, now) {
      const id = newId('dlv', now);
      known.know(webhook);
      insert(event, [[id, webhook, attempt.error === null ? 'delivered' : 'failed', null, null]], now);
      tried(id, attempt, now);
      return get(id) as Delivery;
    },
    dueAt(webhook, now) {
      if (disabling(webhook)) return now;
      return (
        one<{ next_at: number }>(
          "select next_at from deliveries where webhook = ? and status = 'pending' order by next_at limit 1",
          webhook,
        )?.next_at ?? null
      );
    },
    take(webhook, now) {
      return lease(webhook, now, '', [], known.room(webhook, now));
    },
    takeTogether(webhook, now) {
      if (isBusy(webhook, now)) return [];
      const first = one<{ type: string }>(
        "select type from deliveries where webhook = ? and status = 'pending' and next_at <= ? order by next_at limit 1",
        webhook,
        now,
      );
      return first ? lease(webhook, now, 'and deliveries.type = ?', [first.type], MOST_TOGETHER) : [];
    },
    reportTogether(together, attempt, isFinal, now) {
      const random = Math.random();
      for (const { id, lease } of together) {
        const row = noted(id, lease, attempt, now);
        if (!row) continue;
        const next = attempt.error === null || isFinal ? null : retryIn(row.attempts + 1, attempt.retry_after, random);
        settle(id, attempt.error === null ? 'delivered' : next === null ? 'failed' : 'pending', next === null ? null : now + next);
      }
    },
    report(id, lease, attempt, now) {
      const row = noted(id, lease, attempt, now);
      if (!row) return;
      if (attempt.error === null) {
        settle(id, 'delivered', null);
        known.succeeded(row.webhook);
        return;
      }
      const isGone = attempt.status === 410;
      const next = isGone ? null : retryIn(row.attempts + 1, attempt.retry_after);
      settle(id, next === null ? 'failed' : 'pending', next === null ? null : now + next);
      known.failed(row.webhook, isGone, now);
    },
    end(webhook, limit, now) {
      const ids = all<{ id: string }>("select id from deliveries where webhook = ? and status = 'pending' limit ?", webhook, limit);
      for (const { id } of ids) {
        sql.exec("update deliveries set status = 'failed', next_at = null, error = 'webhook_disabled', tried_at = ? where id = ?", now, id);
        known.release(id);
      }
      return ids.length === limit;
    },
    forget(webhook, limit) {
      const { length } = all(
        'delete from deliveries where id in (select id from deliveries where webhook = ? limit ?) returning 1',
        webhook,
        limit,
      );
      if (length === limit) return true;
      known.forget(webhook);
      waiting.delete(webhook);
      return false;
    },
    get(webhook, id) {
      const row = get(id);
      return row?.webhook === webhook ? row : null;
    },
    page: (webhook, status, before, limit) =>
      all<Delivery>(
        `select ${COLUMNS} from deliveries where webhook = ? and id < ? ${status === null ? '' : `and status = '${status}'`} order by id desc limit ?`,
        ...[webhook, before ?? '~', limit],
      ),
    again,
    againSince(webhook, since, limit, now) {
      const room = Math.min(limit, Math.max(0, mostPending - many(webhook)));
      const ids = all<{ id: string }>(
        `select id from deliveries where webhook = ? and status = 'failed' and type <> 'WEBHOOK_TEST'
          and (select at from delivery_events where id = event) >= ? order by id limit ?`,
        ...[webhook, since, room + 1],
      );
      for (const { id } of ids.slice(0, room)) again(id, now);
      return { redelivered: Math.min(ids.length, room), more: ids.length > room };
    },
    sweep(now) {
      const gone = all(
        "delete from deliveries where id in (select id from deliveries where created_at < ? and status <> 'pending' limit ?) returning 1",
        now - KEPT,
        PER_SWEEP,
      );
      const surplus = (one<{ n: number }>('select count(*) n from deliveries')?.n ?? 0) - mostKept;
      if (surplus > 0)
        sql.exec(
          "delete from deliveries where id in (select id from deliveries where status <> 'pending' order by status, id limit ?)",
          Math.min(surplus, PER_SWEEP),
        );
      sql.exec('delete from delivery_events where at < ? and id not in (select event from deliveries)', now - KEPT);
      return gone.length === PER_SWEEP || surplus > PER_SWEEP;
    },
    clear() {
      known.clear();
      waiting.clear();
      for (const table of ['deliveries', 'delivery_events']) sql.exec(`delete from ${table}`);
    },
  };
}
