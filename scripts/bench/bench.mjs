// `npm run bench`: how fast the service is, compared with the minimum that a Worker with a Durable Object can
// do (the floor). Floor and subject take turns in short slices within one runtime process, so anything that
// slows the machine slows both; a ratio is calculated within a round. With `--against DIR`, another checkout
// replaces the floor: the same rows with the code in DIR, in a separate process. Invariant: a response with
// an unexpected status ends the run; only complete successes are counted.
//
// How to read the numbers: the runtime runs Worker, gate and D1 on one thread, so requests per second are the
// inverse of their total CPU time. The client has the other core to itself: this process does nothing else.
// `cpu_ms` is that CPU time per request, as counted by the system (0 if it does not count it): it stays
// accurate on a busy machine.
import fs from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import * as measuring from './measure.mjs';

const { callerOf, connect, drive, freshValue, good, parallel, requestOf, tell } = measuring;

const options = {
  json: { type: 'boolean', default: false },
  only: { type: 'string', multiple: true },
  against: { type: 'string' },
  seconds: { type: 'string', default: '1' },
  rounds: { type: 'string', default: '5' },
  connections: { type: 'string', multiple: true, default: ['1', '16', '64'] },
};
const { values } = parseArgs({ options });
const numberOf = (name, text) => {
  if (!(Number(text) > 0))
    fail(`--${name} is not a number above 0: pass one, such as --${name} ${options[name].default}`);
  return Number(text);
};
const seconds = numberOf('seconds', values.seconds);
const rounds = numberOf('rounds', values.rounds);
const counts = values.connections
  .flatMap((text) => text.split(','))
  .map((text) => numberOf('connections', text));

const against =
  values.against === undefined
    ? null
    : measuringIn(path.resolve(process.env.INIT_CWD ?? '', values.against, 'scripts'));
if (against === undefined)
  fail(
    `--against ${values.against} is not a checkout of this project: name a directory with the project and its dependencies`,
  );

/**
 * The highest assumed rate in requests per second: as many keys are created, and an organisation's audit log
 * has room for them.
 */
const FASTEST = 6000;
const MOST_REQUESTS = 90_000; // an organisation's log holds 100,000 until the older ones have moved to D1
const spent = FASTEST * (seconds * rounds + 1);
if (spent > MOST_REQUESTS)
  fail(
    `An organisation's audit log would overflow: keep --seconds times --rounds at ${MOST_REQUESTS / FASTEST - 1} or less`,
  );
const KEYS = Math.ceil(spent / 1200) + 1;
/** Requests after which the code that answers them is compiled, and seconds that they may take. */
const WARM = { requests: 400, seconds: 5 };

const FEW = 100;
const MANY = 100_000;
const COLD = 40_000;

/** Each bound Worker reads 600 times a minute, and a trust takes 20 of them. */
const BOUND = Math.ceil(spent / 600) + 1;
const OF_ONE_TRUST = 10;

/** @typedef {import('./measure.mjs').Org} Org */
/**
 * A running vault, and the scripts of its checkout, which fill it.
 * @typedef {Pick<typeof measuring, 'newOrg' | 'fill' | 'signIn'> & { vault: import('./measure.mjs').Vault }}
 *   Side
 */
/**
 * @typedef {{ method?: string, path: string, global?: true, root?: true, body?: unknown, expect?: number }}
 *   Wish
 */
let made = 0;
const read = (secret) => ({ path: `/secrets/${secret.id}` });

/** Shared by both rows, so that they read the same secrets. */
const readers = once(bound);

/**
 * What is measured. `bare`: sent to the floor's own Worker, which makes `calls` of its Durable Object for
 * each, 1 if absent; `within`: sent to that Worker too, which calls the vault; `org`: creates the
 * organisation, a new one if absent; `tokens`: creates callers other than API keys; `wish`: the n-th request,
 * with a path below the organisation unless it is `global` or `root`; `beside`: another row that replaces the
 * floor, to compare CPU time, including work within the following half second.
 * @typedef {object} Subject
 * @property {true} [bare]
 * @property {number} [calls]
 * @property {true} [within]
 * @property {string} [beside]
 * @property {(side: Side) => Promise<Org>} [org]
 * @property {(side: Side, org: Org) => Promise<string[]>} [tokens]
 * @property {(org: Org, n: number, vault: import('./measure.mjs').Vault) => Wish} wish
 */
