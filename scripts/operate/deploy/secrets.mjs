// The secrets of the deployment: set once, from .production.vars. Invariants: a secret that is set is never
// overwritten; no new keys are created for a database that contains a vault; new secrets are stored locally
// before they are set, so no key exists only in Cloudflare.

import { ExpectedError } from '../../shared/expected-error.mjs';
import { AGAIN, commands, secretNames, wrangler } from '../vault/cloudflare-account.mjs';
import { VARS, VARS_NOTE, varsFile } from '../vault/deployment-config.mjs';
import { createDevVars, freshSecrets, readDevVars } from '../vault/dev-vars.mjs';
import { checkWraps, parseMasterKeys } from '../vault/master-keys.mjs';
import { readSettings } from '../vault/settings.mjs';

const SECRETS = ['MASTER_KEYS', 'BOOTSTRAP_TOKEN'];

/**
 * Sets the missing secrets from .production.vars, which is created with new ones if there is none and no
 * vault needs the old ones.
 * @param {{ worker: string, stored: string[] }} parts `stored`: those in Cloudflare's Secrets Store
 * @param {Awaited<ReturnType<typeof import('../vault/cloudflare-account.mjs').databaseState>>} state
 * @param {(what: string, text: string) => void} say
 * @returns {Promise<boolean>} whether there was a Worker before
 */
export async function setSecrets({ worker, stored }, state, say) {
  const set = await secretNames(worker);
  const own = SECRETS.filter((name) => !stored.includes(name));
  const missing = own.filter((name) => !set?.has(name));
  if (own.length < SECRETS.length) say('secrets', `${stored.join(' and ')}: in the Secrets Store`);
  if (missing.length === 0) {
    if (own.length > 0) say('secrets', 'are set');
    return set !== undefined;
  }
  const values = await secretsToSet(worker, missing, state);
  await wrangler(
    commands.setSecrets(),
    `The secrets could not be set; they are kept in ${VARS}: do what the message below says, ${AGAIN}`,
    {
      input: JSON.stringify(values),
    },
  );
  say('secrets', `${missing.join(' and ')} set from ${VARS}`);
  return set !== undefined;
}

/** @param {string} worker @param {string[]} missing */
async function secretsToSet(worker, missing, state) {
  let kept = readKept();
  if (!kept) {
    if (missing.includes('MASTER_KEYS') && state.wraps.length > 0)
      throw new ExpectedError(
        `The database contains a vault, but MASTER_KEYS is not set: restore ${VARS}, or create it with the MASTER_KEYS that the vault was created with. New keys could not decrypt it.`,
      );
    if (process.env.WORKERS_CI)
      throw new ExpectedError(
        `${missing.join(' and ')}: not set. Set each as a secret of the Worker ${worker} in the dashboard (Settings, Variables and Secrets), keep a copy offline, and retry the build. MASTER_KEYS is k1: and then the output of openssl rand -base64 32; BOOTSTRAP_TOKEN is the output of openssl rand -hex 32.`,
      );
    if (process.env.CI)
      throw new ExpectedError(
        `The secrets of the vault must be created, and this CI machine would lose them: run npm run deploy once on your own machine, or put ${VARS} here first.`,
      );
    const all = freshSecrets({});
    createDevVars(varsFile, Object.fromEntries(missing.map((name) => [name, all[name]])), VARS_NOTE);
    kept = readKept();
  }
  const lacking = missing.filter((name) => !kept?.vars[name]);
  if (!kept || lacking.length > 0)
    throw new ExpectedError(
      `${VARS} does not contain ${lacking.join(' and ')}, which is not set: add it there, or move the file away, ${AGAIN}`,
    );
  const values = Object.fromEntries(missing.map((name) => [name, kept.vars[name]]));
  // The Worker would refuse to start with a malformed secret, so the same checks run before it is set.
  // Secrets that will not be set are not checked.
  const { problem } = readSettings({}, { ...freshSecrets({}), ...values });
  if (problem) throw new ExpectedError(`${VARS} is not usable: ${problem}`);
  if (values.MASTER_KEYS && state.wraps.length > 0) {
    const masters = parseMasterKeys(values.MASTER_KEYS) ?? [];
    const { missing: absent, undecryptable } = await checkWraps(masters, state.wraps);
    const others = [
      ...absent,
      ...state.orgs
        .map(({ master_id: id }) => id)
        .filter((id) => !masters.some((master) => master.id === id)),
    ];
    if (others.length + undecryptable.length > 0)
      throw new ExpectedError(
        `MASTER_KEYS in ${VARS} does not decrypt the keys of the vault in the database: set it to the keys that the vault was created with. Nothing was set.`,
      );
  }
  return values;
}

function readKept() {
  let kept;
  try {
    kept = readDevVars(varsFile);
  } catch {
    throw new ExpectedError(
      `${VARS} cannot be read: make it a file that its owner can read, or move it away.`,
    );
  }
  if (kept?.exposed)
    process.stderr.write(`${VARS} can be read by others on this machine: run chmod 600 ${VARS}\n`);
  return kept;
}
