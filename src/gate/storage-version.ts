// The version of a gate's storage. Invariants: a gate upgrades one step at a time, each together with its
// number in one transaction; a gate that finds storage of a newer release changes nothing and refuses.
import type { Meta } from './meta';

/**
 * Each step upgrades storage by one version: the first from version 1, which the tables' own modules create,
 * to 2.
 */
const steps: ((sql: SqlStorage) => void)[] = [
  // 2: panics, revocations and browser sessions, which an earlier release would ignore; last uses with their
  // counts.
  (sql) => {
    sql.exec(
      'create table if not exists used (credential text primary key, at integer not null) without rowid',
    );
    sql.exec(
      'create table if not exists uses (credential text primary key, at integer not null, count integer not null, place text) without rowid',
    );
    sql.exec('insert or ignore into uses select credential, at, 0, null from used');
    sql.exec('drop table used');
  },
  // 3: the owner and size of each stored response; tombstones that are deleted after 400 days.
  (sql) => {
    const has = (table: string) =>
      sql.exec("select 1 from sqlite_master where type = 'table' and name = ?", table).toArray().length > 0;
    if (has('rows'))
      sql.exec('update rows set sweep_at = unixepoch() * 1000 + 34560000000 where body is null');
    if (!has('replays')) return;
    sql.exec("alter table replays add column root text not null default ''");
    sql.exec('alter table replays add column bytes integer not null default 0');
    sql.exec(
      "update replays set bytes = 200 + length(key) + length(answer) + coalesce(length(one_time), 0), root = iif(key like 'key:%', substr(key, 5, instr(substr(key, 5), ':') - 1), '')",
    );
  },
  // 4: policies, approvals and devices, which an earlier release would ignore.
  () => {},
  // 5: numbered events.
  (sql) => {
    if (
      sql.exec("select 1 from sqlite_master where type = 'table' and name = 'outbox'").toArray().length === 0
    )
      return;
    sql.exec('alter table outbox rename to unnumbered');
    sql.exec(
      'create table outbox (sequence integer primary key, id text not null, type text not null, at integer not null, data text not null)',
    );
    sql.exec('insert into outbox select row_number() over (order by id), id, type, at, data from unnumbered');
    sql.exec('drop table unnumbered');
  },
  // 6: the journal, which an earlier release would ignore: it would write to D1 itself.
  () => {},
  // 7: suspended members and SCIM tokens, which an earlier release would ignore.
  () => {},
  // 8: upstreams, and what bounds their use, which an earlier release would ignore.
  () => {},
];

export const STORAGE_VERSION = steps.length + 1;

/** Whether storage belongs to a newer release. Only reads. */
export function isNewer(sql: SqlStorage, known = STORAGE_VERSION): boolean {
  const tables = sql.exec("select 1 from sqlite_master where type = 'table' and name = 'meta'").toArray();
  if (tables.length === 0) return false;
  const found = sql.exec<{ value: string }>("select value from meta where key = 'schema'").toArray()[0];
  return Number(found?.value ?? 1) > known;
}

/** Upgrades storage to this release's version. Only tests pass `through`. */
export function upgrade(storage: DurableObjectStorage, meta: Meta, through = steps): void {
  for (let at = Number(meta.get('schema') ?? 1); at <= through.length; at++)
    storage.transactionSync(() => {
      through[at - 1]?.(storage.sql);
      meta.set('schema', String(at + 1));
    });
}
