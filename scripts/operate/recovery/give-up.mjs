// `npm run gate -- give-up ORG`: sets the gate of an organisation aside that the local database does not have
// any more, so that nothing looks for it. Invariants: the gate of an organisation that the database has
// stays; its files are set aside, never deleted.
import fs from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { ExpectedError } from '../../shared/expected-error.mjs';
import { ask, isAsked } from '../../shared/terminal.mjs';
import { goneOf } from '../vault/check-keys.mjs';
import { claimState, gateFile, setAside, vaultFile } from '../vault/state-dir.mjs';

/** @param {string} org @param {string} dir that of the state @param {boolean} isAgreed */
export async function giveUp(org, dir, isAgreed) {
  const taken = claimState(dir);
  if (taken) throw new ExpectedError(`${taken}; nothing was changed`);
  const file = vaultFile(dir);
  if (!file || !fs.existsSync(gateFile(dir, org)))
    throw new ExpectedError(`There is no gate of ${org} in ${dir}: nothing was changed`);
  const db = new DatabaseSync(file, { readOnly: true, timeout: 10_000 });
  const isGone = goneOf(db, [org]).length > 0;
  db.close();
  if (!isGone)
    throw new ExpectedError(
      `The database has the row or the key of ${org}, so its gate stays: npm run restore -- --adopt --only ${org} --reason TEXT has the gate write back what is missing; nothing was changed`,
    );
  process.stderr.write(
    `The database has neither row nor key of ${org}: what its gate holds can be read only with a backup of its key.\n`,
  );
  if (!isAgreed) {
    if (!isAsked()) throw new ExpectedError('Nothing was changed: pass --yes to confirm');
    if ((await ask('Type the id of the organisation to go on: ')) !== org)
      throw new ExpectedError('Nothing was changed');
  }
  process.stdout.write(`The files of the gate are now in ${setAside(dir, gateFile(dir, org))}.\n`);
}
