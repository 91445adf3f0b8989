// Reads a backup file. Invariant: nothing of it is used before the whole has been verified: its checksum, its
// migrations, its statements and its rows.
import { createHash } from 'node:crypto';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { ExpectedError } from '../../shared/expected-error.mjs';
import { knownMigrations } from '../../shared/migrations.mjs';
import { root } from '../../shared/wrangler.mjs';
import { countsOf, statementsOf } from './sql-dump.mjs';

const folder = path.join(root, 'migrations');

/**
 * @typedef {{ format: number, made_at: string, migrations: string[], rows: Record<string, number>,
 *   master_keys: string[] }} Header
 */

/**
 * Has a backup used as a database of its own, migrated to this checkout's version, in a directory that is
 * then removed.
 * @template T
 * @param {string} named @param {(db: DatabaseSync, header: Header, scratch: string) => Promise<T>} use
 *   @returns {Promise<T>}
 */
export async function withBackup(named, use) {
  const file = path.resolve(process.env.INIT_CWD ?? '', named);
  const header = await verifyBackup(file);
  const known = knownMigrations(folder).sort();
  if (header.migrations.some((name) => !known.includes(name)))
    throw new ExpectedError(
      'The backup was created by a newer checkout, with migrations that this one does not know: update this checkout',
    );
  const scratch = fs.mkdtempSync(path.join(os.tmpdir(), 'vault-restore-'));
  try {
    const db = await rebuild(file, header, known, path.join(scratch, 'vault.sqlite')).catch((error) => {
      if (error instanceof ExpectedError) throw error;
      throw new ExpectedError(
        `The backup could not be read into ${os.tmpdir()} (${error.message}): check its free space; nothing was changed`,
      );
    });
    try {
      return await use(db, header, scratch);
    } finally {
      db.close();
    }
  } finally {
    fs.rmSync(scratch, { recursive: true, force: true });
  }
}

/**
 * Reads the whole file and compares its checksum.
 * @param {string} file
 * @returns {Promise<Header>}
 */
async function verifyBackup(file) {
  const SUM = '-- sha256 '.length + 64 + 1;
  let size = 0;
  try {
    const stat = fs.statSync(file);
    if (!stat.isFile()) throw new Error();
    fs.accessSync(file, fs.constants.R_OK);
    size = stat.size;
  } catch {
    throw new ExpectedError(`${file} cannot be read: name a backup file`);
  }
  const hash = createHash('sha256');
  let head = '';
  if (size > SUM) {
    for await (const part of fs.createReadStream(file, { end: size - SUM - 1 })) {
      if (head.length < 65_536) head += part.toString('utf8');
      hash.update(part);
    }
  }
  const fd = fs.openSync(file);
  const last = Buffer.alloc(SUM);
  fs.readSync(fd, last, 0, SUM, Math.max(0, size - SUM));
  fs.closeSync(fd);
  if (last.toString('latin1') !== `-- sha256 ${hash.digest('hex')}\n`)
    throw new ExpectedError(
      'The backup is damaged or incomplete: its checksum does not match its content; nothing was changed',
    );
  const header = JSON.parse(head.split('\n')[1]?.slice(3) ?? 'null');
  if (header?.format !== 1) throw new ExpectedError('The backup has an unknown format: update this checkout');
  return header;
}

/**
 * The backup as a separate database, migrated to this checkout's version. @param {string} file @param
 * {Header} header @param {string[]} known @param {string} at
 */
async function rebuild(file, header, known, at) {
  const db = new DatabaseSync(at);
  db.exec('PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF');
  const migrate = (/** @type {string[]} */ names) => {
    for (const name of names) db.exec(fs.readFileSync(path.join(folder, name), 'utf8'));
  };
  migrate(header.migrations);
  db.exec('BEGIN');
  for await (const statement of statementsOf(file)) {
    if (!/^(INSERT INTO|UPDATE) "/.test(statement))
      throw new ExpectedError('The backup contains unexpected statements: nothing was changed');
    db.prepare(statement).run();
  }
  db.exec('COMMIT');
  const rows = countsOf(db);
  if (Object.entries(header.rows).some(([table, n]) => rows[table] !== n))
    throw new ExpectedError('The backup does not contain the rows that it lists: nothing was changed');
  migrate(known.filter((name) => !header.migrations.includes(name)));
  return db;
}
