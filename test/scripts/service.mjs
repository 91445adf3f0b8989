// The real service for tests of scripts: `npm start` on a copy of the project, with a state of its own.
import assert from 'node:assert/strict';
import { execFile, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { after } from 'node:test';
import { reachedAt } from '../../scripts/operate/vault/settings.mjs';

export const project = path.resolve(import.meta.dirname, '..', '..');
const { scripts } = JSON.parse(fs.readFileSync(path.join(project, 'package.json'), 'utf8'));
/**
 * The script that an npm command runs, relative to the project.
 * @param {string} command such as `keys:rotate`
 */
export const scriptOf = (command) => /** @type {string} */ (/scripts\/\S+\.mjs/.exec(scripts[command])?.[0]);
const LEFT_OUT = ['node_modules', '.git', '.sdks', '.wrangler', '.dev.vars', '.production.vars'];
/** What packages have installed for themselves. */
const IN_PACKAGES = /packages.[^/\\]+.node_modules$/;
const NOT_INHERITED = [
  ...[
    'HOST',
    'PORT',
    'STATE_DIR',
    'BOOTSTRAP_TOKEN',
    'MASTER_KEYS',
    'ALLOW_PRIVATE_TARGETS',
    'PLATFORM_BASE_URLS',
    'METRICS_TOKEN',
    'DNS_OVER_HTTPS_URL',
    'PUBLIC_URL',
  ],
  ...['NODE_TEST_CONTEXT', 'NODE_OPTIONS', 'INIT_CWD'],
];
/** The environment of a shell in which nothing of the service is set. */
export const env = Object.fromEntries(
  Object.entries(process.env).filter(([name]) => !NOT_INHERITED.includes(name)),
);

/** A free port. */
export const freePort = () =>
  new Promise((done) => {
    const probe = net.createServer();
    probe.listen(0, '127.0.0.1', () => {
      const { port: got } = /** @type {net.AddressInfo} */ (probe.address());
      probe.close(() => done(got));
    });
  });

/** A copy of the project, as a fresh clone would be; removed after the test. */
export function copyOfProject() {
  const dir = copied();
  after(() => removed(dir));
  return dir;
}

/** A copy of the project that somebody else removes. */
export function copied() {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'vault-'));
  fs.cpSync(project, dir, {
    recursive: true,
    filter: (from) => !LEFT_OUT.includes(path.relative(project, from)) && !IN_PACKAGES.test(from),
  });
  fs.symlinkSync(fs.realpathSync(path.join(project, 'node_modules')), path.join(dir, 'node_modules'));
  return dir;
}

/** Removes a copy, and the logs of its services. @param {string} dir */
export function removed(dir) {
  const logs = fs.readdirSync(path.dirname(dir)).filter((name) => name.startsWith(`${path.basename(dir)}.`));
  for (const entry of [path.basename(dir), ...logs])
    fs.rmSync(path.join(path.dirname(dir), entry), {
      recursive: true,
      force: true,
      maxRetries: 20,
      retryDelay: 250,
    });
}

/**
 * Starts the service in a copy of the project and waits until it answers and has printed its banner. It is
 * stopped at the end of the test or suite that called this, also after a `restart` in a test within.
 * @param {string} dir
 * @param {Record<string, string>} [variables]
 * @param {string[]} [options] of `npm start`
 */
export async function startService(dir, variables = {}, options = []) {
  const started = launch(dir, variables, await freePort(), options);
  after(() => started.stop().catch(() => {}));
  await started.ready();
  return started;
}

/**
 * The service that the test files of a run share, in a copy of the project with a state of its own. It is for
 * tests that change nothing but organisations of their own: set-up.mjs starts it for all of them, and a file
 * that runs by itself starts one.
 */
export async function sharedService() {
  const { dir, port } = JSON.parse(process.env.SHARED_SERVICE ?? '{}');
  if (dir) return { dir, ...reached(dir, port, `http://127.0.0.1:${port}`) };
  const copy = copyOfProject();
  return { dir: copy, ...(await startService(copy)) };
}

/**
 * Starts the service. @param {string} dir @param {Record<string, string>} variables @param {number} free a
 * port, unless a variable names one
 * @param {string[]} [options] of `npm start`
 */
