// The built Worker and Workers that are bound to it, in one local runtime, as on one account.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { convertV4MiniflareOptions, Log, LogLevel, Miniflare } from 'miniflare';
import { unstable_getMiniflareWorkerOptions as workerOptions } from 'wrangler';
import { assetsBinding } from '../../scripts/build/assets.mjs';
import { keepWorker, takeWorker, workerSources } from '../../scripts/build/worker-build.mjs';
import { applyMigrations } from '../../scripts/operate/vault/migrate.mjs';
import { root, runWrangler } from '../../scripts/shared/wrangler.mjs';

export const BOOTSTRAP = 'bootstrap-token-of-the-tests-0123456789';
const ORIGIN = 'http://vault.example';

/**
 * A Worker that calls its binding `env.VAULT` with code of a test: `run(code, ...args)` evaluates to what the
 * code returns, or `{ thrown }` with the message of what it throws.
 */
export const CALLER = `
import { RpcTarget } from 'cloudflare:workers';
export default {
  async fetch(request, env) {
    const { code, args } = JSON.parse(request.headers.get('Run'));
    try {
      const of = env.EVAL.newAsyncFunction(code, 'run', 'env', 'RpcTarget', 'request', ...Object.keys(args));
      return Response.json((await of(env, RpcTarget, request, ...Object.values(args))) ?? null);
    } catch (error) {
      return Response.json({ thrown: String(error?.message), name: error?.name, own: { ...error } });
    }
  },
};`;

/** Builds the Worker, or takes it as it was built of the same sources. */
async function built() {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'worker-'));
  const sources = workerSources();
  if (takeWorker(sources, dir)) return dir;
  const { code, said } = await runWrangler(['deploy', '--dry-run', '--outdir', dir]);
  assert.equal(code, 0, said);
  keepWorker(sources, dir);
  return dir;
}

/**
 * Starts the service and a caller for each binding: what wrangler's `[[services]]` says of it.
 * @param {Record<string, object>} bindings by name of the caller; `rebind` changes them. `as` is the
 * binding's own name, and `script` other code of the caller
 * @param {Record<string, string>} [variables] of the service
 * @param {object} [further] options of the service's Worker
 */
export async function startBound(bindings, variables = {}, further = {}) {
  const bundle = await built();
  const state = fs.mkdtempSync(path.join(os.tmpdir(), 'state-'));
  await applyMigrations(state);
  const { workerOptions: declared } = workerOptions(path.join(root, 'wrangler.toml'));
  const { compatibilityDate } = declared;
  const service = {
    ...declared,
    name: 'vault',
    modulesRules: undefined,
    modulesRoot: bundle,
    modules: [{ type: 'ESModule', path: path.join(bundle, 'index.js') }],
    ...assetsBinding(declared),
    ...further,
    bindings: {
      MASTER_KEYS: `k1:${Buffer.alloc(32, 7).toString('base64')}`,
      BOOTSTRAP_TOKEN: BOOTSTRAP,
      PUBLIC_URL: ORIGIN,
      LOCAL_QUEUE: 'true',
      ...variables,
    },
  };
  /** @type {string[]} */
  const lines = [];
  const options = (/** @type {Record<string, any>} */ to) =>
    convertV4MiniflareOptions({
      log: new Log(LogLevel.NONE),
      handleStructuredLogs: ({ message }) => void lines.push(message),
      resourcePersistencePath: path.join(state, 'v3'),
      workers: [
        service,
        ...Object.entries(to).map(([name, { as = 'VAULT', script = CALLER, ...binding }]) => ({
          name,
          modules: true,
          script,
          compatibilityDate,
          unsafeEvalBinding: 'EVAL',
          serviceBindings: { [as]: { name: 'vault', ...binding } },
        })),
      ],
    });
  const miniflare = new Miniflare(options(bindings));
  await miniflare.ready;
  const call = async (method, at, token, body) => {
    const response = await miniflare.dispatchFetch(`${ORIGIN}/api/v1${at}`, {
      method,
      headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    return { status: response.status, json: text ? JSON.parse(text) : null };
  };
  /** Runs code in a caller. @param {string} name @param {string} code @param {object} [args] */
  const run = async (name, code, args = {}) => {
    const worker = await miniflare.getWorker(name);
    const headers = { Run: JSON.stringify({ code, args }) };
    return (await worker.fetch('http://caller.example/', { headers })).json();
  };
  return {
    call,
    run,
    lines,
    miniflare,
    rebind: (/** @type {Record<string, any>} */ to) => miniflare.setOptions(options(to)),
    stop: () => miniflare.dispose(),
  };
}
