// Backups of D1 for tests: all tables of the vault at one moment, put back as a whole.
import { db } from '../world';

export type Backup = Record<string, Record<string, unknown>[]>;

export async function backUp(): Promise<Backup> {
  const { results } = await db
    .prepare(
      "select name from sqlite_master where type = 'table' and name not like '\\_cf%' escape '\\' and name not like 'sqlite%' and name <> 'd1_migrations'",
    )
    .all<{ name: string }>();
  const tables = results.map(({ name }) => name);
  const found = await db.batch<Record<string, unknown>>(
    tables.map((table) => db.prepare(`select * from ${table}`)),
  );
  return Object.fromEntries(tables.map((table, i) => [table, found[i]?.results ?? []]));
}

export const putBack = (backup: Backup) =>
  db.batch([
    db.prepare('pragma defer_foreign_keys = on'),
    ...Object.entries(backup).flatMap(([table, rows]) => [
      db.prepare(`delete from ${table}`),
      ...rows.map((row) => {
        const columns = Object.keys(row);
        return db
          .prepare(`insert into ${table} (${columns}) values (${columns.map(() => '?')})`)
          .bind(...Object.values(row));
      }),
    ]),
  ]);
