// `npm run doctor`: checks a local or deployed vault, one line per check. Invariants: it changes nothing; it
// names the next step for every problem; it never shows a value, because any value may be a secret.
import fs from 'node:fs';
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { ExpectedError, goOnWithoutReader, refusalOf } from '../../shared/expected-error.mjs';
import { parseArgs } from '../../shared/npm-options.mjs';
import { harmless } from '../../shared/terminal.mjs';
import { commitHere, messageOf, releaseHere } from '../vault/checkout.mjs';
import {
  databaseState,
  deployedBindings,
  deployedMessage,
  reachDatabase,
  secretNames,
} from '../vault/cloudflare-account.mjs';
import { partsOf, readToml, VARS, varsFile } from '../vault/deployment-config.mjs';
import { freshSecrets, readDevVars } from '../vault/dev-vars.mjs';
import { parseMasterKeys } from '../vault/master-keys.mjs';
import { localUrl, stateDir } from '../vault/vault.mjs';
import { lackingBindings, neededBindings } from './bindings.mjs';
import { diskOf } from './disk.mjs';
import { damageIn } from './objects.mjs';
import { deep } from './rows.mjs';
import { service } from './running-service.mjs';
import '../../shared/temporary-files.mjs';
import { knownMigrations } from '../../shared/migrations.mjs';
import { root } from '../../shared/wrangler.mjs';
import { closedKeys, DEPLOYMENT_KEY_MISSING, goneOf, keysIn, lacksOf } from '../vault/check-keys.mjs';
import { deployed as deployedRows, rowsOf } from '../vault/every-row.mjs';
import { incompleteness } from '../vault/schema.mjs';
import { readSettings } from '../vault/settings.mjs';
import {
  inspectState,
  lostDatabase,
  orgsOfGates,
  unreadableDatabases,
  vaultFile,
} from '../vault/state-dir.mjs';

const USAGE = `npm run doctor -- [options]

  --remote      look at the deployment instead of the vault of npm start
  --url URL     where the service answers; without it, at HOST and PORT, a deployment at its PUBLIC_URL
  --deep        open every row, and name what does not open; continues where it was interrupted
  --keys FILE   with --deep: the file with MASTER_KEYS
  --restart     with --deep: from the beginning
  --json        print one JSON object
  --help        print this

Exit code: 0 if nothing fails, else 1.
`;
/** @typedef {'ok' | 'warn' | 'fail'} Verdict */
/** @typedef {{ check: string, verdict: Verdict, message: string }} Finding */

/** @type {Finding[]} */
const findings = [];
goOnWithoutReader();
const options = readOptions();
if (options.help) process.stdout.write(USAGE);
else {
  if (options.remote) await remote();
  else await local();
  if (options.deep) await deep(options, stateDir(), report);
  const ok = findings.every(({ verdict }) => verdict !== 'fail');
  if (options.json)
    process.stdout.write(
      `${JSON.stringify({ ok, vault: options.remote ? 'remote' : 'local', checks: findings })}\n`,
    );
  process.exitCode = ok ? 0 : 1;
}

function readOptions() {
  try {
    return parseArgs({
      options: {
        remote: { type: 'boolean' },
        url: { type: 'string' },
        json: { type: 'boolean' },
        help: { type: 'boolean' },
        deep: { type: 'boolean' },
        keys: { type: 'string' },
        restart: { type: 'boolean' },
      },
    }).values;
  } catch (error) {
    process.stderr.write(`${error.message}\n\n${USAGE}`);
    return process.exit(1);
  }
}

/** @param {string} check @param {Verdict} verdict @param {string} message */
function report(check, verdict, message) {
  const text = harmless(message.replaceAll('\n', ' '));
  findings.push({ check, verdict, message: text });
  if (!options.json) process.stdout.write(`${verdict.padEnd(5)} ${check.padEnd(11)} ${text}\n`);
}

// ---------------------------------------------------------------- the vault of npm start

