// Which secrets were told to be due for rotation, for which contained credential: each is told once.
// Invariant: what a root made is told at most as often as its quota says; what was forgotten can be told
// again.

import { part } from '../../../gate/part';
import { oldestLeave } from '../../../gate/rows/oldest-leave';

export interface Announced {
  /** Which of these secrets were not told yet for a credential. */
  fresh(credential: string, secrets: readonly string[]): string[];
  /** `root`: that of the credential. */
  note(credential: string, secrets: readonly string[], root: string, now: number): void;
  forget(credential: string): void;
}

export const announcedQuota = { org: 200_000, root: 100_000 };

export function createAnnounced(sql: SqlStorage): Announced {
  const isNew =
    sql.exec("select 1 from sqlite_master where type = 'table' and name = 'told'").toArray().length === 0;
  sql.exec(`create table if not exists told (credential text not null, secret text not null, root text not null, at integer not null,
    primary key (credential, secret)) without rowid`);
  sql.exec('create index if not exists told_at on told (at)');
  sql.exec('create index if not exists told_root on told (root, at)');
  if (isNew) takeOver(sql);
  return {
    fresh: (credential, secrets) =>
      sql
        .exec<{ id: string }>(
          'select value id from json_each(?) where value not in (select secret from told where credential = ?)',
          JSON.stringify(secrets),
          credential,
        )
        .toArray()
        .map(({ id }) => id),
    note(credential, secrets, root, now) {
      sql.exec(
        'insert or ignore into told select ?, value, ?, ? from json_each(?)',
        credential,
        root,
        now,
        JSON.stringify(secrets),
      );
      oldestLeave(sql, 'told', 'credential, secret', announcedQuota, root);
    },
    forget: (credential) => void sql.exec('delete from told where credential = ?', credential),
  };
}

/** Releases before 0.5.0 kept them among other facts, as `due:CREDENTIAL:SECRET`. */
function takeOver(sql: SqlStorage): void {
  sql.exec(`insert into told select substr(key, 5, instr(substr(key, 5), ':') - 1), substr(key, 5 + instr(substr(key, 5), ':')), '', cast(value as integer)
    from meta where key >= 'due:' and key < 'due;'`);
  sql.exec("delete from meta where key >= 'due:' and key < 'due;'");
}

export const announced = part(({ storage }) => createAnnounced(storage.sql));
