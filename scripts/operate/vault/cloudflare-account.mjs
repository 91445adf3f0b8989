// What a Cloudflare account contains of the vault, read only through wrangler. Invariant: nothing here
// changes anything; a failed read is a `ExpectedError` whose message names the next step.
import { ExpectedError } from '../../shared/expected-error.mjs';
import { harmless } from '../../shared/terminal.mjs';
import { runWrangler } from '../../shared/wrangler.mjs';
import {
  CONFIG,
  partsOf,
  productionConfig,
  readToml,
  SAML_CONFIG,
  writeConfig,
} from './deployment-config.mjs';

/** The end of the message of every failed deployment step. */
export const AGAIN = 'then run npm run deploy again: it continues from here.';

const WITH_CONFIG = ['--config', CONFIG];

/**
 * The commands that read, and those that change: exactly the arguments that are run, so that a dry run can
 * print them.
 */
export const commands = {
  whoami: () => ['whoami', '--json'],
  databases: () => ['d1', 'list', '--json'],
  /** @param {string} name @param {string} location */
  createDatabase: (name, location) => [
    'd1',
    'create',
    name,
    ...(location === 'auto' ? [] : ['--location', location]),
  ],
  /** @param {string} name */
  queue: (name) => ['queues', 'info', name],
  /** @param {string} name */
  createQueue: (name) => ['queues', 'create', name],
  /** @param {string} sql */
  query: (sql) => ['d1', 'execute', 'DB', '--remote', '--json', '--command', sql, ...WITH_CONFIG],
  migrate: () => ['d1', 'migrations', 'apply', 'DB', '--remote', ...WITH_CONFIG],
  secrets: () => ['secret', 'list', ...WITH_CONFIG],
  setSecrets: () => ['secret', 'bulk', ...WITH_CONFIG],
  status: () => ['deployments', 'status', '--json', ...WITH_CONFIG],
  /** @param {string} id */
  version: (id) => ['versions', 'view', id, '--json', ...WITH_CONFIG],
  // Gates switch to the new code immediately: by default, the platform may run the old code alongside the new
  // Worker for minutes.
  /** @param {string} message what the version says of itself */
  deploy: (message) => [
    'deploy',
    '--durable-objects-code-update-mode',
    'immediate',
    '--message',
    message,
    ...WITH_CONFIG,
  ],
  deploySaml: () => ['deploy', '--config', SAML_CONFIG],
};

/** As typed in a shell. @param {string[]} args */
export const typed = (args) =>
  ['npx', 'wrangler', ...args]
    .map((arg) => (/^[\w./:=<>-]+$/.test(arg) ? arg : `'${arg.replaceAll("'", String.raw`'\''`)}'`))
    .join(' ');

/**
 * wrangler's output for a failure: its error and the following lines, or its last lines, safe for a terminal.
 * @param {string} said
 */
export function lastLines(said) {
  const lines = said
    .split('\n')
    .filter(
      (line) =>
        line.trim() !== '' && !/open an issue at|newer version of Wrangler|create an issue at/.test(line),
    );
  const error = lines.findIndex((line) => line.includes('[ERROR]'));
  return (error < 0 ? lines.slice(-8) : lines.slice(error, error + 8))
    .map((line) => `  ${harmless(line)}`)
    .join('\n');
}

/**
 * Refuses a failure of the network as what it is: nothing is known then of tokens and permissions.
 * @param {string} said
 */
function requireNetwork(said) {
  if (/connectivity issue|fetch failed|ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT/.test(said))
    throw new ExpectedError(
      'Cloudflare cannot be reached from this machine: check the network, proxies and firewall, then run this again.',
    );
}

/**
 * @param {string[]} args
 * @param {string} failure what failed, and what to do
 * @param {Parameters<typeof runWrangler>[1]} [options] `input` is a JSON object of secrets
 */
export async function wrangler(args, failure, options) {
  const done = await runWrangler(args, options);
  if (done.code === 0) return done;
  requireNetwork(done.said);
  // The error message may repeat the input.
  const sent = options?.input ? Object.values(JSON.parse(options.input)) : [];
  const said = sent.reduce((text, secret) => text.replaceAll(secret, '(hidden)'), done.said);
  throw new ExpectedError(`${failure} wrangler said:\n${lastLines(said)}`);
}

