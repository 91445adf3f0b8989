// Deliveries of events to endpoints (webhooks, and connections that receive messages) with their results.
// Stored in the gate's own storage, with a copy of each event, for 30 days. Jobs lease and report them by
// `attempts.ts`; the state of each endpoint is in `endpoints.ts`. Invariant: each event that an endpoint
// subscribes to has one delivery there, which ends as delivered or failed.
import { newId } from '../../db/ids';
import { DAY } from '../../db/rows';
import type { Meta } from '../../gate/meta';
import { part } from '../../gate/part';
import {
  type Attempt,
  createDeliveryJobs,
  type DeliveryJobs,
  type DeliveryStatus,
  noteAttempt,
  type Sent,
} from './attempts';
import { createDeliveryEndpoints, type DeliveryEndpoints, type Found } from './endpoints';
import { LONGEST_WAIT } from './retries';

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

/** The state of endpoints. */
type Known = Pick<
  DeliveryEndpoints,
  'endpoints' | 'attendedSince' | 'attend' | 'isBusy' | 'failingSince' | 'disabling' | 'reset'
>;

export interface Deliveries extends Known, DeliveryJobs {
  /** The sequence up to which events have their deliveries; null before the first. */
  cursor(): number | null;
  advance(sequence: number): void;
  /**
   * Creates the deliveries of an event. Over the limit of an endpoint, a delivery fails immediately and can
   * be redelivered. `combines`: it waits for others of its kind.
   */
  add(endpoints: { id: string; combines: boolean }[], event: Sent, now: number): void;
  /** Records a delivery that has already ended. */
  note(webhook: string, event: Sent, attempt: Attempt, now: number): Delivery;
  /** Ends up to `limit` pending deliveries of a disabled endpoint. Returns whether there may be more. */
  end(webhook: string, limit: number, now: number): boolean;
  /** Deletes up to `limit` deliveries of a deleted endpoint. Returns whether there may be more. */
  forget(webhook: string, limit: number): boolean;
  get(webhook: string, id: string): Delivery | null;
  /** Up to `limit` deliveries before an id, newest first. */
  page(webhook: string, status: DeliveryStatus | null, before: string | null, limit: number): Delivery[];
  /** Schedules a delivery again. */
  again(id: string, now: number): void;
  /**
   * Schedules up to `limit` failed deliveries of events since a time again. Returns how many, and whether
   * more are left.
   */
  againSince(
    webhook: string,
    since: number,
    limit: number,
    now: number,
  ): { redelivered: number; more: boolean };
  /** The clock was ahead and is right again: deliveries that it put off are due. */
  bringForward(now: number): void;
  /**
   * Deletes expired deliveries, and the oldest ones over the limit, up to a maximum per call. Returns whether
   * more are left.
   */
  sweep(now: number): boolean;
  clear(): void;
}

/** How long events are collected before their deliveries are created. */
export const COLLECTED_FOR = 250;
const KEPT = 30 * DAY;
/** The maximum number of pending deliveries of an endpoint. */
export const MOST_PENDING = 20_000;
/**
 * The maximum number of deliveries of an organisation and of an endpoint. As many more may stand before the
 * oldest ended ones leave.
 */
export const deliveryQuotas = { org: 500_000, endpoint: 50_000, slack: 500 };
const PER_SWEEP = 5000;

const COLUMNS =
  'id, webhook, event, type, status, attempts, created_at, next_at, tried_at, ms, response_status, error, response';

function createTables(sql: SqlStorage): void {
  sql.exec(`create table if not exists deliveries (id text primary key, webhook text not null, event text not null, type text not null, status text not null,
    attempts integer not null default 0, created_at integer not null, next_at integer, lease integer not null default 0, tried_at integer, ms integer,
    response_status integer, error text, response text) without rowid`);
  sql.exec('create index if not exists deliveries_of on deliveries (webhook, id)');
  sql.exec(
    "create index if not exists deliveries_pending on deliveries (webhook, next_at) where status = 'pending'",
  );
  sql.exec(
    "create index if not exists deliveries_failed on deliveries (webhook, id) where status = 'failed'",
  );
  sql.exec(
    'create table if not exists delivery_events (id text primary key, type text not null, at integer not null, data text not null) without rowid',
  );
}

