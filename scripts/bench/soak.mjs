// `npm run soak`: minutes of mixed reads, writes, mints and revocations against the real service, among
// hostile callers, followed by a check of the final state. Invariants that it checks: every response has an
// expected status; a version keeps the value that was acknowledged for it, and versions are consecutive; a
// read that starts after a change was acknowledged does not see the earlier state; a revoked token is refused
// by every request that starts after the revocation's response; the audit chain verifies and has one entry
// per request; memory and storage stay flat.
import fs from 'node:fs';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { attack, newAttacker } from './hostile-callers.mjs';
import {
  callerOf,
  connect,
  freshValue,
  good,
  newOrg,
  parallel,
  requestOf,
  startVault,
  tell,
} from './measure.mjs';

const options = {
  json: { type: 'boolean', default: false },
  minutes: { type: 'string', default: '5' },
  connections: { type: 'string', default: '64' },
};
const { values } = parseArgs({ options });
const minutes = Number(values.minutes);
const connections = Number(values.connections);
if (!(minutes > 0 && Number.isInteger(connections) && connections > 0)) {
  process.stderr.write(
    'Pass --minutes above 0 and --connections as an integer above 0, such as --minutes 5 --connections 64\n',
  );
  process.exit(1);
}

/**
 * Enough organisations that no audit log overflows before its older entries move to D1, which happens after
 * two minutes.
 */
const ORGS = 4;
const SECRETS = 50;
const KEYS = 40;
/**
 * What a change may leave permanently, in bytes of a gate: a version, a stored response, a tombstone, with
 * their index entries.
 */
const LEFT_BY_A_CHANGE = 4096;
/** The growth in the second half of a run that still counts as flat, in addition to that. */
const FLAT = { memory: 96e6, storage: 16e6 };

/** @type {string[]} */
const wrong = [];
const blame = (what) => wrong.length < 50 && wrong.push(what);
const counts = {
  requests: 0,
  read: 0,
  bulk: 0,
  patch: 0,
  create: 0,
  delete: 0,
  mint: 0,
  revoke: 0,
  refused: 0,
  hostile: 0,
  hostile_mint: 0,
};

tell('starting the service');
const vault = await startVault();
const call = callerOf(vault);
try {
  const orgs = [];
  for (let n = 0; n < ORGS; n++) orgs.push(await newWorld());
  const hostile = Math.ceil(connections / 10);
  tell(`${connections} connections and ${hostile} hostile ones for ${minutes} minutes`);
  const samples = [];
  const sample = () =>
    samples.push({
      at: Date.now(),
      memory: vault.memory(),
      storage: storageSize(),
      changes: changes(),
      requests: counts.requests,
    });
  sample();
  const end = Date.now() + minutes * 60_000;
  const every = Math.min(5000, (minutes * 60_000) / 12);
  const sampler = setInterval(() => {
    sample();
    for (const [, line] of vault.readLog().matchAll(/\\"level\\":\\"error\\"(.{0,300})/g))
      blame(`The Worker logged an error: ${line}`);
    if (samples.length % 6 === 0)
      tell(`  ${counts.requests} requests, ${(samples.at(-1).memory / 1e6).toFixed(0)} MB`);
  }, every);
  const schedule = setInterval(
    () => vault.scheduled().catch((error) => blame(`The scheduled handler failed: ${error.message}`)),
    60_000,
  );
  await vault.scheduled();
  const run = { port: vault.port, end, blame, counts };
  await Promise.all([
    parallel(connections, (n) => work(orgs[n % ORGS], end), connections),
    parallel(hostile, (n) => attack(orgs[n % ORGS], run), hostile),
  ]);
  clearInterval(sampler);
  clearInterval(schedule);
  sample();
  tell('checking the final state');
  for (const world of orgs) await check(world);
  report(samples);
} catch (error) {
  blame(error.message);
  for (const line of wrong) process.stdout.write(`${line}\n`);
} finally {
  await vault.stop();
}
process.exit(wrong.length ? 1 : 0);

/**
 * An organisation, and its known state: the acknowledged values of each secret by version, and the newest
 * acknowledged version.
 */
async function newWorld() {
  const org = await newOrg(vault, { secrets: SECRETS, keys: KEYS });
  const known = new Map(org.secrets.map(({ id }) => [id, { values: new Map(), newest: 1 }]));
  const { tokens, asked } = await newAttacker(org, call);
  return {
    ...org,
    known,
    n: 0,
    asked: 1 + KEYS + SECRETS + asked,
    made: 0,
    attacker: tokens,
    over: 0,
    unsure: 0,
    began: Date.now(),
  };
}
/** @typedef {Awaited<ReturnType<typeof newWorld>>} World */

