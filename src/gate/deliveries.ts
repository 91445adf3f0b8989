// Deliveries of events to endpoints (webhooks, and connections that messages are sent to): what is to be sent, what came of it, and how each endpoint does. Kept in the gate's own storage, with a copy
// of each event, for 30 days. Invariants: each event that an endpoint subscribes to has one delivery there, which ends as delivered or failed; a
// delivery is sent by one job at a time, for as long as its lease lasts, and by any other afterwards; an endpoint has few under way at a time.
import { newId } from '../db/ids';
import { DAY } from '../db/rows';
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
  /** While it is pending: when it may be taken. */
  next_at: number | null;
  tried_at: number | null;
  /** How long the last attempt took. */
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

/** A delivery that a job has taken. */
export interface Taken {
  id: string;
  lease: number;
  event: Sent;
}

/** What came of an attempt. */
export interface Attempt {
  status: number | null;
  error: string | null;
  response: string;
  ms: number;
  /** In seconds, as the receiver wished. */
  retry_after: number | null;
}

/** Why an endpoint is to be disabled. */
export type Disabling = 'failing' | 'gone';

export interface Deliveries {
  /** The sequence through which events have their deliveries; null before the first. */
  cursor(): number | null;
  advance(sequence: number): void;
  /** Makes a delivery. Past the limit of an endpoint it fails at once: it can be redelivered. `combines`: it waits for others of its kind. */
  add(webhook: string, event: Sent, now: number, combines?: boolean): void;
  /** Notes a delivery that was made and ended. */
  note(webhook: string, event: Sent, attempt: Attempt, now: number): Delivery;
  /** When an endpoint next has something to do, null for never. */
  dueAt(webhook: string, now: number): number | null;
  /** Since when a job is on an endpoint, or asked for; null for none. */
  attendedSince(webhook: string): number | null;
  attend(webhook: string, since: number | null): void;
  /** Whether deliveries of an endpoint are under way. */
  isBusy(webhook: string, now: number): boolean;
  /** Leases deliveries that are due. */
  take(webhook: string, now: number): Taken[];
  /** Leases deliveries of one kind that are due, to be sent as one message; none while others of the endpoint are under way. */
  takeTogether(webhook: string, now: number): Taken[];
  /** Notes what came of them. They stay together: what is repeated is due at one time. `isFinal`: nothing is repeated. */
  reportTogether(together: Pick<Taken, 'id' | 'lease'>[], attempt: Attempt, isFinal: boolean, now: number): void;
  /** Notes what came of a delivery under a lease. */
  report(id: string, lease: number, attempt: Attempt, now: number): void;
  /** Why an endpoint is to be disabled, or null. */
  disabling(webhook: string): Disabling | null;
  /** An endpoint starts afresh. */
  reset(webhook: string): void;
  /** Ends up to `limit` pending deliveries of an endpoint that is disabled; answers whether there were as many. */
  end(webhook: string, limit: number, now: number): boolean;
  /** Deletes up to `limit` deliveries of an endpoint that is gone; answers whether there were as many. */
  forget(webhook: string, limit: number): boolean;
  /** Endpoints that deliveries or notes are left of. */
  endpoints(): string[];
  get(webhook: string, id: string): Delivery | null;
  /** Up to `limit` deliveries before an id, newest first. */
  page(webhook: string, status: DeliveryStatus | null, before: string | null, limit: number): Delivery[];
  /** Sends a delivery anew. */
  again(id: string, now: number): void;
  /** Sends up to `limit` failed deliveries of events since a time anew; answers how many, and whether more are left. */
  againSince(webhook: string, since: number, limit: number, now: number): { redelivered: number; more: boolean };
  /** Drops what is past its time, and the oldest of what is too much; a bounded number. Answers whether there is more. */
  sweep(now: number): boolean;
  clear(): void;
}

