// Who created a credential whose row has left the gate, as long as something that it created is here: a
// containment follows what was created through it (`descendants.ts`). Invariant: nothing is kept that leads
// to no credential in the gate, and the number is bounded.

import { part } from '../part';
import { oldestLeave } from '../rows/oldest-leave';
import { type RootReader, rootOfCredential } from '../rows/quota-root';

export interface FormerMakers {
  /**
   * Remembers those of these credentials, whose rows are about to leave the gate, that created something
   * which stays.
   */
  leave(credentials: string[], now: number): void;
  /** Forgets those that lead nowhere any more. */
  sweep(): void;
  clear(): void;
}

export const makerQuota = { org: 60_000, root: 20_000 };

/**
 * Whether a credential created one that is in the gate, or one that is remembered here. The indexes are those
 * of `descendants.ts`. They are on expressions, so the id must have no affinity (`+column`): otherwise SQLite
 * reads each index from end to end.
 */
const leads = (id: string) => `(
  exists (select 1 from rows r indexed by rows_created_by where r.kind = 'credential' and r.space <> 'session' and r.body ->> 'created_by' = ${id})
  or exists (select 1 from rows r indexed by rows_created_in where r.kind = 'credential' and r.body ->> 'created_in' = ${id})
  or exists (select 1 from former_makers m where m.maker = ${id}))`;

export function createFormerMakers(sql: SqlStorage, rows: RootReader): FormerMakers {
  sql.exec(
    'create table if not exists former_makers (id text primary key, maker text not null, root text not null, at integer not null) without rowid',
  );
  sql.exec('create index if not exists former_makers_root on former_makers (root, at)');
  sql.exec('create index if not exists former_makers_at on former_makers (at)');
  sql.exec('create index if not exists former_makers_maker on former_makers (maker, id)');
  return {
    leave(credentials, now) {
      const roots = credentials.map((id) => [id, rootOfCredential({ rows }, id)]);
      // What a session token created ends with it.
      // safety: former-makers-remembered
      sql.exec(
        `insert or ignore into former_makers select c.id, coalesce(c.body ->> 'created_in', c.body ->> 'created_by'), f.value ->> 1, ? from json_each(?) f
          cross join rows c on c.kind = 'credential' and c.id = f.value ->> 0 where c.body is not null and c.space <> 'session' and ${leads('f.value ->> 0')}`,
        now,
        JSON.stringify(roots),
      );
      for (const root of new Set(roots.map(([, root]) => root as string)))
        oldestLeave(sql, 'former_makers', 'id', makerQuota, root);
    },
    sweep() {
      // One that led only to others here goes with a later run.
      sql.exec(
        `delete from former_makers where id in (select x.id from former_makers x where not ${leads('+x.id')})`,
      );
    },
    clear: () => void sql.exec('delete from former_makers'),
  };
}

export const formerMakers = part(({ storage, rows }) => createFormerMakers(storage.sql, rows));