export function launch(dir, variables, free, options = []) {
  const port = variables.PORT ? Number(variables.PORT) : free;
  const service = reached(dir, port, `http://${reachedAt(variables.HOST ?? '127.0.0.1')}:${port}`);
  const start = () => {
    const log = fs.openSync(logOf(dir, port), 'w', 0o600);
    const started = spawn('npm', ['start', '--', ...options], {
      cwd: dir,
      detached: true,
      stdio: ['ignore', log, log],
      env: { ...env, ...variables, PORT: String(port) },
    });
    fs.closeSync(log);
    return started;
  };
  let child = start();
  const ready = async () => {
    for (let waited = 0; ; waited += 200) {
      const well = await fetch(`${service.base}/healthz`, { signal: AbortSignal.timeout(2000) }).catch(
        () => null,
      );
      if (well?.status === 200 && service.said().includes(' is ready at ')) return;
      assert.ok(
        waited < 100_000 && child.exitCode === null,
        `the service did not start: ${service.said().slice(-800)}`,
      );
      await new Promise((done) => setTimeout(done, 200));
    }
  };
  const pid = () => /** @type {number} */ (child.pid);
  const stop = async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, 'close');
    process.kill(-pid(), 'SIGTERM');
    await ended;
  };
  const restart = async () => {
    await stop();
    child = start();
    await ready();
  };
  return { ...service, ready, stop, restart, pid, exitCode: () => child.exitCode };
}

/** The processes of its runtime, to be killed. @param {{ pid(): number }} service */
export function runtimesOf(service) {
  const rows = execFileSync('ps', ['-eo', 'pid=,ppid=,args='], { encoding: 'utf8' })
    .split('\n')
    .map((row) => /^\s*(\d+)\s+(\d+)\s+(.*)$/.exec(row))
    .filter((row) => row !== null)
    .map(([, pid, parent, args]) => ({ pid: Number(pid), parent: Number(parent), args }));
  const found = rows.filter(({ pid }) => pid === service.pid());
  for (const one of found) found.push(...rows.filter(({ parent }) => parent === one.pid));
  return found.filter(({ args }) => args.includes('workerd serve')).map(({ pid }) => pid);
}

/**
 * Where a service writes what it says: beside the copy, of which tests read every file.
 * @param {string} dir
 * @param {number} port
 */
const logOf = (dir, port) => `${dir}.${port}.log`;

/**
 * Calls of a service, and what it was made with and says.
 * @param {string} dir
 * @param {number} port
 * @param {string} base
 */
function reached(dir, port, base) {
  /** From .dev.vars. @param {string} name */
  const variable = (name) =>
    new RegExp(`^${name}="?([^"\n]*)`, 'm').exec(fs.readFileSync(path.join(dir, '.dev.vars'), 'utf8'))?.[1] ??
    '';
  /**
   * @param {string} method
   * @param {string} at
   * @param {string} token
   * @param {unknown} [body]
   * @param {Record<string, string>} [headers]
   */
  const call = async (method, at, token, body, headers = {}) => {
    const answer = await fetch(`${base}/api/v1${at}`, {
      method,
      headers: {
        Authorization: `Bearer ${token}`,
        ...(body !== undefined && { 'Content-Type': 'application/json' }),
        ...headers,
      },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
    const text = await answer.text();
    return { status: answer.status, headers: answer.headers, json: text ? JSON.parse(text) : null };
  };
  return { port, base, call, variable, said: () => fs.readFileSync(logOf(dir, port), 'utf8') };
}

/**
 * Runs a script to its end, while the test's own calls go on. Nothing listens on port 1: a service of
 * somebody else's on the default port is not taken for the test's, which is named by PORT or --url.
 * @param {string} dir @param {string[]} args @param {Record<string, string>} [variables]
 * @returns {Promise<{ status: number, stdout: string, said: string }>}
 */
export const runScript = (dir, args, variables = {}) =>
  new Promise((done) =>
    execFile(
      process.execPath,
      args,
      { cwd: dir, env: { ...env, PORT: '1', ...variables } },
      (error, stdout, stderr) =>
        done({ status: error ? Number(error.code ?? 1) : 0, stdout, said: stdout + stderr }),
    ),
  );

/**
 * Runs an npm command, as `runScript` does.
 * @param {string} dir
 * @param {string} command
 * @param {string[]} args
 * @param {Record<string, string>} [variables]
 */
export const runCommand = (dir, command, args, variables) =>
  runScript(dir, [scriptOf(command), ...args], variables);
