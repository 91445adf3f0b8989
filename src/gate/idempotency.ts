// Answers that are kept: under the Idempotency-Key of a POST for 24 hours, and under the request id of every change for a few minutes,
// so that the Worker may repeat a call whose reply was lost. Encrypted; a one-time value inside only under a key of its bearer.
// Invariant: an answer is written in the same turn as the effect that it reports.
import { fromUtf8, utf8 } from '../crypto/bytes';
import { decrypt, encrypt } from '../crypto/envelope';
import { ApiError, type Refusal, refuse } from '../errors';
import { DAY } from './rows';
import type { Ask, Outcome } from './types';

/** For how long the answer of a change without a key is kept, in milliseconds: the Worker may repeat a call whose reply was lost. */
const LOST_REPLY = 300_000;

/** A response on its way into the table; encrypted before anything is written, so that it can be part of an intent. */
export interface StoredResponse {
  key: string;
  request: string;
  digest: string;
  answer: string;
  one_time: string | null;
  resource: string | null;
  keep_until: number;
  /** Whose it is: its bytes count against what a root and an organisation may store. */
  root: string;
}

export interface StoredResponses {
  find(key: string, now: number): Omit<StoredResponse, 'key' | 'keep_until' | 'root'> | null;
  save(keep: StoredResponse): void;
  /** Destroys the one-time values that are kept of a resource. */
  forget(resource: string): void;
  /** Whether a root may store one more response under a key. */
  hasRoom(root: string): boolean;
  /** Deletes up to `limit` that are over; answers when the next is, or null. */
  sweep(now: number, limit: number): number | null;
  /** Idempotency keys whose requests are running, and since when and by which request. */
  running: Map<string, { request: string; since: number }>;
}

/** Bytes of responses that a root may store under its keys, and an organisation in all: past that, only roots that store little store more. */
const MOST_ROOT = 64 * 1024 * 1024;
const MOST_ALL = 4 * 1024 * 1024 * 1024;
const LITTLE = 1024 * 1024;
/** What a row takes beside its texts. */
const ROW = 200;

const sizeOf = ({ key, answer, one_time }: StoredResponse): number => ROW + key.length + answer.length + (one_time?.length ?? 0);

export function createStoredResponses(sql: SqlStorage): StoredResponses {
  sql.exec(`create table if not exists replays (key text primary key, request text not null, digest text not null, answer text not null, one_time text,
    resource text, keep_until integer not null, root text not null default '', bytes integer not null default 0) without rowid`);
  sql.exec('create index if not exists replays_age on replays (keep_until)');
  sql.exec('create index if not exists replays_resource on replays (resource) where resource is not null and one_time is not null');
  const stored = createTally(sql);
  return {
    find: (key, now) =>
      sql
        .exec<Omit<StoredResponse, 'key' | 'keep_until' | 'root'> & Record<string, SqlStorageValue>>(
          'select request, digest, answer, one_time, resource from replays where key = ? and keep_until > ?',
          key,
          now,
        )
        .toArray()[0] ?? null,
    save(keep) {
      // An intent of a release before 0.4.0 does not say whose it is.
      const { key, request, digest, answer, one_time, resource, keep_until, root = '' } = keep;
      stored.drop('key = ?', key);
      sql.exec(
        'insert into replays (key, request, digest, answer, one_time, resource, keep_until, root, bytes) values (?, ?, ?, ?, ?, ?, ?, ?, ?)',
        ...[key, request, digest, answer, one_time, resource, keep_until, root, sizeOf(keep)],
      );
      stored.add(root, sizeOf(keep));
    },
    forget: (resource) =>
      void sql.exec(
        "update replays set one_time = json_remove(one_time, '$.sealed') where resource = ? and one_time is not null",
        resource,
      ),
    hasRoom(root) {
      const bytes = stored.of(root);
      return bytes < MOST_ROOT && (stored.all() < MOST_ALL || bytes < LITTLE);
    },
    sweep(now, limit) {
      stored.drop('key in (select key from replays where keep_until <= ? order by keep_until limit ?)', now, limit);
      return sql.exec<{ n: number | null }>('select min(keep_until) n from replays').one().n;
    },
    running: new Map(),
  };
}

