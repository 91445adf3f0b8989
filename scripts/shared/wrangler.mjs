// How the scripts run wrangler. Invariant: it asks nothing, sends no metrics, writes no log of its own, and
// runs on this Node.js.
import { spawn } from 'node:child_process';
import { createRequire } from 'node:module';
import path from 'node:path';
import { stripVTControlCharacters } from 'node:util';

/** The project's root: all paths start here, regardless of the working directory. */
export const root = path.resolve(import.meta.dirname, '..', '..');

/** What the configuration of a deployment adds to the build command of wrangler.toml. */
export const FOR_DEPLOYMENT = '--for-deployment';

const { resolve } = createRequire(path.join(root, 'package.json'));

/**
 * The arguments for Node, running the CLI itself, since the package's bin only adds another process.
 * @param {string[]} args
 */
export const wranglerArgs = (args) => ['--no-warnings', resolve('wrangler'), ...args];

export const wranglerEnv = {
  RUN_BY_SCRIPT: '1', // see scripts/build/assets.mjs
  CI: '1',
  NO_COLOR: '1',
  FORCE_COLOR: '0',
  WRANGLER_HIDE_BANNER: 'true', // also prevents the check for newer versions
  WRANGLER_SEND_METRICS: 'false',
  WRANGLER_WRITE_LOGS: 'false',
  X_LOCAL_OBSERVABILITY: 'false', // otherwise every URL and log line would be stored in the state
  X_LOCAL_EXPLORER: 'false', // otherwise anyone who can reach the port could browse the databases
  CLOUDFLARE_CF_FETCH_ENABLED: 'false', // request.cf is a placeholder, as it is offline
};

/**
 * Runs wrangler until it ends. Secrets are passed only by `input`, its stdin, never by an argument: those
 * appear in every process list.
 * @param {string[]} args
 * @param {{ input?: string, env?: Record<string, string | undefined> }} [options] `env` is added to this
 *   process's own
 * @returns {Promise<{ code: number, out: string, said: string }>} its stdout, and stdout and stderr together,
 *   without colours
 */
export function runWrangler(args, { input = '', env = {} } = {}) {
  const merged = { ...process.env, ...wranglerEnv, ...env };
  delete merged.CLOUDFLARE_ENV; // it would choose an environment that wrangler.toml does not have
  const child = spawn(process.execPath, wranglerArgs(args), {
    cwd: root,
    env: merged,
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  let out = '';
  let said = '';
  child.stdout.setEncoding('utf8').on('data', (text) => {
    out += text;
    said += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text) => {
    said += text;
  });
  child.stdin.on('error', () => {}).end(input); // it may end before it has read everything
  return new Promise((done) => {
    child.once('error', (error) => done({ code: 1, out: '', said: error.message }));
    child.once('close', (code) =>
      done({ code: code ?? 1, out: stripVTControlCharacters(out), said: stripVTControlCharacters(said) }),
    );
  });
}
