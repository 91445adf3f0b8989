// The table of stored responses (idempotency.ts says which, and for how long). They arrive encrypted.
// Invariants: the storage of a root and of an organisation is bounded; expired responses are deleted
// promptly. The table keeps its original name, `replays`.
/** A response to be stored, encrypted before anything is written. */
export interface StoredResponse {
  key: string;
  request: string;
  digest: string;
  answer: string;
  one_time: string | null;
  resource: string | null;
  keep_until: number;
  /** Its owner: its bytes count towards the limits of a root and an organisation. */
  root: string;
}

import { part } from '../part';

export interface StoredResponses {
  find(key: string, now: number): Omit<StoredResponse, 'key' | 'keep_until' | 'root'> | null;
  save(keep: StoredResponse): void;
  /** Destroys the stored one-time values of a resource. */
  forget(resource: string): void;
  /** Whether a root may store one more response under a key. */
  hasRoom(root: string): boolean;
  /** Deletes up to `limit` expired ones. Returns when the next expires, or null. */
  sweep(now: number, limit: number): number | null;
  /** Idempotency keys of running requests, with the start and the id of the request. */
  running: Map<string, { request: string; since: number }>;
}

/**
 * The most bytes of responses for a root's keys, and for an organisation; above the latter, only roots that
 * store little can store more.
 */
const MOST_ROOT = 64 * 1024 * 1024;
const MOST_ALL = 4 * 1024 * 1024 * 1024;
const LITTLE = 1024 * 1024;
/** The size of a row in addition to its texts. */
const ROW = 200;

const sizeOf = ({ key, answer, one_time }: StoredResponse): number =>
  ROW + key.length + answer.length + (one_time?.length ?? 0);

export function createStoredResponses(sql: SqlStorage): StoredResponses {
  sql.exec(`create table if not exists replays (key text primary key, request text not null, digest text not null, answer text not null, one_time text,
    resource text, keep_until integer not null, root text not null default '', bytes integer not null default 0) without rowid`);
  sql.exec('create index if not exists replays_age on replays (keep_until)');
  sql.exec(
    'create index if not exists replays_resource on replays (resource) where resource is not null and one_time is not null',
  );
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
      // An intent of a release before 0.4.0 does not record the owner.
      const { key, request, digest, answer, one_time, resource, keep_until, root = '' } = keep;
      const insert = () =>
        sql.exec(
          'insert or ignore into replays (key, request, digest, answer, one_time, resource, keep_until, root, bytes) values (?, ?, ?, ?, ?, ?, ?, ?, ?)',
          ...[key, request, digest, answer, one_time, resource, keep_until, root, sizeOf(keep)],
        ).rowsWritten;
      // Most keys are new. Otherwise, delete the old row first and subtract it from the total.
      if (insert() === 0) {
        stored.drop('key = ?', key);
        insert();
      }
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
      stored.drop(
        'key in (select key from replays where keep_until <= ? order by keep_until limit ?)',
        now,
        limit,
      );
      return sql.exec<{ n: number | null }>('select min(keep_until) n from replays').one().n;
    },
    running: new Map(),
  };
}

/** How many bytes each root stores: counted once when the gate starts, then updated. */
function createTally(sql: SqlStorage) {
  const roots = new Map<string, number>();
  let total = 0;
  const add = (root: string, bytes: number) => {
    const sum = (roots.get(root) ?? 0) + bytes;
    total += bytes;
    if (sum > 0) roots.set(root, sum);
    else roots.delete(root);
  };
  for (const { root, bytes } of sql.exec<{ root: string; bytes: number }>(
    'select root, sum(bytes) bytes from replays group by root',
  ))
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

export const storedResponses = part(({ storage }) => createStoredResponses(storage.sql));