async function local() {
  const file = path.join(root, '.dev.vars');
  let devVars;
  let unreadable = false;
  try {
    devVars = readDevVars(file);
  } catch {
    unreadable = true;
  }
  // A first start creates the missing secrets: without a vault, missing secrets are not a problem.
  const before = readSettings(process.env, { ...freshSecrets(process.env), ...devVars?.vars }).settings;
  const dir = path.resolve(
    root,
    before?.stateDir ?? process.env.STATE_DIR ?? devVars?.vars.STATE_DIR ?? path.join('.wrangler', 'state'),
  );
  const { state, vault, lacks, lost, why } = await readVault(dir);
  const isNew = !devVars && !state?.hasVault;
  const { settings, problem } = readSettings(
    process.env,
    isNew ? freshSecrets(process.env) : (devVars?.vars ?? {}),
  );

  if (unreadable)
    report(
      'variables',
      'fail',
      '.dev.vars cannot be read: make it a file that its owner can read, or move it away.',
    );
  else if (problem) report('variables', 'fail', `${problem}.`);
  else if (devVars?.exposed)
    report('variables', 'warn', '.dev.vars can be read by others on this machine: run chmod 600 .dev.vars.');
  else report('variables', 'ok', isNew ? 'usable; npm start creates the secrets' : 'usable');

  bindings();
  const disk = diskOf(dir);
  if (disk) report('disk', disk.verdict, disk.message);
  try {
    for (const damage of damageIn(dir)) report('files', 'fail', damage);
  } catch (error) {
    // `disk` names a folder that cannot be read.
    if (error.code !== 'EACCES') throw error;
  }
  if (!state || !vault) {
    const remedy = `STATE_DIR contains a database that cannot be read: ${why}.`;
    report('keys', 'fail', remedy);
    report('migrations', 'fail', remedy);
  } else {
    const missing = noVault(state, devVars);
    if (lost) report('keys', 'fail', `${lost}.`);
    else if (missing) report('keys', 'fail', missing);
    else await keys(settings?.worker.MASTER_KEYS, vault, 'MASTER_KEYS');
    if (state.applied.size > 0) tables(lacks);
    migrations(state.applied, 'npm start', 'update this checkout, or set STATE_DIR to another directory');
  }
  const url = options.url?.replace(/\/$/, '') ?? (unreadable ? undefined : localUrl());
  if (!url)
    return report(
      'service',
      'fail',
      'its address is not known without .dev.vars: pass --url, or mend the file.',
    );
  await service(
    url,
    'run npm start; if it is already running, set PORT and HOST to its values',
    true,
    report,
  );
}

/**
 * Why there is no vault where there should be one: only without variables and without state is this a first
 * start.
 * @param {import('../vault/state-dir.mjs').State} state @param {ReturnType<typeof readDevVars>} devVars
 */
function noVault(state, devVars) {
  if (state.applied.size > 0) return undefined;
  if (process.env.STATE_DIR || devVars?.vars.STATE_DIR)
    return 'STATE_DIR names a directory without a vault: correct it; if the vault is to be new, run npm start.';
  return (
    devVars &&
    'there is no vault in .wrangler/state: set STATE_DIR to the directory that has it; if it is to be new, run npm start.'
  );
}

/** The keys of the vault in a directory, and what its database lacks. @param {string} dir */
async function vaultOf(dir) {
  const file = vaultFile(dir);
  if (!file) return { vault: { wraps: [], orgs: [] } };
  const db = new DatabaseSync(file, { readOnly: true, timeout: 2_000 });
  try {
    const lacks = await incompleteness(rowsOf(db));
    const gone = lacks ? [] : goneOf(db, orgsOfGates(dir));
    return { vault: { ...keysIn(db), gone }, lacks };
  } finally {
    db.close();
  }
}

/** @param {string} dir */
function whyUnreadable(dir) {
  try {
    const [found] = unreadableDatabases(dir);
    return found && `${found.why}. Restore a backup with npm run restore -- FILE --replace`;
  } catch {} // its disk fails
}

/** What is in the local database, or why it cannot be read. @param {string} dir */
async function readVault(dir) {
  try {
    return { state: inspectState(dir), ...(await vaultOf(dir)), lost: lostDatabase(dir) };
  } catch (error) {
    return { why: whyUnreadable(dir) ?? refusalOf(error) ?? error.message };
  }
}

