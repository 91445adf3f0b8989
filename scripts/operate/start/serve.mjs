// The runtime of `npm start`: the built Worker in one workerd, which listens on the port itself. Invariants:
// the port opens only after the database is migrated; no other process is between a caller and the Worker, so
// a response is the Worker's own or the connection breaks; if workerd ends, it is restarted, or this process
// ends too.
import { createRequire } from 'node:module';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { assetsBinding } from '../../build/assets.mjs';
import { root } from '../../shared/wrangler.mjs';
import { commitHere } from '../vault/checkout.mjs';
import { applyMigrations } from '../vault/migrate.mjs';
import { isLocalHost } from '../vault/settings.mjs';
import { LOCAL_WORKER } from '../vault/state-dir.mjs';
import { devRegistry } from './dev-registry.mjs';

const VAULT = LOCAL_WORKER;
const VARIABLES = [
  'MASTER_KEYS',
  'BOOTSTRAP_TOKEN',
  'PUBLIC_URL',
  'ALLOW_PRIVATE_TARGETS',
  'PLATFORM_BASE_URLS',
  'METRICS_TOKEN',
  'DNS_OVER_HTTPS_URL',
];

const options = /** @type {const} */ ({
  host: { type: 'string' },
  port: { type: 'string' },
  state: { type: 'string' },
  bundle: { type: 'string' },
  saml: { type: 'string' },
  'dev-registry': { type: 'boolean' },
});
const { values } = parseArgs({ options });
const host = String(values.host);
const port = Number(values.port);
const state = String(values.state);
const bundle = String(values.bundle);
const { saml } = values;
const isLocal = isLocalHost(host);
// Who reaches the registered port needs no credential, so it is for this machine alone.
const isRegistered = isLocal && values['dev-registry'] === true;

/**
 * Gives every request the address of its caller, and the `cf` by which the Worker believes it, as the
 * platform does. If only this machine can reach the port, a caller may name another address. Otherwise the
 * runtime does not know callers' addresses, and the header is removed: the Worker treats a missing address as
 * outside every `allowed_addresses`. A placeholder address would be inside a range such as 0.0.0.0/0.
 */
const FRONT = `
export default {
  fetch(request, env) {
    if (${isLocal} && request.headers.has('CF-Connecting-IP')) return env.VAULT.fetch(request, { cf: {} });
    const named = new Request(request);
    ${isLocal ? "named.headers.set('CF-Connecting-IP', '127.0.0.1')" : "named.headers.delete('CF-Connecting-IP')"};
    return env.VAULT.fetch(named, { cf: {} });
  },
};`;

const require = createRequire(path.join(root, 'package.json'));
const [
  { Miniflare, convertV4MiniflareOptions, Log, LogLevel },
  { unstable_getMiniflareWorkerOptions: workerOptions },
] = await Promise.all(
  ['miniflare', 'wrangler'].map((name) => import(pathToFileURL(require.resolve(name)).href)),
);
await applyMigrations(state).catch((error) => {
  process.stderr.write(`The migrations could not be applied: ${error.message}\n`);
  process.exit(1);
});
/** A little longer than a gate waits before it sends its changes to the database (`LAG`). */
const FOLLOWED_WITHIN = 1250;
const { workerOptions: declared } = workerOptions(path.join(root, 'wrangler.toml'));
/** A failure of workerd itself is logged as an error: if it does not restart, this process ends. */
class Watch extends Log {
  /** @param {Error} error */
  error(error) {
    super.error(error);
    miniflare.ready.catch(() => process.exit(1));
  }
}
const miniflare = new Miniflare(
  convertV4MiniflareOptions({
    log: new Watch(LogLevel.ERROR),
    handleStructuredLogs: ({ message }) => process.stdout.write(`${message}\n`),
    unsafeHandleRuntimeRestart: () => process.send?.('restarted'),
    resourcePersistencePath: path.join(state, 'v3'),
    ...(isRegistered && { unsafeDevRegistryPath: devRegistry(process.env) }),
    workers: [
      {
        name: 'front',
        modules: true,
        script: FRONT,
        compatibilityDate: declared.compatibilityDate,
        serviceBindings: { VAULT },
        unsafeRegisterWorker: false,
        unsafeDirectSockets: [{ host, port }],
      },
      {
        ...declared,
        name: VAULT,
        modulesRules: undefined,
        modulesRoot: bundle,
        modules: [{ type: 'ESModule', path: path.join(bundle, 'index.js') }],
        ...withSaml(assetsBinding(declared)),
        // This runtime's queue processes one message at a time, so slow jobs continue in the background.
        bindings: {
          ...Object.fromEntries(VARIABLES.map((name) => [name, process.env[name] ?? ''])),
          COMMIT: commitHere(),
          LOCAL_QUEUE: 'true',
        },
      },
      ...(saml ? [samlWorker(saml)] : []),
    ],
  }),
);
// The database follows a gate within a second: a vault that has stopped can be copied without its gates.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'])
  process.once(signal, () =>
    sleep(FOLLOWED_WITHIN)
      .then(() => miniflare.dispose())
      .finally(() => process.exit(0)),
  );
await miniflare.ready;
const booted = Date.now() - os.uptime() * 1000;
await Promise.race([scheduled(), sleep(15_000)]); // a gate that does not answer takes ten seconds of it
process.send?.('ready');
let running = false;
setInterval(async () => {
  if (running) return;
  running = true;
  await Promise.race([scheduled(), sleep(300_000)]);
  running = false;
}, 60_000);

/** Bindings of the vault, with that to the SAML Worker. @param {{ serviceBindings: object }} bindings */
function withSaml(bindings) {
  if (!saml) return bindings;
  return { ...bindings, serviceBindings: { ...bindings.serviceBindings, SAML: 'saml' } };
}

/** The SAML Worker, as built into a directory. @param {string} dir */
function samlWorker(dir) {
  const { workerOptions: options } = workerOptions(path.join(root, 'packages/saml/wrangler.toml'));
  return {
    ...options,
    name: 'saml',
    unsafeRegisterWorker: false,
    modulesRules: undefined,
    modulesRoot: dir,
    modules: [{ type: 'ESModule', path: path.join(dir, 'index.js') }],
  };
}

/**
 * Runs the scheduled handler, which nothing triggers here. Its time is that of the start and how long the
 * machine has run since, so the service notices a clock that is moved.
 */
async function scheduled() {
  try {
    const scheduledTime = new Date(booted + os.uptime() * 1000);
    await (await miniflare.getWorker(VAULT)).scheduled({ scheduledTime, cron: '* * * * *' });
  } catch (error) {
    process.stdout.write(`The scheduled handler failed: ${error.message}\n`);
  }
}
