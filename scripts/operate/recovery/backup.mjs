// `npm run backup`: the whole database of a vault in one SQL file, encrypted as stored. First, the gates of a
// running service move their newest audit entries to the database; with --verify, every row is then opened.
// Invariants: the backup shows the vault at one point in time, while the service continues; it is written
// beside its name, as FILE.part, and gets the name once it is complete; its last line is a SHA-256 of
// everything before it, so a truncated backup is recognised; what is missing or does not open is named, and
// the exit code is then not 0.
import { createHash } from 'node:crypto';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { ExpectedError } from '../../shared/expected-error.mjs';
import { parseArgs } from '../../shared/npm-options.mjs';
import { closedLines, requireOpenKeys } from '../vault/check-keys.mjs';
import { masterKeysFor, openEverything, rowsOf, summaryOf } from '../vault/every-row.mjs';
import { incompleteness } from '../vault/schema.mjs';
import { isInUse, lostDatabase, readableState, unreadableDatabases, vaultFile } from '../vault/state-dir.mjs';
import { deployedUrl, localUrl, progress, run, stateDir, variable, wrangler } from '../vault/vault.mjs';
import { answers, BAD_GATE, eachOrg, linesOf, problemsWith } from './each-org.mjs';
import { countsOf, dump, migrationsOf, statementsOf, tablesOf } from './sql-dump.mjs';

/** The checks of /healthz that say that the database has lost something. */
const DATABASE_CHECKS = ['organisation_rows', 'adoption', 'rows'];
/** The service looks again each minute: what was mended just now is not told. */
const LOOKED_AT_WITHIN = 70_000;
const USAGE = `npm run backup -- [options]

Writes the whole database of a vault to one SQL file, encrypted as stored.

  --output FILE   the file to create; vault-TIME.sql by default
  --verify        open every row of the backup, and name what does not open
  --keys FILE     with --verify: the file with MASTER_KEYS
  --except ORG    accept an organisation whose key does not open, or whose gate is broken: then its newest audit entries are left out; can be
                  repeated
  --incomplete    back up what is left of a database that lacks tables, columns or indexes
  --remote        back up the deployment instead of the vault of npm start
  --url URL       where the service answers, to include the newest changes
  --json          print one JSON object
  --help          print this

The exit code is 1 if an organisation was left out, or its key does not open, without --except; if a row does not open; or if /healthz says that
the database has lost something. The backup is made all the same.
`;

await run(async () => {
  const { values } = parseArgs({
    options: {
      remote: { type: 'boolean', default: false },
      url: { type: 'string' },
      output: { type: 'string' },
      except: { type: 'string', multiple: true, default: [] },
      verify: { type: 'boolean', default: false },
      keys: { type: 'string' },
      incomplete: { type: 'boolean', default: false },
      json: { type: 'boolean', default: false },
    },
  });
  const time = new Date();
  const name = values.output ?? `vault-${time.toISOString().replace(/\.\d+/, '').replaceAll(':', '')}.sql`;
  const file = path.resolve(process.env.INIT_CWD ?? '', name);
  const scratch = fs.mkdtempSync(path.join(os.tmpdir(), 'vault-backup-'));
  try {
    const masters = values.verify ? masterKeysFor({ keys: values.keys, remote: values.remote }) : null;
    const archived = await archive(
      values.remote ? await remoteService(values.url) : localService(values.url),
      values.except,
    );
    const db = values.remote ? await exported(scratch) : snapshot(readableState(stateDir(), scratch));
    const lacks = await requireWhole(db, values.incomplete, values.remote);
    const { closed, isChecked } = await requireOpenKeys(db, values.remote, values.except);
    if (!isChecked)
      process.stderr.write(
        'Not checked: MASTER_KEYS is not on this machine, so it is not known whether it decrypts this backup.\n',
      );
    const made = write(db, file, time);
    const orgs = rowsIn(db, 'orgs', 'SELECT id FROM orgs').map(({ id }) => String(id));
    const checked = masters && !lacks && (await openEverything(db, masters));
    db.close();
    const missing = orgs.filter((id) => !archived.done.has(id));
    const result = {
      file,
      ...made,
      archived: orgs.length - missing.length,
      not_archived: missing.length,
      left: archived.left,
      closed,
      ...(checked && { opened: checked.opened, faults: checked.faults }),
    };
    tellMissing(orgs.length, missing, archived, values.except);
    process.stdout.write(
      values.json
        ? `${JSON.stringify(result)}\n`
        : `${file}: ${made.rows} ${made.rows === 1 ? 'row' : 'rows'}, SHA-256 ${made.sha256}, under the master keys ${made.master_keys.join(', ') || 'none'}. Keep it apart from MASTER_KEYS.\n`,
    );
    if (checked && !values.json) process.stdout.write(`${summaryOf(checked)}\n`);
    tellProblems(orgs.length, closed, archived.lost);
    if (lacks) process.stderr.write(`Incomplete as asked: ${lacks}.\n`);
    const isAccepted = (/** @type {{ table: string, org: string | null }} */ { table, org }) =>
      table === 'org_keys' && values.except.includes(String(org));
    if (
      archived.isRefused ||
      [archived.left, archived.lost, closed].some(({ length }) => length > 0) ||
      lacks ||
      checked?.faults.some((fault) => !isAccepted(fault))
    )
      process.exitCode = 1;
  } finally {
    fs.rmSync(scratch, { recursive: true, force: true });
  }
}, USAGE);

