// Records a history of concurrent clients of the running service, while its runtime is killed and its
// database is locked.
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { vaultFile } from '../../scripts/operate/vault/state-dir.mjs';
import { runtimesOf } from '../scripts/service.mjs';
import { newCaller, newHistory } from './caller.mjs';
import { newClient, newWorld } from './client.mjs';
import { act } from './operations.mjs';

const CLIENTS = 8;
/** The longest pause of a client, in milliseconds: so it stays below the rate limit of its key as a rule. */
const PAUSE = 40;
/** npm start ends at the sixth within ten minutes. */
const MOST_KILLS = 5;
/** A region that was waited out answers nothing for half a minute, and longer each time. */
const MOST_KILLS_OF_REPLICAS = 1;
/** How long a history may take, in milliseconds, however few operations it has by then. */
const MOST_TIME = 240_000;

/**
 * Records a history, and counts the faults in it.
 * @param {{
 *   service: Awaited<ReturnType<typeof import('../scripts/service.mjs').startService>>, dir: string,
 *   seed: number, operations: number, readFrom?: string[], regions?: string[],
 * }} options `dir` is the project of the service, `readFrom` the addresses that answer reads, one client each
 * in turn; `regions`: where the organisation has replicas
 */
export async function record({ service, dir, seed, operations, readFrom = [service.base], regions = [] }) {
  const random = randomFrom(seed);
  const history = newHistory();
  const { org, shared, tokens } = await found(service, seed, regions);
  const state = { isOver: false, onRevoked: () => {} };
  const world = newWorld({
    org,
    shared,
    random,
    onRevoked: () => state.onRevoked(),
    hasReplicas: regions.length > 0,
  });
  const run = async (/** @type {string} */ token, /** @type {number} */ client) => {
    const from = /** @type {string} */ (readFrom[client % readFrom.length]);
    const { send } = newCaller({ base: service.base, readFrom: from, random, regions });
    const one = newClient(world, { client, token, send, history });
    while (!state.isOver) {
      await act(one);
      await sleep(random() * PAUSE);
    }
  };
  const enough = async () => {
    for (let waited = 0; history.lines.length < operations && waited < MOST_TIME; waited += 100)
      await sleep(100);
  };
  const faults = { kills: 0, killsAfterRevocation: 0, locks: 0 };
  const database = /** @type {string} */ (vaultFile(path.join(dir, '.wrangler', 'state')));
  const running = [
    ...tokens.map(run),
    disturb({
      service,
      database,
      random,
      state,
      faults,
      kills: regions.length ? MOST_KILLS_OF_REPLICAS : MOST_KILLS,
    }),
  ];
  try {
    await Promise.race([enough(), ...running]);
  } finally {
    state.isOver = true;
    await Promise.allSettled(running);
  }
  await Promise.all(running);
  return { lines: history.lines, faults };
}

/** An organisation, with a secret that is never changed, and a key for each client. */
async function found(service, seed, regions) {
  const { org, api_key } = await created(
    service.call('POST', '/orgs', service.variable('BOOTSTRAP_TOKEN'), {
      name: `Acme ${seed}`,
      regions,
      owner: { email: 'you@example.com', name: 'You' },
    }),
  );
  const secret = { name: 'SHARED', type: 'generic', value: 'shared' };
  const { id } = await created(service.call('POST', `/orgs/${org.id}/secrets`, api_key.token, secret));
  const tokens = [];
  for (let n = 0; n < CLIENTS; n++) {
    const fields = { name: `client ${n}`, scopes: ['*'] };
    const key = await created(service.call('POST', `/orgs/${org.id}/api-keys`, api_key.token, fields));
    tokens.push(key.token);
  }
  return { org: org.id, shared: id, tokens };
}

/** Locks the database, and kills the runtime: at once, or right after the reply to a revocation. */
async function disturb({ service, database, random, state, faults, kills }) {
  let locked = Promise.resolve();
  while (!state.isOver) {
    await sleep(1000 + random() * 3000);
    const what = random();
    if (what < 0.4) {
      await locked;
      faults.locks++;
      locked = lock(database, 500 + random() * 5000);
      // Half of them go on while the runtime is killed.
      if (random() < 0.5) await locked;
    } else if (faults.kills < kills && !state.isOver) {
      faults.kills++;
      const pids = runtimesOf(service);
      const kill = () => pids.forEach((pid) => void process.kill(pid, 'SIGKILL'));
      if (what < 0.6) kill();
      else faults.killsAfterRevocation += await atNextRevocation(state, kill);
      await service.ready();
    }
  }
  await locked;
}

/**
 * Does something in the turn in which the reply to a revocation is read. Returns how often: a history may end
 * before.
 */
async function atNextRevocation(state, act) {
  let done = 0;
  state.onRevoked = () => {
    state.onRevoked = () => {};
    act();
    done++;
  };
  while (!done && !state.isOver) await sleep(50);
  state.onRevoked = () => {};
  return done;
}

/** Makes the database unavailable for a time. @param {string} file @param {number} time */
async function lock(file, time) {
  const db = new DatabaseSync(file, { timeout: 0 });
  try {
    for (let isLocked = false, tries = 0; !isLocked && tries < 200; tries++) {
      try {
        db.exec('BEGIN EXCLUSIVE');
        isLocked = true;
      } catch {
        await sleep(5);
      }
    }
    await sleep(time);
  } finally {
    db.close();
  }
}

/** @param {Promise<{ status: number, json: any }>} call */
async function created(call) {
  const { status, json } = await call;
  if (status !== 201) throw new Error(`${status}: ${JSON.stringify(json)}`);
  return json;
}

/** Numbers from 0 to 1, from a seed (mulberry32). @param {number} seed */
function randomFrom(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}
