// `npm run doctor -- --deep`: opens every row of the local vault or of the deployment. Invariant: it changes nothing in the vault; it keeps
// its place in a file, so that an interrupted check continues.
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { reported } from '../../shared/expected-error.mjs';
import { root } from '../../shared/wrangler.mjs';
import { deployed, lineOf, masterKeysFor, openEverything } from '../vault/every-row.mjs';
import { vaultFile } from '../vault/state-dir.mjs';

const REMEDY = 'versions come back with npm run restore -- FILE --rows; docs/operations/backup-and-restore.md says what mends the others';

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
    const placeFile = remote ? path.join(root, '.wrangler', 'deep-check.json') : path.join(stateDir, 'deep-check.json');
    if (file) db = new DatabaseSync(file, { readOnly: true, timeout: 10_000 });
    const local = db;
    const rows = local
      ? (/** @type {string} */ sql, /** @type {(string | number)[]} */ params) => local.prepare(sql).all(...params)
      : deployed;
    const { opened, faults } = await openEverything(rows, masters, { throttled: true, placeFile, restart });
    for (const fault of faults) report('rows', 'fail', `${lineOf(fault)}.`);
    if (faults.length) report('rows', 'fail', `${faults.length} faults in ${opened} rows: ${REMEDY}.`);
    else report('rows', 'ok', `all ${opened} open`);
  } catch (error) {
    const why = reported(error);
    if (!why) throw error;
    report('rows', 'fail', `not all could be opened: ${why}`);
  } finally {
    db?.close();
  }
}
