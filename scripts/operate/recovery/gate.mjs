// `npm run gate`: `reset ORG` gives an organisation a new gate, which begins from the database;
// `accept-clock`, `give-up` and the gates of the service itself are in files of their own. Invariants: what
// is lost is said before anything is changed; only the named organisation is touched; a local gate's files
// are set aside, never deleted; the reason is in the organisation's audit log.
import fs from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { ExpectedError } from '../../shared/expected-error.mjs';
import { parseArgs } from '../../shared/npm-options.mjs';
import { ask, harmless, isAsked } from '../../shared/terminal.mjs';
import { claimState, gateFile, isInUse, setAside, vaultFile } from '../vault/state-dir.mjs';
import { bootstrapCaller, deployedService, localUrl, run, stateDir, variable } from '../vault/vault.mjs';
import { acceptClock } from './accept-clock.mjs';
import { giveUp } from './give-up.mjs';
import { isOwnGate, resetOwnGate, resetReplica } from './own-gates.mjs';

const USAGE = `Use: npm run gate -- reset ORG --reason TEXT [options]
     npm run gate -- accept-clock --reason TEXT [options]
     npm run gate -- give-up ORG [--yes]
     npm run gate -- reset health|deployment [--yes]
     npm run gate -- reset ORG --region REGION [--yes]
  --remote   the deployment instead of the vault of npm start; needs BOOTSTRAP_TOKEN in the environment
  --url URL  where the service answers
  --yes      without asking
  --json     print one JSON object
reset is for an organisation whose gate is broken: gate_unreachable in the log names it. accept-clock is for a clock that was ahead and
was put right: all organisations go on by it, and /healthz is ok. give-up is for an organisation that the database of npm start does not
have any more: it sets its gate aside while the service is stopped. So does reset with the gates of npm start itself: health is that of
the health check, deployment remembers the Idempotency-Keys of POST /orgs. With --region, reset sets the replica of npm start in this region aside, while the
service is stopped: replica_unreachable in the log names it.`;

/** @param {string} org */
const losses = (
  org,
) => `A new gate for ${org} begins from the database. Kept: secrets, credentials, members, revocations, policies, as the
database has them. Lost:
  - changes that the database does not have and that the old gate cannot send any more, revocations among them: usually those of the last
    second, but more if /healthz fails at database, adoption or changes. Mend that first, and repeat afterwards what you revoked lately
  - session tokens: programs mint again
  - audit entries that the old gate cannot move to the database any more: up to 1,000 since the last backup, and more of a busy organisation;
    verify then names them as missing, with the reason gate_lost
  - events that were not delivered yet, and what approvers were shown of pending requests
  - stored responses of Idempotency-Keys: a repeated request is performed again
  - when credentials were last used, who read which secret, counters of rate limits
  - the comparison with the old gate: an older copy of a row in the database would be accepted. Check it first: npm run doctor -- --deep
`;

await run(async () => {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      remote: { type: 'boolean', default: false },
      url: { type: 'string' },
      reason: { type: 'string' },
      region: { type: 'string' },
      yes: { type: 'boolean', default: false },
      json: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) return void process.stdout.write(`${USAGE}\n`);
  const [command, org, ...more] = positionals;
  const isClock = command === 'accept-clock' && org === undefined;
  if (command === 'reset' && isOwnGate(org) && !values.remote && !values.url && more.length === 0)
    return resetOwnGate(org ?? '', stateDir(), values.yes);
  if (
    !isClock &&
    (!['reset', 'give-up'].includes(command ?? '') || !/^org_[0-9A-Za-z]{22}$/.test(org ?? '') || more.length)
  )
    throw new ExpectedError(USAGE);
  if (values.region !== undefined) {
    if (command !== 'reset' || isClock || values.remote || values.url) throw new ExpectedError(USAGE);
    return resetReplica(org ?? '', values.region, stateDir(), values.yes);
  }
  if (command === 'give-up') return giveUp(org, stateDir(), values.yes);
  const reason = values.reason?.trim();
  if (!reason)
    throw new ExpectedError(
      '--reason is missing: say why; it is stored in the audit log of the organisation',
    );
  const service = () =>
    values.remote
      ? deployedService(values.url)
      : { url: values.url ?? localUrl(), token: variable('BOOTSTRAP_TOKEN') };
  if (isClock) return acceptClock(await service(), { ...values, reason });
  const isLocal = !values.remote && !values.url;
  const isStopped = isLocal && !isInUse(stateDir());
  if (isStopped) mustHave(org);
  process.stderr.write(losses(org));
  const waiting = isStopped ? changesIn(gateFile(stateDir(), org)) : 0;
  if (waiting)
    process.stderr.write(
      `The gate can be read, and has ${waiting} ${waiting === 1 ? 'change' : 'changes'} that the database may lack. Start the service rather than this: the gate sends them.\n`,
    );
  if (!values.yes) {
    if (!isAsked()) throw new ExpectedError('Nothing was changed: pass --yes to confirm');
    if ((await ask(`Type the id of the organisation to go on: `)) !== org)
      throw new ExpectedError('Nothing was changed');
  }
  if (isStopped) return setGateAside(org);
  await reset(org, { ...(await service()), reason, isLocal, json: values.json });
});