/** @type {Record<string, Subject>} */
const subjects = {
  'floor of a change': { bare: true, wish: () => ({ path: '/change' }) },
  'warm read': { wish: (org, n) => read(org.secrets[n % FEW]) },
  // Half of them are approval policies for reads that apply to other names, half are naming policies.
  'warm read with 50 policies': {
    org: (side) => governed(side, 50),
    wish: (org, n) => read(org.secrets[n % FEW]),
  },
  // A prime step, so that consecutive requests are not neighbours in the table.
  'warm read of 100,000': {
    org: once((side) => large(side, MANY, true)),
    wish: (org, n) => read(org.secrets[(n * 7919) % MANY]),
  },
  // Each secret is read once: its ciphertext is only in D1. Gate, key and isolate are warm.
  'cold read': {
    org: once((side) => large(side, COLD, false)),
    wish: (org) => read(org.secrets.pop() ?? fail('All secrets have been read: lower --seconds or --rounds')),
  },
  'agent read': {
    tokens: (side, org) =>
      others(side, org, '/agent-credentials', 6000, {
        name: 'a',
        scopes: ['secrets:read'],
        secrets: ['g*'],
        rate_limit: 6000,
      }),
    wish: (org, n) => read(org.secrets[n % FEW]),
  },
  // A member in a browser session, by its JWT.
  'member read': {
    tokens: (side, org) => side.signIn(side.vault, org, Math.ceil(spent / 600) + 1),
    wish: (org, n) => read(org.secrets[n % FEW]),
  },
  'provider issue': {
    tokens: (side, org) => others(side, org, '/provider-tokens', 600, { name: 'p', scopes: ['issue'] }),
    wish: (org, n) => ({
      method: 'POST',
      path: '/provider/issue',
      global: true,
      body: {
        secretName: org.secrets[n % FEW].name,
        environment: 'production',
        value: freshValue(),
        ttlSeconds: 3600,
      },
    }),
  },
  'by-name read': { wish: (org, n) => ({ path: `/secrets/by-name/${org.secrets[n % FEW].name}` }) },
  // The same as a client of Vault reads it.
  'read through /v1': {
    beside: 'by-name read',
    wish: (org, n) => ({ path: `/v1/production/data/${org.secrets[n % FEW].name}`, root: true }),
  },
  'bulk values of 100': { wish: () => ({ path: '/environments/production/values' }) },
  'generated file of 1,000': {
    org: once(({ newOrg, vault }) => newOrg(vault, { secrets: 1000, keys: KEYS })),
    wish: () => ({
      method: 'POST',
      path: '/integrations/generate',
      body: { format: 'kubernetes', environmentId: 'production' },
    }),
  },
  'list of 100': { wish: () => ({ path: '/secrets?limit=100' }) },
  create: {
    wish: () => ({
      method: 'POST',
      path: '/secrets',
      body: { name: `new-${made++}`, type: 'generic', value: freshValue() },
      expect: 201,
    }),
  },
  // Each has a gate of its own, and all have one D1.
  'create in 50 organisations': {
    org: once((side) => many(side, 50)),
    wish: (org, n) => ({
      ...subjects.create.wish(org, n),
      path: `/orgs/${org.ids[n % org.ids.length]}/secrets`,
      global: true,
    }),
  },
  // The queue is not consumed here: this measures creating deliveries, not sending them
  // (`npm run bench:events`).
  'create with 10 webhooks': {
    beside: 'create',
    org: (side) => listened(side, 10),
    wish: (org, n) => subjects.create.wish(org, n),
  },
  patch: {
    wish: (org, n) => ({
      method: 'PATCH',
      path: `/secrets/${org.secrets[n % FEW].id}`,
      body: { value: freshValue() },
    }),
  },
  // The first round creates them, all others replace their values.
  'import of 1,000': { wish: () => ({ method: 'POST', path: '/integrations/import', body: importOf(1000) }) },
  mint: { wish: () => ({ method: 'POST', path: '/access-tokens', body: { ttlSeconds: 3600 }, expect: 201 }) },
  'direct call': { bare: true, calls: 0, wish: () => ({ path: '/api' }) },
  // The same by a Worker that passes it on, and does nothing else.
  'relayed call': {
    bare: true,
    calls: 0,
    wish: (_org, _n, { floorPort }) => ({ path: `/relay?url=http://127.0.0.1:${floorPort}/api` }),
  },
  'call of an upstream': {
    beside: 'relayed call',
    org: once((side) => upstreams(side, 20)),
    wish: (org, n) => ({ path: `/orgs/${org.ids[n % org.ids.length]}/use/bench/api`, global: true }),
  },
  // By a Worker that runs beside the vault, and has no token.
  'read by binding': {
    beside: 'read over HTTP',
    within: true,
    org: readers,
    wish: (org, n) => ({ path: `/bound?as=V${n % BOUND}&name=${org.secrets[n % FEW].name}`, root: true }),
  },
  // By the same Worker, with a token.
  'read over HTTP': {
    within: true,
    org: readers,
    wish: (org, n) => ({ path: `/http?url=${org.url}/${org.secrets[n % FEW].name}`, root: true }),
  },
  '401 junk token': { wish: (org, n) => ({ ...read(org.secrets[n % FEW]), expect: 401 }) },
};
function importOf(count) {
  const data = Object.fromEntries(
    Array.from({ length: count }, (_, n) => [`imported/NAME_${n}`, freshValue()]),
  );
  return { source: 'svc', data, onConflict: 'overwrite' };
}
const unknown = values.only?.find((name) => !(name in subjects));
if (unknown) fail(`--only ${unknown} is not one of the rows: ${Object.keys(subjects).join(', ')}`);

