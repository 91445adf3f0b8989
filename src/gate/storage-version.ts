// The version of what a gate stores. Invariants: a gate goes forward one step at a time, each with its number in one transaction; one
// that meets storage of a newer release touches nothing, and refuses.
import type { Meta } from './meta';

/** Each brings storage one version further: the first from version 1, which the tables' own modules make, to 2. */
const steps: ((sql: SqlStorage) => void)[] = [
  // 2: panics, revocations and browser sessions, which a release before would not heed; last uses with their number.
  (sql) => {
    sql.exec('create table if not exists used (credential text primary key, at integer not null) without rowid');
    sql.exec(
      'create table if not exists uses (credential text primary key, at integer not null, count integer not null, place text) without rowid',
    );
    sql.exec('insert or ignore into uses select credential, at, 0, null from used');
    sql.exec('drop table used');
  },
  // 3: whose each stored response is, and its bytes; tombstones that are cleared away after 400 days.
  (sql) => {
    const has = (table: string) => sql.exec("select 1 from sqlite_master where type = 'table' and name = ?", table).toArray().length > 0;
    if (has('rows')) sql.exec('update rows set sweep_at = unixepoch() * 1000 + 34560000000 where body is null');
    if (!has('replays')) return;
    sql.exec("alter table replays add column root text not null default ''");
    sql.exec('alter table replays add column bytes integer not null default 0');
    sql.exec(
      "update replays set bytes = 200 + length(key) + length(answer) + coalesce(length(one_time), 0), root = iif(key like 'key:%', substr(key, 5, instr(substr(key, 5), ':') - 1), '')",
    );
  },
  // 4: policies, approvals and devices, which a release before would not heed.
  () => {},
  // 5: events with numbers.
  (sql) => {
    if (sql.exec("select 1 from sqlite_master where type = 'table' and name = 'outbox'").toArray().length === 0) return;
    sql.exec('alter table outbox rename to unnumbered');
    sql.exec(
      'create table outbox (sequence integer primary key, id text not null, type text not null, at integer not null, data text not null)',
    );
    sql.exec('insert into outbox select row_number() over (order by id), id, type, at, data from unnumbered');
    sql.exec('drop table unnumbered');
  },
];

export const STORAGE_VERSION = steps.length + 1;

/** Whether storage is of a newer release than this one. Reads alone. */
export function isNewer(sql: SqlStorage, known = STORAGE_VERSION): boolean {
  const tables = sql.exec("select 1 from sqlite_master where type = 'table' and name = 'meta'").toArray();
  if (tables.length === 0) return false;
  const found = sql.exec<{ value: string }>("select value from meta where key = 'schema'").toArray()[0];
  return Number(found?.value ?? 1) > known;
}

/** Brings storage to the version of this release. `to` and `ways` are other ones in tests alone. */
export function upgrade(storage: DurableObjectStorage, meta: Meta, ways = steps): void {
  for (let at = Number(meta.get('schema') ?? 1); at <= ways.length; at++)
    storage.transactionSync(() => {
      ways[at - 1]?.(storage.sql);
      meta.set('schema', String(at + 1));
    });
}
