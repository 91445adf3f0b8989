// `npm start`: the service on this machine, from a fresh clone to working curl commands. Invariants: nothing
// is spawned before every setting has been validated; a fault is one line that names the next step, without
// any value; no spawned process outlives this one; a runtime that ends or stops responding is restarted, or
// this process ends with exit code 1.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import readline from 'node:readline';
import { pathToFileURL } from 'node:url';
import { stripVTControlCharacters } from 'node:util';
import { keepWorker, takeWorker, workerSources } from '../../build/worker-build.mjs';
import { knownMigrations } from '../../shared/migrations.mjs';
import { parseArgs } from '../../shared/npm-options.mjs';
import { harmless } from '../../shared/terminal.mjs';
import { root, wranglerArgs, wranglerEnv } from '../../shared/wrangler.mjs';
import { bootstrapTokenCommand, createDevVars, freshSecrets, readDevVars } from '../vault/dev-vars.mjs';
import { isLocalHost, originAt, reachedAt, readSettings } from '../vault/settings.mjs';
import {
  claimState,
  inspectState,
  LOCAL_WORKER,
  lostDatabase,
  setAlarmsAside,
  setVaultAside,
} from '../vault/state-dir.mjs';
import { isHealthPoll, isHealthy, lineReader } from './log-lines.mjs';
import { readiness } from './readiness.mjs';

const USAGE = `npm start -- [options]

  --log FORMAT   short (one line per request, the default) or json (the lines of the Worker, as a deployment logs them)
  --new          begin a new vault where the database of the old one is lost; what is left of that is set aside
  --saml         also run the SAML Worker, for sign-in by SAML
  --dev-registry register in wrangler's dev registry, so that "wrangler dev" of Workers on this machine can bind to it
  --help         print this

Its settings are variables of the shell or of .dev.vars: see docs/reference/environment-variables.md.
`;
const [server, assets] = ['serve.mjs', '../../build/assets.mjs'].map((file) =>
  path.join(import.meta.dirname, file),
);
const exitWithParent = pathToFileURL(path.join(import.meta.dirname, 'exit-with-parent.mjs')).href;
const STOP_WITHIN = 3_500;
/** Restarts allowed within ten minutes. */
const RESTARTS = 5;

/**
 * The current child, leader of its own process group; only one at a time.
 * @type {import('node:child_process').ChildProcess | undefined}
 */
let child;
/** When the runtime was restarted, within the last ten minutes. @type {number[]} */
let restarts = [];
/** When ending began. @type {number | undefined} */
let endingSince;

process.stdout.on('error', () => {}); // the reader may be gone: this process must still end in order
process.stderr.on('error', () => {});
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, onSignal);
endWithParent();

const { log, new: isNew, saml: withSaml, 'dev-registry': isRegistered } = readOptions();
const devVarsFile = path.join(root, '.dev.vars');
const { host, port, stateDir, worker } = await prepare();
// The state belongs only to this process, including what an earlier one left here.
const scratch = path.join(stateDir, 'tmp');
clearScratch();
orFail(
  () => fs.mkdirSync(scratch, { mode: 0o700 }),
  'STATE_DIR is not a writable directory: set it to one, or unset it for .wrangler/state',
);
process.on('exit', clearScratch);
const childVariables = { ...process.env, ...worker, ...wranglerEnv, TMPDIR: scratch };
delete childVariables.CLOUDFLARE_ENV;
const bundle = path.join(scratch, 'bundle');
const saml = withSaml ? path.join(scratch, 'saml') : null;
progress('Building the Worker');
await build();
progress('Preparing the database and starting the runtime');
await serve();

// ---------------------------------------------------------------- before anything is spawned

