// Opens every row of a vault's database: each wrapped key, each MAC, each ciphertext, each segment of the
// logs, and whether each secret has its versions. Invariants: it changes nothing in the vault; plaintext is
// discarded at once and never shown; what does not open is named, and costs no other row its check.
import fs from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { ExpectedError } from '../../shared/expected-error.mjs';
import { harmless } from '../../shared/terminal.mjs';
import { varsFile } from './deployment-config.mjs';
import { readDevVars } from './dev-vars.mjs';
import { differences, lostRows } from './lost-rows.mjs';
import { parseMasterKeys, readKeyFile } from './master-keys.mjs';
import { checksOf } from './row-checks.mjs';
import { devVarsFile, progress, remoteRows } from './vault.mjs';
import { fromSource, ROW_KINDS } from './worker-source.mjs';

/**
 * @typedef {{ org: string | null, table: string, id: string, name?: string, version?: number, what: string }}
 *   Unopened
 */
/** @typedef {{ opened: number, faults: Unopened[] }} Opened */
/** @typedef {import('./row-checks.mjs').Rows} Rows */
/** @typedef {import('./master-keys.mjs').MasterKey} MasterKey */

const PAGE = 500;
/** How many faults are kept and shown: a vault with more has one cause. */
const MOST_FAULTS = 1000;
/** How long an interrupted check can be continued. */
const CONTINUED_FOR = 24 * 3_600_000;

const SOURCE = `
${ROW_KINDS}export { decrypt, isCiphertext } from './src/crypto/envelope';
export { deriveDeployment, deriveOrg } from './src/keys/keyring';
export { getTableColumns } from 'drizzle-orm';
export { isBrief, isLocal } from './src/db/credential-kinds';
export { fromD1, kindOf, macOf, readable, RESTORABLE, rowKinds, rowOf, sweepAt, tableName } from './src/db/rows';
export { secretVersions } from './src/db/schema';
export { positionMac } from './src/domains/log-streams/gate/positions';
export { hasVersion } from './src/domains/secrets/rules';
`;

/**
 * The master keys on this machine.
 * @param {{ keys?: string, remote: boolean }} how `keys`: the file that was named
 * @returns {MasterKey[]}
 */
export function masterKeysFor({ keys: named, remote }) {
  const file = named ? path.resolve(process.env.INIT_CWD ?? '', named) : remote ? varsFile : devVarsFile;
  let found;
  try {
    found =
      process.env.MASTER_KEYS !== undefined && !named
        ? parseMasterKeys(process.env.MASTER_KEYS)
        : readKeyFile(file)?.keys;
    if (!found && !named && !remote) found = parseMasterKeys(readDevVars(file)?.vars.MASTER_KEYS ?? '');
  } catch {
    throw new ExpectedError(
      `${file} cannot be read: make it a file that you can read, or name another one with --keys`,
    );
  }
  if (!found)
    throw new ExpectedError(
      'MASTER_KEYS is missing or malformed: set it, or name its file with --keys FILE, so that rows can be opened',
    );
  return found;
}

/** The rows of a database on this machine. @param {import('node:sqlite').DatabaseSync} db @returns {Rows} */
export const rowsOf = (db) => (sql, params) => db.prepare(sql).all(...params);

/** A value in SQL; ids and numbers alone get here. @param {string | number} value */
const literal = (value) => (typeof value === 'number' ? String(value) : `'${value.replaceAll("'", "''")}'`);

/** The rows of the deployment's database. @type {Rows} */
export function deployed(sql, params) {
  let at = 0;
  return remoteRows(sql.replaceAll('?', () => literal(params[at++] ?? 0)));
}

/**
 * Opens every row of a database.
 * @param {import('node:sqlite').DatabaseSync | Rows} from a function for a database that lives on while it is
 *   read
 * @param {MasterKey[]} masters
 * @param {{ throttled?: boolean, placeFile?: string, restart?: boolean, tables?: string[], gates?: string }}
 *   [how] `throttled`: it rests as long as it works; `placeFile`: where it keeps its place, to continue
 *   there; `restart`: from the beginning all the same; `tables`: only these, and all their faults as first
 *   seen, for a caller that looks again itself; `gates`: the directory of a local vault, whose gates it is
 *   compared with
 * @returns {Promise<Opened>}
 */
