// `npm run deploy`: from an empty Cloudflare account to a running vault, and from one release to the next,
// through wrangler. Invariants: each step checks before it acts, so an interrupted run can simply be
// repeated; existing resources are never recreated or overwritten; the database is migrated before new code
// uses it; no secret is in an argument or in the output.
import fs from 'node:fs';
import path from 'node:path';
import readline from 'node:readline/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { ExpectedError, runs } from '../../shared/expected-error.mjs';
import { harmless } from '../../shared/terminal.mjs';
import { commitHere, messageOf, releaseHere, STORAGE_VERSION, storageIn } from '../vault/checkout.mjs';
import {
  AGAIN,
  account,
  commands,
  databaseState,
  deployedBindings,
  deployedMessage,
  findDatabase,
  queueExists,
  wrangler,
} from '../vault/cloudflare-account.mjs';
import {
  CONFIG,
  deployment,
  partsOf,
  productionConfig,
  readToml,
  SAML_CONFIG,
  samlConfig,
  VARS,
  varsFile,
  writeConfig,
} from '../vault/deployment-config.mjs';
import { isServing, problemsOf, readHealth } from '../vault/health.mjs';
import { LOCATIONS, PLACES, printPlan, readOptions, USAGE } from './options.mjs';
import { setSecrets } from './secrets.mjs';
import '../../shared/temporary-files.mjs';
import { knownMigrations } from '../../shared/migrations.mjs';
import { root } from '../../shared/wrangler.mjs';

await runs(main);

async function main() {
  const options = readOptions();
  if (options.help) return void process.stdout.write(USAGE);
  const toml = readToml();
  const parts = partsOf(toml);
  if (options.dryRun) return printPlan(parts, options);

  const { id: accountId, name, email } = await account();
  process.env.CLOUDFLARE_ACCOUNT_ID = accountId; // so that wrangler never chooses another
  say('account', `${name} (${accountId})${email ? `, as ${email}` : ''}`);
  const commit = commitHere();
  say('release', `${releaseHere(commit)}, as ${parts.worker}`);
  if (process.stdin.isTTY && !options.yes && !/^y(es)?$/i.test(await ask('Deploy to this account? [y/N] '))) {
    throw new ExpectedError('Nothing was changed. Set CLOUDFLARE_ACCOUNT_ID to choose another account.');
  }

  const databaseId = await database(parts.database, options.location);
  writeConfig(productionConfig(toml, databaseId, ''));
  for (const queue of parts.queues) await queueOf(queue);
  const state = await migrate();
  const existed = await setSecrets(parts, state, say);
  const publicUrl = await publicUrlOf(options.publicUrl, existed);
  if (existed) await warnOfStorage(options.yes);
  const withSaml = await saml(options.saml, existed);
  const url = await deploy(toml, databaseId, publicUrl, commit, withSaml);
  if (options.wait > 0) await waitForHealth(url, options.wait, parts.worker);
  announce(url, state.wraps.length === 0, options.wait > 0);
}

/** @param {string} question */
async function ask(question) {
  const terminal = readline.createInterface({ input: process.stdin, output: process.stdout });
  const answer = await terminal.question(question);
  terminal.close();
  return answer.trim();
}

// ---------------------------------------------------------------- the steps

/** @param {string} name @param {string | undefined} location */
async function database(name, location) {
  const found = await findDatabase(name);
  if (found) {
    say('database', `${name} exists${location ? '; its location was chosen when it was created' : ''}`);
    return found;
  }
  // Workers Builds asks nobody, and takes no options.
  let place = location ?? (process.env.WORKERS_CI ? 'auto' : undefined);
  if (!place && process.stdin.isTTY) {
    const list = Object.entries(PLACES).map(([short, long]) => `  ${short.padEnd(5)} ${long}\n`);
    process.stdout.write(
      `Where should the database be? Near the callers that write most; it cannot be moved later.\n${list.join('')}  auto  near this machine\n`,
    );
    place = (await ask('place [auto]: ')) || 'auto';
  }
  if (!place || !LOCATIONS.includes(place))
    throw new ExpectedError(
      `The database must be created, and cannot be moved later: pass --location with one of ${LOCATIONS.join(', ')} (auto: near this machine).`,
    );
  await wrangler(
    commands.createDatabase(name, place),
    `The database ${name} could not be created: do what the message below says, ${AGAIN}`,
  );
  const created = await findDatabase(name);
  if (!created)
    throw new ExpectedError(
      `The database ${name} was created but is not listed yet: wait a minute, ${AGAIN}`,
    );
  say('database', `${name} created (${place})`);
  return created;
}