/** The options of the command. */
function readOptions() {
  const flag = { type: /** @type {const} */ ('boolean'), default: false };
  const parsed = orFail(
    () =>
      parseArgs({
        options: {
          log: { type: 'string', default: 'short' },
          new: flag,
          saml: flag,
          'dev-registry': flag,
          help: flag,
        },
      }).values,
    `Unknown option: npm start -- --help lists them`,
  );
  if (parsed.help) {
    process.stdout.write(USAGE);
    process.exit(0);
  }
  return ['short', 'json'].includes(parsed.log) ? parsed : fail('--log takes short or json');
}

/** All checks, and the keys of a first start. */
async function prepare() {
  let devVars = orFail(
    () => readDevVars(devVarsFile),
    '.dev.vars cannot be read: make it a file that its owner can read, or move it away',
  );
  const fresh = devVars ? {} : freshSecrets(process.env);
  const checked = (vars) => {
    const { settings, problem } = readSettings(process.env, vars);
    return settings ? { ...settings, stateDir: path.resolve(root, settings.stateDir) } : fail(problem);
  };
  let settings = checked(devVars?.vars ?? fresh);
  if (isRegistered && !isLocalHost(settings.host))
    fail(
      '--dev-registry gives programs of this machine access without a credential: unset HOST, or leave the option out',
    );
  const taken = await portProblem(settings);
  if (taken) fail(taken);
  const unusable = claimState(settings.stateDir);
  if (unusable) fail(unusable);
  const state = orFail(
    () => inspectState(settings.stateDir),
    'STATE_DIR contains a database that cannot be read: npm run doctor says why; a damaged one is replaced with npm run restore -- FILE --replace',
  );
  const known = knownMigrations(path.join(root, 'migrations'));
  const unknown = [...state.applied].find((name) => !known.includes(name));
  if (unknown)
    fail(
      `STATE_DIR was migrated by a newer checkout (${harmless(unknown)}): update this checkout, or set STATE_DIR to another directory`,
    );
  const lost = orFail(
    () => lostDatabase(settings.stateDir),
    'STATE_DIR contains a database that cannot be read: npm run doctor says why',
  );
  if (lost && !isNew) fail(`${lost[0]?.toUpperCase()}${lost.slice(1)}`);
  if (isNew && !lost && state.hasVault)
    fail('--new is for a vault whose database is lost, and this one has its database: leave it out');
  if (lost) {
    const to = orFail(
      () => setVaultAside(settings.stateDir),
      'STATE_DIR is not a writable directory: set it to one',
    );
    process.stderr.write(`What was left of the old vault is now in ${to}.\n`);
  }
  setDamagedAside(settings.stateDir);
  if (devVars && state.applied.size === 0)
    process.stderr.write(
      `There is no vault in ${settings.stateDir}: a new, empty one is created. If yours is elsewhere, end this and set STATE_DIR to its directory.\n`,
    );
  if (fresh.MASTER_KEYS && state.hasVault) {
    fail(
      'MASTER_KEYS is missing, but STATE_DIR already contains a vault: set MASTER_KEYS, or restore .dev.vars, with the keys that it was created with; new keys could not decrypt it',
    );
  }
  if (Object.keys(fresh).length > 0) {
    orFail(
      () => createDevVars(devVarsFile, fresh),
      '.dev.vars cannot be created: make the project directory writable, or set MASTER_KEYS and BOOTSTRAP_TOKEN',
    );
    devVars = readDevVars(devVarsFile);
    settings = checked(devVars?.vars ?? {});
  }
  if (devVars?.exposed)
    process.stderr.write('.dev.vars can be read by others on this machine: run chmod 600 .dev.vars\n');
  return settings;
}

/** Moves damaged files out of the way that would keep the runtime from starting. @param {string} dir */
function setDamagedAside(dir) {
  const to = orFail(
    () => setAlarmsAside(dir),
    'STATE_DIR contains a damaged file, and is not a writable directory: npm run doctor names both',
  );
  if (to)
    process.stderr.write(
      `Damaged files that said when tasks of gates are due are now in ${to}. Gates set them again.\n`,
    );
}

