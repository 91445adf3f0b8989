// The real service for tests of scripts: `npm start` on a copy of the project, with a state of its own.
import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { after } from 'node:test';
import { reachedAt } from '../../scripts/settings.mjs';

export const project = path.resolve(import.meta.dirname, '..', '..');
const LEFT_OUT = ['node_modules', '.git', '.sdks', '.wrangler', '.dev.vars', '.production.vars'];
/** What packages have installed for themselves. */
const IN_PACKAGES = /packages.[^/\\]+.node_modules$/;
const NOT_INHERITED = [
  ...['HOST', 'PORT', 'STATE_DIR', 'BOOTSTRAP_TOKEN', 'MASTER_KEYS', 'ALLOW_PRIVATE_TARGETS', 'PLATFORM_BASE_URLS', 'PUBLIC_URL'],
  ...['NODE_TEST_CONTEXT', 'NODE_OPTIONS', 'INIT_CWD'],
];
/** The environment of a shell in which nothing of the service is set. */
export const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !NOT_INHERITED.includes(name)));

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
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'vault-'));
  fs.cpSync(project, dir, {
    recursive: true,
    filter: (from) => !LEFT_OUT.includes(path.relative(project, from)) && !IN_PACKAGES.test(from),
  });
  fs.symlinkSync(fs.realpathSync(path.join(project, 'node_modules')), path.join(dir, 'node_modules'));
  after(() => fs.rmSync(dir, { recursive: true, force: true, maxRetries: 20, retryDelay: 250 }));
  return dir;
}

/**
 * Starts the service in a copy of the project and waits until it answers and has printed its banner. It is stopped at the end of the test or
 * suite that called this, also after a `restart` in a test within.
 * @param {string} dir
 * @param {Record<string, string>} [variables]
 */
export async function startService(dir, variables = {}) {
  const port = variables.PORT ? Number(variables.PORT) : await freePort();
  const base = `http://${reachedAt(variables.HOST ?? '127.0.0.1')}:${port}`;
  /** @type {import('node:child_process').ChildProcessByStdio<null, import('node:stream').Readable, import('node:stream').Readable>} */
  let child;
  let said = '';
  const start = async () => {
    child = spawn('npm', ['start'], {
      cwd: dir,
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...env, ...variables, PORT: String(port) },
    });
    said = '';
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (data) => (said += data));
    for (let waited = 0; ; waited += 200) {
      const well = await fetch(`${base}/healthz`, { signal: AbortSignal.timeout(2000) }).catch(() => null);
      if (well?.status === 200 && said.includes(' is ready at ')) break;
      assert.ok(waited < 100_000 && child.exitCode === null, `the service did not start: ${said.slice(-800)}`);
      await new Promise((done) => setTimeout(done, 200));
    }
  };
  const stop = async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, 'close');
    process.kill(-child.pid, 'SIGTERM');
    await ended;
  };
  const restart = async () => {
    await stop();
    await start();
  };
  after(() => stop().catch(() => {}));
  await start();
  /** What it was made with, from .dev.vars. @param {string} name */
  const variable = (name) => new RegExp(`^${name}="?([^"\n]*)`, 'm').exec(fs.readFileSync(path.join(dir, '.dev.vars'), 'utf8'))?.[1] ?? '';
  /** @param {string} method @param {string} at @param {string} token @param {unknown} [body] @param {Record<string, string>} [headers] */
  const call = async (method, at, token, body, headers = {}) => {
    const answer = await fetch(`${base}/api/v1${at}`, {
      method,
      headers: { Authorization: `Bearer ${token}`, ...(body !== undefined && { 'Content-Type': 'application/json' }), ...headers },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
    const text = await answer.text();
    return { status: answer.status, headers: answer.headers, json: text ? JSON.parse(text) : null };
  };
  const pid = () => /** @type {number} */ (child.pid);
  return { port, base, stop, restart, call, variable, said: () => said, pid, exitCode: () => child.exitCode };
}

/**
 * Runs a script to its end, while the test's own calls go on. Nothing listens on port 1: a service of somebody else's on the default port is
 * not taken for the test's, which is named by PORT or --url.
 * @param {string} dir @param {string[]} args @param {Record<string, string>} [variables]
 * @returns {Promise<{ status: number, stdout: string, said: string }>}
 */
export const runScript = (dir, args, variables = {}) =>
  new Promise((done) =>
    execFile(process.execPath, args, { cwd: dir, env: { ...env, PORT: '1', ...variables } }, (error, stdout, stderr) =>
      done({ status: error ? Number(error.code ?? 1) : 0, stdout, said: stdout + stderr }),
    ),
  );