export async function openEverything(
  from,
  masters,
  { throttled = false, placeFile, restart = false, tables, gates } = {},
) {
  const isLive = typeof from === 'function';
  const rows = isLive ? from : rowsOf(from);
  const { source, ...vault } = await openKeys(rows, masters);
  const checks = await presentIn(rows, checksOf(rows, vault, source), tables);
  const most = tables ? Number.POSITIVE_INFINITY : MOST_FAULTS;
  const total = await countOf(rows, Object.keys(checks));
  const kept = placeFile && !restart ? keptPlace(placeFile) : undefined;
  const at = kept ?? { began: Date.now(), table: '', rowid: 0, opened: vault.opened, faults: vault.faults };
  if (kept)
    process.stderr.write(
      `Continues the check of ${new Date(at.began).toISOString()} after ${at.opened} rows; --restart begins again.\n`,
    );
  const bar = progress('rows opened:');
  try {
    for (const table of Object.keys(checks).sort()) {
      if (table < at.table) continue;
      if (table > at.table) Object.assign(at, { table, rowid: 0 });
      for (let more = true; more; ) {
        const began = Date.now();
        const page = await rows(
          `SELECT rowid AS "#", * FROM ${table} WHERE rowid > ? ORDER BY rowid LIMIT ${PAGE}`,
          [at.rowid],
        );
        at.faults.push(...(await checks[table](page)).slice(0, most - at.faults.length));
        at.rowid = page.at(-1)?.['#'] ?? at.rowid;
        at.opened += page.length;
        bar.at(at.opened, Math.max(total + vault.opened, at.opened));
        if (placeFile) keepPlace(placeFile, at);
        if (throttled) await sleep(Math.min(Date.now() - began, 1000));
        more = page.length === PAGE;
      }
    }
  } finally {
    bar.end();
  }
  if (placeFile) fs.rmSync(placeFile, { force: true });
  // Rows that changed while they were read were right before and after.
  const faults = isLive && !tables ? await still(at.faults, rows, checks) : at.faults;
  const apart = gates ? await differences(rows, gates, vault.keys, source) : [];
  // What a gate knows of a row says more than what is left of it.
  const isKnown = (/** @type {Unopened} */ { table, id }) =>
    apart.some((other) => other.table === table && other.id === id);
  const lost = [
    ...(tables ? [] : await lostRows(rows, vault.keys, gates)).filter((one) => !isKnown(one)),
    ...apart,
  ];
  return {
    opened: at.opened,
    faults: [...faults.map(({ rowid: _, ...fault }) => fault), ...lost].slice(0, most),
  };
}

/**
 * The faults that a second look finds again.
 * @param {any[]} faults
 * @param {Rows} rows
 * @param {Record<string, import('./row-checks.mjs').Check>} checks
 */
async function still(faults, rows, checks) {
  const found = [];
  for (const fault of faults) {
    if (fault.rowid === undefined) found.push(fault);
    else
      found.push(
        ...(await checks[fault.table](
          await rows(`SELECT rowid AS "#", * FROM ${fault.table} WHERE rowid = ?`, [fault.rowid]),
        )),
      );
  }
  return found.filter(
    (one, i) => found.findIndex((other) => JSON.stringify(other) === JSON.stringify(one)) === i,
  );
}

// ---------------------------------------------------------------- keys

/**
 * The keys of a vault, and the code that opens its rows with them.
 * @param {Rows} rows
 * @param {MasterKey[]} masters
 */
export async function openKeys(rows, masters) {
  const source = await fromSource(SOURCE);
  return { source, ...(await unwrapped(rows, masters, source)) };
}

/**
 * The keys of the deployment and of each organisation.
 * @param {Rows} rows @param {MasterKey[]} masters @param {any} source
 */