/** @type {Side[]} */
const sides = [];
const rows = [];
try {
  await begin(measuring, 'the service');
  if (against !== null) {
    await begin(await import(pathToFileURL(against).href), `the service of ${values.against}`);
  }
  const [here] = sides;
  const before = here.vault.memory();
  const names = (values.only ?? Object.keys(subjects)).filter(
    (name) => sides.length === 1 || !(subjects[name].bare || subjects[name].beside || subjects[name].within),
  );
  const floors = new Map(counts.map((count) => [count, { rps: [], latencies: [], cpu: 0 }]));
  for (const name of names)
    for (const count of counts) rows.push(await measure(name, count, floors.get(count)));
  if (sides.length === 1)
    for (const [count, { rps, latencies, cpu }] of [...floors].reverse().filter(([, { rps }]) => rps.length))
      rows.unshift({
        name: 'floor',
        connections: count,
        rps: median(rps),
        ...percentiles(latencies),
        ratio_to_floor: 1,
        gate_calls: 1,
        d1_queries: 0,
        cpu_ms: cpu / latencies.length,
      });
  if (!values.json) print();
  process.stdout.write(
    `memory of the runtime: ${megabytes(before)} at the start, ${megabytes(here.vault.memory())} at the end\n`,
  );
  if (values.json) process.stdout.write(`${JSON.stringify({ rows: rows.map(rounded) })}\n`);
} catch (error) {
  process.exitCode = 1;
  tell(`The run was aborted: ${error.message}`);
} finally {
  for (const { vault } of sides) await vault.stop();
}
process.exit();

/** Starts a vault. @param {typeof measuring} scripts those of its checkout */
async function begin({ startVault, newOrg, fill, signIn }, what) {
  tell(`starting ${what}`);
  sides.push({ newOrg, fill, signIn, vault: await startVault({ consumes: false }) });
}

/** Connections to a side, and the requests of a row for it. @param {Side} side */
async function laneOf(side, name, count) {
  const { vault } = side;
  const subject = subjects[name];
  const { bare = false, within = false } = subject;
  const org = bare ? null : await (subject.org?.(side) ?? side.newOrg(vault, { secrets: FEW, keys: KEYS }));
  const tokens = bare ? [] : ((await subject.tokens?.(side, org)) ?? org.tokens);
  let n = 0;
  const next = () => {
    const { method = 'GET', path, global, root, body, expect = 200 } = subject.wish(org, n, vault);
    if (bare) return { request: requestOf(method, path), expect };
    const token = tokens[n++ % tokens.length];
    // Junk: a genuine token with a wrong tag, the only kind of junk that costs a MAC to detect.
    const bearer = expect === 401 ? `${token.slice(0, -1)}${token.endsWith('0') ? '1' : '0'}` : token;
    return {
      request: requestOf(
        method,
        root ? path : `/api/v1${global ? '' : `/orgs/${org.id}`}${path}`,
        bearer,
        body,
      ),
      expect,
    };
  };
  return lane(vault, bare || within ? vault.floorPort : vault.port, count, next);
}

