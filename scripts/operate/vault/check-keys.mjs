// Whether a vault's keys open what is in its database. Invariants: nothing is changed, no key is shown, and
// what could not be checked is never called well.
import fs from 'node:fs';
import { ExpectedError } from '../../shared/expected-error.mjs';
import { harmless } from '../../shared/terminal.mjs';
import { varsFile } from './deployment-config.mjs';
import { readDevVars } from './dev-vars.mjs';
import { checkWraps, parseMasterKeys, readKeyFile } from './master-keys.mjs';
import { devVarsFile } from './vault.mjs';

/**
 * @typedef {{ wraps: import('./master-keys.mjs').Wrap[], orgs: string[] }} VaultKeys `orgs`: the
 *   organisations that are not deleted
 * @typedef {VaultKeys & { rowless?: string[], gone?: string[] }} VaultState `rowless`: those that have a key
 *   and no row; `gone`: those of which only a gate is left
 */

/**
 * The wrapped keys of a database, and its organisations.
 * @param {import('node:sqlite').DatabaseSync} db
 * @returns {VaultState}
 */
export function keysIn(db) {
  const tables = db.prepare(
    "SELECT count(*) AS n FROM sqlite_master WHERE name IN ('deployment_keys', 'org_keys', 'orgs')",
  );
  if (tables.get()?.n !== 3) return { wraps: [], orgs: [] };
  const wraps = db.prepare(
    'SELECT id AS owner, master_id, key_sealed FROM deployment_keys UNION ALL SELECT org_id, master_id, key_sealed FROM org_keys',
  );
  const orgs = db.prepare('SELECT id FROM orgs WHERE deleted_at IS NULL ORDER BY id').all();
  const rowless = db.prepare(ROWLESS).all();
  return {
    wraps: /** @type {any} */ (wraps.all()),
    orgs: orgs.map(({ id }) => String(id)),
    rowless: rowless.map(({ id }) => String(id)),
  };
}

/** The organisations that have a key and no row: a deletion removes the key first. */
const ROWLESS = 'SELECT org_id AS id FROM org_keys WHERE org_id NOT IN (SELECT id FROM orgs) ORDER BY 1';

/** Which organisations have lost their row. @param {string[]} rowless */
const lostRows = (rowless) =>
  rowless.length > 0
    ? `${rowless.length} ${rowless.length === 1 ? 'organisation has' : 'organisations have'} a key and no row in the table orgs (${some(rowless)}): if you did not delete them, npm run restore -- --adopt --only ORG --reason TEXT has the gate of each write its row back; if you did, delete their rows of org_keys`
    : undefined;

/**
 * Which of these organisations the database does not have at all.
 * @param {import('node:sqlite').DatabaseSync} db
 * @param {Iterable<string>} ids
 */
export function goneOf(db, ids) {
  const known = db.prepare('SELECT 1 FROM orgs WHERE id = ?1 UNION SELECT 1 FROM org_keys WHERE org_id = ?1');
  return [...ids].filter((id) => !known.get(id));
}

/** Of which organisations only a gate is left. @param {string[]} gone */
const lostOrgs = (gone) =>
  gone.length > 0
    ? `the database has lost ${gone.length === 1 ? 'an organisation' : `${gone.length} organisations`} with row and key (${some(gone)}), and the gates beside it have them: if it is the database of another vault, put the right one back; otherwise see "Organisations that the database lost" in docs/operations/backup-and-restore.md`
    : undefined;

const some = (/** @type {string[]} */ ids) =>
  `${ids.slice(0, 3).join(', ')}${ids.length > 3 ? ` and ${ids.length - 3} more` : ''}`;

export const DEPLOYMENT_KEY_MISSING =
  'the deployment key is missing, so no credential is accepted: put its row back from a backup, as docs/operations/keys.md says under "A missing deployment key"';

/** @param {(string | undefined)[]} problems @returns {string[]} */
const only = (problems) => problems.filter((problem) => problem !== undefined);

/** What is missing from the database itself. @param {VaultState} vault @returns {string[]} */
export function lacksOf({ wraps, orgs, rowless = [], gone = [] }) {
  const owners = new Set(wraps.map(({ owner }) => owner));
  const unkeyed = orgs.filter((id) => !owners.has(id));
  return only([
    !owners.has('deployment') && (orgs.length > 0 || owners.size > 0) ? DEPLOYMENT_KEY_MISSING : undefined,
    unkeyed.length > 0
      ? `the keys of ${unkeyed.length} of ${orgs.length} organisations are missing (${some(unkeyed)}), so nothing of theirs can be decrypted: put the rows of org_keys back from a backup, as docs/operations/keys.md says`
      : undefined,
    lostRows(rowless),
    lostOrgs(gone),
  ]);
}

