// `npm run restore -- FILE`: restores a backup into an empty vault or, with --replace, in place of a vault's
// contents; `--adopt` then has each organisation's gate accept it. Invariants: nothing is changed before the
// whole backup has been verified (its checksum, its rows, its migrations, its keys); it is restored in one
// transaction; a database that cannot be read is set aside, never deleted.
import fs from 'node:fs';
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { ExpectedError } from '../../shared/expected-error.mjs';
import { parseArgs } from '../../shared/npm-options.mjs';
import { agrees, isAsked } from '../../shared/terminal.mjs';
import { closedLines, closedOrgs, keysIn } from '../vault/check-keys.mjs';
import { deployed, masterKeysFor, rowsOf } from '../vault/every-row.mjs';
import { checkWraps, parseMasterKeys, readKeyFile } from '../vault/master-keys.mjs';
import { applyMigrations } from '../vault/migrate.mjs';
import { lackingParts } from '../vault/schema.mjs';
import { claimState, gateFile, setAside, unreadableDatabases, vaultFile } from '../vault/state-dir.mjs';
import {
  deployedService,
  devVarsFile,
  localUrl,
  progress,
  remoteRows,
  run,
  stateDir,
  wrangler,
} from '../vault/vault.mjs';
import { adoptAll } from './adopt.mjs';
import { withBackup } from './backup-file.mjs';
import { restoreVersions } from './restore-rows.mjs';
import { endCredentials, endedMessage } from './revocations.mjs';
import { clearing, countsOf, dump, isLegal } from './sql-dump.mjs';

/** Further than any gate raises its epoch. */
const APART = 1_000_000;
const OCCUPIED =
  'The vault is not empty: pass --replace to replace its contents with the backup; later changes are lost';
const HELP = `npm run restore -- FILE [options]
npm run restore -- FILE --rows [options]
npm run restore -- --adopt --reason TEXT [options]

Restores a backup; then --adopt has the gate of each organisation accept the database. With --rows it restores only secrets, versions
and audit entries that are missing, and versions that do not open, and changes nothing else; the service may run.

  --rows          restore only what the vault lost or cannot open; exits with 1 if something remains
  --replace       replace all that the vault holds; later changes are lost, and a local database that cannot be read is set aside
  --ended FILE    an export of an audit log, as NDJSON: what it says was revoked after the backup is revoked in what is restored
  --keys FILE     the file with the MASTER_KEYS that the backup needs; .dev.vars by default
  --yes           do not ask
  --remote        the deployment instead of the vault of npm start; with --adopt, BOOTSTRAP_TOKEN must be in the environment
  --adopt         have each organisation accept the restored database; the service must run
  --reason TEXT   why, for the audit log of each organisation
  --except ORG    restore although this organisation's key does not open; with --adopt, do not have it accept the database; can be repeated
  --only ORG      with --adopt, have this organisation alone accept the database, also if its own row is lost; can be repeated
  --url URL       where the service answers
  --json          print one JSON object
  --help          print this
`;
const USAGE =
  'Use: npm run restore -- FILE [--replace] [--remote] [--keys FILE] [--ended FILE] [--yes], npm run restore -- FILE --rows [--remote] [--keys FILE], or npm run restore -- --adopt --reason TEXT [--remote] [--url URL] [--except ORG] [--only ORG]';

await run(async () => {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      remote: { type: 'boolean', default: false },
      replace: { type: 'boolean', default: false },
      adopt: { type: 'boolean', default: false },
      rows: { type: 'boolean', default: false },
      keys: { type: 'string' },
      url: { type: 'string' },
      reason: { type: 'string' },
      except: { type: 'string', multiple: true, default: [] },
      only: { type: 'string', multiple: true, default: [] },
      ended: { type: 'string', multiple: true, default: [] },
      yes: { type: 'boolean', default: false },
      json: { type: 'boolean', default: false },
    },
  });
  if (values.adopt ? values.rows || positionals.length : values.only.length) throw new ExpectedError(USAGE);
  const result = values.adopt
    ? await adoptAll(
        values.remote ? await deployedService(values.url) : { url: values.url ?? localUrl() },
        values.reason ?? '',
        values,
      )
    : await (values.rows ? mend : restore)(positionals, values);
  process.stdout.write(values.json ? `${JSON.stringify(result)}\n` : `${result.message}\n`);
}, HELP);

/**
 * @typedef {{ remote: boolean, replace: boolean, except: string[], keys?: string, ended: string[], yes:
 *   boolean }} How
 */