async function unwrapped(rows, masters, { decrypt, deriveDeployment, deriveOrg }) {
  const wraps = await rows(
    'SELECT id AS owner, master_id, key_sealed FROM deployment_keys UNION ALL SELECT org_id, master_id, key_sealed FROM org_keys',
    [],
  );
  const orgs = await rows('SELECT id, deleted_at FROM orgs', []);
  const byId = new Map(masters.map(({ id, key }) => [id, new Uint8Array(key)]));
  const deleted = new Set(orgs.filter(({ deleted_at }) => deleted_at !== null).map(({ id }) => id));
  /** @type {Unopened[]} */
  const faults = [];
  const keys = new Map();
  let deployment;
  for (const { owner, master_id: id, key_sealed: sealed } of wraps) {
    const master = byId.get(id);
    const isOrg = owner !== 'deployment';
    const root = master && decrypt(master, isOrg ? 'org key' : 'deployment key', [owner, id], sealed);
    const table = isOrg ? 'org_keys' : 'deployment_keys';
    if (root?.length !== 32)
      faults.push({
        org: isOrg ? owner : null,
        table,
        id: owner,
        what: master ? 'its key does not open' : `MASTER_KEYS lacks ${harmless(id)}`,
      });
    else if (isOrg) keys.set(owner, deriveOrg(root));
    else deployment = deriveDeployment(root);
  }
  if (!wraps.some(({ owner }) => owner === 'deployment') && orgs.length)
    faults.push({ org: null, table: 'deployment_keys', id: 'deployment', what: 'its key is missing' });
  for (const { id } of orgs)
    if (!deleted.has(id) && !wraps.some(({ owner }) => owner === id))
      faults.push({ org: id, table: 'org_keys', id, what: 'its key is missing' });
  return { keys, deleted, deployment, faults, opened: wraps.length };
}

// ---------------------------------------------------------------- place

/**
 * Without tables that this database does not have yet. @param {Rows} rows @param
 * {Record<string, import('./row-checks.mjs').Check>} checks
 * @param {string[]} [tables] only these
 */
async function presentIn(rows, checks, tables) {
  const there = new Set(
    (await rows("SELECT name FROM sqlite_master WHERE type = 'table'", [])).map(({ name }) => name),
  );
  return Object.fromEntries(
    Object.entries(checks).filter(([table]) => there.has(table) && (tables?.includes(table) ?? true)),
  );
}

/** @param {Rows} rows @param {string[]} tables */
async function countOf(rows, tables) {
  const [{ n }] = await rows(
    `SELECT ${tables.map((table) => `(SELECT count(*) FROM ${table})`).join(' + ')} AS n`,
    [],
  );
  return Number(n);
}

/** @param {string} file */
function keptPlace(file) {
  try {
    const place = JSON.parse(fs.readFileSync(file, 'utf8'));
    return Date.now() - place.began < CONTINUED_FOR ? place : undefined;
  } catch {
    return undefined;
  }
}

/** @param {string} file @param {object} place */
function keepPlace(file, place) {
  fs.writeFileSync(`${file}.new`, JSON.stringify(place), { mode: 0o600 });
  fs.renameSync(`${file}.new`, file);
}

// ---------------------------------------------------------------- report

/** @param {Unopened} fault */
export const lineOf = ({ org, table, id, name, version, what }) =>
  `${org ?? 'deployment'}: ${table} ${id}${name ? ` (${name})` : ''}${version ? ` version ${version}` : ''}: ${what}`;

/** What was found, in lines. @param {Opened} checked */
export function summaryOf({ opened, faults }) {
  if (faults.length === 0) return `All ${opened} rows with a MAC or ciphertext open.`;
  const shown = faults.map((fault) => `  ${lineOf(fault)}`);
  const more = faults.length === MOST_FAULTS ? ['  … and possibly more'] : [];
  return [`${faults.length} faults in ${opened} rows with a MAC or ciphertext:`, ...shown, ...more].join(
    '\n',
  );
}
