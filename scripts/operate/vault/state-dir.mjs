// The directory of a local vault. Invariant: only one running service owns it at a time, and a checkout that
// is older than its contents never changes it.
import { createHash, createHmac } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { ExpectedError } from '../../shared/expected-error.mjs';

/** @typedef {{ applied: Set<string>, hasVault: boolean }} State */

/** The name of the Worker in the local runtime: those of its Durable Objects' folders begin with it. */
export const LOCAL_WORKER = 'secrets-vault-service';

/** Where D1 is, and its file. */
const D1 = path.join('v3', 'd1');
/** What belongs to a database, its journals first. */
const ENDS = ['-wal', '-shm', '-journal', ''];
const LOCKED = 5; // SQLITE_BUSY
const CANNOT_OPEN = 14; // SQLITE_CANTOPEN
const DAMAGED = [11, 26]; // SQLITE_CORRUPT, SQLITE_NOTADB
const DISK_FAILS = 10; // SQLITE_IOERR

/**
 * Creates the directory if there is none, and locks it. The lock is SQLite's own, on an empty file: the
 * system releases it when the process ends for any reason, so no lock is left behind.
 * @param {string} dir
 * @returns {string | undefined} what is wrong with it
 */
export function claimState(dir) {
  try {
    fs.mkdirSync(dir, { recursive: true, mode: 0o700 });
    if (!fs.statSync(dir).isDirectory()) throw new Error();
    fs.accessSync(dir, fs.constants.R_OK | fs.constants.W_OK | fs.constants.X_OK);
  } catch {
    return 'STATE_DIR is not a writable directory: set it to one, or unset it for .wrangler/state';
  }
  try {
    const lock = new DatabaseSync(path.join(dir, 'lock'), { timeout: 0 });
    lock.exec('BEGIN EXCLUSIVE');
    held.push(lock);
  } catch (error) {
    if (error.errcode === LOCKED)
      return 'STATE_DIR is in use by another npm start: stop that one, or set STATE_DIR to a different directory';
    return `STATE_DIR cannot be locked (${error.message}): set it to a writable directory on a local disk`;
  }
  if (hasRuntime(dir, 5_000))
    return 'STATE_DIR is in use by a runtime (workerd) whose npm start was killed: end that process, or set STATE_DIR to a different directory';
}

/**
 * Whether a runtime works in the directory. If npm start and the process that it spawned are killed at the
 * same moment, nothing ends the runtime: it goes on, and two of them would decide requests of one gate.
 * @param {string} dir @param {number} patience how long one that is ending may take, in milliseconds
 */
function hasRuntime(dir, patience) {
  // It keeps the alarms of gates open as long as it runs.
  const file = path.join(dir, 'v3', 'do', `${LOCAL_WORKER}-Gate`, ALARMS);
  if (!fs.existsSync(file)) return false;
  try {
    const alarms = new DatabaseSync(file, { timeout: patience });
    try {
      alarms.exec('PRAGMA locking_mode = EXCLUSIVE; BEGIN IMMEDIATE; ROLLBACK');
    } finally {
      alarms.close();
    }
    return false;
  } catch (error) {
    return error.errcode === LOCKED;
  }
}

/** Whether a running service owns it. @param {string} dir */
export function isInUse(dir) {
  try {
    const lock = new DatabaseSync(path.join(dir, 'lock'), { timeout: 0 });
    try {
      lock.exec('BEGIN EXCLUSIVE; ROLLBACK');
    } finally {
      lock.close();
    }
  } catch (error) {
    if (error.errcode === LOCKED) return true;
  }
  return hasRuntime(dir, 0);
}

const held = []; // locks last as long as their connections are reachable

