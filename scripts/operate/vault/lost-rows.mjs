// Rows that a database has lost, although each row that it has opens: versions without their secret, gaps in
// the audit log and, on this machine, rows that an organisation's gate has and the database has not, or the
// other way round. Invariant: it changes nothing; a change that is under way is never taken for a loss.
import fs from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { gunzipSync } from 'node:zlib';
import { harmless } from '../../shared/terminal.mjs';
import { gateCannotBeRead, gateFile, isGateReadable } from './state-dir.mjs';

/** @typedef {import('./every-row.mjs').Unopened} Unopened @typedef {import('./row-checks.mjs').Rows} Rows */

const DAY = 86_400_000;
/** How many days the audit log is kept where an organisation does not say. */
const RETENTION_DAYS = 400;
const MOST = 1000;
/** Rows of a kind that are compared at once. */
const PAGE = 2000;
/** How long a difference must last: the database may have a change before the gate knows that it has. */
const LASTING = 1000;

/**
 * @param {Rows} rows
 * @param {Map<string, any>} keys those of the organisations that are looked at
 * @param {string} [dir] that of the state, where its gates are on this machine
 * @returns {Promise<Unopened[]>}
 */
export async function lostRows(rows, keys, dir) {
  return [...(await orphans(rows, keys)), ...(await gaps(rows, keys, dir))];
}

/**
 * Versions whose secret is missing: a secret that is deleted leaves after its versions.
 * @param {Rows} rows
 * @param {Map<string, any>} keys
 */
export async function orphans(rows, keys) {
  const found = await rows(
    `SELECT v.org_id, v.secret_id, count(*) AS n FROM secret_versions v LEFT JOIN secrets s ON s.org_id = v.org_id AND s.id = v.secret_id
      WHERE s.id IS NULL GROUP BY v.org_id, v.secret_id LIMIT ${MOST}`,
    [],
  );
  return found
    .filter(({ org_id }) => keys.has(org_id))
    .map(({ org_id, secret_id, n }) => ({
      org: org_id,
      table: 'secrets',
      id: secret_id,
      what: `its row is missing, and ${n} of its versions are there`,
    }));
}

/** @typedef {{ from: number, to: number }} Range */

/**
 * What is missing between the segments of each audit log.
 * @param {Rows} rows
 * @param {Map<string, any>} keys
 * @param {string} [dir]
 */
async function gaps(rows, keys, dir) {
  const segments = await rows(
    'SELECT org_id, first_sequence AS "first", last_sequence AS "last", prev_hash, last_hash FROM audit_segments ORDER BY org_id, first_sequence',
    [],
  );
  // An earlier release has no audit_retention_days.
  const orgs = new Map((await rows('SELECT * FROM orgs', [])).map((org) => [org.id, org]));
  /** @type {(Range & { org: string })[]} */
  const lost = [];
  for (const [at, segment] of segments.entries()) {
    const before = segments[at - 1];
    const { org_id: org, first, prev_hash } = segment;
    if (!keys.has(org)) continue;
    if (before?.org_id === org) {
      // After the loss of a gate, sequences are skipped and the chain goes on.
      if (prev_hash !== before.last_hash) lost.push({ org, from: before.last + 1, to: first - 1 });
    } else if (first > 1 && isYoung(orgs.get(org))) lost.push({ org, from: 1, to: first - 1 });
  }
  const faults = [];
  for (const { org, ...one } of lost) {
    // The entry that tells of a gap can still be in the gate.
    const told = joined([...(await gapsTold(rows, org)), ...(dir ? notedBy(dir, org) : [])]);
    if (!isWithin(one, told)) faults.push(entriesMissing(org, one));
  }
  return faults;
}

/**
 * Whether retention cannot have deleted anything of its log yet.
 * @param {Record<string, any> | undefined} org
 */
const isYoung = (org) =>
  (org?.created_at ?? 0) > Date.now() - (org?.audit_retention_days ?? RETENTION_DAYS) * DAY;

/**
 * Which entries an audit log itself says are missing, as after a restore.
 * @param {Rows} rows
 * @param {string} org
 * @returns {Promise<Range[]>}
 */
