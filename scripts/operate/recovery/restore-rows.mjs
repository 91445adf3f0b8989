// `npm run restore -- FILE --rows`: restores secrets and audit entries that the vault's database lost
// (restore-lost.mjs), then versions that it lacks, or has and cannot open, from a backup. Invariants: a
// version that was destroyed, or whose secret or organisation is gone, never returns; a row is taken only if
// it opens with the organisation's own keys, and is written only while its secret is as it was when this was
// decided; versions are written in one transaction; no value is shown.
import fs from 'node:fs';
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { ExpectedError } from '../../shared/expected-error.mjs';
import { knownMigrations } from '../../shared/migrations.mjs';
import { harmless } from '../../shared/terminal.mjs';
import { root } from '../../shared/wrangler.mjs';
import { deployed, masterKeysFor, openEverything, openKeys, rowsOf } from '../vault/every-row.mjs';
import { attempt, hasRightMac, versionFault, whole } from '../vault/row-checks.mjs';
import { incompleteness } from '../vault/schema.mjs';
import { unreadableDatabases, vaultFile } from '../vault/state-dir.mjs';
import { stateDir, wrangler } from '../vault/vault.mjs';
import { restoreLost } from './restore-lost.mjs';
import { isLegal, literal, pieces } from './sql-dump.mjs';

/** @typedef {{ org: string, secret: string, name?: string, version: number }} Version */
/**
 * @typedef {Version & { raw: Record<string, any>, guard: string }} Chosen `guard`: the MAC of its secret when
 *   it was chosen
 */
/**
 * @typedef {{ rows: import('../vault/every-row.mjs').Rows, write: (statements: string[]) => Promise<void>,
 *   close: () => void }} Vault
 */
/** @typedef {Awaited<ReturnType<typeof openKeys>>} Keys */

/** How many versions are looked up in one query. */
const AT_ONCE = 100;
const PAGE = 'docs/operations/backup-and-restore.md';

/**
 * @param {DatabaseSync} backup @param {string} made_at @param {string} scratch a directory
 * @param {{ remote: boolean, keys?: string }} how
 */
export async function restoreVersions(backup, made_at, scratch, how) {
  const masters = masterKeysFor(how);
  const vault = how.remote ? remoteVault(scratch) : localVault();
  try {
    await requireMigrated(vault.rows, how.remote);
    const keys = await openKeys(vault.rows, masters);
    const lost = await restoreLost(backup, vault, keys, how.remote ? undefined : stateDir());
    const { faults } = await openEverything(vault.rows, masters, {
      throttled: true,
      tables: ['secrets', 'secret_versions'],
    });
    const wanted = faults.flatMap(({ org, id, name, version }) =>
      version ? [{ org: String(org), secret: id, name, version }] : [],
    );
    const { chosen, left } = await choose(wanted, backup, vault.rows, keys);
    await vault.write(chosen.flatMap(statementsFor));
    const open = await opening(chosen, vault.rows, keys);
    const public_ = ({ org, secret, name, version }) => ({ org, secret, name, version });
    const restored = chosen.filter((one) => open.has(keyOf(one))).map(public_);
    for (const one of chosen)
      if (!open.has(keyOf(one)))
        left.push({ ...public_(one), why: 'its secret was changed meanwhile: run this again' });
    const closed = faults
      .filter(({ table }) => table === 'org_keys')
      .map(({ org, what }) => ({ org: String(org), what }));
    const altered = faults
      .filter(({ table, version }) => table === 'secrets' && !version)
      .map(({ id }) => id);
    if (left.length || closed.length || lost.refused.length) process.exitCode = 1;
    return {
      made_at,
      ...lost,
      restored,
      left,
      closed,
      altered,
      message: messageOf(made_at, { ...lost, restored, left, closed, altered }),
    };
  } finally {
    vault.close();
  }
}

/**
 * Refuses a vault whose tables are those of another release.
 * @param {import('../vault/every-row.mjs').Rows} rows
 * @param {boolean} remote
 */