/**
 * @param {string} org
 * @param {{ url: string, token: string | undefined, reason: string, isLocal: boolean, json: boolean }} how
 */
async function reset(org, { url, token, reason, isLocal, json: asJson }) {
  const call = bootstrapCaller(url, token, { patience: 10_000, within: 60_000 });
  const { status, json } = await call('POST', `/orgs/${org}/gate/reset`, { reason });
  if (status === 503) {
    // Where only the database is away, setting the gate aside would lose the changes that it has yet to send.
    const then = !json?.error?.message?.includes('does not start')
      ? 'Nothing was changed: see npm run doctor, and run this again once the database answers.'
      : isLocal
        ? 'Its storage cannot be opened at all. Stop the service, and run this again: it sets the files of the gate aside.'
        : 'Look for gate_unreachable in the log. If the platform cannot open the storage of the object, only its support can: see docs/operations/gates.md.';
    throw new ExpectedError(
      `The gate of ${org} was not reset (503 ${json?.error?.code ?? ''}): ${harmless(json?.error?.message ?? '')} ${then}`,
    );
  }
  if (status !== 200)
    throw new ExpectedError(
      `The gate of ${org} was not reset (${status} ${json?.error?.code ?? ''}): ${harmless(json?.error?.message ?? '')}`,
    );
  const missing = json.missing
    .filter(({ reason: why }) => why === 'gate_lost')
    .map(({ from, to }) => `${from} to ${to}`);
  const before =
    missing.length > 1 ? ` Lost before that: the numbers ${missing.slice(0, -1).join(', ')}.` : '';
  const entries = json.audit_entries_archived
    ? `The newest audit entries of the gate that ran until now were moved to the database first.${before}`
    : `Its newest audit entries are lost, and so are changes that the database did not have: see "Afterwards" in docs/operations/gates.md. The numbers ${missing.at(-1) ?? 'none'} are skipped: most of them were never used.`;
  process.stdout.write(
    asJson
      ? `${JSON.stringify(json)}\n`
      : `${org} has a new gate. ${entries} The reason is in its audit log.\n`,
  );
}

// ---------------------------------------------------------------- a stopped local vault

/**
 * Refuses an organisation that the database does not know: its gate would be all that is left of it.
 * @param {string} org
 */
function mustHave(org) {
  const file = vaultFile(stateDir());
  if (!file)
    throw new ExpectedError(
      `There is no vault in ${stateDir()}: set STATE_DIR to the value used by npm start, or pass --remote`,
    );
  const db = new DatabaseSync(file, { readOnly: true, timeout: 10_000 });
  try {
    if (!db.prepare('SELECT 1 FROM orgs WHERE id = ? AND deleted_at IS NULL').get(org))
      throw new ExpectedError(`The vault has no organisation ${org}`);
  } finally {
    db.close();
  }
}

/** How many changes wait in a gate's journal; 0 if its file cannot be read. @param {string} file */
function changesIn(file) {
  let db;
  try {
    db = new DatabaseSync(file, { readOnly: true });
    return Number(db.prepare('SELECT count(DISTINCT n) AS n FROM journal').get()?.n);
  } catch {
    return 0;
  } finally {
    db?.close();
  }
}

/**
 * Moves the files of a gate away. The service has to record it: the same command does, once it runs.
 * @param {string} org
 */
function setGateAside(org) {
  const dir = stateDir();
  const taken = claimState(dir);
  if (taken) throw new ExpectedError(`${taken}; nothing was changed`);
  const file = gateFile(dir, org);
  const again = 'Start the service, and run this again: it records the reason in the audit log.';
  if (!fs.existsSync(file)) return void process.stdout.write(`${org} has no gate in ${dir}. ${again}\n`);
  process.stdout.write(`The files of the gate are now in ${setAside(dir, file)}. ${again}\n`);
}