/**
 * Names the organisations whose newest changes and audit entries may not be in the backup.
 * @param {number} total @param {string[]} missing @param {Awaited<ReturnType<typeof archive>>} archived
 *   @param {string[]} except
 */
function tellMissing(total, missing, { left, why, remedy }, except) {
  const failed = left.map(({ org }) => org);
  const others = missing.filter((id) => !failed.includes(id) && !except.includes(id));
  const say = (/** @type {string} */ text) => process.stderr.write(`${text}\n`);
  if (others.length)
    say(
      `The newest changes and audit entries of ${others.length} of ${total} organisations are only in their gates and not in this backup: ${why}. To include them, ${remedy} and create the backup again.`,
    );
  if (except.length)
    say(`Left out as asked, so without their newest changes and audit entries: ${except.join(', ')}`);
  if (left.length)
    say(
      `The backup is complete, except for the newest changes and audit entries of ${left.length} of ${total} organisations, which were not archived:\n${linesOf(left)}\n${BAD_GATE}`,
    );
}

/**
 * Names what makes the backup worth less: keys that do not open, and what the database has lost.
 * @param {number} total @param {any[]} closed @param {string[]} lost
 */
function tellProblems(total, closed, lost) {
  if (closed.length)
    process.stderr.write(
      `The backup is complete, but the keys of ${closed.length} of ${total} organisations do not open, so nobody can read what it holds of them:\n${closedLines(closed)}\nPut their rows of org_keys back from an older backup, as docs/operations/keys.md says. --except ORG accepts one.\n`,
    );
  if (lost.length)
    process.stderr.write(
      `The backup holds the database as it is, but the service says of it:\n  ${lost.join('\n  ')}\nKeep the backups from before until that is mended.\n`,
    );
}

/** @typedef {{ url: string, token: string | undefined } | { why: string, remedy: string }} Service */

/** The service that runs on the local vault. @param {string | undefined} url @returns {Service} */
function localService(url) {
  const remedy = 'start the service';
  if (!url && !isInUse(stateDir())) return { why: 'no service runs on this vault', remedy };
  return { url: url ?? localUrl(), token: variable('BOOTSTRAP_TOKEN') };
}

/**
 * The service of the deployment. The local vault's token is not sent to it.
 * @param {string | undefined} url
 * @returns {Promise<Service>}
 */
async function remoteService(url) {
  const token = process.env.BOOTSTRAP_TOKEN;
  if (!token)
    return { why: 'BOOTSTRAP_TOKEN is not set', remedy: "set it to the deployment's in the environment" };
  const found = url ?? (await deployedUrl());
  if (found) return { url: found, token };
  return { why: 'the address of the deployment is not known', remedy: 'give it with --url' };
}

/**
 * Has the gate of each organisation move its audit entries to the database.
 * @param {Service} service @param {string[]} except
 * @returns {Promise<{ done: Set<string>, left: import('./each-org.mjs').Left[], lost: string[], why: string,
 *   remedy: string, isRefused?: boolean }>} which did, which could not, what the database has lost, why
 *   others are missing, and whether a service refused to say
 */
async function archive(service, except) {
  if ('why' in service) return { done: new Set(), left: [], lost: [], ...service };
  const remedy = 'start the service, or give its address with --url,';
  if (!(await answers(service.url)))
    return { done: new Set(), left: [], lost: [], why: `no vault answers at ${service.url}`, remedy };
  const called = await eachOrg({
    ...service,
    path: '/audit-log/archive',
    except,
    what: 'archiving audit entries',
    within: 60_000,
  }).catch((error) => {
    // Its database is away, as on a full disk or while another process locks it: the file can still be read.
    if (!(error.status >= 500)) throw error;
    return { done: new Map(), left: [], status: error.status };
  });
  const isRefused = 'status' in called;
  return {
    done: new Set(called.done.keys()),
    left: called.left,
    lost: await lastingProblems(service.url),
    isRefused,
    ...(isRefused
      ? {
          why: `the service at ${service.url} answers ${called.status}`,
          remedy: 'mend it as npm run doctor says,',
        }
      : {
          why: `the service at ${service.url} does not have them, or did not when it was asked`,
          remedy: 'check that it is the right service',
        }),
  };
}