function floorOf({ vault }, count) {
  return lane(vault, vault.floorPort, count, () => ({ request: requestOf('GET', '/floor'), expect: 200 }));
}

/**
 * Connections are opened by the first drive: the service closes connections that are idle while an
 * organisation is filled.
 */
function lane(vault, port, count, next) {
  let connections = null;
  const driveFor = async (seconds) => {
    connections ??= await parallel(count, () => connect(port), count);
    return drive(connections, next, seconds);
  };
  return {
    drive: driveFor,
    /** Drives for a slice of time; `cpu` is what the runtime used during it. */
    async slice(settles = false) {
      const before = vault.cpu();
      const driven = await driveFor(seconds);
      if (settles) await new Promise((done) => setTimeout(done, 500));
      return { ...driven, cpu: vault.cpu() - before };
    },
    close: () => connections?.forEach((connection) => void connection.close()),
  };
}

/** Drives until the code is warm: the first requests take several times as long, above all of slow rows. */
async function warmUp({ drive }) {
  const until = performance.now() + WARM.seconds * 1000;
  for (let requests = 0; requests < WARM.requests && performance.now() < until; )
    requests += (await drive(Math.min(0.3, seconds))).latencies.length;
}

/**
 * One row: a warm-up, then rounds of a slice of the yardstick (the floor, or the other checkout) and one of
 * the subject.
 */
async function measure(name, count, floor) {
  const [here, there] = sides;
  const { bare = false, calls: own = 1, beside } = subjects[name];
  const yardstick =
    there || beside ? await laneOf(there ?? here, beside ?? name, count) : floorOf(here, count);
  const mine = await laneOf(here, name, count);
  await warmUp(yardstick);
  await warmUp(mine);
  await logged(0);

  const taken = { rps: [], ratios: [], latencies: [], gate: 0, d1: 0, requests: 0, cpu: 0 };
  const other = { cpu: 0, requests: 0 };
  const measureYardstick = async () => {
    const least = await yardstick.slice(!!beside);
    // Its log lines do not belong to the subject.
    if (beside) await logged(subjects[beside].bare ? 0 : least.latencies.length);
    else {
      floor.cpu += least.cpu;
      floor.rps.push(least.rps);
      floor.latencies.push(...least.latencies);
    }
    return least;
  };
  for (let round = 0; round < rounds; round++) {
    // Each goes first in every other round, because the first affects the machine for the second.
    const early = round % 2 ? null : await measureYardstick();
    const slice = await mine.slice(!!beside);
    const calls = slice.latencies.length;
    const { gate, d1 } = bare ? { gate: own * calls, d1: own * calls } : await logged(calls);
    const least = early ?? (await measureYardstick());
    taken.cpu += slice.cpu;
    taken.rps.push(slice.rps);
    taken.ratios.push(slice.rps / least.rps);
    other.cpu += least.cpu;
    other.requests += least.latencies.length;
    taken.latencies.push(...slice.latencies);
    taken.gate += gate;
    taken.d1 += d1;
    taken.requests += calls;
  }
  there?.vault.readLog();
  yardstick.close();
  mine.close();
  const row = {
    name,
    connections: count,
    rps: median(taken.rps),
    ...percentiles(taken.latencies),
    ...(!there && !beside && { ratio_to_floor: median(taken.ratios) }),
    gate_calls: taken.gate / taken.requests,
    d1_queries: taken.d1 / taken.requests,
    cpu_ms: taken.cpu / taken.requests,
    ...((there || beside) && {
      cpu_ms_there: other.cpu / other.requests,
      cpu_ratio: taken.cpu / taken.requests / (other.cpu / other.requests),
    }),
  };
  const compared =
    there || beside
      ? `${row.cpu_ratio.toFixed(3)} of the CPU of ${beside ?? 'the other'}`
      : `${row.ratio_to_floor.toFixed(3)} of the floor`;
  tell(`${name}, ${count}: ${row.rps.toFixed(0)} requests a second, ${compared}`);
  return row;
}

/**
 * Adds up the calls in the Worker's log lines, once there are as many lines as requests.
 * @param {number} requests
 */
