// What jobs lease and report: the due deliveries of an endpoint, one by one or several as one message, and
// the results of their attempts. Invariants: only one job at a time sends a delivery, while its lease lasts,
// and any other job may afterwards; an endpoint has only a few deliveries in progress at a time; the failure
// of an earlier attempt changes nothing about a later one.

import type { DeliveryEndpoints, Found } from './endpoints';
import { retryIn } from './retries';

export const deliveryStatuses = ['pending', 'delivered', 'failed'] as const;
export type DeliveryStatus = (typeof deliveryStatuses)[number];

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

export interface DeliveryJobs {
  /** When the next delivery of an endpoint is due, or null. */
  dueAt(webhook: string, now: number): number | null;
  /** Leases due deliveries. */
  take(webhook: string, now: number): Taken[];
  /**
   * Leases due deliveries of one kind, to be sent as one message; none while others of the endpoint are in
   * progress. With `subjectOf` they are about one subject.
   */
  takeTogether(webhook: string, subjectOf: ((event: Sent) => string) | null, now: number): Taken[];
  /**
   * Records their result. They stay together: repeated deliveries are due at the same time. `isFinal`:
   * nothing is repeated.
   */
  reportTogether(
    together: Pick<Taken, 'id' | 'lease'>[],
    attempt: Attempt,
    isFinal: boolean,
    now: number,
  ): void;
  /** Records the result of a leased delivery. */
  report(id: string, lease: number, attempt: Attempt, now: number): void;
}

/** The maximum number of deliveries in one message. */
export const MOST_TOGETHER = 500;
type Leased = Found<{ webhook: string; status: DeliveryStatus; attempts: number; lease: number }>;

/** Records an attempt of a delivery. */
export const noteAttempt = (
  sql: SqlStorage,
  id: string,
  { status, error, response, ms }: Attempt,
  now: number,
): void =>
  void sql.exec(
    'update deliveries set attempts = attempts + 1, tried_at = ?, ms = ?, response_status = ?, error = ?, response = ? where id = ?',
    ...[now, ms, status, error, response, id],
  );

/** The due deliveries of a kind that are about the same subject as the first. */
function sameSubject(
  sql: SqlStorage,
  webhook: string,
  type: string,
  subjectOf: (event: Sent) => string,
  now: number,
): string[] {
  const due = sql
    .exec<Found<{ id: string; event: string; at: number; data: string }>>(
      `select deliveries.id, event, at, data from deliveries join delivery_events on delivery_events.id = event
        where webhook = ? and status = 'pending' and next_at <= ? and deliveries.type = ? order by next_at limit ?`,
      ...[webhook, now, type, MOST_TOGETHER],
    )
    .toArray()
    .map(({ id, event, at, data }) => ({
      id,
      subject: subjectOf({ id: event, type, at, data: JSON.parse(data) }),
    }));
  return due.filter(({ subject }) => subject === due[0]?.subject).map(({ id }) => id);
}

/** What leasing and reporting do to deliveries, one by one. */
function transitions(sql: SqlStorage, endpoints: DeliveryEndpoints) {
  const all = <T>(query: string, ...params: SqlStorageValue[]) =>
    sql.exec<Found<T>>(query, ...params).toArray();
  const one = <T>(query: string, ...params: SqlStorageValue[]): T | undefined => all<T>(query, ...params)[0];
  const settle = (id: string, status: DeliveryStatus, next: number | null) =>
    void sql.exec('update deliveries set status = ?, next_at = ? where id = ?', status, next, id);
  /** Leases due deliveries of an endpoint. */
  const lease = (
    webhook: string,
    now: number,
    which: string,
    params: SqlStorageValue[],
    most: number,
  ): Taken[] =>
    all<{ id: string; lease: number; event: string; type: string; at: number; data: string }>(
      `select deliveries.id, lease + 1 lease, event, delivery_events.type, at, data from deliveries join delivery_events on delivery_events.id = event
          where webhook = ? and status = 'pending' and next_at <= ? ${which} order by next_at limit ?`,
      ...[webhook, now, ...params, most],
    ).map(({ id, lease, event, type, at, data }) => {
      // safety: delivery-leased
      sql.exec(
        'update deliveries set lease = ?, next_at = ? where id = ?',
        lease,
        endpoints.lease(webhook, id, now),
        id,
      );
      return { id, lease, event: { id: event, type, at, data: JSON.parse(data) } };
    });
  /** A delivery with its attempt recorded; null if its lease is no longer valid. */
  const noted = (id: string, lease: number, attempt: Attempt, now: number): Leased | null => {
    const row = one<Leased>('select webhook, status, attempts, lease from deliveries where id = ?', id);
    if (!row) return null;
    const isCurrent = row.lease === lease && row.status === 'pending';
    // A success counts whichever job reports it; the failure of an earlier attempt says nothing about a later
    // one.
    // safety: late-failure-ignored
    if (!isCurrent && attempt.error !== null) return null;
    endpoints.release(id);
    noteAttempt(sql, id, attempt, now);
    return row;
  };
  return { one, settle, lease, noted };
}

/** `sql` has the tables of deliveries.ts. */
export function createDeliveryJobs(sql: SqlStorage, endpoints: DeliveryEndpoints): DeliveryJobs {
  const { one, settle, lease, noted } = transitions(sql, endpoints);
  return {
    dueAt(webhook, now) {
      if (endpoints.disabling(webhook)) return now;
      return (
        one<{ next_at: number }>(
          "select next_at from deliveries where webhook = ? and status = 'pending' order by next_at limit 1",
          webhook,
        )?.next_at ?? null
      );
    },
    take(webhook, now) {
      return lease(webhook, now, '', [], endpoints.room(webhook, now));
    },
    takeTogether(webhook, subjectOf, now) {
      if (endpoints.isBusy(webhook, now)) return [];
      const first = one<{ type: string }>(
        "select type from deliveries where webhook = ? and status = 'pending' and next_at <= ? order by next_at limit 1",
        webhook,
        now,
      );
      if (!first) return [];
      const ids = subjectOf && JSON.stringify(sameSubject(sql, webhook, first.type, subjectOf, now));
      const about = ids === null ? '' : ' and deliveries.id in (select value from json_each(?))';
      return lease(
        webhook,
        now,
        `and deliveries.type = ?${about}`,
        [first.type, ...(ids === null ? [] : [ids])],
        MOST_TOGETHER,
      );
    },
    reportTogether(together, attempt, isFinal, now) {
      const random = Math.random();
      for (const { id, lease } of together) {
        const row = noted(id, lease, attempt, now);
        if (!row) continue;
        const next =
          attempt.error === null || isFinal ? null : retryIn(row.attempts + 1, attempt.retry_after, random);
        settle(
          id,
          attempt.error === null ? 'delivered' : next === null ? 'failed' : 'pending',
          next === null ? null : now + next,
        );
      }
    },
    report(id, lease, attempt, now) {
      const row = noted(id, lease, attempt, now);
      if (!row) return;
      if (attempt.error === null) {
        settle(id, 'delivered', null);
        endpoints.succeeded(row.webhook);
        return;
      }
      const isGone = attempt.status === 410;
      const next = isGone ? null : retryIn(row.attempts + 1, attempt.retry_after);
      settle(id, next === null ? 'failed' : 'pending', next === null ? null : now + next);
      endpoints.failed(row.webhook, isGone, now);
    },
  };
}