/** What the service says that its database has lost, and says again. @param {string} url */
async function lastingProblems(url) {
  const until = Date.now() + LOOKED_AT_WITHIN;
  for (;;) {
    const lost = await problemsWith(url, DATABASE_CHECKS);
    if (lost.length === 0 || Date.now() > until) return lost;
    await sleep(5000);
  }
}

/**
 * Refuses a database that lacks parts, unless that is asked for. Returns what it lacks.
 * @param {DatabaseSync} db
 * @param {boolean} isAccepted
 * @param {boolean} remote
 */
async function requireWhole(db, isAccepted, remote) {
  const lacks = await incompleteness(rowsOf(db), remote);
  if (lacks && !isAccepted)
    throw new ExpectedError(`No backup was made: ${lacks}. --incomplete backs up what is left.`);
  return lacks;
}

/** Rows of a table that may be missing. @param {DatabaseSync} db @param {string} table @param {string} sql */
function rowsIn(db, table, sql) {
  return tablesOf(db).includes(table) ? db.prepare(sql).all() : [];
}

/** A snapshot of the local database, without later writes. @param {string} dir */
function snapshot(dir) {
  const [unreadable] = unreadableDatabases(dir);
  if (unreadable)
    throw new ExpectedError(
      `The database of the vault cannot be read (${unreadable.why}), and no backup was made: restore the newest backup with npm run restore -- FILE --replace`,
    );
  const lost = lostDatabase(dir);
  if (lost) throw new ExpectedError(`No backup was made: ${lost}.`);
  const vault = vaultFile(dir);
  if (!vault)
    throw new ExpectedError(
      `There is no vault in ${stateDir()}: start the service once, set STATE_DIR to the value used by npm start, or pass --remote`,
    );
  const db = new DatabaseSync(vault, { readOnly: true, timeout: 10_000 });
  db.exec('BEGIN');
  db.prepare('SELECT count(*) FROM d1_migrations').get(); // the first read takes the snapshot
  return db;
}

/**
 * The deployment's database, as exported by D1: it serves no queries during the export, so this is a snapshot
 * too. @param {string} scratch
 */
async function exported(scratch) {
  const sql = path.join(scratch, 'export.sql');
  await wrangler(['d1', 'export', 'DB', '--remote', '--skip-confirmation', '--output', sql]);
  const db = new DatabaseSync(path.join(scratch, 'export.sqlite'));
  db.exec('PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; BEGIN');
  for await (const statement of statementsOf(sql)) db.exec(statement);
  return db;
}

/** @param {string} file */
function occupied(file) {
  return new ExpectedError(`${file} already exists: name another file with --output`);
}

/**
 * Gives a file that is complete its name, unless another one has taken it meanwhile.
 * @param {string} part
 * @param {string} file
 */
function publish(part, file) {
  try {
    fs.linkSync(part, file);
    fs.rmSync(part);
  } catch (error) {
    if (error.code === 'EEXIST') throw occupied(file);
    // Some file systems have no links.
    fs.renameSync(part, file);
  }
}

/** @param {DatabaseSync} db @param {string} file @param {Date} time */
function write(db, file, time) {
  const rows = countsOf(db);
  const total = Object.values(rows).reduce((sum, n) => sum + n, 0);
  const wraps = ['deployment_keys', 'org_keys'].flatMap((table) =>
    rowsIn(db, table, `SELECT master_id FROM ${table}`),
  );
  const master_keys = [...new Set(wraps.map((row) => String(row.master_id)))].sort();
  const header = { format: 1, made_at: time.toISOString(), migrations: migrationsOf(db), rows, master_keys };
  const part = `${file}.part`;
  if (fs.existsSync(file)) throw occupied(file);
  let fd;
  try {
    // What a backup that was cut off left.
    fs.rmSync(part, { force: true });
    fd = fs.openSync(part, 'wx', 0o600);
  } catch (error) {
    throw new ExpectedError(`${part} cannot be created: ${error.message}`);
  }
  const hash = createHash('sha256');
  const put = (/** @type {string} */ text) => {
    hash.update(text);
    fs.writeSync(fd, text);
  };
  const bar = progress('backing up, bytes:');
  try {
    put(
      `-- Secrets Vault Service: a backup. Restore it with npm run restore.\n-- ${JSON.stringify(header)}\n`,
    );
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
    publish(part, file);
    return { rows: total, sha256, master_keys };
  } catch (error) {
    fs.rmSync(part, { force: true });
    if (error instanceof ExpectedError) throw error;
    throw new ExpectedError(
      `No backup was made: ${error.message}. Check the free space of the disk, and whether the database can be read: npm run doctor`,
    );
  } finally {
    bar.end();
  }
}
