// `npm start`: the service on this machine, from a fresh clone to curl commands that work. Invariants: nothing is spawned before every
// setting has been checked; a fault is one line that says what to do, without any value; and nothing that was spawned outlives this process.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import http from 'node:http';
import net from 'node:net';
import path from 'node:path';
import readline from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { stripVTControlCharacters } from 'node:util';
import { bootstrapTokenCommand, createDevVars, freshSecrets, readDevVars } from './dev-vars.mjs';
import { harmless, isHealthPoll, lineReader } from './log.mjs';
import { readSettings } from './settings.mjs';
import { claimState, inspectState, knownMigrations } from './state.mjs';
import { root, wranglerArgs, wranglerEnv } from './wrangler.mjs';

const READY_WITHIN = 90_000;
const STOP_WITHIN = 3_500;
const CRON = '/cdn-cgi/local/scheduled?cron=*+*+*+*+*';

/** The child of the moment, leader of its own process group; one at a time. @type {import('node:child_process').ChildProcess | undefined} */
let child;
/** When ending began. @type {number | undefined} */
let endingSince;

process.stdout.on('error', () => {}); // whoever read us may be gone: that must not keep us from ending in order
process.stderr.on('error', () => {});
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, onSignal);
endWithParent();

const devVarsFile = path.join(root, '.dev.vars');
const { port, stateDir, worker } = await prepare();
const wranglerVariables = { ...process.env, ...worker, ...wranglerEnv, CLOUDFLARE_DEV_REGISTRY_PATH: path.join(stateDir, 'registry') };
delete wranglerVariables.CLOUDFLARE_ENV;
await migrate();
await serve();

// ---------------------------------------------------------------- before anything is spawned

