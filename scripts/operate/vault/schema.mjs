// Whether a database has the tables, columns and indexes that its migrations make. Invariant: it changes
// nothing; what a later checkout applied is not judged.
import fs from 'node:fs';
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { knownMigrations } from '../../shared/migrations.mjs';
import { root } from '../../shared/wrangler.mjs';

const folder = path.join(root, 'migrations');
const APPLIED = 'SELECT name FROM d1_migrations';
const PARTS = `SELECT m.type, m.name, m.tbl_name AS "table", c.name AS "column" FROM sqlite_master m
  LEFT JOIN pragma_table_info(m.name) c ON m.type = 'table' WHERE m.type IN ('table', 'index') ORDER BY m.name, c.name`;

/** @typedef {{ type: string, name: string, table: string, column: string | null }} Part */

/**
 * What a database lacks, in words.
 * @param {import('./row-checks.mjs').Rows} rows
 * @returns {Promise<string[]>}
 */
export async function lackingParts(rows) {
  const known = knownMigrations(folder).sort();
  const applied = (await rows(APPLIED, [])).map(({ name }) => String(name));
  if (applied.some((name) => !known.includes(name))) return [];
  const there = await partsIn(rows);
  const made = new DatabaseSync(':memory:');
  // They are applied in order: where later ones are recorded, a record that is missing was lost.
  for (const name of known.filter((one) => applied.some((last) => one <= last)))
    made.exec(fs.readFileSync(path.join(folder, name), 'utf8'));
  const needed = await partsIn((sql) => made.prepare(sql).all());
  made.close();
  const lacks = (/** @type {string} */ part) => !there.has(part);
  return [...needed].flatMap(([part, { type, table, name, column }]) => {
    if (!lacks(part)) return [];
    if (column !== null)
      return lacks(keyOf({ type, name, column: null })) ? [] : [`the column ${column} of ${name}`];
    return type === 'index' && lacks(keyOf({ type: 'table', name: table, column: null }))
      ? []
      : [`the ${type} ${name}`];
  });
}

const keyOf = (/** @type {Pick<Part, 'type' | 'name' | 'column'>} */ { type, name, column }) =>
  JSON.stringify([type, name, column]);

/**
 * Each table, column and index by its name.
 * @param {import('./row-checks.mjs').Rows} rows
 * @returns {Promise<Map<string, Part>>}
 */
async function partsIn(rows) {
  const found = /** @type {Part[]} */ (await rows(PARTS, []));
  const all = found.flatMap((part) => [{ ...part, column: null }, ...(part.column === null ? [] : [part])]);
  return new Map(
    all.filter(({ name }) => !/^(sqlite_|_cf_|d1_)/.test(name)).map((part) => [keyOf(part), part]),
  );
}

const REMEDY = 'Restore the newest backup that was made before, with npm run restore -- FILE --replace';
const REMOTE_REMEDY =
  'Go back with D1 Time Travel, as docs/operations/backup-and-restore.md says; or delete the database (npx wrangler d1 delete), run npm run deploy, which creates it again, and restore the newest backup with npm run restore -- FILE --remote';

/**
 * What a database lacks, in one line; undefined if it is whole. @param {import('./row-checks.mjs').Rows} rows
 * @param {boolean} [remote] whether it is that of the deployment
 */
export async function incompleteness(rows, remote = false) {
  const lacking = await lackingParts(rows);
  if (lacking.length === 0) return undefined;
  const more = lacking.length > 5 ? ` and ${lacking.length - 5} more` : '';
  return `the database lacks ${lacking.slice(0, 5).join(', ')}${more}, which its migrations have made: rows are lost. ${remote ? REMOTE_REMEDY : REMEDY}`;
}