// ---------------------------------------------------------------- a deployment

async function remote() {
  const toml = readToml();
  const { worker, stored } = partsOf(toml);
  let url = options.url;
  let deployed;
  /** One check that asks the account; an error becomes its finding. */
  const tried = async (check, look) => {
    try {
      await look();
      return true;
    } catch (error) {
      if (!(error instanceof ExpectedError)) throw error;
      report(check, 'fail', error.message);
      return false;
    }
  };
  const reached = await tried('account', async () => {
    const { id, name } = await reachDatabase();
    report('account', 'ok', `${name} (${id})`);
  });
  if (reached) {
    await tried('variables', async () => {
      const set = await secretNames(worker);
      if (!set) throw new ExpectedError(`There is no Worker ${worker}: run npm run deploy.`);
      deployed = await deployedBindings();
      const publicUrl = deployed.find(({ name }) => name === 'PUBLIC_URL')?.text;
      url ??= publicUrl;
      variables(new Set([...set, ...stored]), publicUrl);
      const release = (await deployedMessage()) ?? 'unknown, from before 0.5.0';
      report('release', 'ok', `${release}; this checkout is ${messageOf(releaseHere(commitHere()))}`);
    });
  }
  bindings(deployed);
  if (reached) {
    await tried('keys', async () => {
      const { applied, wraps, orgs } = await databaseState();
      const known = localKeys();
      if (known === undefined)
        report(
          'keys',
          'warn',
          `MASTER_KEYS is not on this machine; the vault needs those named ${idsOf([...wraps, ...orgs])}.`,
        );
      else await keys(known, { wraps, orgs: [], wrappedOrgs: orgs }, `MASTER_KEYS of the shell or ${VARS}`);
      if (applied.size > 0) tables(await incompleteness(deployedRows, true));
      migrations(applied, 'npm run deploy', 'update this checkout before you deploy from it');
    });
  }
  if (!url) report('service', 'fail', 'its address is not known: pass --url.');
  else
    await service(
      url.replace(/\/$/, ''),
      `check that the address leads to the Worker ${worker}, and look at npx wrangler tail ${worker}`,
      false,
      report,
    );
}

/** @param {Set<string>} set The names of the secrets that it has. @param {string | undefined} publicUrl */
function variables(set, publicUrl) {
  const unset = ['MASTER_KEYS', 'BOOTSTRAP_TOKEN'].filter((name) => !set.has(name));
  if (unset.length > 0)
    report('variables', 'fail', `${unset.join(' and ')} not set: run npm run deploy, with ${VARS} in place.`);
  else if (!publicUrl)
    report(
      'variables',
      'warn',
      'PUBLIC_URL is empty, so links use the address of each request: run npm run deploy.',
    );
  else if (URL.parse(publicUrl)?.origin !== publicUrl)
    report(
      'variables',
      'fail',
      'PUBLIC_URL is not an origin: run npm run deploy -- --public-url with the right one.',
    );
  else report('variables', 'ok', `secrets are set; PUBLIC_URL is ${publicUrl}`);
}

/** The master keys on this machine: `undefined` if there are none, '' if they are malformed. */
function localKeys() {
  let text = process.env.MASTER_KEYS;
  try {
    text ??= readDevVars(varsFile)?.vars.MASTER_KEYS;
  } catch {} // it cannot be read: then its keys are not at hand
  if (text === undefined) return undefined;
  return readSettings({}, { ...freshSecrets({}), MASTER_KEYS: text }).settings ? text : '';
}

/** @param {{ master_id: string }[]} rows */
function idsOf(rows) {
  return [...new Set(rows.map(({ master_id: id }) => id))].sort().join(', ') || 'none, because it is empty';
}

// ---------------------------------------------------------------- the checks of both

/**
 * @param {string | undefined} text MASTER_KEYS; undefined or empty if not usable
 * @param {import('../vault/check-keys.mjs').VaultState & { wrappedOrgs?: { master_id: string, n: number }[]
 *   }} vault `wrappedOrgs`: of a deployment, only how many keys of organisations each master key wraps
 * @param {string} source
 */