/** @param {string} name */
async function queueOf(name) {
  if (await queueExists(name)) return say('queue', `${name} exists`);
  await wrangler(
    commands.createQueue(name),
    `The queue ${name} could not be created: do what the message below says, ${AGAIN}`,
  );
  say('queue', `${name} created`);
}

/** Applies missing migrations; a database migrated by a newer checkout is left unchanged. */
async function migrate() {
  const known = knownMigrations(path.join(root, 'migrations'));
  const before = await databaseState();
  const unknown = [...before.applied].find((name) => !known.includes(name));
  if (unknown)
    throw new ExpectedError(
      `The database was migrated by a newer checkout (${harmless(unknown)}): update this one, and deploy from there.`,
    );
  const missing = known.filter((name) => !before.applied.has(name));
  if (missing.length > 0)
    await wrangler(
      commands.migrate(),
      `The migrations could not be applied, and the previous code is still running: do what the message below says, ${AGAIN}`,
    );
  say('migrations', missing.length > 0 ? `applied ${missing.join(', ')}` : 'none to apply');
  return before;
}

/**
 * The requested address, or the deployment's current one; '' if unknown.
 * @param {string | undefined} asked
 * @param {boolean} exists
 */
async function publicUrlOf(asked, exists) {
  if (asked || !exists) return asked ?? '';
  return (await deployedBindings()).find(({ name }) => name === 'PUBLIC_URL')?.text ?? '';
}

/**
 * Deploys the SAML Worker, if that was asked for now or with an earlier deployment; whether it is there.
 * @param {boolean} asked
 * @param {boolean} exists
 */
async function saml(asked, exists) {
  if (!asked && !(exists && (await deployedBindings()).some(({ name }) => name === 'SAML'))) return false;
  const config = samlConfig();
  writeConfig(config, SAML_CONFIG);
  await wrangler(
    commands.deploySaml(),
    `The SAML Worker could not be deployed, and the previous code is still running: do what the message below says, ${AGAIN}`,
  );
  say('saml', `deployed as ${config.name}`);
  return true;
}

/**
 * Says whether this deployment can be taken back, before it changes the storage of gates.
 * @param {boolean | undefined} yes
 */
async function warnOfStorage(yes) {
  const before = storageIn(await deployedMessage());
  if (before === STORAGE_VERSION)
    return say(
      'gates',
      `storage version ${before} stays: an earlier release that knows it can be deployed again`,
    );
  const change =
    before === null
      ? `to storage version ${STORAGE_VERSION}`
      : `from storage version ${before} to ${STORAGE_VERSION}`;
  say(
    'gates',
    `each goes ${change} with its next request, which cannot be taken back: the release before then answers 503 for it`,
  );
  if (
    process.stdin.isTTY &&
    !yes &&
    !/^y(es)?$/i.test(await ask('Is there a backup, and should they? [y/N] '))
  )
    throw new ExpectedError(
      'The code was not deployed. The migrations are applied; the running release works with them.',
    );
}

/**
 * Deploys; twice if only the first deployment shows the address.
 * @returns {Promise<string>} the vault's origin
 */