async function logged(requests) {
  const sum = { gate: 0, d1: 0 };
  let lines = 0;
  for (let waited = 0; ; waited += 20) {
    for (const [, gate, d1] of sides[0].vault
      .readLog()
      .matchAll(/\\"gate_calls\\":(\d+),\\"d1_calls\\":(\d+)/g)) {
      sum.gate += Number(gate);
      sum.d1 += Number(d1);
      lines++;
    }
    if (lines >= requests) break;
    if (waited > 5000) throw new Error(`The Worker logged ${lines} lines for ${requests} requests`);
    await new Promise((done) => setTimeout(done, 20));
  }
  return sum;
}

/**
 * An organisation with many secrets. `warm`: the gate has all ciphertexts cached, through bulk reads.
 * @param {Side} side
 */
async function large({ vault, newOrg, fill }, secrets, warm) {
  const call = callerOf(vault);
  tell(`creating an organisation with ${secrets.toLocaleString('en')} secrets`);
  const org = await newOrg(vault, { secrets: 0, keys: KEYS * counts.length });
  await fill(vault, org, secrets);
  good(await call('GET', '/whoami', org.token));
  if (warm)
    await parallel(
      secrets / 1000,
      async (n) => {
        const prefix = org.secrets[n * 1000].name.split('/')[0];
        good(
          await call('GET', `/orgs/${org.id}/environments/production/values?prefix=${prefix}/`, org.token),
        );
      },
      2,
    );
  return org;
}

/**
 * Tokens of another kind, as many as a row needs if each allows `rate` requests a minute.
 * @param {Side} side
 * @param {Org} org
 */
async function others({ vault }, org, path, rate, body) {
  const call = callerOf(vault);
  const make = async () => good(await call('POST', `/orgs/${org.id}${path}`, org.token, body)).token;
  return parallel(Math.ceil(spent / rate) + 1, make);
}

/** An organisation with this many policies, none of which holds the measured requests. */
async function governed({ vault, newOrg }, policies) {
  const org = await newOrg(vault, { secrets: FEW, keys: KEYS });
  const call = callerOf(vault);
  const approval = { operations: ['secret.read'], required: 1, approvers: { role: 'owner' } };
  await parallel(policies, async (n) => {
    const applies_to = { names: [`held-${n}/*`, `*-held-${n}`] };
    const kinds =
      n % 2 ? { kind: 'naming', config: { pattern: '^[a-z]' } } : { kind: 'approval', config: approval };
    good(await call('POST', `/orgs/${org.id}/policies`, org.token, { name: `p-${n}`, applies_to, ...kinds }));
  });
  return org;
}

/** Organisations whose callers take turns. */
async function many({ vault, newOrg }, count) {
  const orgs = await parallel(count, () => newOrg(vault, { secrets: 1, keys: Math.ceil(KEYS / count) + 1 }));
  const rounds = orgs[0].tokens.map((_, n) => orgs.map(({ tokens }) => tokens[n]));
  return { ...orgs[0], ids: orgs.map(({ id }) => id), tokens: rounds.flat() };
}

/** Organisations with an upstream each, whose API is the floor's Worker: each has its own calls a minute. */
async function upstreams(side, count) {
  const orgs = await many(side, count);
  const { vault } = side;
  const call = callerOf(vault);
  await parallel(count, async (n) => {
    const at = `/orgs/${orgs.ids[n]}`;
    const secret = { name: 'BENCH', type: 'api_key', value: freshValue() };
    good(await call('POST', `${at}/secrets`, orgs.tokens[n], secret));
    const upstream = {
      name: 'bench',
      base_url: `http://127.0.0.1:${vault.floorPort}`,
      environment: 'production',
      auth: [{ type: 'header', name: 'Authorization', value: 'Bearer {{BENCH}}' }],
      allow: [{ methods: ['GET'], paths: ['/api'] }],
    };
    good(await call('POST', `${at}/upstreams`, orgs.tokens[n], upstream));
  });
  return orgs;
}