// biome-ignore lint/complexity/noExcessiveLinesPerFunction: its methods share the statements and the counts.
export function createDeliveries(sql: SqlStorage, meta: Meta, mostPending = MOST_PENDING): Deliveries {
  createTables(sql);
  const known = createDeliveryEndpoints(sql);
  const all = <T>(query: string, ...params: SqlStorageValue[]) =>
    sql.exec<Found<T>>(query, ...params).toArray();
  const one = <T>(query: string, ...params: SqlStorageValue[]): T | undefined => all<T>(query, ...params)[0];
  const many = (webhook: string) =>
    one<{ n: number }>("select count(*) n from deliveries where webhook = ? and status = 'pending'", webhook)
      ?.n ?? 0;
  /**
   * An upper bound of the pending deliveries of each endpoint, and when they were counted. They are counted
   * again only if the bound reaches the limit, because counting many is slow.
   */
  const waiting = new Map<string, { most: number; at: number }>();
  const hasRoom = (webhook: string, now: number): boolean => {
    let counted = waiting.get(webhook);
    if (!counted || (counted.most >= mostPending && counted.at !== now)) {
      counted = { most: many(webhook), at: now };
      waiting.set(webhook, counted);
    }
    return counted.most++ < mostPending;
  };
  const kept = createKept(all);
  const keep = ({ id, type, at, data }: Sent) =>
    void sql.exec(
      'insert or ignore into delivery_events values (?, ?, ?, ?)',
      id,
      type,
      at,
      JSON.stringify(data),
    );
  /**
   * Inserts deliveries of one event, each as id, endpoint, status, due time and error. One statement, because
   * it is part of every change.
   */
  const insert = (
    event: Sent,
    deliveries: (readonly [string, string, DeliveryStatus, number | null, string | null])[],
    now: number,
  ) => {
    keep(event);
    sql.exec(
      `insert into deliveries (id, webhook, status, next_at, error, event, type, created_at)
        select value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4, ?, ?, ? from json_each(?)`,
      ...[event.id, event.type, now, JSON.stringify(deliveries)],
    );
    // safety: deliveries-kept-bounded
    for (const [, webhook] of deliveries) kept.add(webhook);
  };
  const get = (id: string) => one<Delivery>(`select ${COLUMNS} from deliveries where id = ?`, id) ?? null;
  const again = (id: string, now: number) => {
    // More are pending than were counted.
    waiting.clear();
    // Invalidates an active lease.
    sql.exec(
      "update deliveries set status = 'pending', attempts = 0, next_at = ?, lease = lease + 1 where id = ?",
      now,
      id,
    );
  };

  const { endpoints, attendedSince, attend, isBusy, failingSince, disabling, reset } = known;
  return {
    endpoints,
    attendedSince,
    attend,
    isBusy,
    failingSince,
    disabling,
    reset,
    ...createDeliveryJobs(sql, known),
    cursor: () => (meta.get('deliveries:through') === null ? null : Number(meta.get('deliveries:through'))),
    advance: (sequence) => meta.set('deliveries:through', String(sequence)),
    add(endpoints, event, now) {
      if (endpoints.length === 0) return;
      const made = endpoints.map(({ id: webhook, combines }) => {
        const id = newId('dlv', now);
        known.know(webhook);
        // safety: deliveries-pending-bounded
        if (!hasRoom(webhook, now)) return [id, webhook, 'failed', null, 'backlog_full'] as const;
        return [
          id,
          webhook,
          'pending',
          combines ? known.windowOf(webhook, event.type, now) : now,
          null,
        ] as const;
      });
      insert(event, made, now);
    },
    note(webhook, event, attempt, now) {
      const id = newId('dlv', now);
      known.know(webhook);
      insert(event, [[id, webhook, attempt.error === null ? 'delivered' : 'failed', null, null]], now);
      noteAttempt(sql, id, attempt, now);
      return get(id) as Delivery;
    },
    end(webhook, limit, now) {
      const ids = all<{ id: string }>(
        "select id from deliveries where webhook = ? and status = 'pending' limit ?",
        webhook,
        limit,
      );
      for (const { id } of ids) {
        sql.exec(
          "update deliveries set status = 'failed', next_at = null, error = 'webhook_disabled', tried_at = ? where id = ?",
          now,
          id,
        );
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
      kept.reset();
      if (length === limit) return true;
      known.forget(webhook);
      waiting.delete(webhook);
      return false;
    },
    get(webhook, id) {
      const row = get(id);
      return row?.webhook === webhook ? row : null;
    },
    // The status is a literal in the SQL, so that the partial index of failed deliveries serves it.
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
    bringForward(now) {
      known.bringForward(now);
      sql.exec(
        "update deliveries set next_at = ?1 where status = 'pending' and next_at > ?1 + ?2",
        now,
        LONGEST_WAIT,
      );
    },
    sweep(now) {
      const gone = all(
        "delete from deliveries where id in (select id from deliveries where created_at < ? and status <> 'pending' limit ?) returning 1",
        now - KEPT,
        PER_SWEEP,
      );
      kept.reset();
      const surplus = (one<{ n: number }>('select count(*) n from deliveries')?.n ?? 0) - deliveryQuotas.org;
      if (surplus > 0)
        sql.exec(
          "delete from deliveries where id in (select id from deliveries where status <> 'pending' order by status, id limit ?)",
          Math.min(surplus, PER_SWEEP),
        );
      sql.exec('delete from delivery_events where id not in (select event from deliveries)');
      return gone.length === PER_SWEEP || surplus > PER_SWEEP;
    },
    clear() {
      known.clear();
      waiting.clear();
      kept.reset();
      for (const table of ['deliveries', 'delivery_events']) sql.exec(`delete from ${table}`);
    },
  };
}

type All = <T>(query: string, ...params: SqlStorageValue[]) => T[];

/**
 * Keeps the deliveries of an endpoint and of the organisation within their quotas. They are counted on first
 * use, then as they are added.
 */
function createKept(all: All) {
  const counts = new Map<string | null, number>();
  const where = (webhook: string | null) => (webhook === null ? '?1 is null' : 'webhook = ?1');
  const count = (webhook: string | null) =>
    all<{ n: number }>(`select count(*) n from deliveries where ${where(webhook)}`, webhook)[0]?.n ?? 0;
  const trim = (webhook: string | null, most: number) => {
    const before = counts.get(webhook);
    const now = before === undefined ? count(webhook) : before + 1;
    counts.set(webhook, now);
    const { slack } = deliveryQuotas;
    if (now <= most + slack) return;
    const { length } = all(
      `delete from deliveries where id in (select id from deliveries where ${where(webhook)} and status <> 'pending' order by id limit ?2) returning 1`,
      webhook,
      slack,
    );
    // Which endpoints those of the organisation are of is not known.
    if (webhook === null) counts.clear();
    else if (counts.has(null)) counts.set(null, (counts.get(null) ?? 0) - length);
    counts.set(webhook, now - length);
  };
  return {
    /** A delivery of an endpoint was added. */
    add(webhook: string) {
      trim(webhook, deliveryQuotas.endpoint);
      trim(null, deliveryQuotas.org);
    },
    /** Deliveries were deleted elsewhere: they are counted again. */
    reset: () => counts.clear(),
  };
}

export const deliveries = part(({ storage, meta }) => createDeliveries(storage.sql, meta));