/** The requests of one connection, chosen at random. @param {World} world @param {number} end */
async function work(world, end) {
  const connection = await connect(vault.port);
  const at = `/api/v1/orgs/${world.id}`;
  const ask = async (
    method,
    target,
    expect,
    { token = world.tokens[world.n++ % KEYS], body = undefined } = {},
  ) => {
    const answer = await connection.send(requestOf(method, at + target, token, body));
    counts.requests++;
    world.asked++;
    if (answer.status !== expect)
      blame(
        `${method} ${target}: ${answer.status} where ${expect} was expected: ${answer.text().slice(0, 200)}`,
      );
    return answer.status === expect ? answer : null;
  };
  const actions = actionsOf(world, ask);
  // Shares in percent: mostly reads.
  const shares = { read: 78, patch: 12, mint: 5, create: 3, bulk: 2 };
  const names = Object.entries(shares).flatMap(([name, share]) => Array(share).fill(name));
  while (Date.now() < end && wrong.length < 50) {
    const name = names[Math.floor(Math.random() * names.length)];
    counts[name]++;
    await actions[name]();
  }
  connection.close();
}

/**
 * What a connection does; each action checks what it is answered.
 * @param {World} world
 * @param {(method: string, target: string, expect: number, options?: { token?: string, body?: unknown }) =>
 *   Promise<any>} ask
 * @returns {Record<string, () => Promise<void>>}
 */
function actionsOf(world, ask) {
  const { secrets } = world;
  return {
    async read() {
      const { id } = secrets[Math.floor(Math.random() * SECRETS)];
      const before = world.known.get(id).newest;
      const answer = await ask('GET', `/secrets/${id}`, 200);
      if (answer) observe(world, id, answer.json(), before);
    },
    async bulk() {
      const before = secrets.map(({ id }) => world.known.get(id).newest);
      const answer = (await ask('GET', '/environments/production/values?prefix=g', 200))?.json();
      if (answer)
        for (const [n, { id, name }] of secrets.entries())
          observe(world, id, { version: answer.versions[name], value: answer.values[name] }, before[n]);
    },
    async patch() {
      const { id } = secrets[Math.floor(Math.random() * SECRETS)];
      const before = world.known.get(id).newest;
      const value = freshValue();
      const answer = await ask('PATCH', `/secrets/${id}`, 200, { body: { value } });
      if (!answer) return;
      const { version } = answer.json();
      if (version <= before)
        blame(`PATCH of ${id} made version ${version} after version ${before} was acknowledged`);
      observe(world, id, { version, value }, before);
      const known = world.known.get(id);
      known.newest = Math.max(known.newest, version);
    },
    async create() {
      const value = freshValue();
      const made = await ask('POST', '/secrets', 201, {
        body: { name: `t-${world.made++}`, type: 'generic', value },
      });
      if (!made) return;
      const { id } = made.json();
      const back = await ask('GET', `/secrets/${id}`, 200);
      if (back && back.json().value !== value) blame(`The new secret ${id} holds another value`);
      await ask('DELETE', `/secrets/${id}?permanent=true`, 204);
      counts.delete++;
      await ask('GET', `/secrets/${id}`, 404);
    },
    async mint() {
      const token = world.tokens[world.n++ % KEYS];
      const minted = (
        await ask('POST', '/access-tokens', 201, {
          token,
          body: { ttlSeconds: 60, scopes: ['secrets:read'] },
        })
      )?.json();
      if (!minted) return;
      await ask('GET', `/secrets/${secrets[0].id}`, 200, { token: minted.token });
      await ask('DELETE', `/access-tokens/${minted.id}`, 204, { token });
      counts.revoke++;
      await ask('GET', `/secrets/${secrets[0].id}`, 401, { token: minted.token });
      counts.refused++;
    },
  };
}

/**
 * A version never changes its value, and no one sees less than what was acknowledged before their request.
 */
function observe(world, id, { version, value }, before) {
  const { values: held } = world.known.get(id);
  if (version < before)
    blame(`${id} was seen at version ${version} after version ${before} was acknowledged`);
  if (held.has(version) && held.get(version) !== value) blame(`Version ${version} of ${id} holds two values`);
  held.set(version, value);
}

