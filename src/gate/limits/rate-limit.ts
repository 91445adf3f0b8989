// Rate limits: a number of requests in any 60 seconds, counted exactly. The counter is a log of times in
// memory; since every counted request is one audit entry, a starting gate rebuilds it from there, and
// counting needs no writes. Requests over the limit are counted per credential and minute, and become one
// audit entry when the minute is over. Invariant: a child credential has no more than what its ancestors have
// left.
import { bindingRoot } from '../../auth/authentication/bindings';
import type { CredentialRow } from '../../db/schema';
import type { Draft } from '../audit/entry';
import type { Core } from '../core';
import { part } from '../part';
import type { RateLimitState } from '../request/call';
import { linksOf } from '../rows/ends-with-parent';

export const WINDOW = 60_000;
/** The assumed difference between two clocks. */
export const SLACK = 5000;

/** A credential whose rate limit a request counts against, and its requests a minute. */
export interface Allowance {
  id: string;
  limit: number;
}

/**
 * The rate limits that a request counts against: that of each credential of the lineage, so that child
 * credentials do not multiply it.
 */
// safety: rate-limit-of-lineage
export const allowancesOf = (lineage: readonly CredentialRow[]): Allowance[] =>
  lineage.map(({ id, rate_limit }) => ({ id, limit: rate_limit }));

export interface RateLimit {
  /**
   * Takes one from each allowance, or from none if one is used up. Returns the state of the tightest. `no`:
   * only returns the state.
   */
  take(
    allowances: Allowance[],
    now: number,
    no?: 'no',
  ): { ok: boolean; state: RateLimitState; retry_after: number };
  /** Requests lent to replicas: they count as used until they are used or given back. */
  reserve(ids: readonly string[], count: number): void;
  /** Counts a request that a replica answered. */
  note(ids: readonly string[], now: number): void;
  /** Counts a request over the limit; the `draft` of the first one in its minute is kept. */
  refuse(id: string, draft: Draft, status: number, now: number): void;
  /** Appends the entries of past minutes. Returns when the next one is due, or null. */
  flush(now: number): number | null;
}

/** Drops the times that have left the window. */
function prune(times: number[], at: number): void {
  // Those that a clock counted which was ahead leave the window a minute after it was put right.
  for (let last = times.length - 1; (times[last] ?? 0) > at; last--) times[last] = at;
  let stale = 0;
  while (stale < times.length && (times[stale] as number) <= at - WINDOW) stale++;
  if (stale) times.splice(0, stale);
}

/** Drops idle logs from time to time, so the map contains only credentials of the last minute. */
function sweeperOf(log: Map<string, number[]>, begun: number): (at: number) => void {
  let swept = begun;
  return (at) => {
    if (Math.abs(at - swept) < WINDOW) return;
    swept = at;
    for (const [id, times] of log) {
      prune(times, at);
      if (times.length === 0) log.delete(id);
    }
  };
}

/** How many requests of each credential are lent to replicas. */
function createReserved() {
  const counts = new Map<string, number>();
  return {
    of: (id: string) => counts.get(id) ?? 0,
    add(ids: readonly string[], count: number) {
      for (const id of ids) {
        const sum = (counts.get(id) ?? 0) + count;
        if (sum > 0) counts.set(id, sum);
        else counts.delete(id);
      }
    },
  };
}

function createRateLimit({ storage: { sql }, rows, auditLog }: Core): RateLimit {
  sql.exec(
    'create table if not exists refused (credential text not null, minute integer not null, count integer not null, status integer not null, draft text not null, primary key (credential, minute)) without rowid',
  );
  const log = new Map<string, number[]>();
  const reserved = createReserved();

  const now = Date.now();
  // safety: rate-limit-restored
  for (const { actor, parent, at, worker } of auditLog.since(now - WINDOW, now)) {
    for (const id of linksOf(rows, actor, parent)) timesOf(id).unshift(at);
    // safety: rate-limit-of-binding-restored
    if (worker !== null) timesOf(bindingRoot(actor, worker)).unshift(at);
  }

  function timesOf(id: string): number[] {
    const times = log.get(id) ?? [];
    log.set(id, times);
    return times;
  }
  const sweep = sweeperOf(log, now);

  return {
    take(allowances, at, no) {
      sweep(at);
      const states = allowances.map(({ id, limit: most }) => {
        const times = timesOf(id);
        prune(times, at);
        // safety: reserved-requests-count
        return { times, limit: most - reserved.of(id), most };
      });
      const spent = states.filter(({ times, limit }) => times.length >= limit);
      const ok = spent.length === 0;
      if (ok && !no) for (const { times } of states) times.push(at);
      const shown = states.map(({ times, limit, most }) => ({
        limit: most,
        remaining: Math.max(0, limit - times.length),
        reset: secondsUntil((times[0] ?? at) + WINDOW, at),
      }));
      const state = shown.reduce((tightest, next) => (next.remaining < tightest.remaining ? next : tightest));
      // When one more is allowed: once enough requests have left the window to be below the limit.
      const waits = spent.map(({ times, limit }) =>
        // All may be lent: then once the first of them can have been given back.
        secondsUntil((times[times.length - Math.max(limit, 1)] ?? at - WINDOW + SLACK) + WINDOW, at),
      );
      return { ok, state, retry_after: ok ? 0 : Math.max(...waits) };
    },
    reserve: reserved.add,
    note(ids, at) {
      for (const id of ids) timesOf(id).push(at);
    },
    refuse(id, draft, status, at) {
      const minute = Math.floor(at / WINDOW);
      sql.exec(
        'insert into refused values (?, ?, 1, ?, ?) on conflict do update set count = count + 1',
        id,
        minute,
        status,
        JSON.stringify(draft),
      );
    },
    flush(at) {
      const minute = Math.floor(at / WINDOW);
      for (const row of sql
        .exec<{ count: number; status: number; draft: string }>(
          'select * from refused where minute < ? order by minute',
          minute,
        )
        .toArray())
        auditLog.append(JSON.parse(row.draft), row.status, at, row.count);
      sql.exec('delete from refused where minute < ?', minute);
      const next = sql.exec<{ n: number | null }>('select min(minute) n from refused').one().n;
      return next === null ? null : (next + 1) * WINDOW;
    },
  };
}

const secondsUntil = (time: number, now: number) => Math.max(1, Math.ceil((time - now) / 1000));

export const rateLimit = part(createRateLimit);
