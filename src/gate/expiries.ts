// Upcoming expiries: for each secret and long-lived credential with an expiry, when to raise the expiry and its warnings. Invariants: a row
// is written in the turn in which the expiry is set, so none is forgotten; it is deleted in the turn in which the event is raised, so none
// is raised twice; a warning that would have been due before the expiry was set is skipped.
import { DAY, isBrief, type RowKind } from '../db/rows';
import type { CredentialRow, SecretRow } from '../db/schema';
import type { Meta } from './meta';
import { part } from './part';

/** How long before an expiry an event is raised; 0 is the expiry itself, which raises no event for a credential. */
const LEADS = { secret: [7 * DAY, DAY, 0], credential: [7 * DAY, DAY] } as const;

export interface Expiry {
  kind: keyof typeof LEADS;
  id: string;
  lead: number;
  due: number;
}

export interface Expiries {
  /** Records a row written by a change at this time. Returns when its first event is due, or null. */
  note(kind: RowKind, before: object | null, after: object, at: number): number | null;
  /** Up to `limit` that are due, earliest first. */
  due(now: number, limit: number): Expiry[];
  /** When the next is due, or null. */
  next(): number | null;
  told(expiry: Expiry): void;
  /** Rebuilds from all rows, only with events due in the future, because these rows were not written by a change here. */
  begin(now: number): void;
}

const isTold = (kind: RowKind, row: object): kind is Expiry['kind'] =>
  kind === 'secret' || (kind === 'credential' && !isBrief((row as CredentialRow).kind));

export function createExpiries(sql: SqlStorage, meta: Meta): Expiries {
  sql.exec(
    'create table if not exists expiries (id text not null, lead integer not null, kind text not null, due integer not null, primary key (id, lead)) without rowid',
  );
  sql.exec('create index if not exists expiries_due on expiries (due)');
  const begin = (now: number) => {
    sql.exec('delete from expiries where due > ?', now);
    for (const [kind, leads] of Object.entries(LEADS))
      for (const lead of leads)
        sql.exec(
          `insert or ignore into expiries select id, ?1, kind, (body ->> 'expires_at') - ?1 from rows
            where kind = ?2 and body is not null and space not in ('session', 'browser') and (body ->> 'expires_at') - ?1 > ?3`,
          lead,
          kind,
          now,
        );
    meta.set('expiries', '1');
  };
  // An earlier release did not record them.
  if (meta.get('expiries') === null) begin(Date.now());
  return {
    note(kind, before, after, at) {
      const end = (row: object | null) => (row as SecretRow | CredentialRow | null)?.expires_at ?? null;
      if (!isTold(kind, after) || end(before) === end(after)) return null;
      const { id } = after as SecretRow;
      if (before) sql.exec('delete from expiries where id = ?', id);
      const expires = end(after);
      if (expires === null) return null;
      const times = LEADS[kind].map((lead) => ({ lead, due: expires - lead })).filter(({ due }) => due > at);
      for (const { lead, due } of times) sql.exec('insert into expiries values (?, ?, ?, ?)', id, lead, kind, due);
      return times.length ? Math.min(...times.map(({ due }) => due)) : null;
    },
    due: (now, limit) =>
      sql
        .exec<Expiry & Record<string, SqlStorageValue>>(
          'select kind, id, lead, due from expiries where due <= ? order by due, id limit ?',
          now,
          limit,
        )
        .toArray(),
    next: () => sql.exec<{ n: number | null }>('select min(due) n from expiries').one().n,
    told: ({ id, lead }) => void sql.exec('delete from expiries where id = ? and lead = ?', id, lead),
    begin,
  };
}

export const expiries = part(({ storage, meta }) => createExpiries(storage.sql, meta));
