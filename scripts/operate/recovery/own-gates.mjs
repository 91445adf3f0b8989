// `npm run gate -- reset health`, and `deployment`: sets a gate of the local service itself aside, which
// belongs to no organisation. Invariants: what is lost is said first; its files are set aside, never deleted.
import fs from 'node:fs';
import { ExpectedError } from '../../shared/expected-error.mjs';
import { agrees, isAsked } from '../../shared/terminal.mjs';
import { claimState, gateFile, setAside } from '../vault/state-dir.mjs';

/** What each of them remembers. @type {Record<string, string>} */
const REMEMBERS = {
  health:
    'which organisations the database had, so that an emptied database is recognised: run npm run doctor first. /healthz is down until the service starts again',
  deployment: 'the Idempotency-Keys of POST /orgs: a repeat creates another organisation',
};

/** @param {string | undefined} name */
export const isOwnGate = (name) => Object.hasOwn(REMEMBERS, name ?? '');

/** @param {string} name @param {string} dir that of the state @param {boolean} isAgreed */
export async function resetOwnGate(name, dir, isAgreed) {
  const taken = claimState(dir);
  if (taken) throw new ExpectedError(`${taken}; nothing was changed`);
  const file = gateFile(dir, name);
  if (!fs.existsSync(file))
    throw new ExpectedError(`There is no gate ${name} in ${dir}: nothing was changed`);
  process.stderr.write(`Lost with the gate ${name}: ${REMEMBERS[name]}.\n`);
  if (!isAgreed && !isAsked()) throw new ExpectedError('Nothing was changed: pass --yes to confirm');
  if (!isAgreed && !(await agrees('Set it aside?'))) throw new ExpectedError('Nothing was changed');
  process.stdout.write(`The files of the gate are now in ${setAside(dir, file)}. Start the service.\n`);
}