/** Reads the databases in it, without changing them. @param {string} dir @returns {State} */
export function inspectState(dir) {
  const state = { applied: new Set(), hasVault: false };
  for (const file of databases(path.join(dir, 'v3', 'd1'))) {
    const db = new DatabaseSync(file, { readOnly: true, timeout: 2_000 });
    try {
      const tables = new Set(
        db
          .prepare("SELECT name FROM sqlite_master WHERE type = 'table'")
          .all()
          .map(({ name }) => name),
      );
      if (tables.has('d1_migrations'))
        for (const { name } of db.prepare('SELECT name FROM d1_migrations').all())
          state.applied.add(String(name));
      // Without its deployment key it is still a vault.
      for (const table of ['deployment_keys', 'org_keys', 'orgs'])
        if (tables.has(table) && db.prepare(`SELECT 1 FROM ${table} LIMIT 1`).get()) state.hasVault = true;
    } finally {
      db.close();
    }
  }
  return state;
}

/** The file of the local D1, or undefined if there is none yet. @param {string} dir */
export function vaultFile(dir) {
  return databases(path.join(dir, 'v3', 'd1')).find((file) => {
    const db = new DatabaseSync(file, { readOnly: true, timeout: 2_000 });
    try {
      return db.prepare("SELECT 1 FROM sqlite_master WHERE name = 'd1_migrations'").get() !== undefined;
    } finally {
      db.close();
    }
  });
}

/** What is there, also if it is a link to nothing. @param {string} file */
const isThere = (file) => fs.lstatSync(file, { throwIfNoEntry: false }) !== undefined;

const isNoFile = (/** @type {string} */ file) =>
  isThere(file) && !fs.statSync(file, { throwIfNoEntry: false })?.isFile();

/**
 * What stands where the local D1 has a folder or a file, and is none.
 * @param {string} dir @returns {{ file: string, why: string }[]}
 */
function inTheWay(dir) {
  const folder = path.join(dir, D1);
  const inner = path.join(folder, 'miniflare-D1DatabaseObject');
  for (const one of [path.dirname(folder), folder, inner])
    if (isThere(one) && !fs.statSync(one, { throwIfNoEntry: false })?.isDirectory())
      return [{ file: one, why: 'it is no folder' }];
  return databases(folder).flatMap((file) =>
    ENDS.filter((end) => isNoFile(file + end)).map((end) => ({
      file,
      why: end ? `its ${end.slice(1)} is no file` : 'it is no file',
    })),
  );
}

/**
 * The local D1 as far as it cannot be read: its file, and why. One that is only locked is not among them.
 * @param {string} dir
 * @param {boolean} [whole] whether every page is checked, instead of the first ones
 * @returns {{ file: string, why: string }[]}
 */
export function unreadableDatabases(dir, whole = false) {
  const [obstacle] = inTheWay(dir);
  if (obstacle) return [obstacle];
  return databases(path.join(dir, 'v3', 'd1')).flatMap((file) => {
    try {
      if (whole) fs.accessSync(file, fs.constants.R_OK | fs.constants.W_OK);
      const db = new DatabaseSync(file, { readOnly: true, timeout: 2_000 });
      try {
        const [found] = whole
          ? db.prepare('PRAGMA quick_check(1)').all()
          : [{ quick_check: db.prepare('PRAGMA schema_version').get() && 'ok' }];
        if (found?.quick_check === 'ok') return [];
        const lines = String(found?.quick_check).split('\n');
        return [{ file, why: lines.find((line) => !line.startsWith('***')) ?? 'it is damaged' }];
      } finally {
        db.close();
      }
    } catch (error) {
      if (DAMAGED.includes(error.errcode & 0xff)) return [{ file, why: error.message }];
      if (error.errcode === LOCKED) return [];
      if (['EACCES', 'EPERM'].includes(error.code) || (error.errcode & 0xff) === CANNOT_OPEN)
        return [{ file, why: 'this user may not use it: change its permissions if it is whole' }];
      // A full disk is no damage.
      throw new ExpectedError(
        `The database in ${dir} cannot be opened (${error.message}): check its disk, and whether it is full`,
      );
    }
  });
}

/**
 * A directory from which the local D1 can be read: this one, or a copy in `scratch`. To be read, a database
 * in WAL mode needs an index of 32 KiB beside it, for which a full disk has no room. Nothing is copied that a
 * service writes: it has the index already.
 * @param {string} dir @param {string} scratch on another disk
 */
