// `npm run restore -- FILE --ended EXPORT`: revokes in what is restored what an export of an audit log says
// was revoked after the backup was made. Invariants: it only ends credentials, never brings one back; a row
// that it changes has the MAC that the service would give it.
import fs from 'node:fs';
import path from 'node:path';
import readline from 'node:readline';
import { ExpectedError } from '../../shared/expected-error.mjs';
import { harmless } from '../../shared/terminal.mjs';
import { fromSource, ROW_KINDS } from '../vault/worker-source.mjs';

/** @typedef {{ org: string, id: string, name: string | null, kind: string }} Ended */
/** @typedef {{ time: string, action: string, resource: string | null }} Undone */
/** @typedef {{ orgs: string[], credentials: Ended[], undone: Undone[] }} EndedByLog */

/** Actions that end the credential that the entry names. */
const REVOKES = new Set([
  ...[
    'api_key.revoke',
    'api_key.rotate',
    'access_token.revoke',
    'agent.revoke',
    'provider_token.revoke',
    'break_glass.revoke',
    'scim_token.revoke',
  ],
  ...['trust.delete', 'auth.session_end', 'auth.logout'],
]);
/** Actions that end something else, which a restore brings back. */
const BY_HAND =
  /^(member|team|grant|device|passkey|policy|webhook|integration|environment|org)\.(delete|update|block|suspend)$|^team_member\.remove$|^secret\.(delete|share_revoke)$|^provider\.revoke$/;

const SOURCE = `
${ROW_KINDS}export { deriveOrg, unwrap } from './src/keys/keyring';
export { macOf, readable } from './src/db/rows';
`;

/**
 * @param {import('node:sqlite').DatabaseSync} db what is restored @param {string[]} files @param {string}
 *   madeAt
 * @param {import('../vault/master-keys.mjs').MasterKey[]} masters @returns {Promise<EndedByLog>}
 */
export async function endCredentials(db, files, madeAt, masters) {
  /** @type {Map<string, number>} */
  const ended = new Map();
  /** @type {Undone[]} */
  const undone = [];
  /** @type {Set<string>} */
  const orgs = new Set();
  for (const file of files) {
    const found = await readExport(db, file, Date.parse(madeAt));
    if (found.org) orgs.add(found.org);
    for (const [id, at] of found.revoked) ended.set(id, at);
    undone.push(...found.undone);
  }
  return { orgs: [...orgs], credentials: await revoke(db, ended, masters), undone };
}

/**
 * What an export says ended after a time. It is the log of one organisation, which its entries tell by the
 * ids in them.
 * @param {import('node:sqlite').DatabaseSync} db @param {string} file @param {number} since
 */
async function readExport(db, file, since) {
  /** @type {Map<string, number>} */
  const revoked = new Map();
  /** @type {Undone[]} */
  const undone = [];
  /** @type {{ at: number, keys: boolean }[]} */
  const all = [];
  let org;
  for await (const entry of entriesOf(file)) {
    const { time, action, resource, status, successor, incident } = entry;
    org ??= orgOf(db, [resource, entry.actor?.id, entry.actor?.parent_id]);
    const at = Date.parse(time);
    if (at < since || status >= 400) continue;
    if (action === 'credential.contain') for (const id of descentOf(db, resource)) revoked.set(id, at);
    else if (REVOKES.has(action) && resource) revoked.set(resource, at);
    // A recovery that ends nothing opens no incident. A panic that spares API keys makes none.
    else if (action === 'org.panic' || (action === 'org.recover' && incident))
      all.push({ at, keys: action === 'org.recover' || successor !== undefined });
    else if (BY_HAND.test(action)) undone.push({ time, action, resource });
  }
  if (all.length && !org)
    throw new ExpectedError(
      `${file} belongs to no organisation of the backup: name its export with --ended; nothing was changed`,
    );
  for (const { at, keys } of all)
    for (const { id } of db
      .prepare(
        `SELECT id FROM credentials WHERE org_id = ? AND created_at <= ? ${keys ? '' : "AND kind NOT IN ('api_key', 'trust', 'scim')"}`,
      )
      .all(org ?? '', at))
      revoked.set(String(id), at);
  return { org, revoked, undone };
}

/**
 * The organisation of the first id that the backup knows.
 * @param {import('node:sqlite').DatabaseSync} db
 * @param {unknown[]} ids
 */
function orgOf(db, ids) {
  for (const id of ids.filter((one) => typeof one === 'string'))
    for (const [table, owner] of [
      ['orgs', 'id'],
      ...['credentials', 'members', 'secrets'].map((one) => [one, 'org_id']),
    ]) {
      const row = db.prepare(`SELECT ${owner} AS org FROM ${table} WHERE id = ?`).get(String(id));
      if (row) return String(row.org);
    }
  return undefined;
}

