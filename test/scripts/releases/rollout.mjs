// Two releases against one state, as during a gradual deployment: the Worker of one, and the Durable Objects
// of either. A release is built from its tag.
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { convertV4MiniflareOptions, Log, LogLevel, Miniflare } from 'miniflare';
import { unstable_getMiniflareWorkerOptions as workerOptions } from 'wrangler';
import { assetsBinding } from '../../../scripts/build/assets.mjs';
import { applyMigrations } from '../../../scripts/operate/vault/migrate.mjs';
import { root, wranglerArgs, wranglerEnv } from '../../../scripts/shared/wrangler.mjs';

export const BOOTSTRAP = 'bootstrap-token-of-the-tests-0123456789';
/** A loopback address: others refuse targets on this machine. */
const ORIGIN = 'http://localhost';
process.env.WRANGLER_LOG ??= 'error'; // it warns of secrets that the tests pass themselves

/** @param {string[]} args */
const git = (args) =>
  execFileSync('git', args, { cwd: root, maxBuffer: 1e9, stdio: ['ignore', 'pipe', 'pipe'] });

/** The tag of the release before this one; null where there is no history. */
export function releaseBefore() {
  try {
    return git(['describe', '--tags', '--abbrev=0', '--match', 'v*', 'HEAD^']).toString().trim();
  } catch {
    return null;
  }
}

/** A file of a release. @param {string} tag @param {string} file */
export const fileOf = (tag, file) => git(['show', `${tag}:${file}`]).toString();

/**
 * The sources of a release, with the packages that are installed here.
 * @param {string} tag
 */
export function checkout(tag) {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'release-'));
  execFileSync('tar', ['-x', '-C', dir], { input: git(['archive', tag]) });
  fs.symlinkSync(fs.realpathSync(path.join(root, 'node_modules')), path.join(dir, 'node_modules'));
  return dir;
}

/**
 * Builds the Worker of a checkout: its options, for the local runtime.
 * @param {string} dir
 */
export function build(dir) {
  const to = fs.mkdtempSync(path.join(os.tmpdir(), 'worker-'));
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    wranglerArgs(['deploy', '--dry-run', '--outdir', to]),
    { cwd: dir, encoding: 'utf8', env: { ...process.env, ...wranglerEnv } },
  );
  assert.equal(status, 0, stdout + stderr);
  const { workerOptions: declared } = workerOptions(path.join(dir, 'wrangler.toml'));
  return {
    ...declared,
    modulesRules: undefined,
    modulesRoot: to,
    modules: [{ type: 'ESModule', path: path.join(to, 'index.js') }],
    ...assetsBinding(declared),
  };
}

const CALLER = `export default {
  fetch: (request, env) => env.VAULT.get(new URL(request.url).pathname.slice(1))
    .then((secret) => Response.json(secret), ({ message }) => Response.json({ thrown: message })),
};`;

/**
 * Starts one state with a Worker and gates, each of a release; `turn` changes the releases, and
 * binds a caller with the props, if there are any.
 * @param {{ worker: any, gates: any }} releases
 * @param {Record<string, string>} [variables]
 */
export async function startRollout(releases, variables = {}) {
  const state = fs.mkdtempSync(path.join(os.tmpdir(), 'state-'));
  await applyMigrations(state);
  const bindings = {
    MASTER_KEYS: `k1:${Buffer.alloc(32, 7).toString('base64')}`,
    BOOTSTRAP_TOKEN: BOOTSTRAP,
    PUBLIC_URL: ORIGIN,
    LOCAL_QUEUE: 'true',
    ...variables,
  };
  /** @type {string[]} */
  const lines = [];
  const options = ({ worker, gates, props = null }) => {
    const elsewhere = Object.fromEntries(
      Object.entries(worker.durableObjects).map(([binding, object]) => [
        binding,
        // A class that only the Worker's release has is in that Worker.
        gates.durableObjects[binding] ? { ...object, scriptName: 'gates' } : object,
      ]),
    );
    return convertV4MiniflareOptions({
      log: new Log(LogLevel.NONE),
      handleStructuredLogs: ({ message }) => void lines.push(message),
      resourcePersistencePath: path.join(state, 'v3'),
      workers: [
        { ...worker, name: 'vault', durableObjects: elsewhere, bindings },
        { ...gates, name: 'gates', queueConsumers: undefined, bindings },
        ...(props
          ? [
              {
                name: 'caller',
                modules: true,
                script: CALLER,
                compatibilityDate: worker.compatibilityDate,
                serviceBindings: { VAULT: { name: 'vault', entrypoint: 'Vault', props } },
              },
            ]
          : []),
      ],
    });
  };
  const miniflare = new Miniflare(options(releases));
  await miniflare.ready;
  const request = (at, token, options = {}) =>
    miniflare.dispatchFetch(`${ORIGIN}/api/v1${at}`, {
      ...options,
      headers: { Authorization: `Bearer ${token}`, ...options.headers },
    });
  const call = async (method, at, token, body, headers = {}) => {
    const response = await request(at, token, {
      method,
      headers: { 'Content-Type': 'application/json', ...headers },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    return { status: response.status, headers: response.headers, json: text ? JSON.parse(text) : null };
  };
  return {
    call,
    request,
    lines,
    /** What a Worker that is bound to the service gets of a secret. @param {string} name */
    bound: async (name) => (await (await miniflare.getWorker('caller')).fetch(`${ORIGIN}/${name}`)).json(),
    turn: (/** @type {{ worker: any, gates: any, props?: object }} */ to) =>
      miniflare.setOptions(options(to)),
    stop: () => miniflare.dispose(),
  };
}