/** How long events are collected before they are given their deliveries. */
export const COLLECTED_FOR = 250;
/** In flight per endpoint; of one whose last attempt failed, one. */
const MOST_IN_FLIGHT = 4;
/** Deliveries that one message stands for. */
export const MOST_TOGETHER = 500;
/** How long the first of a kind waits for others, and how long the next ones do after it. */
export const GATHERED_FOR = 2000;
export const BETWEEN_MESSAGES = 60_000;
/** Longer than an attempt, with the calls before and after it. */
export const LEASE = 60_000;
const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
/** After so long an attempt that failed is repeated; after the last one the delivery has failed. */
export const RETRIES = [5 * SECOND, 5 * MINUTE, 30 * MINUTE, 2 * HOUR, 5 * HOUR, 10 * HOUR, 10 * HOUR];
const MOST_RETRY_AFTER = 12 * HOUR;
/** An endpoint that answers no attempt with success for so long is disabled. */
export const FAILING_FOR = 5 * DAY;
const KEPT = 30 * DAY;
/** Deliveries of an endpoint that wait. */
export const MOST_PENDING = 20_000;
/** Deliveries of an organisation. */
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
  sql.exec(
    'create table if not exists delivery_leases (delivery text primary key, webhook text not null, until integer not null) without rowid',
  );
  sql.exec(
    'create table if not exists delivery_windows (webhook text not null, type text not null, until integer not null, primary key (webhook, type)) without rowid',
  );
  sql.exec(
    'create table if not exists delivery_endpoints (webhook text primary key, attended integer, failing_since integer, failed_at integer, disabling text) without rowid',
  );
}

/** How long until the next attempt after so many have failed; null for no more. Jitter keeps retries apart. */
export function retryIn(attempts: number, retryAfter: number | null, random = Math.random()): number | null {
  const delay = RETRIES[attempts - 1];
  if (delay === undefined) return null;
  return Math.max(Math.round(delay * (1 + random * 0.2)), Math.min((retryAfter ?? 0) * SECOND, MOST_RETRY_AFTER));
}