/**
 * A credential and all that it made, as a containment ends them.
 * @param {import('node:sqlite').DatabaseSync} db
 * @param {string} root
 */
const descentOf = (db, root) =>
  db
    .prepare(
      `WITH RECURSIVE below(id) AS (
         SELECT ? UNION SELECT c.id FROM credentials c JOIN below b ON c.dies_with = b.id OR c.created_by = b.id OR c.created_in = b.id
       ) SELECT id FROM below`,
    )
    .all(root)
    .map(({ id }) => String(id));

/**
 * Revokes credentials. Those that the backup does not know were made later: nobody can use them.
 * @param {import('node:sqlite').DatabaseSync} db @param {Map<string, number>} ended @param
 *   {import('../vault/master-keys.mjs').MasterKey[]} masters
 */
async function revoke(db, ended, masters) {
  const { deriveOrg, macOf, readable, unwrap } = await fromSource(SOURCE);
  /** @type {Ended[]} */
  const done = [];
  const keys = new Map();
  const keysOf = (/** @type {string} */ org) => {
    if (!keys.has(org)) {
      const wrapped = db.prepare('SELECT master_id, key_sealed FROM org_keys WHERE org_id = ?').get(org);
      keys.set(
        org,
        wrapped &&
          deriveOrg(
            unwrap(
              masters.map(({ id, key }) => ({ id, key: new Uint8Array(key) })),
              'org key',
              org,
              wrapped,
            ),
          ),
      );
    }
    return keys.get(org);
  };
  db.exec('BEGIN');
  for (const [id, at] of ended)
    for (const raw of db.prepare('SELECT * FROM credentials WHERE id = ? AND revoked_at IS NULL').all(id)) {
      const row = readable('credential', raw);
      const mine = row && keysOf(row.org_id);
      // A row that was altered is refused by its gate.
      if (!mine || row.mac !== macOf(mine.row, 'credential', row)) continue;
      const next = { ...row, revoked_at: at, revision: row.revision + 1 };
      const mac = macOf(mine.row, 'credential', next);
      db.prepare(
        'UPDATE credentials SET revoked_at = ?, revision = ?, mac = ? WHERE org_id = ? AND id = ?',
      ).run(at, next.revision, mac, row.org_id, id);
      done.push({ org: row.org_id, id, name: row.name, kind: row.kind });
    }
  db.exec('COMMIT');
  return done;
}

/** The entries of an export, in any order. @param {string} named */
async function* entriesOf(named) {
  const file = path.resolve(process.env.INIT_CWD ?? '', named);
  if (!fs.existsSync(file))
    throw new ExpectedError(
      `${file} cannot be read: name an export of an audit log with --ended; nothing was changed`,
    );
  let line = 0;
  for await (const text of readline.createInterface({
    input: fs.createReadStream(file),
    crlfDelay: Number.POSITIVE_INFINITY,
  })) {
    line++;
    if (!text.trim()) continue;
    let entry;
    try {
      entry = JSON.parse(text);
    } catch {}
    if (typeof entry?.action !== 'string' || Number.isNaN(Date.parse(entry.time)))
      throw new ExpectedError(
        `Line ${line} of ${file} is no audit entry: name an export as NDJSON with --ended; nothing was changed`,
      );
    yield entry;
  }
}

/** How many of each are shown. */
const MOST_SHOWN = 50;

/** @param {EndedByLog} found */
export function endedMessage({ credentials, undone }) {
  const shown = credentials
    .slice(0, MOST_SHOWN)
    .map(({ org, id, kind, name }) => `  ${org}: ${kind} ${id}${name ? ` (${harmless(name)})` : ''}`);
  const hand = undone
    .slice(0, MOST_SHOWN)
    .map(({ time, action, resource }) => `  ${time} ${harmless(action)} ${harmless(resource ?? '')}`);
  const more = (/** @type {unknown[]} */ list) =>
    list.length > MOST_SHOWN ? [`  and ${list.length - MOST_SHOWN} more`] : [];
  return [
    credentials.length === 1
      ? '1 credential that was revoked after the backup is revoked in it.'
      : `${credentials.length} credentials that were revoked after the backup are revoked in it.`,
    ...[...shown, ...more(credentials)],
    ...(undone.length
      ? ['What else ended since is back, and has to be ended again by hand:', ...hand, ...more(undone)]
      : []),
  ].join('\n');
}