async function requireMigrated(rows, remote) {
  const applied = new Set((await rows('SELECT name FROM d1_migrations', [])).map(({ name }) => name));
  if (knownMigrations(path.join(root, 'migrations')).some((name) => !applied.has(name)))
    throw new ExpectedError(
      'The vault lacks migrations of this checkout: start the service once, or deploy; nothing was changed',
    );
  const lacks = await incompleteness(rows, remote);
  if (lacks) throw new ExpectedError(`Nothing was changed: ${lacks}`);
}

// ---------------------------------------------------------------- choice

/** @param {Version} version */
const keyOf = ({ org, secret, version }) => `${org} ${secret} ${version}`;

/**
 * The rows of the backup that mend the vault, and what they do not mend.
 * @param {Version[]} wanted @param {DatabaseSync} backup @param {import('../vault/every-row.mjs').Rows} rows
 *   @param {Keys} keys
 */
async function choose(wanted, backup, rows, keys) {
  /** @type {Chosen[]} */
  const chosen = [];
  /** @type {(Version & { why: string })[]} */
  const left = [];
  for (let at = 0; at < wanted.length; at += AT_ONCE) {
    const batch = wanted.slice(at, at + AT_ONCE);
    const secrets = await secretsOf(batch, rows);
    const versions = await versionsOf(batch, rows, keys);
    for (const one of batch) {
      const secret = secrets.find(({ org_id, id }) => org_id === one.org && id === one.secret);
      const mine = versions.filter(({ org_id, secret_id }) => org_id === one.org && secret_id === one.secret);
      const raw = backup
        .prepare('SELECT * FROM secret_versions WHERE org_id = ? AND secret_id = ? AND version = ?')
        .get(one.org, one.secret, one.version);
      const gone = goneOf(one, secret, keys);
      // Destroyed in the meantime, as it should be.
      if (gone && !mine.some(({ version }) => version === one.version)) continue;
      const why =
        gone ?? refusalOf(one, /** @type {any} */ (secret), raw, keys) ?? forkOf(one, backup, mine, keys);
      if (why) left.push({ ...one, why });
      else chosen.push({ ...one, raw: /** @type {any} */ (raw), guard: String(secret?.mac) });
    }
  }
  return { chosen, left };
}

/**
 * The secrets of some versions.
 * @param {Version[]} wanted
 * @param {import('../vault/every-row.mjs').Rows} rows
 */
const secretsOf = (wanted, rows) =>
  rows(
    'SELECT s.* FROM json_each(?) w CROSS JOIN secrets s ON s.org_id = w.value ->> 0 AND s.id = w.value ->> 1',
    [idsOf(wanted)],
  );

/**
 * All versions of those secrets, without their values.
 * @param {Version[]} wanted
 * @param {import('../vault/every-row.mjs').Rows} rows
 * @param {Keys} keys
 */
function versionsOf(wanted, rows, { source }) {
  const columns = Object.keys(source.getTableColumns(source.secretVersions)).filter(
    (column) => column !== 'value_sealed',
  );
  return rows(
    `SELECT ${columns.map((column) => `v.${column}`).join(', ')} FROM json_each(?) w
      CROSS JOIN secret_versions v ON v.org_id = w.value ->> 0 AND v.secret_id = w.value ->> 1`,
    [idsOf(wanted)],
  );
}

/** @param {Version[]} wanted */
const idsOf = (wanted) =>
  `[${[...new Set(wanted.map(({ org, secret }) => JSON.stringify([org, secret])))].join()}]`;

/**
 * Why a version should not exist.
 * @param {Version} one
 * @param {Record<string, any> | undefined} raw its secret
 * @param {Keys} keys
 */