async function deploy(toml, databaseId, publicUrl, commit, withSaml) {
  const report = path.join(root, path.dirname(CONFIG), 'deployed.ndjson');
  const once = async (url) => {
    writeConfig(productionConfig(toml, databaseId, url, commit, withSaml));
    fs.rmSync(report, { force: true });
    await wrangler(
      commands.deploy(messageOf(releaseHere(commit))),
      `The deployment failed: do what the message below says, ${AGAIN}`,
      {
        env: { WRANGLER_OUTPUT_FILE_PATH: report },
      },
    );
    return addressIn(fs.readFileSync(report, 'utf8'));
  };
  const address = await once(publicUrl);
  if (publicUrl) {
    say('deployed', publicUrl);
    return publicUrl;
  }
  if (!address)
    throw new ExpectedError(
      `The vault is deployed but has no workers.dev address: enable one in the dashboard and run this again, or pass --public-url.`,
    );
  await once(address);
  say('deployed', `${address}, its workers.dev address`);
  return address;
}

/** The workers.dev address in wrangler's report of a deployment. @param {string} report lines of JSON */
function addressIn(report) {
  const targets = report
    .split('\n')
    .flatMap((line) => (line.includes('"type":"deploy"') ? (JSON.parse(line).targets ?? []) : []));
  const host = targets
    .map((target) => /^(?:https:\/\/)?([\w.-]+\.workers\.dev)$/.exec(target)?.[1])
    .find(Boolean);
  return host && `https://${host}`;
}

/** @param {string} url @param {number} seconds @param {string} worker */
async function waitForHealth(url, seconds, worker) {
  const dots = process.stdout.isTTY;
  if (dots) process.stdout.write('waiting for the schedule to test the queue, up to a minute');
  let last = 'no response';
  for (const end = Date.now() + seconds * 1000; Date.now() < end; await sleep(2_000)) {
    const answer = await fetch(`${url}/healthz`, {
      redirect: 'error',
      signal: AbortSignal.timeout(10_000),
    }).catch(() => undefined);
    const body = await answer?.json().catch(() => undefined);
    if (dots) process.stdout.write('.');
    const health = readHealth(body);
    if (health && isServing(health)) {
      if (dots) process.stdout.write('\n');
      const problems = problemsOf(health);
      return say('health', problems.length ? `degraded; ${problems.join('; ')}` : 'callers can be served');
    }
    if (body?.error?.code === 'MISCONFIGURED')
      throw new ExpectedError(
        `The vault is running but misconfigured: ${harmless(String(body.error.message))}`,
      );
    last = health ? problemsOf(health).join('; ') : answer ? `status ${answer.status}` : 'no response';
  }
  if (dots) process.stdout.write('\n');
  throw new ExpectedError(
    `The vault is deployed, and ${url}/healthz does not say that callers can be served after ${seconds} s (${last}). If the address is your own, check that it leads to the Worker ${worker} (dashboard: Workers, ${worker}, Domains); a new workers.dev name can take minutes. npm run doctor -- --remote --url ${url} shows more.`,
  );
}

// ---------------------------------------------------------------- what the reader sees

/** @param {string} what @param {string} text */
function say(what, text) {
  process.stdout.write(`${what.padEnd(11)} ${harmless(text)}\n`);
}

function announce(url, isNew, waited) {
  const kept = fs.existsSync(varsFile)
    ? `
Keep ${VARS} offline: copy it to where no backup of the database is, such as a password manager or paper, and remove it here when you no longer need it.
MASTER_KEYS cannot be recovered: without it, nothing in the vault can be decrypted.
`
    : '';
  const first =
    isNew && kept
      ? `
Create an organisation; its first key is shown once:

curl -sS ${url}/api/v1/orgs -H "Authorization: Bearer $(sed -n 's/^BOOTSTRAP_TOKEN=//p' ${VARS})" -H 'Content-Type: application/json' -d '{"name":"Acme","owner":{"email":"you@example.com","name":"You"}}'
`
      : '';
  process.stdout.write(`
The vault is at ${url}${waited ? ', and works' : ''}.
${first}${kept}
${deployment === 'production' ? '' : `DEPLOYMENT=${deployment} `}npm run doctor -- --remote --url ${url} checks it at any time.
`);
}
