// Where a stored value was found in the last day, so a leak is reported once a day per place. Invariant: a
// place is a keyed digest, which reveals neither text nor path.
import { DAY } from '../../../db/rows';
import { part } from '../../../gate/part';
import { oldestLeave } from '../../../gate/rows/oldest-leave';

export interface Leaks {
  /** Records places of a secret's value that a root found. Returns how many of them are new today. */
  note(secret: string, places: readonly string[], root: string, now: number): number;
  /** Deletes places older than a day. */
  sweep(now: number): void;
}

export const leakQuota = { org: 100_000, root: 20_000 };

export function createLeaks(sql: SqlStorage): Leaks {
  sql.exec(`create table if not exists leaks (secret text not null, place text not null, root text not null, at integer not null,
    primary key (secret, place)) without rowid`);
  sql.exec('create index if not exists leaks_at on leaks (at)');
  sql.exec('create index if not exists leaks_root on leaks (root, at)');
  const sweep = (now: number) => void sql.exec('delete from leaks where at <= ?', now - DAY);
  return {
    note(secret, places, root, now) {
      let fresh = 0;
      for (const place of places)
        fresh += sql
          .exec<{ at: number }>(
            // safety: leak-told-once-a-day
            'insert into leaks values (?, ?, ?, ?) on conflict do update set root = excluded.root, at = excluded.at where leaks.at <= ? returning at',
            ...[secret, place, root, now, now - DAY],
          )
          .toArray().length;
      if (fresh === 0) return 0;
      sweep(now);
      oldestLeave(sql, 'leaks', 'secret, place', leakQuota, root);
      return fresh;
    },
    sweep,
  };
}

export const leaks = part(({ storage }) => createLeaks(storage.sql));
