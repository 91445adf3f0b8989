// SQL statements for whole rows. Their SQL is built once per table: building it for every change would cost
// more than everything else the gate computes.
import { getTableColumns, getTableName, type Table } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/d1';
import { getTableConfig, type SQLiteTable } from 'drizzle-orm/sqlite-core';
import { utf8 } from '../crypto/bytes';

/** Builds statements; never connected to a database. */
export const sqlite = drizzle({} as D1Database);

/** A statement and its parameters, in order. */
export interface Statement {
  sql: string;
  params: unknown[];
}

interface Spelled {
  columns: [string, { mapToDriverValue(value: unknown): unknown }][];
  insert: string;
  update: string;
  insertAll: string;
  upsert: string;
  put: string;
  revise: string;
}

const spelled = new WeakMap<Table, Spelled>();

function spell(table: Table): Spelled {
  const known = spelled.get(table);
  if (known) return known;
  const name = getTableName(table);
  const columns = Object.entries(getTableColumns(table)) as Spelled['columns'];
  const names = columns.map(([column]) => column);
  const set = names.map((column) => `${column} = excluded.${column}`);
  const each = names.map((column) => `w.v ->> '${column}'`);
  // Materialized: else SQLite would spell a row as text again for each of its columns.
  const into = (verb: string) =>
    `with w (v) as materialized (select value from json_each(?)) ${verb} into ${name} (${names}) select ${each} from w`;
  const made = {
    columns,
    insert: `insert into ${name} (${names}) values (${names.map(() => '?')})`,
    update: `update ${name} set ${names.map((column) => `${column} = ?`)}`,
    insertAll: into('insert'),
    upsert: into('insert or replace'),
    // Unlike the one before, it removes no other row that has the same unique name.
    // safety: put-replaces-own-row-only
    put: `${into('insert')} where true on conflict (${keyOf(table)}) do update set ${set}`,
    // An upsert, because its select can be forced to go from the rows to the table; for an update with
    // `from`, SQLite chooses the order and scans the organisation.
    // safety: bulk-update-by-index
    revise: `${into('insert')}
      cross join ${name} t on t.org_id = ? and t.id = w.v ->> 'id' and t.revision = (w.v ->> 'revision') - 1
      where true on conflict (org_id, id) do update set ${set}`,
  };
  spelled.set(table, made);
  return made;
}

/** The columns of the primary key. */
function keyOf(table: Table): string[] {
  const { columns, primaryKeys } = getTableConfig(table as SQLiteTable);
  return (primaryKeys[0]?.columns ?? columns.filter(({ primary }) => primary)).map(({ name }) => name);
}

/** The values of a row for D1. A missing column is null. */
const valuesOf = ({ columns }: Spelled, row: object): unknown[] =>
  columns.map(([name, column]) => {
    const value = (row as Record<string, unknown>)[name];
    return value === null || value === undefined ? null : column.mapToDriverValue(value);
  });

export function insertOf(table: Table, row: object): Statement {
  const spelling = spell(table);
  return { sql: spelling.insert, params: valuesOf(spelling, row) };
}

/** Updates every column of the rows that match these column values. */
export function updateOf(table: Table, row: object, where: Record<string, unknown>): Statement {
  const spelling = spell(table);
  const conditions = Object.keys(where).map((column) => `${column} = ?`);
  return {
    sql: `${spelling.update} where ${conditions.join(' and ')}`,
    params: [...valuesOf(spelling, row), ...Object.values(where)],
  };
}

/** Many new rows, in as few statements as possible. */
export function insertAllOf(table: Table, rows: object[]): Statement[] {
  const { insertAll } = spell(table);
  return partsOf(table, rows).map((part) => ({ sql: insertAll, params: [part] }));
}

/** The most bytes of rows in one parameter: D1 allows 2 MB. */
const MOST_PARAMETER = 1_000_000;

/** Rows as JSON, in parts that each fit into a parameter. */
function partsOf(table: Table, rows: object[]): string[] {
  const parts: string[][] = [];
  let bytes = MOST_PARAMETER;
  for (const row of rows) {
    const text = jsonOf(spell(table), row);
    // Rows are ASCII except user text, whose characters take up to three bytes.
    const size = utf8(text).length;
    // safety: batch-parameters-bounded
    if (bytes + size > MOST_PARAMETER) {
      parts.push([]);
      bytes = 0;
    }
    parts.at(-1)?.push(text);
    bytes += size;
  }
  return parts.map(listOf);
}

/** Many rows in one statement, each replacing the row with its key. */
export function upsertOf(table: Table, rows: object[]): Statement {
  const spelling = spell(table);
  return { sql: spelling.upsert, params: [listOf(rows.map((row) => jsonOf(spelling, row)))] };
}

/**
 * Many rows, new or not, in as few statements as possible. They fail if another row has a unique name of one.
 */
export function putAllOf(table: Table, rows: object[]): Statement[] {
  const { put } = spell(table);
  return partsOf(table, rows).map((part) => ({ sql: put, params: [part] }));
}

/**
 * Updates every column of many rows of an organisation, in as few statements as possible, each from the
 * previous revision.
 */
export function reviseOf(table: Table, org: string, rows: object[]): Statement[] {
  const { revise } = spell(table);
  return partsOf(table, rows).map((part) => ({ sql: revise, params: [part, org] }));
}

const listOf = (texts: readonly string[]): string => `[${texts.join()}]`;

function jsonOf(spelling: Spelled, row: object): string {
  const values = valuesOf(spelling, row);
  return JSON.stringify(Object.fromEntries(spelling.columns.map(([name], at) => [name, values[at]])));
}
