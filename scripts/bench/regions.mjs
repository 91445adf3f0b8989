// `npm run bench:regions`: how long a read and a change take from each region, with no replica, with one, and
// with one in every region. The local runtime, in a world with distances (`distances.mjs`): the gate and D1
// are in one region, and each call takes the round trip of `round-trips.mjs`.
//   npm run bench:regions -- [--reads N] [--changes N] [--gate REGION] [--one REGION]
// Each region reads every 700 milliseconds, at a time of its own; a change is alone in
// the world, while all regions read.
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { callerOf, connect, freshValue, good, newOrg, requestOf, startVault, tell } from './measure.mjs';
import { PLACES, roundTrip } from './round-trips.mjs';

const options = /** @type {const} */ ({
  reads: { type: 'string', default: '80' },
  changes: { type: 'string', default: '10' },
  gate: { type: 'string', default: 'weur' },
  one: { type: 'string', default: 'oc' },
});
const { values } = parseArgs({ options });
const gate = values.gate;
const one = values.one;
const reads = Number(values.reads);
const changes = Number(values.changes);
const places = Object.keys(PLACES);
if (!(reads > 0 && changes > 0 && [gate, one].every((region) => places.includes(region)))) {
  tell(`--reads and --changes must be numbers above 0; --gate and --one among ${places.join(', ')}.`);
  process.exit(1);
}
const EVERY = 700;
/** What a read at a replica may take beside one in the region of the gate, in milliseconds. */
const GOAL = 5;

const vault = await startVault({
  main: 'scripts/bench/distances.mjs',
  consumes: false,
  variables: { BENCH_GATE: gate },
});
try {
  const org = await newOrg(vault, { secrets: places.length, keys: 2 * places.length });
  const results = [];
  for (const [name, regions] of /** @type {const} */ ([
    ['none', []],
    ['one', [one]],
    ['all', places],
  ]))
    results.push({ name, ...(await measured(org, name, regions)) });
  print(results);
} catch (error) {
  tell(vault.readLog().slice(-3000));
  throw error;
} finally {
  await vault.stop();
}
process.exit();

/**
 * Reads and changes from each region, with replicas in some.
 * @param {import('./measure.mjs').Org} org @param {string} name @param {readonly string[]} regions
 */
async function measured(org, name, regions) {
  good(await callerOf(vault)('PATCH', `/orgs/${org.id}`, org.token, { regions }));
  const callers = await Promise.all(places.map((place, n) => callerIn(org, place, n)));
  tell(`${name}: waiting for ${regions.length} replicas`);
  await Promise.all(callers.map((caller) => caller.warm(regions)));
  tell(`${name}: ${reads} reads in each region`);
  const read = await Promise.all(callers.map((caller) => caller.reads(reads)));
  tell(`${name}: ${changes} changes in each region`);
  const changed = [];
  const stop = new AbortController();
  // Replicas that are not read hold no lease, and no change would wait for them.
  const readers = callers.map((caller) => caller.reads(Number.POSITIVE_INFINITY, stop.signal));
  for (const caller of callers) changed.push(await caller.changes(changes));
  stop.abort();
  await Promise.all(readers);
  for (const caller of callers) caller.close();
  return { read, changed };
}

/** A caller in a region, with keys and a secret of its own. */
async function callerIn(org, place, n) {
  const connection = await connect(vault.port);
  const target = `/api/v1/orgs/${org.id}/secrets/${org.secrets[n].id}`;
  const headers = { 'Svc-Test-Region': place };
  const changing = org.tokens[2 * n + 1];
  const get = requestOf('GET', target, org.tokens[2 * n], undefined, undefined, headers);
  const timed = async (over, request) => {
    const started = performance.now();
    const answer = await over.send(request);
    const ms = performance.now() - started;
    if (answer.status !== 200) throw new Error(`${place}: ${answer.status} ${answer.text().slice(0, 300)}`);
    return { ms, by: /\r\nsvc-region: (\S+)/i.exec(answer.head)?.[1] ?? 'gate' };
  };
  return {
    /** Reads until its own replica answers, if there is one, or until Workers know of others. */
    async warm(regions) {
      for (let row = 0, tries = 0; row < 8; tries++) {
        const { by } = await timed(connection, get);
        row = !regions.includes(place) || by === place ? row + 1 : 0;
        if (tries > 400) throw new Error(`the replica in ${place} does not answer`);
        await sleep(EVERY);
      }
    },
    async reads(count, signal) {
      const all = [];
      for (let done = 0; done < count && !signal?.aborted; done++) {
        // Each region at a time of its own: on one machine, those that come together wait for each other.
        const now = performance.now();
        await sleep(EVERY - ((now - (n * EVERY) / places.length) % EVERY));
        all.push(await timed(connection, get));
      }
      return all;
    },
    async changes(count) {
      const all = [];
      // One that was idle since the beginning would be closed.
      const writer = await connect(vault.port);
      for (let done = 0; done < count; done++) {
        const body = { value: freshValue() };
        all.push(await timed(writer, requestOf('PATCH', target, changing, body, undefined, headers)));
      }
      writer.close();
      return all;
    },
    close: () => connection.close(),
  };
}

function print(results) {
  const at = (all, part) => {
    const sorted = all.map(({ ms }) => ms).toSorted((a, b) => a - b);
    return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))];
  };
  const cell = (all) => `${at(all, 0.5).toFixed(0)} · ${at(all, 0.99).toFixed(0)}`;
  const table = (title, of, more) => {
    const head = ['from', 'to the gate', 'no replica', `one, in \`${one}\``, 'in all regions', more.title];
    process.stdout.write(`\n${title}\n\n| ${head.join(' | ')} |\n|${'---|'.repeat(head.length)}\n`);
    places.forEach((place, n) => {
      const [none, single, every] = results.map((result) => result[of][n]);
      const cells = [`\`${place}\``, roundTrip(place, gate), cell(none), cell(single), cell(every)];
      process.stdout.write(`| ${[...cells, more.of(place, none, every)].join(' | ')} |\n`);
    });
  };
  // What the machine takes, whatever the distance.
  const local = at(results[0].read[places.indexOf(gate)], 0.5);
  table('Reads, p50 and p99 in milliseconds:', 'read', {
    title: `own replica answered · p50 over a read beside the gate (goal ${GOAL})`,
    of: (place, _none, every) => {
      const own = every.filter(({ by }) => by === place).length / every.length;
      return `${Math.round(own * 100)} % · ${(at(every, 0.5) - local).toFixed(1)}`;
    },
  });
  const farthest = Math.max(...places.map((place) => roundTrip(gate, place)));
  table('Changes, p50 and p99 in milliseconds:', 'changed', {
    title: `p50 over no replica (goal ${farthest})`,
    of: (_place, none, every) => (at(every, 0.5) - at(none, 0.5)).toFixed(0),
  });
}
