// The state of delivery endpoints: which have a running job, which deliveries are in flight, since when an
// endpoint fails, and when it next gets a message about a kind. Invariants: a lease expires on its own; an
// endpoint without a successful attempt for 5 days, or that reports it is gone, is to be disabled until it is
// reset.
import { DAY } from '../../db/rows';

/** Why an endpoint must be disabled. */
export type Disabling = 'failing' | 'gone';

export interface DeliveryEndpoints {
  /** An endpoint has deliveries. */
  know(webhook: string): void;
  /** Endpoints with remaining deliveries or state. */
  endpoints(): string[];
  /** Since when an endpoint has a job, running or requested; null for none. */
  attendedSince(webhook: string): number | null;
  attend(webhook: string, since: number | null): void;
  /** Whether deliveries of an endpoint are in flight. */
  isBusy(webhook: string, now: number): boolean;
  /** How many more deliveries of an endpoint may be in flight. */
  room(webhook: string, now: number): number;
  /** Marks a delivery as in flight. Returns until when. */
  lease(webhook: string, delivery: string, now: number): number;
  /** Ends a lease. */
  release(delivery: string): void;
  /** When the next message about a kind is due at an endpoint: soon, but a minute after the last one. */
  windowOf(webhook: string, type: string, now: number): number;
  succeeded(webhook: string): void;
  /** An attempt has failed; `isGone`: permanently. */
  failed(webhook: string, isGone: boolean, now: number): void;
  /** Since when the attempts at an endpoint fail; null if the last one succeeded or there was none. */
  failingSince(webhook: string): number | null;
  /** Why an endpoint must be disabled, or null. */
  disabling(webhook: string): Disabling | null;
  /** No lease, job or interval lasts longer from now than it does from its beginning. */
  bringForward(now: number): void;
  /** Resets the state of an endpoint. */
  reset(webhook: string): void;
  forget(webhook: string): void;
  clear(): void;
}

/** The most deliveries in flight per endpoint; one if its last attempt failed. */
const MOST_IN_FLIGHT = 4;
/** How long the first event of a kind waits for others, and the interval between later messages. */
export const GATHERED_FOR = 2000;
export const BETWEEN_MESSAGES = 60_000;
/** Longer than an attempt together with the calls before and after it. */
export const LEASE = 60_000;
/** An endpoint without a successful attempt for this long is disabled. */
export const FAILING_FOR = 5 * DAY;

/** A row as SQLite returns it. */
export type Found<T> = T & Record<string, SqlStorageValue>;

interface EndpointRow {
  attended: number | null;
  failing_since: number | null;
  failed_at: number | null;
  disabling: Disabling | null;
}