/** @param {string[]} positionals @param {How} how */
async function restore(positionals, how) {
  if (positionals.length !== 1) throw new ExpectedError(USAGE);
  return withBackup(positionals[0], async (db, header, scratch) => {
    // No gate that still exists has this term: it refuses changes until it adopts what is restored, however
    // many rows happen to agree. The health check knows it by its beginning.
    db.exec("UPDATE journal_positions SET term = 'restored:' || lower(hex(randomblob(16)))");
    // A backup of release 0.5.0 or an earlier one has epochs instead.
    db.exec(`UPDATE fences SET epoch = epoch + ${APART}`);
    const rows = Object.values(countsOf(db)).reduce((sum, n) => sum + n, 0);
    const warning = await checkKeys(db, header, how);
    const ended = how.ended.length
      ? await endCredentials(db, how.ended, header.made_at, masterKeysFor(how))
      : null;
    await confirmRevived(db, header.made_at, how, ended?.orgs ?? []);
    if (how.remote) await putRemote(db, path.join(scratch, 'restore.sql'), how.replace);
    else await putLocal(db, how.replace);
    const then = how.remote
      ? 'Deploy again, so that no isolate holds keys from before. Then: npm run restore -- --adopt --reason TEXT --url URL'
      : 'Start the service. Then: npm run restore -- --adopt --reason TEXT';
    const told = ended ? `${endedMessage(ended)}\n` : '';
    return {
      rows,
      made_at: header.made_at,
      ...(ended && { ended }),
      message: `${warning}${told}${rows} rows of ${header.made_at} are restored. ${then}`,
    };
  });
}

/** Mends single rows instead. @param {string[]} positionals @param {How} how */
async function mend(positionals, how) {
  if (positionals.length !== 1 || how.replace || how.ended.length) throw new ExpectedError(USAGE);
  return withBackup(positionals[0], (db, header, scratch) =>
    restoreVersions(db, header.made_at, scratch, how),
  );
}

/**
 * Refuses keys that do not decrypt the backup.
 * @param {DatabaseSync} db @param {{ master_keys: string[] }} header @param {How} how
 */
async function checkKeys(db, header, { remote, keys: named, except }) {
  const list = header.master_keys.join(', ');
  const file = named ? path.resolve(process.env.INIT_CWD ?? '', named) : remote ? undefined : devVarsFile;
  let keys;
  try {
    keys =
      process.env.MASTER_KEYS !== undefined && !named
        ? parseMasterKeys(process.env.MASTER_KEYS)
        : file && readKeyFile(file)?.keys;
  } catch {
    throw new ExpectedError(`${file} cannot be read: name the file with MASTER_KEYS; nothing was changed`);
  }
  if (!keys) {
    if (remote)
      return `Not checked: the deployment's MASTER_KEYS must contain ${list}, unchanged since the backup (--keys FILE checks this).\n`;
    throw new ExpectedError(
      `MASTER_KEYS is missing: set it, or restore .dev.vars, with the keys that the backup was created with (${list}); nothing was changed`,
    );
  }
  const all = keysIn(db);
  const wraps = all.wraps.filter(({ owner }) => !except.includes(owner));
  const { missing, undecryptable } = await checkWraps(keys, wraps);
  const closed = await closedOrgs(all, keys);
  // The row of one organisation may be damaged. Where none opens, or a master key is missing, MASTER_KEYS is
  // wrong.
  const isWrong =
    undecryptable.some(({ owner }) => owner === 'deployment') || undecryptable.length === wraps.length - 1;
  const lacking = new Set([...missing, ...(isWrong ? undecryptable.map(({ master_id }) => master_id) : [])]);
  if (wraps.length && lacking.size)
    throw new ExpectedError(
      `MASTER_KEYS does not decrypt this backup: it lacks ${[...lacking].join(', ')}, or has another key with that id; add it after the current one (it may be in RETIRED_MASTER_KEYS), or name each organisation that it belongs to with --except; nothing was changed`,
    );
  return closed.length
    ? `The keys of ${closed.length} of ${all.orgs.length} organisations do not open, so nothing of theirs can be read:\n${closedLines(closed)}\nPut their rows of org_keys back from an older backup, as docs/operations/keys.md says.\n`
    : '';
}

/**
 * Says what a gate that is gone no longer knows, and asks. A local gate that is still there keeps what has
 * ended.
 * @param {DatabaseSync} db @param {string} made_at @param {How} how
 * @param {string[]} told organisations of which an export says what has ended
 */