/** How many bytes each root stores: counted once when the gate starts, then kept in step. */
function createTally(sql: SqlStorage) {
  const roots = new Map<string, number>();
  let total = 0;
  const add = (root: string, bytes: number) => {
    const sum = (roots.get(root) ?? 0) + bytes;
    total += bytes;
    if (sum > 0) roots.set(root, sum);
    else roots.delete(root);
  };
  for (const { root, bytes } of sql.exec<{ root: string; bytes: number }>('select root, sum(bytes) bytes from replays group by root'))
    add(root, bytes);
  return {
    add,
    of: (root: string) => roots.get(root) ?? 0,
    all: () => total,
    drop(where: string, ...params: (string | number)[]) {
      for (const { root, bytes } of sql.exec<{ root: string; bytes: number }>(
        `delete from replays where ${where} returning root, bytes`,
        ...params,
      ))
        add(root, -bytes);
    },
  };
}

/** For how long the answer of a request is kept. */
export const storedFor = ({ idempotency }: Ask): number => (idempotency ? DAY : LOST_REPLY);

/** Under which key the answer of a request is kept: its Idempotency-Key, which belongs to the caller's root, or else its own id. */
export const storedUnder = (ask: Ask, root: string): string =>
  ask.idempotency ? `key:${root}:${ask.idempotency.key}` : `request:${ask.request.id}`;

/** Encrypts an answer for keeping. Of a refusal by validation the details are left out: they are made again, and quote what was sent. */
export function responseToStore(ask: Ask, root: string, outcome: Outcome, resource: string | null, now: number): StoredResponse {
  if (!ask.keys) throw new ApiError(refuse('UNAVAILABLE', { retry_after: 1 }));
  const key = storedUnder(ask, root);
  const kept =
    outcome.ok === false && outcome.refusal === ask.finding ? { ...outcome, refusal: { ...outcome.refusal, details: undefined } } : outcome;
  return {
    key,
    root,
    request: ask.request.id,
    digest: ask.idempotency?.digest ?? '',
    answer: encrypt(ask.keys.answer, 'kept answer', [ask.org, key], utf8(JSON.stringify(kept))),
    one_time: ask.one_time,
    resource,
    keep_until: now + storedFor(ask),
  };
}

/** What a request finds under its key: an earlier answer, a refusal, or nothing. */
export function findStored(
  storedResponses: StoredResponses,
  ask: Ask,
  root: string,
  now: number,
): { outcome: Outcome; one_time: string | null; same: boolean } | Refusal | null {
  const key = storedUnder(ask, root);
  const kept = storedResponses.find(key, now);
  const same = kept?.request === ask.request.id;
  if (kept && ask.idempotency && kept.digest !== ask.idempotency.digest) return refuse('IDEMPOTENCY_KEY_REUSED');
  if (kept && ask.keys) {
    const opened = decrypt(ask.keys.answer, 'kept answer', [ask.org, key], kept.answer);
    const text = opened && fromUtf8(opened);
    if (text) return { outcome: withDetails(JSON.parse(text), ask), one_time: kept.one_time, same };
    return refuse('INTERNAL');
  }
  const running = storedResponses.running.get(key);
  if (ask.idempotency && running && running.request !== ask.request.id && now - running.since < 60_000)
    return refuse('IDEMPOTENCY_IN_PROGRESS', { retry_after: 1 });
  return null;
}

/** A refusal by validation as it was answered first: the request is the same, and so is what is wrong with it. */
const withDetails = (outcome: Outcome, { finding }: Ask): Outcome =>
  outcome.ok === false && finding?.code === outcome.refusal.code ? { ...outcome, refusal: finding } : outcome;
