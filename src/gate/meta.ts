// Small durable facts of a gate, by name.
import QuickLRU from 'quick-lru';

export interface Meta {
  get(key: string): string | null;
  set(key: string, value: string): void;
  forget(key: string): void;
  /** Deletes every key that begins with a prefix, which ends in a colon. */
  drop(prefix: string): void;
}

export function createMeta(sql: SqlStorage): Meta {
  sql.exec('create table if not exists meta (key text primary key, value text not null) without rowid');
  const recent = new QuickLRU<string, { value: string | null }>({ maxSize: 500 });
  return {
    get(key) {
      const known = recent.get(key);
      if (known) return known.value;
      const value =
        sql.exec<{ value: string }>('select value from meta where key = ?', key).toArray()[0]?.value ?? null;
      recent.set(key, { value });
      return value;
    },
    set(key, value) {
      recent.delete(key);
      sql.exec('insert or replace into meta values (?, ?)', key, value);
      recent.set(key, { value });
    },
    forget(key) {
      recent.delete(key);
      sql.exec('delete from meta where key = ?', key);
    },
    drop(prefix) {
      recent.clear();
      sql.exec('delete from meta where key >= ? and key < ?', prefix, `${prefix.slice(0, -1)};`);
    },
  };
}
