// `npm run doctor -- --deep`: opens every row of the local vault or of the deployment. Invariant: it changes
// nothing in the vault; it keeps its place in a file, so that an interrupted check continues.
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { reported } from '../../shared/expected-error.mjs';
import { root } from '../../shared/wrangler.mjs';
import { deployed, lineOf, masterKeysFor, openEverything } from '../vault/every-row.mjs';
import { incompleteness } from '../vault/schema.mjs';
import { vaultFile } from '../vault/state-dir.mjs';

const PAGE = 'docs/operations/backup-and-restore.md, "Open every row"';
/** What mends the rows of each table; `''` is for all others. */
const REMEDIES = {
  secrets: 'npm run restore -- FILE --rows brings secrets and their versions back',
  secret_versions: 'npm run restore -- FILE --rows brings secrets and their versions back',
  audit_segments: 'npm run restore -- FILE --rows brings audit entries back',
  event_segments: 'events that were not delivered are lost, and nothing needs to be done',
  org_keys: 'docs/operations/keys.md says how to put keys back',
  deployment_keys: 'docs/operations/keys.md says how to put keys back',
  signing_keys: 'delete the row: the service makes another key, and programs mint their JWTs again',
  '': `restore secrets first if some are named, then npm run restore -- --adopt --reason TEXT has the gates write all other rows back, see ${PAGE}`,
};

/** What to do about faults. @param {import('../vault/every-row.mjs').Unopened[]} faults */
export const remedyFor = (faults) =>
  [...new Set(faults.map(({ table }) => REMEDIES[table] ?? REMEDIES['']))].join('; ');

/**
 * @param {{ remote?: boolean, keys?: string, restart?: boolean }} options
 * @param {string} stateDir of the local vault
 * @param {(check: string, verdict: 'ok' | 'warn' | 'fail', message: string) => void} report
 */
export async function deep({ remote = false, keys, restart }, stateDir, report) {
  let db;
  try {
    const masters = masterKeysFor({ keys, remote });
    const file = remote ? undefined : vaultFile(stateDir);
    if (!remote && !file) return report('rows', 'warn', 'there is no vault whose rows could be opened.');
    const placeFile = remote
      ? path.join(root, '.wrangler', 'deep-check.json')
      : path.join(stateDir, 'deep-check.json');
    if (file) db = new DatabaseSync(file, { readOnly: true, timeout: 10_000 });
    const local = db;
    const rows = local
      ? (/** @type {string} */ sql, /** @type {(string | number)[]} */ params) =>
          local.prepare(sql).all(...params)
      : deployed;
    // What a table of keys lacks is reported with the tables.
    if (await incompleteness(rows))
      return report('rows', 'fail', 'not opened, because the database is incomplete.');
    const { opened, faults } = await openEverything(rows, masters, {
      throttled: true,
      placeFile,
      restart,
      gates: remote ? undefined : stateDir,
    });
    for (const fault of faults) report('rows', 'fail', `${lineOf(fault)}.`);
    if (faults.length)
      report('rows', 'fail', `${faults.length} faults in ${opened} rows: ${remedyFor(faults)}.`);
    else report('rows', 'ok', `all ${opened} open`);
  } catch (error) {
    const why = reported(error);
    if (!why) throw error;
    report('rows', 'fail', `not all could be opened: ${why}`);
  } finally {
    db?.close();
  }
}