async function confirmRevived(db, made_at, how, told) {
  const orgs = db.prepare('SELECT id FROM orgs WHERE deleted_at IS NULL').all();
  const untold = orgs.map(({ id }) => String(id)).filter((id) => !told.includes(id));
  const gone = how.remote
    ? untold.length
    : untold.filter((id) => !fs.existsSync(gateFile(stateDir(), id))).length;
  if (gone === 0) return;
  process.stderr.write(
    `What was revoked or deleted after ${made_at} works again for ${how.remote ? 'each organisation whose gate is gone' : `${gone} of ${orgs.length} organisations, whose gates are not here`}${told.length ? ', and of which no export was given' : ''}: API keys, agents, members, links. To revoke it in what is restored, name a later export of the audit log with --ended FILE. Without one, recover each organisation with contain: true once it runs.\n`,
  );
  if (!how.yes && isAsked() && !(await agrees('Restore without it?')))
    throw new ExpectedError('Nothing was changed');
}

/** Sets a database aside that SQLite cannot read. @param {string} dir @param {boolean} replace */
function clearUnreadable(dir, replace) {
  for (const { file, why } of unreadableDatabases(dir, true)) {
    if (!replace)
      throw new ExpectedError(
        `The database in ${dir} cannot be read (${why}): pass --replace to set it aside and restore the backup; nothing was changed`,
      );
    process.stderr.write(`The database cannot be read (${why}). It is now in ${setAside(dir, file)}.\n`);
  }
}

/**
 * The database with all tables. One that lacks some is set aside. @param {string} dir @param {boolean}
 * replace
 * @returns {Promise<DatabaseSync>}
 */
async function wholeDatabase(dir, replace) {
  try {
    await applyMigrations(dir);
  } catch (error) {
    // A migration that cannot be applied is one on tables that are missing.
    if (!replace || !vaultFile(dir)) throw error;
  }
  const file = vaultFile(dir);
  if (!file) throw new ExpectedError(`No database could be created in ${dir}`);
  const db = new DatabaseSync(file, { timeout: 10_000 });
  const lacking = await lackingParts(rowsOf(db));
  if (lacking.length === 0) return db;
  db.close();
  const what = `The database in ${dir} lacks ${lacking.slice(0, 5).join(', ')}`;
  if (!replace)
    throw new ExpectedError(
      `${what}: pass --replace to set it aside and restore the backup; nothing was changed`,
    );
  process.stderr.write(`${what}. It is now in ${setAside(dir, file)}.\n`);
  return wholeDatabase(dir, false);
}

/** @param {DatabaseSync} db @param {boolean} replace */
async function putLocal(db, replace) {
  const dir = stateDir();
  const taken = claimState(dir);
  if (taken) throw new ExpectedError(`${taken}; nothing was changed`);
  clearUnreadable(dir, replace);
  const vault = await wholeDatabase(dir, replace);
  const bar = progress('restoring, bytes:');
  try {
    vault.exec('BEGIN IMMEDIATE');
    const { orgs, org_keys } = countsOf(vault);
    if ((orgs || org_keys) && !replace) throw new ExpectedError(OCCUPIED);
    for (const statement of clearing(vault)) vault.exec(statement);
    let bytes = 0;
    for (const statement of dump(db)) {
      vault.exec(statement);
      bytes += statement.length;
      bar.at(bytes);
    }
    vault.exec('COMMIT');
  } catch (error) {
    if (vault.isTransaction) vault.exec('ROLLBACK');
    throw error instanceof ExpectedError
      ? error
      : new ExpectedError(`The vault is unchanged: the backup could not be restored (${error.message})`);
  } finally {
    bar.end();
    vault.close();
  }
}

/**
 * One import, which D1 rolls back if it fails.
 * @param {DatabaseSync} db
 * @param {string} file
 * @param {boolean} replace
 */
async function putRemote(db, file, replace) {
  await wrangler(['d1', 'migrations', 'apply', 'DB', '--remote']);
  const lacking = await lackingParts(deployed);
  if (lacking.length)
    throw new ExpectedError(
      `The database of the deployment lacks ${lacking.slice(0, 5).join(', ')}: go back with D1 Time Travel, or delete it (npx wrangler d1 delete) and run npm run deploy, which creates it again; then restore. Nothing was changed`,
    );
  const [{ n }] = await remoteRows(
    'select (select count(*) from orgs) + (select count(*) from org_keys) as n',
  );
  if (n && !replace) throw new ExpectedError(OCCUPIED);
  const fd = fs.openSync(file, 'wx', 0o600);
  for (const statement of clearing(db)) fs.writeSync(fd, `${statement}\n`);
  for (const statement of dump(db)) {
    if (!isLegal(statement))
      throw new ExpectedError('A row of the backup is too long for D1: nothing was changed');
    fs.writeSync(fd, `${statement}\n`);
  }
  fs.closeSync(fd);
  await wrangler(['d1', 'execute', 'DB', '--remote', '--yes', '--file', file]);
}