export function readableState(dir, scratch) {
  const isRefused = (/** @type {string} */ file) => {
    try {
      reading(file, (db) => db.prepare('PRAGMA schema_version').get());
      return false;
    } catch (error) {
      return (error.errcode & 0xff) === DISK_FAILS;
    }
  };
  const folder = path.join(dir, D1);
  if (!databases(folder).some(isRefused) || isInUse(dir)) return dir;
  fs.cpSync(folder, path.join(scratch, D1), {
    recursive: true,
    filter: (file) => !file.endsWith('-shm'),
  });
  // The gates tell whether an empty database is a lost one.
  const gates = path.join(dir, 'v3', 'do');
  if (fs.existsSync(gates)) fs.symlinkSync(path.resolve(gates), path.join(scratch, 'v3', 'do'));
  return isInUse(dir) ? dir : scratch;
}

/** Where the runtime keeps the alarms of a class of objects. It does not start while one is damaged. */
const ALARMS = 'metadata.sqlite';

/** Whether SQLite refuses a file as damaged, or it is none. Its first pages are read. @param {string} file */
function isDamaged(file) {
  if (ENDS.some((end) => isNoFile(file + end))) return true;
  try {
    reading(file, (db) => db.prepare('PRAGMA schema_version').get());
    return false;
  } catch (error) {
    return DAMAGED.includes(error.errcode & 0xff);
  }
}

/**
 * The damaged files of Durable Objects, and those with alarms, relative to the directory.
 * @param {string} dir
 */
export const damagedObjects = (dir) =>
  databases(path.join(dir, 'v3'), true)
    .map((file) => path.relative(dir, file))
    .filter((name) => !name.startsWith(D1) || path.basename(name) === ALARMS)
    .filter((name) => isDamaged(path.join(dir, name)));

/**
 * Moves damaged files with alarms out of the way, which would keep the runtime from starting. Gates set their
 * alarms again. Returns where they are.
 * @param {string} dir
 */
export function setAlarmsAside(dir) {
  const damaged = damagedObjects(dir).filter((name) => path.basename(name) === ALARMS);
  if (damaged.length === 0) return undefined;
  const to = newFolder(dir);
  for (const name of damaged) setAside(dir, path.join(dir, name), path.join(to, path.dirname(name)));
  return to;
}

/** A new folder for what is set aside. @param {string} dir */
function newFolder(dir) {
  const to = path.join(dir, 'set-aside', new Date().toISOString().replaceAll(':', ''));
  fs.mkdirSync(to, { recursive: true, mode: 0o700 });
  return to;
}

/**
 * Moves a database with its journal files out of the way. Returns where they are.
 * @param {string} dir
 * @param {string} file
 * @param {string} to a folder
 */
export function setAside(dir, file, to = newFolder(dir)) {
  fs.mkdirSync(to, { recursive: true, mode: 0o700 });
  // Journals first: one that is left behind would be replayed into the next database of that name.
  for (const end of ENDS)
    if (isThere(file + end)) fs.renameSync(file + end, path.join(to, path.basename(file) + end));
  return to;
}

/** The databases in a folder. @param {string} dir @param {boolean} [alarms] whether also those with alarms */
const databases = (dir, alarms = false) =>
  fs.existsSync(dir)
    ? fs
        .readdirSync(dir, { recursive: true, encoding: 'utf8' })
        .filter((name) => name.endsWith('.sqlite') && (alarms || path.basename(name) !== ALARMS))
        .map((name) => path.join(dir, name))
    : [];

/** Whether a local D1 has an organisation, or the key of one. @param {string} dir */
const hasOrgs = (dir) =>
  databases(path.join(dir, 'v3', 'd1')).some((file) =>
    reading(file, (db) =>
      ['orgs', 'org_keys'].some(
        (table) =>
          db.prepare("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?").get(table) &&
          db.prepare(`SELECT 1 FROM ${table} LIMIT 1`).get(),
      ),
    ),
  );

