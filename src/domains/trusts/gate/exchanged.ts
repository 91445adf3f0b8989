// How often issuers' tokens were exchanged. Invariants: stored durably, so an eviction of the gate allows no
// replay; a request repeated after a lost response counts once.

import { part } from '../../../gate/part';

/**
 * How long after its expiry a token is remembered, in milliseconds: the clock of the gate's next host may be
 * behind.
 */
const KEPT = 600_000;
const SWEPT_EVERY = 60_000;

/** A token by its digest, and until when it would be accepted. */
export interface Spent {
  digest: string;
  until: number;
}

export interface Exchanged {
  /** How many other requests exchanged a token. */
  times(digest: string, request: string): number;
  note(token: Spent, request: string, now: number): void;
}

export function createExchanged(sql: SqlStorage): Exchanged {
  sql.exec(
    'create table if not exists exchanged (digest text not null, request text not null, until integer not null, primary key (digest, request)) without rowid',
  );
  sql.exec('create index if not exists exchanged_until on exchanged (until)');
  let swept = 0;
  return {
    times: (digest, request) =>
      sql
        .exec<{ n: number }>(
          'select count(*) n from exchanged where digest = ? and request <> ?',
          digest,
          request,
        )
        .one().n,
    note({ digest, until }, request, now) {
      sql.exec('insert or ignore into exchanged values (?, ?, ?)', digest, request, until);
      if (Math.abs(now - swept) < SWEPT_EVERY) return;
      swept = now;
      sql.exec('delete from exchanged where until < ?', now - KEPT);
    },
  };
}

export const exchanged = part(({ storage }) => createExchanged(storage.sql));