/** The JSON that wrangler printed, after any other output. @param {string} out */
function json(out) {
  const start = out.search(/^[[{]/m);
  try {
    return JSON.parse(out.slice(start));
  } catch {
    throw new ExpectedError(
      'wrangler did not print JSON: run npm ci to install the version that this checkout needs.',
    );
  }
}

const PERMISSIONS = 'Workers Scripts, D1 and Queues (each Edit), and Account Settings (Read)';

/** The one account to work on; refused if it is ambiguous. @param {Record<string, string | undefined>} env */
export async function account(env = process.env) {
  const done = await runWrangler(commands.whoami());
  if (done.code !== 0) {
    requireNetwork(done.said);
    const how = env.CLOUDFLARE_API_TOKEN
      ? `CLOUDFLARE_API_TOKEN is set but was not accepted: create a token with the permissions ${PERMISSIONS}, and set it.`
      : `wrangler is not signed in: run npx wrangler login, or set CLOUDFLARE_API_TOKEN to a token with the permissions ${PERMISSIONS}.`;
    throw new ExpectedError(`${how} wrangler said:\n${lastLines(done.said)}`);
  }
  const { accounts, email } = json(done.out);
  const chosen = env.CLOUDFLARE_ACCOUNT_ID;
  const list = accounts.map(({ id, name }) => `  ${id} ${harmless(name)}`).join('\n');
  if (chosen) return { id: chosen, name: accounts.find(({ id }) => id === chosen)?.name ?? 'account', email };
  if (accounts.length === 1) return { ...accounts[0], email };
  throw new ExpectedError(
    accounts.length === 0
      ? 'This sign-in reaches no account: set CLOUDFLARE_ACCOUNT_ID to the right one.'
      : `This sign-in reaches several accounts: set CLOUDFLARE_ACCOUNT_ID to one of them.\n${list}`,
  );
}

/** The id of a database, by its name. @param {string} name @returns {Promise<string | undefined>} */
export async function findDatabase(name) {
  const { out } = await wrangler(
    commands.databases(),
    'The databases could not be listed: check that the account may use D1, then run this again.',
  );
  return json(out).find((database) => database.name === name)?.uuid;
}

/**
 * Finds the deployment's database and writes the configuration that names it, for commands on it.
 * @returns {Promise<{ id: string, name: string }>} the account
 */
export async function reachDatabase() {
  const toml = readToml();
  const { database } = partsOf(toml);
  const { id, name } = await account();
  process.env.CLOUDFLARE_ACCOUNT_ID = id;
  const databaseId = await findDatabase(database);
  if (!databaseId)
    throw new ExpectedError(
      `The account ${name} has no database ${database}: run npm run deploy, or set CLOUDFLARE_ACCOUNT_ID to the account that has it.`,
    );
  writeConfig(productionConfig(toml, databaseId, ''));
  return { id, name };
}

/** @param {string} name */
export async function queueExists(name) {
  const done = await runWrangler(commands.queue(name));
  if (done.code === 0) return true;
  if (done.said.includes(`Queue "${name}" does not exist`)) return false;
  requireNetwork(done.said);
  throw new ExpectedError(
    `The queue ${name} could not be looked up: check that the account may use Queues, then run this again. wrangler said:\n${lastLines(done.said)}`,
  );
}

/** Rows of each statement. @param {string} sql @returns {Promise<any[][]>} */
export async function query(sql) {
  const { out } = await wrangler(
    commands.query(sql),
    'The database could not be queried: check its state in the dashboard, then run this again.',
  );
  return json(out).map(({ results }) => results);
}

export const TABLES =
  "SELECT name FROM sqlite_master WHERE type = 'table' AND name IN ('d1_migrations', 'deployment_keys', 'org_keys')";
export const APPLIED = 'SELECT name FROM d1_migrations';
export const WRAPS =
  'SELECT id AS owner, master_id, key_sealed FROM deployment_keys; SELECT master_id, count(*) AS n FROM org_keys GROUP BY master_id';

/**
 * The migrations and keys of the database.
 * @returns {Promise<{ applied: Set<string>, wraps: import('./master-keys.mjs').Wrap[], orgs: { master_id:
 *   string, n: number }[] }>} `wraps`: the deployment's key; `orgs`: how many organisations' keys each master
 *   key wraps
 */
export async function databaseState() {
  const [tables] = await query(TABLES);
  const has = new Set(tables.map(({ name }) => name));
  const state = { applied: new Set(), wraps: [] };
  if (has.has('d1_migrations'))
    for (const { name } of (await query(APPLIED))[0]) state.applied.add(String(name));
  if (has.has('deployment_keys') && has.has('org_keys')) {
    const [deployment, orgs] = await query(WRAPS);
    return { ...state, wraps: deployment, orgs };
  }
  return { ...state, orgs: [] };
}

/**
 * Names of the secrets that are set; undefined if there is no Worker yet.
 * @returns {Promise<Set<string> | undefined>}
 */
export async function secretNames(worker) {
  const done = await runWrangler(commands.secrets());
  if (done.code === 0) return new Set(json(done.out).map(({ name }) => name));
  if (done.said.includes(`Worker "${worker}" not found`)) return undefined;
  requireNetwork(done.said);
  throw new ExpectedError(
    `The secrets could not be listed: check that you may edit Workers in this account, then run this again. wrangler said:\n${lastLines(done.said)}`,
  );
}

/**
 * The bindings of the deployment; none if there is none.
 * @returns {Promise<{ name: string, type: string, text?: string }[]>}
 */
export const deployedBindings = async () => (await deployedVersion())?.resources?.bindings ?? [];

/** What the deployed version says of itself: its message. @returns {Promise<string | undefined>} */
export const deployedMessage = async () => (await deployedVersion())?.annotations?.['workers/message'];

/** The newest deployed version; undefined if there is none. @returns {Promise<any>} */
async function deployedVersion() {
  const status = await wrangler(commands.status(), 'The deployment could not be looked up: run this again.');
  const [newest] = json(status.out).versions ?? [];
  if (!newest) return undefined;
  const { out } = await wrangler(
    commands.version(newest.version_id),
    'The deployment could not be looked up: run this again.',
  );
  return json(out);
}