/** Checks everything again at the end. @param {World} world */
async function check(world) {
  const at = `/orgs/${world.id}`;
  const key = () => world.tokens[world.n++ % KEYS];
  const all = async (target, field) => {
    const items = [];
    for (let cursor = ''; ; ) {
      const page = good(await call('GET', `${at}${target}?limit=100${cursor && `&cursor=${cursor}`}`, key()));
      world.asked++;
      items.push(...page[field]);
      if (!page.next_cursor) return items;
      cursor = page.next_cursor;
    }
  };
  await parallel(world.secrets.length, async (n) => {
    const { id } = world.secrets[n];
    const { values: held, newest } = world.known.get(id);
    const versions = (await all(`/secrets/${id}/versions`, 'data')).map(({ version }) => version);
    if (versions.some((version, n) => version !== newest - n))
      blame(`The versions of ${id} are not consecutive up to ${newest}`);
    // Reading all acknowledged versions would exceed the rate limits of a minute: read the newest, and a
    // sample of the rest.
    const sample = versions.filter((version) => version === newest || Math.random() < 12 / versions.length);
    for (const version of sample.filter((version) => held.has(version))) {
      const { value } = good(await call('GET', `${at}/secrets/${id}?version=${version}`, key()));
      world.asked++;
      if (value !== held.get(version))
        blame(`Version ${version} of ${id} does not have the value that was acknowledged for it`);
    }
    for (let version = 2; version <= newest; version++)
      if (!held.has(version)) blame(`Version ${version} of ${id} was never acknowledged`);
  });
  for (let cursor = ''; cursor !== null; ) {
    const part = good(await call('GET', `${at}/audit-log/verify${cursor && `?cursor=${cursor}`}`, key()));
    world.asked++;
    if (!part.ok) blame(`The audit chain of ${world.id} is broken: ${JSON.stringify(part.broken)}`);
    cursor = part.next;
  }
  const [last] = good(await call('GET', `${at}/audit-log?limit=1`, key())).data;
  // Requests over a limit are one entry per credential and minute, once the minute is over; a request whose
  // connection broke may have been processed.
  const most = world.asked - world.over;
  const least = world.asked - world.over - world.unsure;
  const minutes = Math.ceil((Date.now() - world.began) / 60_000) + 1;
  const limited = world.over ? minutes * Object.keys(world.attacker).length : 0;
  if (last.sequence < least || last.sequence > most + limited)
    blame(
      `The audit log of ${world.id} holds ${last.sequence} entries for ${world.asked} requests, ${world.over} of them over a limit`,
    );
}

/** Bytes of all gates on disk. */
function storageSize() {
  const dir = path.join(vault.state, 'do');
  const files = fs
    .readdirSync(dir, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.sqlite') && name.includes('Gate'));
  return files.reduce((sum, name) => sum + fs.statSync(path.join(dir, name)).size, 0);
}

function changes() {
  return counts.patch + counts.create + counts.delete + counts.mint + counts.revoke + counts.hostile_mint;
}

/**
 * Least squares: the growth of `field` per minute, in the second half of the run, when caches and pools are
 * full.
 */
function slopeOf(samples, field) {
  const half = samples.slice(Math.floor(samples.length / 2));
  const mean = (of) => half.reduce((sum, one) => sum + of(one), 0) / half.length;
  const x = mean(({ at }) => at);
  const y = mean((one) => one[field]);
  const slope =
    half.reduce((sum, one) => sum + (one.at - x) * (one[field] - y), 0) /
    half.reduce((sum, { at }) => sum + (at - x) ** 2, 0);
  return {
    per_minute: slope * 60_000,
    grown: slope * (half.at(-1).at - half[0].at),
    changes: half.at(-1).changes - half[0].changes,
  };
}

function report(samples) {
  const [memory, storage] = ['memory', 'storage'].map((field) => slopeOf(samples, field));
  if (memory.grown > FLAT.memory)
    blame(`Memory is not flat: it grows by ${mega(memory.per_minute)} MB a minute`);
  // Until audit entries begin to move, after two minutes, storage can only grow.
  if (minutes >= 5 && storage.grown > FLAT.storage + storage.changes * LEFT_BY_A_CHANGE)
    blame(
      `Storage is not flat: it grows by ${mega(storage.per_minute)} MB a minute, beyond what ${storage.changes} changes leave`,
    );
  const last = samples.at(-1);
  const result = {
    ok: wrong.length === 0,
    ...counts,
    requests_per_second: Math.round(last.requests / ((last.at - samples[0].at) / 1000)),
    memory: { first: samples[0].memory, last: last.memory, bytes_per_minute: Math.round(memory.per_minute) },
    storage: {
      first: samples[0].storage,
      last: last.storage,
      bytes_per_minute: Math.round(storage.per_minute),
      changes: storage.changes,
    },
    wrong,
  };
  if (values.json) return process.stdout.write(`${JSON.stringify(result)}\n`);
  for (const [name, count] of Object.entries(counts)) process.stdout.write(`${name.padEnd(10)} ${count}\n`);
  for (const [name, { per_minute }] of Object.entries({ memory, storage }))
    process.stdout.write(
      `${name.padEnd(10)} ${mega(samples[0][name])} MB, ${mega(last[name])} MB at the end; in the second half ${mega(per_minute)} MB a minute\n`,
    );
  for (const line of wrong) process.stdout.write(`${line}\n`);
  process.stdout.write(wrong.length ? 'Something is wrong; see above.\n' : 'All checks passed.\n');
}

function mega(bytes) {
  return (bytes / 1e6).toFixed(1);
}