/** An organisation whose secrets the floor's Worker reads, under many names. Starts the runtime again. */
async function bound({ vault, newOrg }) {
  const org = await newOrg(vault, { secrets: FEW, keys: KEYS });
  const call = callerOf(vault);
  const trusts = await parallel(Math.ceil(BOUND / OF_ONE_TRUST), async (n) => {
    const trust = {
      name: `bench-${n}`,
      issuer: 'cloudflare:service-binding',
      claims: { name: 'bench-*' },
      scopes: ['secrets:read'],
    };
    return good(await call('POST', `/orgs/${org.id}/trusts`, org.token, trust)).id;
  });
  const bindings = Array.from({ length: BOUND }, (_, n) => {
    const props = { org: org.id, trust: trusts[Math.floor(n / OF_ONE_TRUST)], name: `bench-${n}` };
    return [`V${n}`, { entrypoint: 'Vault', props }];
  });
  await vault.bind(Object.fromEntries(bindings));
  return { ...org, url: `http://127.0.0.1:${vault.port}/api/v1/orgs/${org.id}/secrets/by-name` };
}

/** An organisation with this many webhooks. */
async function listened({ vault, newOrg }, webhooks) {
  const org = await newOrg(vault, { secrets: FEW, keys: KEYS });
  const call = callerOf(vault);
  for (let n = 0; n < webhooks; n++)
    good(
      await call('POST', `/orgs/${org.id}/webhooks`, org.token, {
        url: `https://hooks.example.com/${n}`,
        events: '*',
      }),
    );
  return org;
}

/** Runs once per side. @template T @param {(side: Side) => Promise<T>} make */
function once(make) {
  const made = new Map();
  return (side) => made.get(side) ?? made.set(side, make(side)).get(side);
}

function median(numbers) {
  const sorted = numbers.toSorted((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  return sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

function percentiles(latencies) {
  const sorted = Float64Array.from(latencies).sort();
  const at = (share) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))];
  return { p50_ms: at(0.5), p99_ms: at(0.99) };
}

function rounded(row) {
  const digits = {
    rps: 1,
    p50_ms: 2,
    p99_ms: 2,
    ratio_to_floor: 3,
    cpu_ms_there: 3,
    cpu_ratio: 3,
    gate_calls: 3,
    d1_queries: 3,
    cpu_ms: 3,
  };
  return Object.fromEntries(
    Object.entries(row).map(([name, value]) => [
      name,
      name in digits ? Number(value.toFixed(digits[name])) : value,
    ]),
  );
}

/** Prints the rows as a Markdown table. */
function print() {
  const there = sides.length > 1;
  const columns = {
    '': (row) => row.name,
    connections: (row) => row.connections,
    'requests/s': (row) => row.rps.toFixed(0),
    'p50 ms': (row) => row.p50_ms.toFixed(1),
    'p99 ms': (row) => row.p99_ms.toFixed(1),
    ...(!there && { 'of the floor': (row) => row.ratio_to_floor?.toFixed(2) ?? '' }),
    'gate calls': (row) => Number(row.gate_calls.toFixed(2)),
    'D1 queries': (row) => Number(row.d1_queries.toFixed(2)),
    'CPU ms': (row) => row.cpu_ms.toFixed(2),
    ...(there && {
      'CPU ms there': (row) => row.cpu_ms_there.toFixed(2),
      'CPU ratio': (row) => row.cpu_ratio.toFixed(2),
    }),
  };
  const lines = [
    Object.keys(columns),
    Object.keys(columns).map(() => '---'),
    ...rows.map((row) => Object.values(columns).map((of) => of(row))),
  ];
  for (const cells of lines) process.stdout.write(`| ${cells.join(' | ')} |\n`);
  for (const { name, connections, cpu_ratio } of rows.filter((row) => !there && row.cpu_ratio))
    process.stdout.write(
      `${name}, ${connections}: ${cpu_ratio.toFixed(2)} of the CPU of ${subjects[name].beside}\n`,
    );
}

function megabytes(bytes) {
  return `${(bytes / 1e6).toFixed(0)} MB`;
}

/**
 * Where a checkout has its measure.mjs, or undefined; up to release 0.5.0, all scripts were in one folder.
 * @param {string} dir of its scripts
 */
function measuringIn(dir) {
  return ['bench/measure.mjs', 'measure.mjs']
    .map((file) => path.join(dir, file))
    .find((file) => fs.existsSync(file));
}

/** @param {string} line @returns {never} */
function fail(line) {
  process.stderr.write(`${line}\n`);
  process.exit(1);
}