function createTables(sql: SqlStorage): void {
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

/**
 * Notes a failure, and whether it disables the endpoint. An endpoint that was idle for that long starts over.
 */
function noteFailure(
  sql: SqlStorage,
  webhook: string,
  known: EndpointRow | undefined,
  isGone: boolean,
  now: number,
): void {
  const isNew = known?.failing_since == null || now - (known.failed_at ?? now) >= FAILING_FOR;
  const since = isNew ? now : (known.failing_since as number);
  // safety: webhook-disabled-after-failing
  const disabling: Disabling | null = isGone ? 'gone' : now - since >= FAILING_FOR ? 'failing' : null;
  sql.exec(
    'update delivery_endpoints set failing_since = ?, failed_at = ?, disabling = coalesce(?, disabling) where webhook = ?',
    ...[since, now, disabling, webhook],
  );
}

export function createDeliveryEndpoints(sql: SqlStorage): DeliveryEndpoints {
  createTables(sql);
  const one = <T>(query: string, ...params: SqlStorageValue[]): T | undefined =>
    sql.exec<Found<T>>(query, ...params).toArray()[0];
  const rowOf = (webhook: string) =>
    one<EndpointRow>('select * from delivery_endpoints where webhook = ?', webhook);
  /** Endpoints that certainly have a row. */
  const noted = new Set<string>();
  const know = (webhook: string) => {
    if (!noted.has(webhook))
      sql.exec('insert or ignore into delivery_endpoints (webhook) values (?)', webhook);
    noted.add(webhook);
  };
  return {
    know,
    endpoints: () =>
      sql
        .exec<{ webhook: string }>('select webhook from delivery_endpoints')
        .toArray()
        .map(({ webhook }) => webhook),
    attendedSince: (webhook) => rowOf(webhook)?.attended ?? null,
    attend(webhook, since) {
      know(webhook);
      sql.exec('update delivery_endpoints set attended = ? where webhook = ?', since, webhook);
    },
    ...leases(sql, (webhook) => rowOf(webhook)?.failing_since != null),
    windowOf(webhook, type, now) {
      const until = one<{ until: number }>(
        'select until from delivery_windows where webhook = ? and type = ?',
        webhook,
        type,
      )?.until;
      if (until !== undefined && until > now) return until;
      // safety: notifications-spaced
      const next = Math.max(now + GATHERED_FOR, until === undefined ? 0 : until + BETWEEN_MESSAGES);
      sql.exec('insert or replace into delivery_windows values (?, ?, ?)', webhook, type, next);
      return next;
    },
    succeeded: (webhook) =>
      void sql.exec(
        'update delivery_endpoints set failing_since = null, failed_at = null where webhook = ?',
        webhook,
      ),
    failed: (webhook, isGone, now) => noteFailure(sql, webhook, rowOf(webhook), isGone, now),
    failingSince: (webhook) => rowOf(webhook)?.failing_since ?? null,
    disabling: (webhook) => rowOf(webhook)?.disabling ?? null,
    bringForward: (now) => bringForward(sql, now),
    reset: (webhook) =>
      void sql.exec(
        'update delivery_endpoints set attended = null, failing_since = null, failed_at = null, disabling = null where webhook = ?',
        webhook,
      ),
    forget(webhook) {
      noted.delete(webhook);
      for (const table of ['leases', 'windows', 'endpoints'])
        sql.exec(`delete from delivery_${table} where webhook = ?`, webhook);
    },
    clear() {
      noted.clear();
      for (const table of ['leases', 'windows', 'endpoints']) sql.exec(`delete from delivery_${table}`);
    },
  };
}

/** What is in flight to each endpoint: one delivery to one that fails. */
function leases(
  sql: SqlStorage,
  isFailing: (webhook: string) => boolean,
): Pick<DeliveryEndpoints, 'isBusy' | 'room' | 'lease' | 'release'> {
  const count = (webhook: string, after: number) =>
    sql
      .exec<{ n: number }>(
        'select count(*) n from delivery_leases where webhook = ? and until > ?',
        webhook,
        after,
      )
      .one().n;
  return {
    isBusy: (webhook, now) => count(webhook, now) > 0,
    room(webhook, now) {
      sql.exec('delete from delivery_leases where webhook = ? and until <= ?', webhook, now);
      // safety: deliveries-in-flight-bounded
      return Math.max(0, (isFailing(webhook) ? 1 : MOST_IN_FLIGHT) - count(webhook, now));
    },
    lease(webhook, delivery, now) {
      sql.exec('insert or replace into delivery_leases values (?, ?, ?)', delivery, webhook, now + LEASE);
      return now + LEASE;
    },
    release: (delivery) => void sql.exec('delete from delivery_leases where delivery = ?', delivery),
  };
}

function bringForward(sql: SqlStorage, now: number): void {
  sql.exec('update delivery_leases set until = min(until, ?)', now + LEASE);
  sql.exec('update delivery_windows set until = min(until, ?)', now + BETWEEN_MESSAGES);
  sql.exec(
    'update delivery_endpoints set attended = iif(attended > ?1, null, attended), failing_since = min(failing_since, ?1), failed_at = min(failed_at, ?1)',
    now,
  );
}
