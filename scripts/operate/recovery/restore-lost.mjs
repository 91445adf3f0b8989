// What `npm run restore -- FILE --rows` restores before versions: rows of secrets and segments of audit logs
// that the database has lost. Invariants: a secret returns only if its gate or its own versions show that it
// was not deleted; its row has a right MAC; a segment holds the entries that it names and continues the chain
// around it; what is there is never replaced.
import fs from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { ExpectedError } from '../../shared/expected-error.mjs';
import { harmless } from '../../shared/terminal.mjs';
import { gapsTold, orphans, unsent } from '../vault/lost-rows.mjs';
import { attempt, segmentFault, whole } from '../vault/row-checks.mjs';
import { gateCannotBeRead, gateFile, isGateReadable } from '../vault/state-dir.mjs';
import { literal } from './sql-dump.mjs';

const DAY = 86_400_000;
const RETENTION_DAYS = 400;

/** @typedef {Awaited<ReturnType<typeof import('../vault/every-row.mjs').openKeys>>} Keys */
/** @typedef {import('./restore-rows.mjs').Vault} Vault */
/** @typedef {{ org: string, secret: string, name?: string }} Secret */
/**
 * @typedef {{ secrets: Secret[], segments: { org: string, from: number, to: number }[], refused: (Secret & {
 *   why: string })[] }} Returned
 */

/**
 * @param {DatabaseSync} backup @param {Vault} vault @param {Keys} keys @param {string | undefined} dir that
 *   of a local vault
 * @returns {Promise<Returned>}
 */
export async function restoreLost(backup, vault, keys, dir) {
  const { found, refused } = await lostSecrets(backup, vault, keys, dir);
  const segments = await lostSegments(backup, vault, keys);
  const statements = [
    ...found.map(({ raw }) => insertOf('secrets', raw)),
    ...segments.flatMap((raw) =>
      raw.entries.length < 60_000 ? [insertOf('audit_segments', raw)] : inPieces(raw),
    ),
  ];
  if (statements.length) await vault.write(statements);
  const secrets = [];
  for (const { raw, ...secret } of found) {
    const [there] = await vault.rows('SELECT mac FROM secrets WHERE org_id = ? AND id = ?', [
      secret.org,
      secret.secret,
    ]);
    if (there?.mac === raw.mac) secrets.push(secret);
    else
      refused.push({
        ...secret,
        why: 'another secret has its name now: rename that one, then run this again',
      });
  }
  return {
    secrets,
    segments: segments.map((raw) => ({ org: raw.org_id, from: raw.first_sequence, to: raw.last_sequence })),
    refused,
  };
}

/** @param {string} table @param {Record<string, any>} raw */
const insertOf = (table, raw) =>
  `INSERT OR IGNORE INTO ${table} (${Object.keys(raw).join(', ')}) VALUES (${Object.values(raw).map(literal).join(', ')});`;

/** A long segment, inserted piece by piece. @param {Record<string, any>} raw */
function inPieces(raw) {
  const where = `org_id = ${literal(raw.org_id)} AND first_sequence = ${raw.first_sequence}`;
  const pieces = raw.entries.match(/.{1,60000}/gs) ?? [];
  return [
    insertOf('audit_segments', { ...raw, entries: '' }),
    ...pieces.map(
      (/** @type {string} */ piece) =>
        `UPDATE audit_segments SET entries = entries || ${literal(piece)} WHERE ${where};`,
    ),
  ];
}

// ---------------------------------------------------------------- secrets

/** @param {DatabaseSync} backup @param {Vault} vault @param {Keys} keys @param {string | undefined} dir */
async function lostSecrets(backup, { rows }, keys, dir) {
  /** @type {(Secret & { raw: Record<string, any> })[]} */
  const found = [];
  /** @type {(Secret & { why: string })[]} */
  const refused = [];
  for (const [org, orphaned] of await lostIds(rows, keys, dir)) {
    const gate = dir === undefined ? null : gateRows(dir, org);
    const isFollowed = gate !== null && (await follows(rows, org, gate.position));
    for (const id of new Set([...orphaned, ...(gate?.live.keys() ?? [])])) {
      if (isFollowed && gate?.waiting.has(id)) continue;
      if (
        !orphaned.has(id) &&
        (await rows('SELECT 1 FROM secrets WHERE org_id = ? AND id = ?', [org, id])).length
      )
        continue;
      const { raw, why } = rowFor(org, id, gate, backup, keys);
      const name = raw && harmless(String(raw.name));
      if (raw) found.push({ org, secret: id, name, raw });
      else if (why) refused.push({ org, secret: id, why });
    }
  }
  return { found, refused };
}

/**
 * Each organisation, and its secrets of which only versions are left.
 * @param {import('../vault/every-row.mjs').Rows} rows
 * @param {Keys} keys
 * @param {string | undefined} dir
 */
async function lostIds(rows, { keys }, dir) {
  /** @type {Map<string, Set<string>>} */
  const lost = new Map(dir === undefined ? [] : [...keys.keys()].map((org) => [org, new Set()]));
  for (const { org, id } of await orphans(rows, keys))
    lost.set(String(org), (lost.get(String(org)) ?? new Set()).add(id));
  return lost;
}