/** Every check, and the keys of a first start. */
async function prepare() {
  let devVars = orFail(() => readDevVars(devVarsFile), '.dev.vars cannot be read: make it a file that its owner may read, or move it away');
  const fresh = devVars ? {} : freshSecrets(process.env);
  const checked = (vars) => {
    const { settings, problem } = readSettings(process.env, vars);
    return settings ? { ...settings, stateDir: path.resolve(root, settings.stateDir) } : fail(problem);
  };
  let settings = checked(devVars?.vars ?? fresh);
  const taken = await portProblem(settings.port);
  if (taken) fail(taken);
  const unusable = claimState(settings.stateDir);
  if (unusable) fail(unusable);
  const state = orFail(
    () => inspectState(settings.stateDir),
    'STATE_DIR holds a database that cannot be read: restore it from a backup, or set STATE_DIR to another directory',
  );
  const known = knownMigrations(path.join(root, 'migrations'));
  const unknown = [...state.applied].find((name) => !known.includes(name));
  if (unknown)
    fail(`STATE_DIR was migrated by a newer checkout (${harmless(unknown)}): update this checkout, or set STATE_DIR to another directory`);
  if (fresh.MASTER_KEYS && state.hasVault) {
    fail(
      'MASTER_KEYS is missing and STATE_DIR already holds a vault: set MASTER_KEYS, or put back .dev.vars, with the keys that it was made with; new ones could not open it',
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
  if (devVars?.exposed) process.stderr.write('.dev.vars can be read by others on this machine: run chmod 600 .dev.vars\n');
  return settings;
}

/** @param {number} port */
async function portProblem(port) {
  const probe = net.createServer().listen(port, '127.0.0.1');
  try {
    await once(probe, 'listening');
    probe.close();
    await once(probe, 'close');
  } catch (error) {
    return error.code === 'EADDRINUSE'
      ? 'PORT is taken: stop what listens there, or set PORT to a free one'
      : 'PORT may not be listened on: set PORT to a free one above 1023';
  }
}

// ---------------------------------------------------------------- what is spawned

/**
 * Wrangler as leader of a process group of its own, tethered to this process. It is given the settings as variables and an empty file
 * in place of .dev.vars, so that what was checked is what the Worker sees: the shell wins, and no `$` is expanded.
 * @param {string[]} args
 * @param {(line: string) => void} onLine
 */
function run(args, onLine) {
  if (endingSince) return new Promise(() => {});
  const started = spawn(
    process.execPath,
    ['--import', pathToFileURL(path.join(root, 'scripts', 'tether.mjs')).href, ...wranglerArgs(args)],
    {
      cwd: root,
      detached: true,
      env: wranglerVariables,
      stdio: ['ignore', 'pipe', 'pipe', 'pipe'], // the last is the tether,
    },
  );
  child = started;
  for (const input of [started.stdout, started.stderr])
    readline.createInterface({ input }).on('line', (line) => onLine(stripVTControlCharacters(line)));
  return new Promise((done) => {
    started.once('error', (error) => onLine(error.message));
    started.once('close', (code, signal) => {
      child = undefined;
      done(code ?? signal ?? 1);
    });
  });
}

async function migrate() {
  const applied = inspectState(stateDir).applied;
  if (knownMigrations(path.join(root, 'migrations')).every((name) => applied.has(name))) return;
  const lines = [];
  const code = await run(['d1', 'migrations', 'apply', 'DB', '--local', '--persist-to', stateDir], (line) => lines.push(line));
  if (endingSince || code === 0) return;
  giveUp('The migrations could not be applied; this is the reason:', lines);
}

async function serve() {
  const colour = Boolean(process.stdout.isTTY) && !process.env.NO_COLOR;
  const read = lineReader(colour);
  const print = (line) => {
    const text = read(line);
    if (text !== undefined) process.stdout.write(`${text}\n`);
  };
  /** Until the service is ready its words are kept: they matter where it fails. @type {string[]} */
  let early = [];
  let ready = false;
  const latest = [];
  const args = ['dev', '--port', String(port), '--ip', '127.0.0.1', '--persist-to', stateDir, '--env-file', '/dev/null'];
  // `log` is the lowest level that lets the Worker's console.log through.
  args.push('--inspector-port', '0', '--log-level', 'log', '--show-interactive-dev-session=false');
  run(args, (line) => {
    latest.push(line);
    if (latest.length > 40) latest.shift();
    if (ready) return print(line);
    early.push(line);
  }).then((code) => giveUp(`wrangler ended (${code}); it said last:`, latest));

  const problem = await untilReady();
  if (problem) return giveUp(problem, latest);
  ready = true;
  announce();
  for (const line of early) if (!isHealthPoll(line)) print(line);
  early = [];
  let running = false;
  setInterval(async () => {
    if (running) return;
    running = true;
    await ask(CRON, 300_000);
    running = false;
  }, 60_000);
}

/** Resolves once /healthz is 200 and the scheduled handler, which nothing fires locally, has run once; or with what went wrong. */
async function untilReady() {
  let woken = false;
  for (const end = Date.now() + READY_WITHIN; Date.now() < end; await sleep(100)) {
    const answer = await ask('/healthz', 2_000);
    if (answer?.status === 503 && answer.error?.code === 'MISCONFIGURED') fail(harmless(String(answer.error.message)));
    if (answer && !woken) {
      woken = true;
      await ask(CRON, 5_000);
    } else if (answer?.status === 200) return undefined;
  }
  return `The service was not ready within ${READY_WITHIN / 1000} s; wrangler said last:`;
}

/**
 * GET on the service; undefined where it gave no answer in time. Not fetch(), which refuses some ports.
 * @param {string} target
 * @param {number} ms
 * @returns {Promise<{ status?: number, error?: { code?: string, message?: string } } | undefined>}
 */
function ask(target, ms) {
  return new Promise((done) => {
    const request = http.get({ host: '127.0.0.1', port, path: target, agent: false, signal: AbortSignal.timeout(ms) }, async (response) => {
      let text = '';
      try {
        for await (const part of response.setEncoding('utf8')) if (text.length < 65_536) text += part;
        done({ status: response.statusCode, error: response.statusCode === 200 ? undefined : JSON.parse(text)?.error });
      } catch {
        done(response.complete ? { status: response.statusCode } : undefined);
      }
    });
    request.on('error', () => done(undefined));
  });
}

// ---------------------------------------------------------------- what the reader sees

function announce() {
  const at = `http://localhost:${port}`;
  const fromShell = process.env.BOOTSTRAP_TOKEN !== undefined;
  const token = fromShell ? '$BOOTSTRAP_TOKEN' : `$(${bootstrapTokenCommand(devVarsFile, readDevVars(devVarsFile)?.text ?? '')})`;
  const json = "-H 'Content-Type: application/json'";
  process.stdout.write(`
Secrets Vault Service is ready at ${worker.PUBLIC_URL}${worker.PUBLIC_URL === at ? '' : ` (here ${at})`}; Ctrl-C ends it.
To create an organisation, store a secret and read it back, paste these in another terminal${fromShell ? ' where BOOTSTRAP_TOKEN is set' : ''}:

ANSWER=$(curl -sS ${at}/api/v1/orgs -H "Authorization: Bearer ${token}" ${json} -d '{"name":"Acme","owner":{"email":"you@example.com","name":"You"}}'); ORG=$(printf '%s' "$ANSWER" | sed -n 's/.*"org":{[^{}]*"id":"\\([^"]*\\)".*/\\1/p'); KEY=$(printf '%s' "$ANSWER" | sed -n 's/.*"token":"\\([^"]*\\)".*/\\1/p'); if [ -n "$KEY" ]; then echo "organisation $ORG"; else printf '%s\\n' "$ANSWER"; fi

curl -sS -w '\\n' "${at}/api/v1/orgs/$ORG/secrets" -H "Authorization: Bearer $KEY" ${json} -d '{"name":"DATABASE_URL","type":"database_url","value":"postgres://app:s3cret@db.example.com:5432/app"}'

curl -sS -w '\\n' "${at}/api/v1/orgs/$ORG/secrets/by-name/DATABASE_URL" -H "Authorization: Bearer $KEY"

`);
}

/** One line, and the end: for faults found before anything runs, or that the Worker itself names. @param {string} line @returns {never} */
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

/** @param {string} line @param {string[]} words what was said before */
function giveUp(line, words) {
  if (endingSince) return;
  const firstError = words.findIndex((word) => word.includes('[ERROR]'));
  const telling = words.slice(Math.max(firstError, 0)).filter((word) => !isHealthPoll(word));
  const said = telling
    .map(lineReader(false))
    .filter((word) => word?.trim())
    .slice(-20);
  process.stderr.write(`${[line, ...said.map((word) => `  ${word}`)].join('\n')}\n`);
  end(1);
}

// ---------------------------------------------------------------- ending

/** @param {NodeJS.Signals} signal */
function killGroup(signal) {
  try {
    if (child?.pid) process.kill(-child.pid, signal);
  } catch {} // it is gone already
}

/** Ends the group in order, then by force; whatever of it outlives its leader is killed. @param {number} code */
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
  killGroup('SIGTERM');
}

function onSignal() {
  // Ctrl-C reaches us twice at one moment, from the terminal and from npm, which passes it on: only a later one is impatience.
  if (endingSince && Date.now() - endingSince > 500) {
    killGroup('SIGKILL');
    process.exit(130);
  }
  end(0);
}

/**
 * Under npm, ends once npm is gone. The npm script says `exec node`, so that no shell stands between: one would keep npm's signals to itself
 * and outlive npm unseen.
 */
function endWithParent() {
  if (process.env.npm_lifecycle_event === undefined) return;
  const parent = process.ppid;
  setInterval(() => process.ppid === parent || end(0), 500).unref();
}