// biome-ignore lint/complexity/noExcessiveLinesPerFunction: its methods share the statements and the counts.
export function createDeliveries(sql: SqlStorage, meta: Meta, mostPending = MOST_PENDING, mostKept = MOST_KEPT): Deliveries {
  createTables(sql);
  const all = <T>(query: string, ...params: SqlStorageValue[]) => sql.exec<Found<T>>(query, ...params).toArray();
  const one = <T>(query: string, ...params: SqlStorageValue[]): T | undefined => all<T>(query, ...params)[0];
  const many = (webhook: string) =>
    one<{ n: number }>("select count(*) n from deliveries where webhook = ? and status = 'pending'", webhook)?.n ?? 0;
  /** How many wait, by endpoint, within one turn. */
  const waiting = { turn: -1, of: new Map<string, number>() };
  const hasRoom = (webhook: string, now: number) => {
    if (waiting.turn !== now) Object.assign(waiting, { turn: now, of: new Map() });
    const n = waiting.of.get(webhook) ?? many(webhook);
    waiting.of.set(webhook, n + 1);
    return n < mostPending;
  };
  const endpoint = (webhook: string) => void sql.exec('insert or ignore into delivery_endpoints (webhook) values (?)', webhook);
  const keep = ({ id, type, at, data }: Sent) =>
    void sql.exec('insert or ignore into delivery_events values (?, ?, ?, ?)', id, type, at, JSON.stringify(data));
  const insert = (webhook: string, event: Sent, status: DeliveryStatus, now: number) => {
    keep(event);
    const id = newId('dlv', now);
    sql.exec(
      'insert into deliveries (id, webhook, event, type, status, created_at, next_at) values (?, ?, ?, ?, ?, ?, ?)',
      ...[id, webhook, event.id, event.type, status, now, status === 'pending' ? now : null],
    );
    return id;
  };
  /** When the next message about a kind is due at an endpoint: soon, but a minute after the last one. */
  const windowOf = (webhook: string, type: string, now: number): number => {
    const until = one<{ until: number }>('select until from delivery_windows where webhook = ? and type = ?', webhook, type)?.until;
    if (until !== undefined && until > now) return until;
    // safety: notifications-spaced
    const next = Math.max(now + GATHERED_FOR, until === undefined ? 0 : until + BETWEEN_MESSAGES);
    sql.exec('insert or replace into delivery_windows values (?, ?, ?)', webhook, type, next);
    return next;
  };
  const get = (id: string) => one<Delivery>(`select ${COLUMNS} from deliveries where id = ?`, id) ?? null;
  const tried = (id: string, { status, error, response, ms }: Attempt, now: number) =>
    void sql.exec(
      'update deliveries set attempts = attempts + 1, tried_at = ?, ms = ?, response_status = ?, error = ?, response = ? where id = ?',
      ...[now, ms, status, error, response, id],
    );
  const settle = (id: string, status: DeliveryStatus, next: number | null) =>
    void sql.exec('update deliveries set status = ?, next_at = ? where id = ?', status, next, id);
  const again = (id: string, now: number) =>
    // A lease that is out counts no more.
    void sql.exec("update deliveries set status = 'pending', attempts = 0, next_at = ?, lease = lease + 1 where id = ?", now, id);

  /** Leases what is due at an endpoint. */
  const lease = (webhook: string, now: number, which: string, params: SqlStorageValue[], most: number): Taken[] =>
    all<{ id: string; lease: number; event: string; type: string; at: number; data: string }>(
      `select deliveries.id, lease + 1 lease, event, delivery_events.type, at, data from deliveries join delivery_events on delivery_events.id = event
          where webhook = ? and status = 'pending' and next_at <= ? ${which} order by next_at limit ?`,
      ...[webhook, now, ...params, most],
    ).map(({ id, lease, event, type, at, data }) => {
      // safety: delivery-leased
      sql.exec('update deliveries set lease = ?, next_at = ? where id = ?', lease, now + LEASE, id);
      sql.exec('insert or replace into delivery_leases values (?, ?, ?)', id, webhook, now + LEASE);
      return { id, lease, event: { id: event, type, at, data: JSON.parse(data) } };
    });
  /** A delivery whose attempt is noted; null for one that counts no more. */
  const noted = (id: string, lease: number, attempt: Attempt, now: number): Delivery | null => {
    const row = one<Delivery & { lease: number }>(`select ${COLUMNS}, lease from deliveries where id = ?`, id);
    if (!row) return null;
    const isCurrent = row.lease === lease && row.status === 'pending';
    // What was delivered is delivered, whoever reports it; that an earlier attempt failed says nothing of a later one.
    // safety: late-failure-ignored
    if (!isCurrent && attempt.error !== null) return null;
    sql.exec('delete from delivery_leases where delivery = ?', id);
    tried(id, attempt, now);
    return row;
  };

  /** An endpoint that fails, and for how long it has. One that had nothing to do for as long begins anew. */
  const failed = (webhook: string, isGone: boolean, now: number) => {
    const known = one<{ failing_since: number | null; failed_at: number | null }>(
      'select failing_since, failed_at from delivery_endpoints where webhook = ?',
      webhook,
    );
    const isNew = known?.failing_since == null || now - (known.failed_at ?? now) >= FAILING_FOR;
    const since = isNew ? now : (known.failing_since as number);
    // safety: webhook-disabled-after-failing
    const disabling: Disabling | null = isGone ? 'gone' : now - since >= FAILING_FOR ? 'failing' : null;
    sql.exec(
      'update delivery_endpoints set failing_since = ?, failed_at = ?, disabling = coalesce(?, disabling) where webhook = ?',
      ...[since, now, disabling, webhook],
    );
  };

  return {
    cursor: () => (meta.get('deliveries:through') === null ? null : Number(meta.get('deliveries:through'))),
    advance: (sequence) => meta.set('deliveries:through', String(sequence)),
    add(webhook, event, now, combines = false) {
      endpoint(webhook);
      // safety: deliveries-pending-bounded
      if (hasRoom(webhook, now)) {
        const id = insert(webhook, event, 'pending', now);
        if (combines) settle(id, 'pending', windowOf(webhook, event.type, now));
        return;
      }
      const id = insert(webhook, event, 'failed', now);
      sql.exec("update deliveries set error = 'backlog_full' where id = ?", id);
    },
    note(webhook, event, attempt, now) {
      const id = insert(webhook, event, attempt.error === null ? 'delivered' : 'failed', now);
      tried(id, attempt, now);
      return get(id) as Delivery;
    },
    dueAt(webhook, now) {
      if (one('select 1 from delivery_endpoints where webhook = ? and disabling is not null', webhook)) return now;
      return (
        one<{ next_at: number }>(
          "select next_at from deliveries where webhook = ? and status = 'pending' order by next_at limit 1",
          webhook,
        )?.next_at ?? null
      );
    },
    attendedSince: (webhook) =>
      one<{ attended: number | null }>('select attended from delivery_endpoints where webhook = ?', webhook)?.attended ?? null,
    attend(webhook, since) {
      endpoint(webhook);
      sql.exec('update delivery_endpoints set attended = ? where webhook = ?', since, webhook);
    },
    isBusy: (webhook, now) => one('select 1 from delivery_leases where webhook = ? and until > ?', webhook, now) !== undefined,
    take(webhook, now) {
      sql.exec('delete from delivery_leases where webhook = ? and until <= ?', webhook, now);
      const isFailing = one('select 1 from delivery_endpoints where webhook = ? and failing_since is not null', webhook) !== undefined;
      const inFlight = one<{ n: number }>('select count(*) n from delivery_leases where webhook = ?', webhook)?.n ?? 0;
      // safety: deliveries-in-flight-bounded
      const room = Math.max(0, (isFailing ? 1 : MOST_IN_FLIGHT) - inFlight);
      return lease(webhook, now, '', [], room);
    },
    takeTogether(webhook, now) {
      sql.exec('delete from delivery_leases where webhook = ? and until <= ?', webhook, now);
      if (one('select 1 from delivery_leases where webhook = ?', webhook)) return [];
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
        sql.exec('update delivery_endpoints set failing_since = null, failed_at = null where webhook = ?', row.webhook);
        return;
      }
      const isGone = attempt.status === 410;
      const next = isGone ? null : retryIn(row.attempts + 1, attempt.retry_after);
      settle(id, next === null ? 'failed' : 'pending', next === null ? null : now + next);
      failed(row.webhook, isGone, now);
    },
    disabling: (webhook) =>
      one<{ disabling: Disabling | null }>('select disabling from delivery_endpoints where webhook = ?', webhook)?.disabling ?? null,
    reset: (webhook) =>
      void sql.exec(
        'update delivery_endpoints set attended = null, failing_since = null, failed_at = null, disabling = null where webhook = ?',
        webhook,
      ),
    end(webhook, limit, now) {
      const ids = all<{ id: string }>("select id from deliveries where webhook = ? and status = 'pending' limit ?", webhook, limit);
      for (const { id } of ids) {
        sql.exec("update deliveries set status = 'failed', next_at = null, error = 'webhook_disabled', tried_at = ? where id = ?", now, id);
        sql.exec('delete from delivery_leases where delivery = ?', id);
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
      sql.exec('delete from delivery_leases where webhook = ?', webhook);
      sql.exec('delete from delivery_windows where webhook = ?', webhook);
      sql.exec('delete from delivery_endpoints where webhook = ?', webhook);
      return false;
    },
    endpoints: () => all<{ webhook: string }>('select webhook from delivery_endpoints').map(({ webhook }) => webhook),
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
      for (const table of ['deliveries', 'delivery_events', 'delivery_leases', 'delivery_windows', 'delivery_endpoints'])
        sql.exec(`delete from ${table}`);
    },
  };
}
