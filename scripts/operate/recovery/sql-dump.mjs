// A vault as SQL and back. Invariant: no statement is longer than D1 allows (100,000 bytes,
// https://developers.cloudflare.com/d1/platform/limits/): a long value is inserted piece by piece.
import fs from 'node:fs';

const LONGEST = 90_000;
const PIECE = 60_000;

const name = (/** @type {string} */ text) => `"${text.replaceAll('"', '""')}"`;

/**
 * The tables with the vault's data, without SQLite's, D1's own and the list of migrations. @param
 * {import('node:sqlite').DatabaseSync} db
 */
export const tablesOf = (db) =>
  db
    .prepare("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")
    .all()
    .map((row) => String(row.name))
    .filter((table) => !/^(sqlite_|_cf_|d1_migrations$)/.test(table));

/** @param {import('node:sqlite').DatabaseSync} db @returns {Record<string, number>} */
export const countsOf = (db) =>
  Object.fromEntries(
    tablesOf(db).map((table) => [
      table,
      Number(db.prepare(`SELECT count(*) AS n FROM ${name(table)}`).get()?.n),
    ]),
  );

/** The names of the applied migrations. @param {import('node:sqlite').DatabaseSync} db @returns {string[]} */
export const migrationsOf = (db) =>
  db
    .prepare('SELECT name FROM d1_migrations ORDER BY id')
    .all()
    .map((row) => String(row.name));

/** A value in SQL. @param {unknown} value */
export function literal(value) {
  if (value === null) return 'NULL';
  if (typeof value === 'number' || typeof value === 'bigint') return String(value);
  if (value instanceof Uint8Array) return `X'${Buffer.from(value).toString('hex')}'`;
  const text = String(value);
  return text.includes('\0')
    ? `CAST(X'${Buffer.from(text).toString('hex')}' AS TEXT)`
    : `'${text.replaceAll("'", "''")}'`;
}

/**
 * A text in pieces, each below LONGEST as a literal regardless of its contents; base64 in larger ones.
 * @param {string} text
 */
export function* pieces(text) {
  const most = /^[\w+/=]*$/.test(text) ? PIECE : PIECE / 5;
  for (let at = 0; at < text.length; ) {
    let end = Math.min(at + most, text.length);
    const code = text.charCodeAt(end - 1);
    if (end < text.length && code >= 0xd800 && code <= 0xdbff) end--; // a pair stays together
    yield text.slice(at, end);
    at = end;
  }
}

/** The statements that empty every table of the vault. @param {import('node:sqlite').DatabaseSync} db */
export const clearing = (db) => tablesOf(db).map((table) => `DELETE FROM ${name(table)};`);

/**
 * The statements that restore every row, several short rows each.
 * @param {import('node:sqlite').DatabaseSync} db
 */
export function* dump(db) {
  for (const table of tablesOf(db)) {
    const columns = db.prepare(`SELECT name, pk FROM pragma_table_info(?)`).all(table);
    const names = columns.map((column) => String(column.name));
    const keys = columns.filter((column) => column.pk).map((column) => String(column.name));
    const head = `INSERT INTO ${name(table)} (${names.map(name).join(', ')}) VALUES\n`;
    const select = db.prepare(
      `SELECT ${names.map(name).join(', ')} FROM ${name(table)}${keys.length ? ` ORDER BY ${keys.map(name).join(', ')}` : ''}`,
    );
    select.setReadBigInts(true);
    let batch = '';
    let size = 0;
    for (const row of select.iterate()) {
      const values = names.map((column) => literal(row[column]));
      const bytes = values.reduce((sum, value) => sum + Buffer.byteLength(value) + 2, 4);
      if (bytes > PIECE) {
        if (batch) yield `${batch};`;
        batch = '';
        const long = names.filter(
          (_, i) =>
            Buffer.byteLength(values[i]) > 1000 &&
            typeof row[names[i]] === 'string' &&
            !keys.includes(names[i]),
        );
        yield `${head}(${values.map((value, i) => (long.includes(names[i]) ? "''" : value)).join(', ')});`;
        const where = keys.map((key) => `${name(key)} = ${literal(row[key])}`).join(' AND ');
        for (const column of long)
          for (const piece of pieces(String(row[column])))
            yield `UPDATE ${name(table)} SET ${name(column)} = ${name(column)} || ${literal(piece)} WHERE ${where};`;
        continue;
      }
      if (batch && size + bytes > PIECE) {
        yield `${batch};`;
        batch = '';
      }
      size = batch ? size + bytes : bytes;
      batch = `${batch ? `${batch},\n` : head}(${values.join(', ')})`;
    }
    if (batch) yield `${batch};`;
  }
}

export const isLegal = (/** @type {string} */ statement) => Buffer.byteLength(statement) <= LONGEST;

/** The statements of an SQL file, one by one, without comment lines between them. @param {string} file */
export async function* statementsOf(file) {
  let statement = '';
  let quotes = 0;
  let rest = '';
  const take = (/** @type {string} */ line) => {
    if (statement === '' && (line.startsWith('--') || line.trim() === '')) return undefined;
    statement += `${line}\n`;
    for (let at = line.indexOf("'"); at >= 0; at = line.indexOf("'", at + 1)) quotes++;
    if (quotes % 2 || !line.trimEnd().endsWith(';')) return undefined;
    const complete = statement;
    statement = '';
    quotes = 0;
    return complete;
  };
  for await (const part of fs.createReadStream(file, { encoding: 'utf8' })) {
    const lines = (rest + part).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) {
      const complete = take(line);
      if (complete) yield complete;
    }
  }
  const complete = take(rest);
  if (complete) yield complete;
}