function goneOf({ org, version }, raw, { source, deleted }) {
  if (deleted.has(org)) return 'its organisation was deleted';
  if (!raw) return 'its secret no longer exists';
  const { hasVersion, kindOf, readable, RESTORABLE } = source;
  const secret = readable('secret', whole(source, kindOf('secret').table, raw));
  if (secret && secret.deleted_at !== null && secret.deleted_at + RESTORABLE <= Date.now())
    return 'its secret was deleted';
  return secret && !hasVersion(secret, version) ? 'it was destroyed on purpose' : undefined;
}

/**
 * Why the backup's row is not taken. @param {Version} one @param {Record<string, any>} secret @param
 * {Record<string, any> | undefined} raw
 * @param {Keys} keys
 */
function refusalOf({ org, version }, secret, raw, { source, keys }) {
  const mine = keys.get(org);
  const row = source.readable('secret', whole(source, source.kindOf('secret').table, secret));
  // What an altered row says of its versions may not be true.
  if (!row || row.mac !== source.macOf(mine.row, 'secret', row))
    return `the row of its secret was altered: mend that first, see ${PAGE}`;
  if (!raw) return 'the backup does not have it';
  if (attempt(() => versionFault(source, mine, raw)) !== null) return "the backup's row does not open either";
  if (version === row.version && (raw.seal_id !== row.seal_id || raw.fingerprint !== row.fingerprint))
    return 'the backup has another value under this number';
  return undefined;
}

/**
 * After a restore, a number may have been given to a value that an older backup of the replaced vault has
 * another of: then versions that both have differ. @param {Version} one @param {DatabaseSync} backup @param
 * {Record<string, any>[]} versions @param {Keys} keys
 */
function forkOf({ org, secret }, backup, versions, { source, keys }) {
  const theirs = new Map(
    backup
      .prepare('SELECT version, mac FROM secret_versions WHERE org_id = ? AND secret_id = ?')
      .all(org, secret)
      .map(({ version, mac }) => [version, mac]),
  );
  const isOther = (/** @type {Record<string, any>} */ raw) =>
    theirs.has(raw.version) &&
    theirs.get(raw.version) !== raw.mac &&
    attempt(() => (hasRightMac(source, keys.get(org), raw) ? 'right' : null)) === 'right';
  return versions.some(isOther)
    ? 'the backup has other values of this secret: it is of another history of the vault'
    : undefined;
}

// ---------------------------------------------------------------- writing

/** Inserts a version, or replaces it. @param {Chosen} chosen @returns {string[]} */
export function statementsFor({ org, secret, version, raw, guard }) {
  const columns = Object.keys(raw);
  const values = columns.map((column) => (column === 'value_sealed' ? "''" : literal(raw[column])));
  // A change of the secret in between, such as its deletion, wins.
  const unchanged = `EXISTS (SELECT 1 FROM secrets WHERE org_id = ${literal(org)} AND id = ${literal(secret)} AND mac = ${literal(guard)})`;
  const where = `org_id = ${literal(org)} AND secret_id = ${literal(secret)} AND version = ${version}`;
  return [
    `INSERT OR REPLACE INTO secret_versions (${columns.join(', ')}) SELECT ${values.join(', ')} WHERE ${unchanged};`,
    ...[...pieces(String(raw.value_sealed))].map(
      (piece) =>
        `UPDATE secret_versions SET value_sealed = value_sealed || ${literal(piece)} WHERE ${where} AND ${unchanged};`,
    ),
  ];
}

/**
 * Which of the chosen versions open in the vault now.
 * @param {Chosen[]} chosen
 * @param {import('../vault/every-row.mjs').Rows} rows
 * @param {Keys} keys
 */
async function opening(chosen, rows, { source, keys }) {
  const open = new Set();
  for (let at = 0; at < chosen.length; at += AT_ONCE) {
    const exact = chosen.slice(at, at + AT_ONCE).map(({ org, secret, version }) => [org, secret, version]);
    const found = await rows(
      `SELECT v.* FROM json_each(?) w
        CROSS JOIN secret_versions v ON v.org_id = w.value ->> 0 AND v.secret_id = w.value ->> 1 AND v.version = w.value ->> 2`,
      [JSON.stringify(exact)],
    );
    for (const raw of found)
      if (attempt(() => versionFault(source, keys.get(raw.org_id), raw)) === null)
        open.add(keyOf({ org: raw.org_id, secret: raw.secret_id, version: raw.version }));
  }
  return open;
}