/**
 * What the master keys do not open.
 * @param {VaultKeys} keys @param {import('./master-keys.mjs').MasterKey[]} masters @param {string} source
 * @returns {Promise<string[]>}
 */
export async function closedKeys({ wraps }, masters, source) {
  const { missing, undecryptable, exchanged } = await checkWraps(masters, wraps);
  const closed = undecryptable.filter(({ owner }) => !exchanged.some(({ org }) => org === owner));
  return only([
    missing.length > 0
      ? `${source} lacks ${missing.join(', ')}, which wraps keys of this vault: add it after the current one (it may be in RETIRED_MASTER_KEYS)`
      : undefined,
    exchanged.length > 0
      ? `the keys of organisations were exchanged in org_keys: the row of ${exchanged
          .slice(0, 3)
          .map(({ org, has }) => `${harmless(org)} has the key of ${harmless(has)}`)
          .join(', that of ')}: see "Keys that were exchanged" in docs/operations/keys.md`
      : undefined,
    closed.length > 0
      ? `${closed.length} of ${wraps.length} wrapped keys do not decrypt, the first belonging to ${closed[0]?.owner}: ${source} has another key with the id ${closed[0]?.master_id}, or the row was altered; restore the right MASTER_KEYS, or the row from a backup`
      : undefined,
  ]);
}

/** The master keys on this machine; undefined if there are none that can be read. @param {boolean} remote */
function mastersHere(remote) {
  if (process.env.MASTER_KEYS !== undefined) return parseMasterKeys(process.env.MASTER_KEYS);
  if (remote)
    return fs.existsSync(varsFile)
      ? parseMasterKeys(readDevVars(varsFile)?.vars.MASTER_KEYS ?? '')
      : undefined;
  return readKeyFile(devVarsFile)?.keys;
}

/**
 * The organisations whose keys do not open. @param {VaultKeys} keys @param
 * {import('./master-keys.mjs').MasterKey[] | undefined} masters without them, only keys that are missing are
 * found @returns {Promise<{ org: string, why: string }[]>}
 */
export async function closedOrgs({ wraps, orgs }, masters) {
  const { undecryptable } = masters ? await checkWraps(masters, wraps) : { undecryptable: [] };
  const own = wraps.filter(({ owner }) => owner !== 'deployment');
  return [
    ...orgs
      .filter((id) => !own.some(({ owner }) => owner === id))
      .map((org) => ({ org, why: 'its key is missing' })),
    ...own
      .filter(({ master_id }) => masters && !masters.some(({ id }) => id === master_id))
      .map(({ owner, master_id }) => ({ org: owner, why: `MASTER_KEYS lacks ${harmless(master_id)}` })),
    ...undecryptable
      .filter(({ owner }) => owner !== 'deployment')
      .map(({ owner }) => ({ org: owner, why: 'its key does not open' })),
  ];
}

/** One line for each. @param {{ org: string, why: string }[]} closed */
export const closedLines = (closed) => closed.map(({ org, why }) => `  ${harmless(org)}: ${why}`).join('\n');

/**
 * Refuses a database that nobody could read: its deployment key does not open, or no organisation's. Returns
 * the organisations whose keys do not open, and whether the master keys were at hand to check.
 * @param {import('node:sqlite').DatabaseSync} db @param {boolean} remote @param {string[]} except
 *   organisations that do not matter
 */
export async function requireOpenKeys(db, remote, except) {
  const all = keysIn(db);
  const masters = mastersHere(remote);
  const keys = {
    wraps: all.wraps.filter(({ owner }) => !except.includes(owner)),
    orgs: all.orgs.filter((id) => !except.includes(id)),
  };
  const closed = await closedOrgs(keys, masters);
  const own = keys.wraps.filter(({ owner }) => owner === 'deployment');
  const isOpen =
    own.length === 1 &&
    (!masters || (await closedKeys({ wraps: own, orgs: [] }, masters, 'MASTER_KEYS')).length === 0);
  const isReadable =
    isOpen && !(keys.orgs.length > 0 && keys.orgs.every((id) => closed.some(({ org }) => org === id)));
  const problem = isReadable
    ? undefined
    : [...lacksOf(keys), ...(masters ? await closedKeys(keys, masters, 'MASTER_KEYS') : [])].at(0);
  if (problem) throw new ExpectedError(`No backup was made, because it could not be decrypted: ${problem}.`);
  return { closed, isChecked: masters !== undefined };
}
