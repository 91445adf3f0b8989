// The version of what a gate stores. Invariants: a gate goes forward one step at a time, each with its number in one transaction; one
// that meets storage of a newer release touches nothing, and refuses.
import type { Meta } from './core';

/** Each brings storage one version further: the first from version 1, which the tables' own modules make, to 2. */
const steps: ((sql: SqlStorage) => void)[] = [];

export const SCHEMA = steps.length + 1;

/** Whether storage is of a newer release than this one. Reads alone. */
export function isNewer(sql: SqlStorage, known = SCHEMA): boolean {
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