/** @param {{ host: string, port: number }} settings */
async function portProblem({ host, port }) {
  const probe = net.createServer().listen(port, host);
  try {
    await once(probe, 'listening');
    probe.close();
    await once(probe, 'close');
  } catch (error) {
    if (error.code === 'EADDRNOTAVAIL')
      return 'HOST is not an address of this machine: set it to one, or to 0.0.0.0 for all of them';
    return error.code === 'EADDRINUSE'
      ? 'PORT is in use: stop the process that listens there, or set PORT to a free one'
      : 'PORT requires more privileges: set PORT to a free one above 1023';
  }
}

// ---------------------------------------------------------------- child processes

/**
 * A script as leader of its own process group, which is stopped with this process. It gets the settings as
 * variables, so the Worker sees exactly the validated values: the shell takes precedence, and no `$` is
 * expanded.
 * @param {string[]} args
 * @param {(line: string) => void} onLine
 * @param {(message: unknown) => void} [onMessage]
 * @returns {Promise<number | string>} its exit code, or the signal that ended it
 */
function run(args, onLine, onMessage) {
  if (endingSince) return new Promise(() => {});
  const started = spawn(process.execPath, ['--import', exitWithParent, ...args], {
    cwd: root,
    detached: true,
    env: childVariables,
    stdio: ['ignore', 'pipe', 'pipe', 'pipe', ...(onMessage ? [/** @type {const} */ ('ipc')] : [])], // the fourth is for exit-with-parent.mjs
  });
  child = started;
  if (onMessage) started.on('message', onMessage);
  for (const input of [started.stdout, started.stderr])
    readline.createInterface({ input }).on('line', (line) => onLine(stripVTControlCharacters(line)));
  return new Promise((done) => {
    started.once('error', (error) => {
      onLine(error.message);
      done(1);
    });
    // The rest of the group would keep the port and the pipes open.
    started.once('exit', () => killGroup('SIGKILL', started));
    started.once('close', (code, signal) => {
      if (child === started) child = undefined;
      done(code ?? signal ?? 1);
    });
  });
}

/** Runs a script until it ends. @param {string[]} args @param {string} failure */
async function script(args, failure) {
  const lines = [];
  const code = await run(args, (line) => lines.push(line));
  if (!endingSince && code !== 0) giveUp(failure, lines);
}

/**
 * Makes what `wrangler deploy` would upload. What was built from the same sources before is taken as it is;
 * then only the files of pages are copied.
 */
async function build() {
  if (saml)
    await script(
      wranglerArgs(['deploy', '--dry-run', '--config', 'packages/saml/wrangler.toml', '--outdir', saml]),
      'The SAML Worker could not be built',
    );
  const sources = workerSources();
  if (takeWorker(sources, bundle)) return script([assets], 'The files of pages could not be copied');
  await script(wranglerArgs(['deploy', '--dry-run', '--outdir', bundle]), 'The Worker could not be built');
  keepWorker(sources, bundle);
}

async function serve() {
  const args = [
    server,
    '--host',
    host,
    '--port',
    String(port),
    '--state',
    stateDir,
    '--bundle',
    bundle,
    ...(saml ? ['--saml', saml] : []),
    ...(isRegistered ? ['--dev-registry'] : []),
  ];
  const print = printer();
  const { untilReady, untilSilent } = readiness(host, port);
  for (let first = true; ; first = false) {
    /** Output is buffered until the service is ready: it matters if the start fails. @type {string[]} */
    const early = [];
    const latest = [];
    let isSettled = false;
    let isShown = false;
    let isOver = false;
    const show = () => {
      isShown = true;
      for (const line of early.splice(0)) if (!isHealthPoll(line)) print(line);
    };
    const ended = run(
      ['--no-warnings', ...args],
      (line) => {
        latest.push(line);
        if (latest.length > 40) latest.shift();
        if (isShown) print(line);
        else early.push(line);
      },
      (message) => {
        if (message === 'ready') isSettled = true;
        else if (message === 'restarted') countRestart('workerd ended');
      },
    ).then((code) => `The runtime ended (${code})`);
    const start = await Promise.race([
      ended.then((why) => /** @type {const} */ ({ ready: false, fatal: false, why })),
      untilReady(
        () => isSettled,
        (problems) => {
          tellProblems('The service runs at', 'but cannot serve callers', problems);
          show();
        },
      ),
    ]);
    if (!start.ready && start.fatal) fail(start.why);
    if (!start.ready && first) return giveUp(start.why, latest);
    if (start.ready) {
      if (first) announce();
      else process.stderr.write('The service is back.\n');
      if (start.problems.length)
        tellProblems('The service serves callers at', 'but is degraded', start.problems);
      show();
    }
    const why = start.ready ? await Promise.race([ended, untilSilent(() => isOver)]) : start.why;
    isOver = true;
    if (!countRestart(why, start.ready ? [] : latest)) return;
    killGroup('SIGKILL');
    await ended;
  }
}

