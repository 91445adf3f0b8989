// Answers that are kept: under the Idempotency-Key of a POST for 24 hours, and under the request id of every change for a few minutes,
// so that the Worker may repeat a call whose reply was lost. Sealed; a one-time value inside only under a key of its bearer.
// Invariant: an answer is written in the same turn as the effect that it reports.
import { fromUtf8, utf8 } from '../crypto/bytes';
import { open, seal } from '../crypto/envelope';
import { ApiError, type Refusal, refuse } from '../errors';
import { DAY } from './rows';
import type { Ask, Outcome } from './types';

const LOST_REPLY = 300_000;

/** A kept answer on its way into the table; sealed before anything is written, so that it can lie in a mark. */
export interface Keep {
  key: string;
  request: string;
  digest: string;
  answer: string;
  one_time: string | null;
  resource: string | null;
  keep_until: number;
}

export interface Replays {
  find(key: string, now: number): Omit<Keep, 'key' | 'keep_until'> | null;
  save(keep: Keep): void;
  /** Destroys the one-time values that are kept of a resource. */
  forget(resource: string): void;
  /** Deletes up to `limit` that are over; answers when the next is, or null. */
  sweep(now: number, limit: number): number | null;
  /** Idempotency keys whose requests are running, and since when and by which request. */
  running: Map<string, { request: string; since: number }>;
}

export function openReplays(sql: SqlStorage): Replays {
  sql.exec(`create table if not exists replays (key text primary key, request text not null, digest text not null, answer text not null, one_time text,
    resource text, keep_until integer not null) without rowid`);
  sql.exec('create index if not exists replays_age on replays (keep_until)');
  sql.exec('create index if not exists replays_resource on replays (resource) where resource is not null and one_time is not null');
  return {
    find: (key, now) =>
      sql
        .exec<Omit<Keep, 'key' | 'keep_until'> & Record<string, SqlStorageValue>>(
          'select request, digest, answer, one_time, resource from replays where key = ? and keep_until > ?',
          key,
          now,
        )
        .toArray()[0] ?? null,
    save: ({ key, request, digest, answer, one_time, resource, keep_until }) =>
      void sql.exec(
        'insert or replace into replays values (?, ?, ?, ?, ?, ?, ?)',
        key,
        request,
        digest,
        answer,
        one_time,
        resource,
        keep_until,
      ),
    forget: (resource) =>
      void sql.exec(
        "update replays set one_time = json_remove(one_time, '$.sealed') where resource = ? and one_time is not null",
        resource,
      ),
    sweep(now, limit) {
      sql.exec('delete from replays where key in (select key from replays where keep_until <= ? order by keep_until limit ?)', now, limit);
      return sql.exec<{ n: number | null }>('select min(keep_until) n from replays').one().n;
    },
    running: new Map(),
  };
}

/** Under which key the answer of a request is kept: its Idempotency-Key, which belongs to the caller's root, or else its own id. */
export const keptUnder = (ask: Ask, root: string): string =>
  ask.idempotency ? `key:${root}:${ask.idempotency.key}` : `request:${ask.request.id}`;

/** Seals an answer for keeping. */
export function keepOf(ask: Ask, root: string, outcome: Outcome, resource: string | null, now: number): Keep {
  if (!ask.keys) throw new ApiError(refuse('UNAVAILABLE', { retry_after: 1 }));
  const key = keptUnder(ask, root);
  return {
    key,
    request: ask.request.id,
    digest: ask.idempotency?.digest ?? '',
    answer: seal(ask.keys.answer, 'kept answer', [ask.org, key], utf8(JSON.stringify(outcome))),
    one_time: ask.one_time,
    resource,
    keep_until: now + (ask.idempotency ? DAY : LOST_REPLY),
  };
}

/** What a request finds under its key: an earlier answer, a refusal, or nothing. */
export function replayOf(
  replays: Replays,
  ask: Ask,
  root: string,
  now: number,
): { outcome: Outcome; one_time: string | null; same: boolean } | Refusal | null {
  const key = keptUnder(ask, root);
  const kept = replays.find(key, now);
  const same = kept?.request === ask.request.id;
  if (kept && ask.idempotency && kept.digest !== ask.idempotency.digest) return refuse('IDEMPOTENCY_KEY_REUSED');
  if (kept && ask.keys) {
    const opened = open(ask.keys.answer, 'kept answer', [ask.org, key], kept.answer);
    const text = opened && fromUtf8(opened);
    if (text) return { outcome: JSON.parse(text), one_time: kept.one_time, same };
    return refuse('INTERNAL');
  }
  const running = replays.running.get(key);
  if (ask.idempotency && running && running.request !== ask.request.id && now - running.since < 60_000)
    return refuse('IDEMPOTENCY_IN_PROGRESS', { retry_after: 1 });
  return null;
}
