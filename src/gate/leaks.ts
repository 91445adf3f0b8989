// Where a stored value was found in the last day, so a leak is reported once a day per place. Invariant: a place is a keyed digest, which
// reveals neither text nor path.
import { DAY } from '../db/rows';

export interface Leaks {
  /** Records places of a secret's value. Returns how many of them are new today. */
  note(secret: string, places: readonly string[], now: number): number;
  /** Deletes places older than a day, and the oldest beyond the limit. */
  sweep(now: number): void;
}

const MOST_PLACES = 100_000;

export function createLeaks(sql: SqlStorage, most = MOST_PLACES): Leaks {
  sql.exec(
    'create table if not exists leaks (secret text not null, place text not null, at integer not null, primary key (secret, place)) without rowid',
  );
  sql.exec('create index if not exists leaks_at on leaks (at)');
  const sweep = (now: number) => {
    sql.exec('delete from leaks where at <= ?', now - DAY);
    sql.exec('delete from leaks where at <= (select at from leaks order by at desc limit 1 offset ?)', most);
  };
  return {
    note(secret, places, now) {
      let fresh = 0;
      for (const place of places)
        fresh += sql
          .exec<{ at: number }>(
            // safety: leak-told-once-a-day
            'insert into leaks values (?, ?, ?) on conflict do update set at = excluded.at where leaks.at <= ? returning at',
            secret,
            place,
            now,
            now - DAY,
          )
          .toArray().length;
      if (fresh) sweep(now);
      return fresh;
    },
    sweep,
  };
}