function printer() {
  const read = lineReader(Boolean(process.stdout.isTTY) && !process.env.NO_COLOR, log === 'json');
  return (/** @type {string} */ line) => {
    const text = isHealthy(line) ? undefined : read(line);
    if (text !== undefined) process.stdout.write(`${text}\n`);
  };
}

/**
 * Whether the runtime may be restarted; if not, this process ends.
 * @param {string} why
 * @param {string[]} [words] earlier output
 */
function countRestart(why, words = []) {
  if (endingSince) return false;
  const now = Date.now();
  restarts = [...restarts.filter((at) => at > now - 600_000), now];
  const again = restarts.length <= RESTARTS;
  if (again) process.stderr.write(`${why}: restarting it\n`);
  else giveUp(`${why}, for the ${restarts.length}th time within ten minutes: npm start ends`, words);
  return again;
}

// ---------------------------------------------------------------- what the reader sees

function announce() {
  const at = originAt(host, port);
  const fromShell = process.env.BOOTSTRAP_TOKEN !== undefined;
  const token = fromShell
    ? '$BOOTSTRAP_TOKEN'
    : `$(${bootstrapTokenCommand(devVarsFile, readDevVars(devVarsFile)?.text ?? '')})`;
  const json = "-H 'Content-Type: application/json'";
  if (!isLocalHost(host))
    process.stdout.write(`
HOST is ${host}: other machines reach this service, over plain HTTP. It cannot verify their addresses, so credentials that are limited
to addresses are refused. Set PUBLIC_URL to the origin that they use.
`);
  if (isRegistered)
    process.stdout.write(`
Registered in wrangler's dev registry as ${LOCAL_WORKER}: any program on this machine can call this service as any bound Worker, and
reach its storage, without a credential. Use it for development alone.
`);
  process.stdout.write(`
Secrets Vault Service is ready at ${worker.PUBLIC_URL}${worker.PUBLIC_URL === at ? '' : ` (here ${at})`}; Ctrl-C ends it.
Console: ${worker.PUBLIC_URL}/console · API reference: ${at}/docs · OpenAPI: ${at}/api/v1/openapi.json

${
  isLocalHost(reachedAt(host))
    ? `To create an organisation, run this in another terminal, in ${root}:

npx --no-install svc org create Acme --email you@example.com --url ${at}

With curl instead`
    : 'To create an organisation, store a secret and read it back'
}, paste these in another terminal${fromShell ? ' where BOOTSTRAP_TOKEN is set' : ''}:

ANSWER=$(curl -sS ${at}/api/v1/orgs -H "Authorization: Bearer ${token}" ${json} -d '{"name":"Acme","owner":{"email":"you@example.com","name":"You"}}'); ORG=$(printf '%s' "$ANSWER" | sed -n 's/.*"org":{[^{}]*"id":"\\([^"]*\\)".*/\\1/p'); KEY=$(printf '%s' "$ANSWER" | sed -n 's/.*"token":"\\([^"]*\\)".*/\\1/p'); if [ -n "$KEY" ]; then echo "organisation $ORG"; printf '%s' "$ANSWER" | sed -n 's/.*"enrolment_url":"\\([^"]*\\)".*/to sign in, register a passkey: \\1/p'; else printf '%s\\n' "$ANSWER"; fi

curl -sS -w '\\n' "${at}/api/v1/orgs/$ORG/secrets" -H "Authorization: Bearer $KEY" ${json} -d '{"name":"DATABASE_URL","type":"database_url","value":"postgres://app:s3cret@db.example.com:5432/app"}'

curl -sS -w '\\n' "${at}/api/v1/orgs/$ORG/secrets/by-name/DATABASE_URL" -H "Authorization: Bearer $KEY"

`);
}

