// Which secrets were found due for rotation, and for which period: reported once, or waiting for a new value.
// Invariant: a secret is reported, or starts to wait, once per period, because the row is written in the same
// turn; it is deleted with the secret.

import { part } from '../../../gate/part';

export interface Rotation {
  /** When the period began. */
  period: number;
  /** Whether it waits for a new value from the Worker. */
  waiting: boolean;
  /** Since when. */
  at: number;
  /** Whether an event was raised in this period. */
  announced: boolean;
}

export interface Rotations {
  of(secret: string): Rotation | null;
  set(secret: string, rotation: Rotation): void;
  /** Up to `limit` waiting secrets. */
  waiting(limit: number): string[];
  /** Up to `limit` secrets after an id that were found due in some period. */
  after(id: string, limit: number): string[];
  /** Marks a secret as no longer waiting. */
  settle(secret: string): void;
  /** Deletes rows of secrets that no longer exist. */
  sweep(): void;
  clear(): void;
}

export function createRotations(sql: SqlStorage): Rotations {
  sql.exec(
    'create table if not exists rotations (secret text primary key, period integer not null, waiting integer not null, at integer not null, told integer not null) without rowid',
  );
  sql.exec('create index if not exists rotations_waiting on rotations (secret) where waiting = 1');
  return {
    of(secret) {
      const [row] = sql
        .exec<{ period: number; waiting: number; at: number; told: number }>(
          'select period, waiting, at, told from rotations where secret = ?',
          secret,
        )
        .toArray();
      return row ? { ...row, waiting: row.waiting === 1, announced: row.told === 1 } : null;
    },
    set(secret, { period, waiting, at, announced: told }) {
      sql.exec(
        'insert or replace into rotations values (?, ?, ?, ?, ?)',
        secret,
        period,
        waiting ? 1 : 0,
        at,
        told ? 1 : 0,
      );
    },
    waiting: (limit) =>
      sql
        .exec<{ secret: string }>(
          'select secret from rotations where waiting = 1 order by secret limit ?',
          limit,
        )
        .toArray()
        .map(({ secret }) => secret),
    after: (id, limit) =>
      sql
        .exec<{ secret: string }>(
          'select secret from rotations where secret > ? order by secret limit ?',
          id,
          limit,
        )
        .toArray()
        .map(({ secret }) => secret),
    settle: (secret) => void sql.exec('update rotations set waiting = 0 where secret = ?', secret),
    sweep: () =>
      void sql.exec(
        "delete from rotations where not exists (select 1 from rows where kind = 'secret' and id = rotations.secret and body is not null)",
      ),
    clear: () => void sql.exec('delete from rotations'),
  };
}

export const rotations = part(({ storage }) => createRotations(storage.sql));
