// The audit entries of the requests that a replica answered, until the gate has them. Invariants: an entry is
// durable before its reply leaves, because the Durable Object holds the reply until then; its number is given
// once; it is deleted when the gate says that it has taken it.

import type { Draft } from '../gate/audit/entry';
import type { AuditLog } from '../gate/audit/log';
import type { ReplicaEntry } from '../gate/replicas/messages';
import { absent } from './core';

/** How many entries may wait for the gate; past that, it answers itself. */
export const MOST_WAITING = 5000;
/** The most entries that one call carries. */
const PER_CALL = 500;

/** An entry that is written once its request is answered. */
export type Noted = Pick<ReplicaEntry, 'draft' | 'status' | 'used' | 'place'>;

export interface Entries {
  write(entry: Noted, now: number): void;
  /** The first entries that the gate does not have. */
  next(now: number): ReplicaEntry[];
  taken(n: number): void;
  /**
   * The gate has entries up to this one: if the storage was put back from a copy, no further entry may have
   * such a number.
   */
  skip(n: number): void;
  count(): number;
}

/** The audit log of one request, as the modules of the gate see it: it notes what they append. */
export function noting() {
  const entries: { draft: Draft; status: number }[] = [];
  const log: Pick<AuditLog, 'append' | 'size'> = {
    append(draft, status) {
      entries.push({ draft, status });
      return { sequence: 0 } as ReturnType<AuditLog['append']>;
    },
    size: () => 0,
  };
  return { log: Object.setPrototypeOf(log, absent<object>('audit log')) as AuditLog, noted: () => entries };
}

export function createEntries(sql: SqlStorage): Entries {
  sql.exec(
    'create table if not exists entries (n integer primary key autoincrement, at integer not null, body text not null)',
  );
  let last = 0;
  let waiting = sql.exec<{ n: number }>('select count(*) n from entries').one().n;
  const taken = (n: number) => {
    sql.exec('delete from entries where n <= ?', n);
    waiting = sql.exec<{ n: number }>('select count(*) n from entries').one().n;
  };
  return {
    write(entry, now) {
      const body = JSON.stringify(entry);
      last = sql
        .exec<{ n: number }>('insert into entries (at, body) values (?, ?) returning n', now, body)
        .one().n;
      waiting++;
    },
    next: (now) =>
      sql
        .exec<{ n: number; at: number; body: string }>(
          'select n, at, body from entries order by n limit ?',
          PER_CALL,
        )
        .toArray()
        .map(({ n, at, body }) => ({ n, age: Math.max(0, now - at), ...(JSON.parse(body) as Noted) })),
    taken,
    skip(n) {
      if (n <= last) return;
      last = n;
      // A number that was in the table is not given again.
      sql.exec("insert or ignore into entries (n, at, body) values (?, 0, '')", n);
      taken(n);
    },
    count: () => waiting,
  };
}
