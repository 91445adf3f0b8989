// Statements for whole rows of our tables. Their SQL is spelled once a table, for building it anew for every change costs more than
// all else that the gate computes then.
import { getTableColumns, getTableName, type Table } from 'drizzle-orm';
import { utf8 } from '../crypto/bytes';

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
  revise: string;
}

const spelled = new WeakMap<Table, Spelled>();

function spell(table: Table): Spelled {
  const known = spelled.get(table);
  if (known) return known;
  const name = getTableName(table);
  const columns = Object.entries(getTableColumns(table)) as Spelled['columns'];
  const names = columns.map(([column]) => column);
  const made = {
    columns,
    insert: `insert into ${name} (${names}) values (${names.map(() => '?')})`,
    update: `update ${name} set ${names.map((column) => `${column} = ?`)}`,
    insertAll: `insert into ${name} (${names}) select ${names.map((column) => `value ->> '${column}'`)} from json_each(?)`,
    upsert: `insert or replace into ${name} (${names}) select ${names.map((column) => `value ->> '${column}'`)} from json_each(?)`,
    // An upsert, for its select can be told to go from the rows to the table; of an update with `from` SQLite decides, and walks the org.
    // safety: bulk-update-by-index
    revise: `insert into ${name} (${names}) select ${names.map((column) => `w.value ->> '${column}'`)} from json_each(?) w
      cross join ${name} t on t.org_id = ? and t.id = w.value ->> 'id' and t.revision = (w.value ->> 'revision') - 1
      where true on conflict (org_id, id) do update set ${names.map((column) => `${column} = excluded.${column}`)}`,
  };
  spelled.set(table, made);
  return made;
}

/** The values of a row as D1 takes them. A column that the row does not name is null. */
const valuesOf = ({ columns }: Spelled, row: object): unknown[] =>
  columns.map(([name, column]) => {
    const value = (row as Record<string, unknown>)[name];
    return value === null || value === undefined ? null : column.mapToDriverValue(value);
  });

export function insertOf(table: Table, row: object): Statement {
  const spelling = spell(table);
  return { sql: spelling.insert, params: valuesOf(spelling, row) };
}

/** Changes every column of the rows for which these columns have these values. */
export function updateOf(table: Table, row: object, where: Record<string, unknown>): Statement {
  const spelling = spell(table);
  const conditions = Object.keys(where).map((column) => `${column} = ?`);
  return { sql: `${spelling.update} where ${conditions.join(' and ')}`, params: [...valuesOf(spelling, row), ...Object.values(where)] };
}

/** Many new rows, in as few statements as D1 can take. */
export function insertAllOf(table: Table, rows: object[]): Statement[] {
  const spelling = spell(table);
  return parts(rows).map((part) => ({ sql: spelling.insertAll, params: [jsonOf(spelling, part)] }));
}

/** Bytes of rows in one parameter: D1 takes 2 MB. */
const MOST_PARAMETER = 1_000_000;

/** Rows, in parts of which each fits into a parameter. */
function parts<T extends object>(rows: T[]): T[][] {
  const made: T[][] = [];
  let bytes = MOST_PARAMETER;
  for (const row of rows) {
    // Rows are ASCII but for what people write, of which a character takes up to three bytes.
    const size = utf8(JSON.stringify(row)).length;
    // safety: batch-parameters-bounded
    if (bytes + size > MOST_PARAMETER) {
      made.push([]);
      bytes = 0;
    }
    made.at(-1)?.push(row);
    bytes += size;
  }
  return made;
}

/** Many rows in one statement, each in place of the one with its key. */
export function upsertOf(table: Table, rows: object[]): Statement {
  const spelling = spell(table);
  return { sql: spelling.upsert, params: [jsonOf(spelling, rows)] };
}

/** Changes every column of many rows of an org in as few statements as D1 can take, each from the revision before its own. */
export function reviseOf(table: Table, org: string, rows: object[]): Statement[] {
  const spelling = spell(table);
  return parts(rows).map((part) => ({ sql: spelling.revise, params: [jsonOf(spelling, part), org] }));
}

const jsonOf = (spelling: Spelled, rows: object[]): string =>
  JSON.stringify(
    rows.map((row) => {
      const values = valuesOf(spelling, row);
      return Object.fromEntries(spelling.columns.map(([name], at) => [name, values[at]]));
    }),
  );