/** The local vault: its service may run. @returns {Vault} */
function localVault() {
  const dir = stateDir();
  const [unreadable] = unreadableDatabases(dir);
  if (unreadable)
    throw new ExpectedError(
      `The database in ${dir} cannot be read (${unreadable.why}): restore the whole backup with --replace; nothing was changed`,
    );
  const file = vaultFile(dir);
  if (!file)
    throw new ExpectedError(
      `There is no vault in ${dir}: set STATE_DIR to the value used by npm start, or pass --remote`,
    );
  const db = new DatabaseSync(file, { timeout: 10_000 });
  return {
    rows: rowsOf(db),
    close: () => db.close(),
    async write(statements) {
      try {
        db.exec('BEGIN IMMEDIATE');
        for (const statement of statements) db.exec(statement);
        db.exec('COMMIT');
      } catch (error) {
        if (db.isTransaction) db.exec('ROLLBACK');
        throw new ExpectedError(`The vault is unchanged: the rows could not be restored (${error.message})`);
      }
    },
  };
}

/** The deployment's: one import, which D1 rolls back if it fails. @param {string} scratch @returns {Vault} */
function remoteVault(scratch) {
  return {
    rows: deployed,
    close: () => {},
    async write(statements) {
      if (statements.length === 0) return;
      if (!statements.every(isLegal))
        throw new ExpectedError('A row of the backup is too long for D1: nothing was changed');
      const file = path.join(scratch, 'versions.sql');
      fs.writeFileSync(file, `${statements.join('\n')}\n`, { flag: 'wx', mode: 0o600 });
      await wrangler(['d1', 'execute', 'DB', '--remote', '--yes', '--file', file]);
    },
  };
}

// ---------------------------------------------------------------- report

/** @param {Version} version */
const lineOf = ({ org, secret, name, version }) =>
  `  ${org}: ${secret}${name ? ` (${harmless(name)})` : ''} version ${version}`;

/**
 * @param {string} made_at
 * @param {import('./restore-lost.mjs').Returned & { restored: Version[], left: (Version & { why: string })[],
 *   closed: { org: string, what: string }[], altered: string[] }} result
 */
function messageOf(made_at, { secrets, segments, refused, restored, left, closed, altered }) {
  const versions = (/** @type {unknown[]} */ list) =>
    `${list.length} ${list.length === 1 ? 'version' : 'versions'}`;
  if (
    ![secrets, segments, refused].some(({ length }) => length) &&
    !restored.length &&
    !left.length &&
    !closed.length &&
    !altered.length
  )
    return 'Every version of every secret is there and opens: nothing was changed.';
  const named = ({ org, secret, name }) => `${org}: ${secret}${name ? ` (${name})` : ''}`;
  return [
    ...secrets.map((one) => `the row of ${named(one)} restored`),
    ...segments.map(({ org, from, to }) => `${org}: audit entries ${from} to ${to} restored`),
    ...refused.map((one) => `the row of ${named(one)} not restored: ${one.why}`),
    `${versions(restored)} restored from the backup of ${made_at}${restored.length ? ':' : '.'}`,
    ...restored.map(lineOf),
    ...(left.length
      ? [`${versions(left)} not restored:`, ...left.map((one) => `${lineOf(one)}: ${one.why}`)]
      : []),
    ...closed.map(({ org, what }) => `${org} was not looked at: ${what}. See docs/operations/keys.md.`),
    ...(altered.length
      ? [`Rows of secrets that were altered are not restored by this, see ${PAGE}: ${altered.join(', ')}`]
      : []),
  ].join('\n');
}