export async function gapsTold(rows, org) {
  const segments = await rows(
    `SELECT entries FROM audit_segments WHERE org_id = ? AND (actions LIKE '%org.adopt%' OR actions LIKE '%audit.missing%'
      OR actions LIKE '%integrity.alarm%' OR actions LIKE '%org.reset_gate%')`,
    [org],
  );
  const told = segments.flatMap(({ entries }) => {
    try {
      const list = JSON.parse(gunzipSync(Buffer.from(String(entries), 'base64')).toString());
      return list.flatMap(({ missing = [] }) => missing);
    } catch {
      return []; // it is named as a segment that does not open
    }
  });
  return joined(told);
}

/** @param {Range} range @param {Range[]} ranges joined ones */
const isWithin = (range, ranges) => ranges.some(({ from, to }) => from <= range.from && to >= range.to);

/** @param {string} org @param {Range} range @returns {Unopened} */
const entriesMissing = (org, { from, to }) => ({
  org,
  table: 'audit_segments',
  id: String(from),
  what: `the entries ${from} to ${to} are missing`,
});

/** Ranges without those that adjoin. @param {Range[]} ranges */
function joined(ranges) {
  /** @type {Range[]} */
  const all = [];
  for (const { from, to } of ranges.toSorted((a, b) => a.from - b.from)) {
    const last = all.at(-1);
    if (last && from <= last.to + 1) last.to = Math.max(last.to, to);
    else all.push({ from, to });
  }
  return all;
}

// ---------------------------------------------------------------- the gates of this machine

/**
 * What the gates of a local vault and its database do not agree on.
 * @param {Rows} rows @param {string} dir that of the state @param {Map<string, any>} keys @param {any} source
 *   @returns {Promise<Unopened[]>}
 */
export async function differences(rows, dir, keys, source) {
  const faults = [];
  const tables = new Set(
    (await rows("SELECT name FROM sqlite_master WHERE type = 'table'", [])).map(({ name }) => name),
  );
  // A database of an earlier release lacks some.
  const kinds = source.rowKinds().filter((/** @type {any} */ kind) => tables.has(source.tableName(kind)));
  for (const org of keys.keys()) {
    const file = gateFile(dir, org);
    if (!fs.existsSync(file)) continue; // it begins from the database
    // Otherwise its damage would be taken for that of the database.
    if (!isGateReadable(file)) {
      faults.push({ org, table: 'gate', id: org, what: gateCannotBeRead(org) });
      continue;
    }
    const gate = new DatabaseSync(file, { readOnly: true, timeout: 10_000 });
    try {
      if (!gate.prepare("SELECT 1 FROM meta WHERE key = 'org'").get()) continue;
      for (const kind of kinds) {
        const compare = () => differing(rows, gate, org, kind, source);
        let found = await compare();
        if (found.size === 0) continue;
        await sleep(LASTING);
        const again = await compare();
        found = new Map([...found].filter(([id, { what }]) => again.get(id)?.what === what));
        faults.push(...[...found.values()].slice(0, MOST));
      }
      faults.push(...(await newestEntries(rows, gate, org)));
    } finally {
      gate.close();
    }
  }
  return faults;
}

/** What a gate knows to be missing from its audit log. @param {DatabaseSync} gate @returns {Range[]} */
function notedIn(gate) {
  const noted = JSON.parse(
    String(gate.prepare("SELECT value FROM meta WHERE key = 'lost'").get()?.value ?? '[]'),
  );
  // A release before 0.4.0 noted pairs.
  return noted.map((/** @type {any} */ one) => (Array.isArray(one) ? { from: one[0], to: one[1] } : one));
}

/** The same, of an organisation on this machine. @param {string} dir @param {string} org */
function notedBy(dir, org) {
  const file = gateFile(dir, org);
  if (!fs.existsSync(file) || !isGateReadable(file)) return [];
  const gate = new DatabaseSync(file, { readOnly: true, timeout: 10_000 });
  try {
    return notedIn(gate);
  } finally {
    gate.close();
  }
}

/**
 * Whether the database has lost the newest audit entries that a gate had moved there: the gate's log goes on
 * behind them.
 * @param {Rows} rows @param {DatabaseSync} gate @param {string} org @returns {Promise<Unopened[]>}
 */
