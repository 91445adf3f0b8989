// `npm run backup`: the whole database of a vault in one SQL file, sealed as it is. Invariants: it is one moment of the vault, while the
// service goes on; it is made by this run or not at all; and its last line is a SHA-256 of all before it, so a part of it is known as such.
import { createHash } from 'node:crypto';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { parseArgs } from 'node:util';
import { countsOf, dump, migrationsOf, statementsOf } from './dump.mjs';
import { Fault } from './fault.mjs';
import { vaultFile } from './state.mjs';
import { progress, run, stateDir, wrangler } from './vault.mjs';

const WRAPS = 'SELECT master_id FROM deployment_keys UNION SELECT master_id FROM org_keys ORDER BY 1';

await run(async () => {
  const { values } = parseArgs({
    options: { remote: { type: 'boolean', default: false }, output: { type: 'string' }, json: { type: 'boolean', default: false } },
  });
  const moment = new Date();
  const name = values.output ?? `vault-${moment.toISOString().replace(/\.\d+/, '').replaceAll(':', '')}.sql`;
  const file = path.resolve(process.env.INIT_CWD ?? '', name);
  const scratch = fs.mkdtempSync(path.join(os.tmpdir(), 'vault-backup-'));
  try {
    const db = values.remote ? await exported(scratch) : snapshot();
    const made = write(db, file, moment);
    db.close();
    process.stdout.write(
      values.json
        ? `${JSON.stringify({ file, ...made })}\n`
        : `${file}: ${made.rows} rows, SHA-256 ${made.sha256}, under the master keys ${made.master_keys.join(', ') || 'none'}. Keep it apart from MASTER_KEYS.\n`,
    );
  } finally {
    fs.rmSync(scratch, { recursive: true, force: true });
  }
});

/** The local database as it is at this moment: what is written from now on is not seen. */
function snapshot() {
  const found = vaultFile(stateDir());
  if (!found) throw new Fault(`There is no vault in ${stateDir()}: set STATE_DIR as npm start has it, or give --remote`);
  const db = new DatabaseSync(found, { readOnly: true, timeout: 10_000 });
  db.exec('BEGIN');
  db.prepare('SELECT count(*) FROM d1_migrations').get(); // the first read fixes the moment
  return db;
}

/** The deployment's database, as D1 exports it: it serves no queries meanwhile, so this is one moment too. @param {string} scratch */
async function exported(scratch) {
  const sql = path.join(scratch, 'export.sql');
  await wrangler(['d1', 'export', 'DB', '--remote', '--skip-confirmation', '--output', sql]);
  const db = new DatabaseSync(path.join(scratch, 'export.sqlite'));
  db.exec('PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; BEGIN');
  for await (const statement of statementsOf(sql)) db.exec(statement);
  return db;
}

/** @param {DatabaseSync} db @param {string} file @param {Date} moment */
function write(db, file, moment) {
  const rows = countsOf(db);
  const total = Object.values(rows).reduce((sum, n) => sum + n, 0);
  const master_keys = db
    .prepare(WRAPS)
    .all()
    .map((row) => String(row.master_id));
  const header = { format: 1, made_at: moment.toISOString(), migrations: migrationsOf(db), rows, master_keys };
  let fd;
  try {
    fd = fs.openSync(file, 'wx', 0o600);
  } catch (error) {
    throw new Fault(
      error.code === 'EEXIST' ? `${file} exists: name another file with --output` : `${file} cannot be made: ${error.message}`,
    );
  }
  const hash = createHash('sha256');
  const put = (/** @type {string} */ text) => {
    hash.update(text);
    fs.writeSync(fd, text);
  };
  const bar = progress('backing up, bytes:');
  try {
    put(`-- Secrets Vault Service: a backup, to be put back by npm run restore.\n-- ${JSON.stringify(header)}\n`);
    let bytes = 0;
    for (const statement of dump(db)) {
      put(`${statement}\n`);
      bytes += statement.length;
      bar.at(bytes);
    }
    const sha256 = hash.digest('hex');
    fs.writeSync(fd, `-- sha256 ${sha256}\n`);
    fs.fsyncSync(fd);
    fs.closeSync(fd);
    return { rows: total, sha256, master_keys };
  } catch (error) {
    fs.rmSync(file, { force: true });
    throw error;
  } finally {
    bar.end();
  }
}