/** @template T @param {string} file @param {(db: DatabaseSync) => T} use @returns {T} */
function reading(file, use) {
  const db = new DatabaseSync(file, { readOnly: true, timeout: 2_000 });
  try {
    return use(db);
  } finally {
    db.close();
  }
}

/**
 * The organisations that local gates hold and that are not deleted.
 * @param {string} dir
 * @returns {Generator<string>}
 */
export function* orgsOfGates(dir) {
  const folder = path.join(dir, 'v3', 'do', namespaceOf('Gate'));
  for (const name of fs.existsSync(folder)
    ? fs.readdirSync(folder).filter((one) => one.endsWith('.sqlite'))
    : [])
    try {
      const found = reading(path.join(folder, name), (db) =>
        db
          .prepare(
            "SELECT id FROM rows WHERE kind = 'org' AND body IS NOT NULL AND body ->> 'deleted_at' IS NULL LIMIT 1",
          )
          .get(),
      );
      if (found) yield String(found.id);
    } catch {} // a gate without tables, or one that cannot be read, shows nothing
}

/**
 * Whether the local database is gone while its gates are there: a new one in its place would hide the loss.
 * @param {string} dir @returns {string | undefined} what is wrong, and what to do
 */
export function lostDatabase(dir) {
  if (hasOrgs(dir)) return undefined;
  const [org] = orgsOfGates(dir);
  return (
    org &&
    `the database in ${dir} has no organisations, but the gates beside it have some, such as ${org}: it was lost or emptied. Restore a backup with npm run restore -- FILE; if only orgs and org_keys are empty, put keys back instead: see "A lost database" in docs/operations/backup-and-restore.md. To begin a new vault instead, run npm start -- --new, which sets this one aside`
  );
}

/**
 * Moves all that the runtime stored out of the way, so that a new vault begins. Returns where it is.
 * @param {string} dir
 */
export function setVaultAside(dir) {
  const to = newFolder(dir);
  fs.renameSync(path.join(dir, 'v3'), path.join(to, 'v3'));
  return to;
}

/** The folder of a class of Durable Objects. @param {'Gate' | 'Replica'} of */
const namespaceOf = (of) => `${LOCAL_WORKER}-${of}`;

/**
 * The file of a Durable Object in a local vault: the local runtime derives the id of one from its name.
 * @param {string} dir @param {'Gate' | 'Replica'} of @param {string} name
 */
function objectFile(dir, of, name) {
  const namespace = namespaceOf(of);
  const key = createHash('sha256').update(namespace).digest();
  const first = createHmac('sha256', key).update(name).digest().subarray(0, 16);
  const id = Buffer.concat([
    first,
    createHmac('sha256', key).update(first).digest().subarray(0, 16),
  ]).toString('hex');
  return path.join(dir, 'v3', 'do', namespace, `${id}.sqlite`);
}

/** The file of an organisation's gate. @param {string} dir @param {string} org */
export const gateFile = (dir, org) => objectFile(dir, 'Gate', org);

/** Whether the file of a gate can be read. Every page is checked. @param {string} file */
export function isGateReadable(file) {
  try {
    return reading(
      file,
      (db) =>
        db.prepare('PRAGMA quick_check(1)').get()?.quick_check === 'ok' &&
        db.prepare("SELECT count(*) AS n FROM sqlite_master WHERE name IN ('meta', 'rows')").get()?.n === 2,
    );
  } catch (error) {
    return error.errcode === LOCKED;
  }
}

/** What to do about a gate whose file cannot be read. @param {string} org */
export const gateCannotBeRead = (org) =>
  `its gate cannot be read: stop the service, and run npm run gate -- reset ${org} --reason TEXT (docs/operations/gates.md)`;

/** The file of its replica in a region. @param {string} dir @param {string} org @param {string} region */
export const replicaFile = (dir, org, region) => objectFile(dir, 'Replica', `${org} ${region}`);