/**
 * The secrets that a local gate holds; null if it holds no organisation. `waiting`: the new ones, which it
 * sends itself, and the database would refuse if they were there.
 * @param {string} dir
 * @param {string} org
 */
function gateRows(dir, org) {
  const file = gateFile(dir, org);
  if (!fs.existsSync(file)) return null;
  // Without it, rows that were deleted since the backup could come back.
  if (!isGateReadable(file)) throw new ExpectedError(`${org}: ${gateCannotBeRead(org)}`);
  const db = new DatabaseSync(file, { readOnly: true, timeout: 10_000 });
  try {
    if (!db.prepare("SELECT 1 FROM meta WHERE key = 'org'").get()) return null;
    const all = db.prepare("SELECT id, body FROM rows WHERE kind = 'secret' AND body IS NOT NULL").all();
    const made = [...unsent(db)].flatMap(({ writes }) => writes.filter(({ from }) => from === 0));
    const meta = (/** @type {string} */ key) =>
      db.prepare('SELECT value FROM meta WHERE key = ?').get(key)?.value;
    return {
      position: JSON.stringify([meta('term'), ...JSON.parse(String(meta('position') ?? '[]'))]),
      live: new Map(all.map(({ id, body }) => [String(id), String(body)])),
      waiting: new Set(made.map(({ row }) => String(row.id))),
    };
  } finally {
    db.close();
  }
}

/**
 * Whether the database stands where a gate left it: then the gate sends what the database lacks.
 * @param {import('../vault/every-row.mjs').Rows} rows @param {string} org @param {string} position
 */
async function follows(rows, org, position) {
  const [there] = await rows('SELECT term, position, record FROM journal_positions WHERE org_id = ?', [org]);
  return there !== undefined && JSON.stringify([there.term, there.position, there.record]) === position;
}

/**
 * The row of a lost secret: that of its gate, else that of the backup. Neither if it has ended.
 * @param {string} org @param {string} id @param {ReturnType<typeof gateRows>} gate @param
 *   {DatabaseSync} backup @param {Keys} keys
 * @returns {{ raw?: Record<string, any>, why?: string }}
 */
function rowFor(org, id, gate, backup, { source, keys }) {
  const { table } = source.kindOf('secret');
  if (gate && !gate.live.has(id)) return { why: 'its gate has deleted it' };
  const body = gate?.live.get(id);
  const stored = backup.prepare('SELECT * FROM secrets WHERE org_id = ? AND id = ?').get(org, id);
  const row =
    body === undefined
      ? stored && source.readable('secret', whole(source, table, stored))
      : source.rowOf('secret', body);
  if (!row) return { why: 'the backup does not have it' };
  if (row.mac !== source.macOf(keys.get(org).row, 'secret', row))
    return { why: 'its row was altered: its MAC is wrong' };
  if (row.deleted_at !== null && row.deleted_at + source.RESTORABLE <= Date.now()) return {};
  const columns = /** @type {[string, any][]} */ (Object.entries(source.getTableColumns(table)));
  return {
    raw: Object.fromEntries(
      columns.map(([name, column]) => [name, row[name] === null ? null : column.mapToDriverValue(row[name])]),
    ),
  };
}

// ---------------------------------------------------------------- the audit log

/**
 * Segments of the backup that fill gaps.
 * @param {DatabaseSync} backup
 * @param {Vault} vault
 * @param {Keys} keys
 */
async function lostSegments(backup, { rows }, { keys }) {
  const light =
    'SELECT org_id, first_sequence, last_sequence, prev_hash, last_hash, last_at FROM audit_segments ORDER BY org_id, first_sequence';
  const there = await rows(light, []);
  const orgs = new Map(
    (await rows('SELECT id, audit_retention_days AS days FROM orgs', [])).map(({ id, days }) => [id, days]),
  );
  const chosen = [];
  for (const org of keys.keys()) {
    const mine = there.filter(({ org_id }) => org_id === org);
    const covered = [
      ...mine.map(({ first_sequence: from, last_sequence: to }) => ({ from, to })),
      ...(await gapsTold(rows, org)),
    ];
    const oldest = Date.now() - (orgs.get(org) ?? RETENTION_DAYS) * DAY;
    const theirs = backup.prepare(`${light.replace('ORDER', 'WHERE org_id = ? ORDER')}`).all(org);
    const missing = theirs.filter(
      (one) =>
        Number(one.last_at) > oldest &&
        !covered.some(
          ({ from, to }) => from <= Number(one.last_sequence) && to >= Number(one.first_sequence),
        ),
    );
    const all = [...mine, ...missing];
    const fits = (/** @type {any} */ one) => {
      const [before] = all.filter(({ last_sequence }) => last_sequence === one.first_sequence - 1);
      const [after] = all.filter(({ first_sequence }) => first_sequence === one.last_sequence + 1);
      if (!before && !after && one.first_sequence !== 1) return false;
      return (!before || before.last_hash === one.prev_hash) && (!after || after.prev_hash === one.last_hash);
    };
    for (const one of missing.filter(fits)) {
      const raw = /** @type {Record<string, any>} */ (
        backup
          .prepare('SELECT * FROM audit_segments WHERE org_id = ? AND first_sequence = ?')
          .get(org, one.first_sequence)
      );
      if (attempt(() => segmentFault(raw, raw.entries, raw.last_hash)) === null) chosen.push(raw);
    }
  }
  return chosen;
}