export async function newestEntries(rows, gate, org) {
  // A gate of an earlier release has no such table. An entry that the database refused stays in the gate, and
  // the log goes on behind it.
  if (!gate.prepare("SELECT 1 FROM sqlite_master WHERE name = 'held_entries'").get()) return [];
  if (gate.prepare('SELECT 1 FROM held_entries LIMIT 1').get()) return [];
  const look = async () => {
    const meta = (/** @type {string} */ key) =>
      gate.prepare('SELECT value FROM meta WHERE key = ?').get(key)?.value;
    const next = Number(meta('oldest') ?? 1);
    const entry = gate.prepare('SELECT body FROM audit WHERE sequence = ?').get(next);
    const before = entry
      ? JSON.parse(String(entry.body)).prev_hash
      : JSON.parse(String(meta('chain') ?? '{}')).hash;
    const [last] = await rows(
      'SELECT last_sequence AS "to", last_hash FROM audit_segments WHERE org_id = ? ORDER BY first_sequence DESC LIMIT 1',
      [org],
    );
    // Retention deletes up to the cut, and an adoption records what it did not find.
    const end = last?.to ?? JSON.parse(String(meta('cut') ?? 'null'))?.sequence ?? next - 1;
    const lost = { from: end + 1, to: next - 1 };
    // Lost with a gate, and by a restore: ranges that adjoin are one.
    return before && last?.last_hash !== before && end < next - 1 && !isWithin(lost, joined(notedIn(gate)))
      ? lost
      : undefined;
  };
  if (!(await look())) return [];
  await sleep(LASTING);
  const lost = await look();
  return lost ? [entriesMissing(org, lost)] : [];
}

/**
 * The changes of a gate that the database does not have yet, in their order.
 * @param {DatabaseSync} gate
 * @returns {Generator<{ writes: { row: any, from: number }[], deletes: { id: string }[] }>}
 */
export function* unsent(gate) {
  // A gate of an earlier release has no such table.
  if (!gate.prepare("SELECT 1 FROM sqlite_master WHERE name = 'journal'").get()) return;
  for (const { body } of gate
    .prepare(
      "SELECT group_concat(body, '') AS body FROM (SELECT n, body FROM journal ORDER BY n, part) GROUP BY n",
    )
    .iterate())
    yield JSON.parse(String(body));
}

/**
 * The ids of rows whose last change the database does not have yet.
 * @param {DatabaseSync} gate
 */
function inJournal(gate) {
  const ids = new Set();
  for (const { writes, deletes } of unsent(gate)) {
    for (const { row } of writes) ids.add(row.id);
    for (const { id } of deletes) ids.add(id);
  }
  return ids;
}

/**
 * The rows of a kind that differ, by id. @param {Rows} rows @param {DatabaseSync} gate @param {string} org
 * @param {any} kind @param {any} source
 * @returns {Promise<Map<string, Unopened>>}
 */
async function differing(rows, gate, org, kind, source) {
  const table = source.tableName(kind);
  const owner = kind === 'org' ? 'id' : 'org_id';
  const there = new Map();
  for (let after = ''; ; ) {
    const page = await rows(
      `SELECT id, mac FROM ${table} WHERE ${owner} = ? AND id > ? ORDER BY id LIMIT ${PAGE}`,
      [org, after],
    );
    for (const { id, mac } of page) there.set(id, mac);
    if (page.length < PAGE) break;
    after = page.at(-1)?.id;
  }
  /** @type {Map<string, Unopened>} */
  const found = new Map();
  const waiting = inJournal(gate);
  const note = (/** @type {string} */ id, /** @type {any} */ row, /** @type {string} */ what) => {
    if (waiting.has(id)) return;
    const ends = row && source.sweepAt(kind, row);
    // Rows that have ended leave the gate and the database one after the other.
    if (ends !== null && ends !== undefined && ends <= Date.now()) return;
    found.set(id, { org, table, id, ...(row?.name && { name: harmless(String(row.name)) }), what });
  };
  for (const { id, body } of gate
    .prepare('SELECT id, body FROM rows WHERE kind = ? AND body IS NOT NULL')
    .iterate(kind)) {
    const row = source.rowOf(kind, String(body));
    const mac = there.get(id);
    there.delete(id);
    // Session tokens are in the gate alone.
    if (kind === 'credential' && source.isLocal(row.kind)) continue;
    if (mac === undefined) note(String(id), row, 'only the gate has it: the database has lost it');
    else if (mac !== row.mac) note(String(id), row, 'the gate has another state of it than the database');
  }
  for (const id of there.keys()) {
    const [raw] = await rows(`SELECT * FROM ${table} WHERE ${owner} = ? AND id = ?`, [org, id]);
    // The gate that begins from the database leaves sessions out.
    if (raw && !(kind === 'credential' && source.isBrief(raw.kind)))
      note(
        String(id),
        source.readable(kind, raw),
        'only the database has it: the gate has ended it, or never wrote it',
      );
  }
  return found;
}
