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
  let waiting = sql.exec<{ n: number }>('select count(*) n from entries').one().n;
  return {
    write(entry, now) {
      sql.exec('insert into entries (at, body) values (?, ?)', now, JSON.stringify(entry));
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
    taken(n) {
      sql.exec('delete from entries where n <= ?', n);
      waiting = sql.exec<{ n: number }>('select count(*) n from entries').one().n;
    },
    count: () => waiting,
  };
}
