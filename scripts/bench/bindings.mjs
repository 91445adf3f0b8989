// `npm run bench:bindings`: a read by a service binding, compared with the same read over HTTP by the same
// Worker.
//   npm run bench:bindings -- [--reads N]
// Both take turns in short slices. CPU is that of the runtime, in which caller and service run. Fails if the
// binding takes more than 0.9 of what HTTP takes.
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import { parseArgs } from 'node:util';
import '../shared/temporary-files.mjs';
import { BOOTSTRAP, startBound } from '../../test/packages/bound.mjs';

const { values } = parseArgs({ options: { reads: { type: 'string', default: '2000' } } });
const reads = Number(values.reads);
/** Each name may read 600 times a minute, and has its own Worker. */
const NAMES = ['one', 'two', 'three', 'four', 'five'];
const SLICE = 50;
const MOST = 0.9;
if (!(reads >= NAMES.length * SLICE && reads <= NAMES.length * 500)) {
  process.stderr.write(`--reads must be a number from ${NAMES.length * SLICE} to ${NAMES.length * 500}.\n`);
  process.exit(1);
}

const READ = {
  binding: "for (let n = 0; n < slice; n++) await env.VAULT.get('BENCH');",
  http: `for (let n = 0; n < slice; n++)
    await (await fetch(url, { headers: { Authorization: 'Bearer ' + token } })).json();`,
};

const service = await startBound({}, {}, { unsafeDirectSockets: [{ host: '127.0.0.1', port: 0 }] });
try {
  const made = await service.call('POST', '/orgs', BOOTSTRAP, {
    name: 'Acme',
    owner: { email: 'a@example.com', name: 'A' },
  });
  const org = made.json.org.id;
  const post = async (/** @type {string} */ at, /** @type {object} */ body) =>
    (await service.call('POST', `/orgs/${org}${at}`, made.json.api_key.token, body)).json;
  await post('/secrets', { name: 'BENCH', type: 'generic', value: 'a value' });
  const trust = await post('/trusts', {
    name: 'bench',
    issuer: 'cloudflare:service-binding',
    claims: { name: NAMES },
    scopes: ['secrets:read'],
  });
  const agent = await post('/agent-credentials', {
    name: 'bench',
    scopes: ['secrets:read'],
    rate_limit: 6000,
  });
  const bound = (/** @type {string} */ name) => ({
    entrypoint: 'Vault',
    props: { org, trust: trust.id, name },
  });
  await service.rebind(Object.fromEntries(NAMES.map((name) => [name, bound(name)])));
  const { port } = await service.miniflare.unsafeGetDirectURL('vault');
  const url = `http://127.0.0.1:${port}/api/v1/orgs/${org}/secrets/by-name/BENCH`;
  report(await measure({ url, token: agent.token, slice: SLICE }));
} finally {
  await service.stop();
}

/** Reads in turns. @param {{ url: string, token: string, slice: number }} args */
async function measure(args) {
  const done = { binding: { wall: 0, cpu: 0 }, http: { wall: 0, cpu: 0 } };
  const slice = async (/** @type {string} */ name, /** @type {'binding' | 'http'} */ way) => {
    const from = performance.now();
    const cpu = cpuTime();
    const failed = await service.run(name, READ[way], args);
    if (failed !== null) throw new Error(`${way}: ${JSON.stringify(failed)}`);
    done[way].wall += performance.now() - from;
    done[way].cpu += cpuTime() - cpu;
  };
  for (const way of /** @type {const} */ (['binding', 'http'])) await slice('one', way);
  for (const way of /** @type {const} */ (['binding', 'http'])) Object.assign(done[way], { wall: 0, cpu: 0 });
  for (let n = 0; n < reads / SLICE; n++) {
    const name = /** @type {string} */ (NAMES[n % NAMES.length]);
    for (const way of n % 2
      ? /** @type {const} */ (['http', 'binding'])
      : /** @type {const} */ (['binding', 'http']))
      await slice(name, way);
  }
  return done;
}

/** CPU time of the runtime, in milliseconds. */
function cpuTime() {
  const ticks = Number(execFileSync('getconf', ['CLK_TCK']));
  const children = fs.readFileSync(`/proc/self/task/${process.pid}/children`, 'utf8').trim().split(' ');
  return children.reduce((sum, pid) => {
    const stat = fs.readFileSync(`/proc/${pid}/stat`, 'utf8');
    if (!stat.includes('(workerd)')) return sum;
    const [user, system] = stat
      .slice(stat.lastIndexOf(')') + 2)
      .split(' ')
      .slice(11, 13);
    return sum + ((Number(user) + Number(system)) * 1000) / ticks;
  }, 0);
}

/** @param {Awaited<ReturnType<typeof measure>>} done */
function report({ binding, http }) {
  const each = (/** @type {number} */ ms) => `${(ms / reads).toFixed(2)} ms`;
  const ratios = { wall: binding.wall / http.wall, cpu: binding.cpu / http.cpu };
  for (const what of /** @type {const} */ (['wall', 'cpu']))
    process.stdout.write(
      `${what}: ${each(binding[what])} by binding, ${each(http[what])} over HTTP: ${ratios[what].toFixed(2)}\n`,
    );
  if (Math.max(ratios.wall, ratios.cpu) > MOST) process.exitCode = 1;
}