/**
 * Tells what is wrong with a running service.
 * @param {string} what
 * @param {string} how
 * @param {string[]} problems
 */
function tellProblems(what, how, problems) {
  process.stderr.write(
    `${[`${what} ${worker.PUBLIC_URL}, ${how}:`, ...problems.map((line) => `  ${line}`)].join('\n')}\n`,
  );
}

/** Prints the next step of `npm start`. @param {string} step */
function progress(step) {
  if (!endingSince) process.stdout.write(`${step} …\n`);
}

/**
 * Prints one line and ends: for faults found before anything runs, or reported by the Worker itself. @param
 * {string} line @returns {never}
 */
function fail(line) {
  process.stderr.write(`${line}\n`);
  if (child) killGroup('SIGKILL');
  process.exit(1);
}

/** @template T @param {() => T} attempt @param {string} line @returns {T} */
function orFail(attempt, line) {
  try {
    return attempt();
  } catch {
    return fail(line);
  }
}

/** @param {string} line @param {string[]} words earlier output */
function giveUp(line, words) {
  if (endingSince) return;
  const firstError = words.findIndex((word) => word.includes('[ERROR]'));
  const telling = words.slice(Math.max(firstError, 0)).filter((word) => !isHealthPoll(word));
  const said = telling
    .map(lineReader(false))
    .filter((word) => word?.trim())
    .slice(-20);
  process.stderr.write(
    `${[said.length ? `${line}:` : line, ...said.map((word) => `  ${word}`)].join('\n')}\n`,
  );
  end(1);
}

// ---------------------------------------------------------------- ending

/** @param {NodeJS.Signals} signal @param {import('node:child_process').ChildProcess} [leader] */
function killGroup(signal, leader = child) {
  try {
    if (leader?.pid) process.kill(-leader.pid, signal);
  } catch {} // it is gone already
}

/** What cannot be removed now is removed at the next start. */
function clearScratch() {
  try {
    fs.rmSync(scratch, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 });
  } catch {}
}

/**
 * Ends the group gracefully, then by force; processes that outlive their leader are killed.
 * @param {number} code
 */
function end(code) {
  if (endingSince) return;
  endingSince = Date.now();
  const finish = () => {
    killGroup('SIGKILL');
    process.exit(code);
  };
  if (!child) return finish();
  child.once('exit', finish);
  setTimeout(finish, STOP_WITHIN);
  // The runtime goes on for a moment: see serve.mjs.
  child.kill('SIGTERM');
}

function onSignal() {
  // Ctrl-C arrives twice at the same moment, from the terminal and from npm, which forwards it: only a later
  // one is a second Ctrl-C.
  if (endingSince && Date.now() - endingSince > 500) {
    killGroup('SIGKILL');
    process.exit(130);
  }
  end(0);
}

/**
 * Under npm, ends once npm has ended. The npm script uses `exec node`, so no shell is in between: a shell
 * would keep npm's signals and outlive npm unnoticed.
 */
function endWithParent() {
  if (process.env.npm_lifecycle_event === undefined) return;
  const parent = process.ppid;
  setInterval(() => process.ppid === parent || end(0), 500).unref();
}
