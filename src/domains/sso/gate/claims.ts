// Which claims of domains this gate has declared void, because their rows were not verified when somebody
// asked. Invariant: stored durably before the answer leaves, so no row is verified by such a claim.
import { part } from '../../../gate/part';

export interface Claims {
  /** The claims of a row up to this number are void. */
  void(id: string, number: number): void;
  isVoid(id: string, number: number): boolean;
  forget(id: string): void;
  clear(): void;
}

export function createClaims(sql: SqlStorage): Claims {
  sql.exec(
    'create table if not exists void_claims (id text primary key, number integer not null) without rowid',
  );
  return {
    void: (id, number) =>
      void sql.exec(
        'insert into void_claims values (?, ?) on conflict (id) do update set number = max(number, excluded.number)',
        id,
        number,
      ),
    isVoid: (id, number) =>
      sql.exec('select 1 from void_claims where id = ? and number >= ?', id, number).toArray().length > 0,
    forget: (id) => void sql.exec('delete from void_claims where id = ?', id),
    clear: () => void sql.exec('delete from void_claims'),
  };
}

export const claims = part(({ storage }) => createClaims(storage.sql));
