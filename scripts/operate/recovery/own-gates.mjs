// `npm run gate -- reset health`, and `deployment`: sets a gate of the local service itself aside, which
// belongs to no organisation. `reset ORG --region REGION`: the replica of an organisation. Invariants: what
// is lost is said first; files are set aside, never deleted.
import fs from 'node:fs';
import { ExpectedError } from '../../shared/expected-error.mjs';
import { agrees, isAsked } from '../../shared/terminal.mjs';
import { claimState, gateFile, replicaFile, setAside } from '../vault/state-dir.mjs';

/** What each of them remembers. @type {Record<string, string>} */
const REMEMBERS = {
  health:
    'which organisations the database had, so that an emptied database is recognised: run npm run doctor first. /healthz is down until the service starts again',
  deployment: 'the Idempotency-Keys of POST /orgs: a repeat creates another organisation',
};

/** @param {string | undefined} name */
export const isOwnGate = (name) => Object.hasOwn(REMEMBERS, name ?? '');

/** @param {string} name @param {string} dir that of the state @param {boolean} isAgreed */
export const resetOwnGate = (name, dir, isAgreed) =>
  setObjectAside(dir, isAgreed, {
    what: `the gate ${name}`,
    file: gateFile(dir, name),
    remembers: REMEMBERS[name],
  });

/** @param {string} org @param {string} region @param {string} dir @param {boolean} isAgreed */
export const resetReplica = (org, region, dir, isAgreed) =>
  setObjectAside(dir, isAgreed, {
    what: `the replica of ${org} in ${region}`,
    file: replicaFile(dir, org, region),
    remembers: 'audit entries of its last reads that the gate does not have. It begins again from the gate',
  });

/**
 * @param {string} dir @param {boolean} isAgreed
 * @param {{ what: string, file: string, remembers: string | undefined }} object
 */
async function setObjectAside(dir, isAgreed, { what, file, remembers }) {
  const taken = claimState(dir);
  if (taken) throw new ExpectedError(`${taken}; nothing was changed`);
  if (!fs.existsSync(file)) throw new ExpectedError(`${dir} does not have ${what}: nothing was changed`);
  process.stderr.write(`Lost with ${what}: ${remembers}.\n`);
  if (!isAgreed && !isAsked()) throw new ExpectedError('Nothing was changed: pass --yes to confirm');
  if (!isAgreed && !(await agrees('Set it aside?'))) throw new ExpectedError('Nothing was changed');
  process.stdout.write(`The files of ${what} are now in ${setAside(dir, file)}. Start the service.\n`);
}
