// `npm run bench:memory`: the runtime's memory over repeated imports, generated files and syncs of 1,000
// secrets. Resident memory includes uncollected garbage and SQLite pages; the JavaScript heap is measured
// after a collection, so its growth is memory held by the service.
//   npm run bench:memory -- [--rounds N] [--only import|generate|sync] [--secrets N]
import { once } from 'node:events';
import fs from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { configOf, platforms } from '../../test/vendors/fakes/all.ts';
import { callerOf, freshValue, good, newOrg, startVault, tell } from './measure.mjs';

const options = {
  rounds: { type: 'string', default: '10' },
  secrets: { type: 'string', default: '1000' },
  only: { type: 'string', multiple: true },
};
const { values } = parseArgs({ options });
const rounds = Number(values.rounds);
const secrets = Number(values.secrets);
const megabytes = (bytes) => Math.round(bytes / 1024 ** 2);

const FORMATS = [
  ...[
    'kubernetes',
    'external-secrets',
    'docker-env',
    'compose-secrets',
    'dotenv',
    'shell',
    'tfvars',
    'tfvars-json',
    'ansible',
    'helm',
  ],
  ...['systemd', 'github-actions', 'dev-vars', 'json', 'yaml', 'properties'],
];
/** The most names that the vendor accepts in one place. */
const MOST = { 'github-actions': 100, supabase: 100, 'cloudflare-workers': 100 };

const names = Array.from({ length: secrets }, (_, n) => `NAME_${String(n).padStart(5, '0')}`);
const fakes = Object.fromEntries(
  await Promise.all(Object.entries(platforms).map(async ([name, { start }]) => [name, await start()])),
);
const base = Object.fromEntries(Object.entries(fakes).map(([name, { url }]) => [name, url]));
const vault = await startVault({ inspector: true, variables: { PLATFORM_BASE_URLS: JSON.stringify(base) } });
try {
  const call = callerOf(vault);
  const org = await newOrg(vault, { secrets: 1, keys: 20 });
  const at = `/orgs/${org.id}/integrations`;
  const parts = {
    async import() {
      const data = Object.fromEntries(names.map((name) => [name, freshValue()]));
      const { failed } = good(
        await call('POST', `${at}/import`, org.token, {
          source: 'svc',
          data,
          environmentId: 'staging',
          onConflict: 'overwrite',
        }),
      );
      if (failed.length) throw new Error(`import: ${JSON.stringify(failed[0])}`);
    },
    async generate() {
      for (const format of FORMATS)
        good(await call('POST', `${at}/generate`, org.tokens[0], { format, environmentId: 'staging' }));
    },
    async sync() {
      for (const platform of Object.keys(platforms)) {
        const config = configOf(platforms[platform], fakes[platform]);
        const body = { platform, config, environmentId: 'staging', names: names.slice(0, MOST[platform]) };
        await ended(call, at, org, good(await call('POST', `${at}/sync`, org.tokens[1], body)).syncId);
        fakes[platform].requests.length = 0;
      }
    },
  };
  const chosen = Object.keys(parts).filter((name) => !values.only || values.only.includes(name));
  if (!chosen.includes('import')) await parts.import();
  process.stdout.write(
    `| round | ${chosen.map((part) => `MB after ${part}`).join(' | ')} | MB of heap in use | MB on disk |\n`,
  );
  process.stdout.write(`|---|${chosen.map(() => '---|').join('')}---|---|\n`);
  for (let round = 1; round <= rounds; round++) {
    const cells = [];
    for (const part of chosen) {
      await parts[part]();
      cells.push(megabytes(vault.memory()));
    }
    cells.push(((await heapInUse()) / 1024 ** 2).toFixed(1), megabytes(sizeOf(vault.state)));
    process.stdout.write(`| ${[round, ...cells].join(' | ')} |\n`);
  }
} finally {
  await vault.stop();
  await Promise.all(Object.values(fakes).map((fake) => fake.close()));
}
process.exit();

/** Waits for the end of a sync. */
async function ended(call, at, org, id) {
  for (let tries = 0; ; tries++) {
    const sync = good(await call('GET', `${at}/syncs/${id}`, org.tokens[2 + (tries % 10)]));
    if (sync.status === 'completed') return;
    if (sync.finishedAt)
      tell(
        `${sync.platform}: ${sync.status} ${JSON.stringify(sync.results.find(({ action }) => action === 'failed'))}`,
      );
    if (sync.finishedAt) return;
    await sleep(100);
  }
}

/** Bytes held by the service's isolate after a collection, from the runtime's inspector. */
async function heapInUse() {
  const inspector = await vault.miniflare.getInspectorURL();
  const targets = await (await fetch(new URL('/json', inspector.href.replace(/^ws/, 'http')))).json();
  const { webSocketDebuggerUrl } = targets.find(({ id }) => id === 'core:user:vault');
  const socket = new WebSocket(webSocketDebuggerUrl);
  await once(socket, 'open');
  let calls = 0;
  const ask = (method) =>
    new Promise((done, fail) => {
      const id = ++calls;
      socket.addEventListener('message', ({ data }) => {
        const reply = JSON.parse(String(data));
        if (reply.id === id) reply.error ? fail(new Error(reply.error.message)) : done(reply.result);
      });
      socket.send(JSON.stringify({ id, method }));
    });
  // The collection happens when the isolate runs next.
  const collected = ask('HeapProfiler.collectGarbage').then(() => true);
  while (!(await Promise.race([collected, sleep(100)])))
    await fetch(`http://127.0.0.1:${vault.port}/healthz`);
  const { usedSize, embedderHeapUsedSize = 0, backingStorageSize = 0 } = await ask('Runtime.getHeapUsage');
  socket.close();
  return usedSize + embedderHeapUsedSize + backingStorageSize;
}

/** Bytes of the files below a directory. */
function sizeOf(directory) {
  const files = fs
    .readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile());
  return files.reduce(
    (sum, entry) =>
      sum + fs.statSync(path.join(entry.parentPath, entry.name), { throwIfNoEntry: false })?.size,
    0,
  );
}