async function keys(text, { wraps, orgs, rowless = [], gone = [], wrappedOrgs = [] }, source) {
  const rows = [...wraps, ...wrappedOrgs];
  const problems =
    wraps.length === 0 && wrappedOrgs.length > 0
      ? [DEPLOYMENT_KEY_MISSING]
      : lacksOf({ wraps, orgs, rowless, gone });
  if (rows.length === 0 && orgs.length === 0)
    return report('keys', 'ok', 'the vault is empty: its keys are created with the first organisation');
  if (text) problems.push(...(await closedBy(text, { wraps, orgs }, wrappedOrgs, source)));
  else if (rows.length > 0)
    problems.push(
      `${source}: not usable, so nothing can be decrypted; the vault needs the keys named ${idsOf(rows)}`,
    );
  for (const problem of problems) report('keys', 'fail', `${problem}.`);
  if (problems.length > 0) return;
  const many = wraps.length === 1 ? 'key decrypts' : 'keys decrypt';
  report(
    'keys',
    'ok',
    `${wraps.length} wrapped ${many}${wrappedOrgs.length ? ', and the others are wrapped under known keys' : ''} (${idsOf(rows)})`,
  );
}

/**
 * What the master keys do not open.
 * @param {string} text @param {import('../vault/check-keys.mjs').VaultKeys} vault @param {{ master_id: string
 *   }[]} wrappedOrgs @param {string} source
 */
async function closedBy(text, vault, wrappedOrgs, source) {
  const masters = parseMasterKeys(text) ?? [];
  const lacking = [...new Set(wrappedOrgs.map(({ master_id: id }) => id))].filter(
    (id) => !masters.some((master) => master.id === id),
  );
  const closed = await closedKeys(vault, masters, source);
  return lacking.length > 0
    ? [
        ...closed,
        `${source} lacks ${lacking.join(', ')}, which wraps keys of organisations: add it after the current one`,
      ]
    : closed;
}

/** @param {string | undefined} lacks */
function tables(lacks) {
  if (lacks) report('tables', 'fail', `${lacks}.`);
  else report('tables', 'ok', 'whole');
}

/**
 * @param {Set<string>} applied
 * @param {string} how the command that applies them
 * @param {string} remedy if this checkout is older
 */
function migrations(applied, how, remedy) {
  const known = knownMigrations(path.join(root, 'migrations'));
  const newer = [...applied].filter((name) => !known.includes(name));
  const missing = known.filter((name) => !applied.has(name));
  if (newer.length > 0)
    report('migrations', 'fail', `${newer.join(', ')} was applied by a newer checkout: ${remedy}.`);
  else if (missing.some((name) => [...applied].some((other) => other > name)))
    // They are applied in order.
    report(
      'migrations',
      'fail',
      `the record that ${missing.join(', ')} was applied is lost: ${how} would apply it again, and fail. See docs/operations/upgrade.md, "A lost record of migrations".`,
    );
  else if (missing.length > 0)
    report('migrations', 'warn', `${missing.join(', ')} not applied: ${how} applies them.`);
  else report('migrations', 'ok', `${known.length} applied`);
}

/** @param {{ name: string }[]} [deployed] */
function bindings(deployed) {
  const needed = neededBindings(fs.readFileSync(path.join(root, 'src', 'env.ts'), 'utf8'));
  let lacking;
  try {
    lacking = lackingBindings(readToml(), needed);
  } catch {
    return report(
      'bindings',
      'fail',
      'wrangler.toml cannot be read: restore it (git checkout wrangler.toml).',
    );
  }
  if (lacking.length > 0)
    return report(
      'bindings',
      'fail',
      `wrangler.toml lacks ${lacking.join('; ')}: restore it (git checkout wrangler.toml).`,
    );
  const absent = deployed ? needed.filter(({ name }) => !deployed.some((one) => one.name === name)) : [];
  if (absent.length > 0)
    return report(
      'bindings',
      'fail',
      `the deployment lacks ${absent.map(({ name }) => name).join(', ')}: run npm run deploy.`,
    );
  report('bindings', 'ok', `${needed.length} named`);
}
