// `npm run bench:client`: reads per second from the TypeScript client's memory, compared with reads that ask
// the vault; and the time from a rotation to `onChange`, compared with the rotation itself.
//   npm run bench:client -- [--seconds N] [--rotations N]
// The vault runs in the local runtime, in a separate process. Compared operations take turns in short slices.
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import '../shared/temporary-files.mjs';
import { createVault } from '@secrets-vault/client';
import { call, newOrg, startVault } from '../../test/packages/vault.mjs';

const options = /** @type {const} */ ({
  seconds: { type: 'string', default: '5' },
  rotations: { type: 'string', default: '100' },
});
const { values } = parseArgs({ options });
const seconds = Number(values.seconds);
const rotations = Number(values.rotations);
if (!(seconds > 0 && rotations > 0)) {
  process.stderr.write('--seconds and --rotations must be numbers above 0.\n');
  process.exit(1);
}
const SLICE = 250;

const { url, stop } = await startVault();
try {
  const { org, key } = await newOrg(url);
  const agent = await call(url, key, 'POST', `/orgs/${org}/agent-credentials`, {
    name: 'bench',
    scopes: ['secrets:*'],
    rate_limit: 6000,
  });
  const watching = createVault({ url, org, credential: agent.token, cache: 'watch' });
  const asking = createVault({ url, org, credential: agent.token });
  await asking.set('BENCH', 'one', { type: 'password' });
  await watched(watching, asking);
  await reads(watching, asking);
  await changes(watching, asking);
  watching.close();
} finally {
  await stop();
}
process.exit();

/** Waits until the stream of `vault` is open: until it reports a change that `other` makes. */
async function watched(vault, other) {
  let isOpen = false;
  const remove = vault.onChange(() => {
    isOpen = true;
  });
  for (; !isOpen; await sleep(100)) await other.set('POKE', String(performance.now()));
  remove();
}

/**
 * @param {import('@secrets-vault/client').Vault} memory
 * @param {import('@secrets-vault/client').Vault} network
 */
async function reads(memory, network) {
  const done = { memory: { reads: 0, ms: 0 }, network: { reads: 0, ms: 0 } };
  for (const vault of [memory, network]) for (let n = 0; n < 20; n++) await vault.get('BENCH');
  while (done.memory.ms < seconds * 1000) {
    for (const [name, vault] of Object.entries({ memory, network })) {
      const started = performance.now();
      let count = 0;
      for (; performance.now() - started < (name === 'network' ? SLICE / 5 : SLICE); count++)
        await vault.get('BENCH');
      done[name].reads += count;
      done[name].ms += performance.now() - started;
    }
  }
  const rate = ({ reads: count, ms }) => (count / ms) * 1000;
  const fast = rate(done.memory);
  const slow = rate(done.network);
  process.stdout.write(`| reads, one after another | a second | |\n|---|---|---|\n`);
  process.stdout.write(
    `| from memory, with the stream open | ${Math.round(fast).toLocaleString('en')} | ${Math.round(fast / slow).toLocaleString('en')} times |\n`,
  );
  process.stdout.write(`| from the vault | ${Math.round(slow).toLocaleString('en')} | 1 |\n\n`);
}

/**
 * @param {import('@secrets-vault/client').Vault} watching
 * @param {import('@secrets-vault/client').Vault} rotating
 */
async function changes(watching, rotating) {
  /** @type {number[]} */ const took = [];
  /** @type {number[]} */ const calls = [];
  const { info } = await rotating.rotate('BENCH');
  const path = { org_id: rotating.org, id: info.id };
  for (let n = 0; n < rotations; n++) {
    const told = new Promise((done) => {
      const remove = watching.onChange(({ names }) => {
        if (!names.includes('BENCH')) return;
        remove();
        done(performance.now());
      });
    });
    const started = performance.now();
    await rotating.api.POST('/orgs/{org_id}/secrets/{id}/rotate', { params: { path } });
    calls.push(performance.now() - started);
    took.push((await told) - started);
  }
  const row = (name, times) => `| ${name} | ${at(times, 0.5)} | ${at(times, 0.99)} |\n`;
  process.stdout.write('| ms from the call of rotate | p50 | p99 |\n|---|---|---|\n');
  process.stdout.write(row('its response', calls) + row('`onChange` in another client', took));
}

/** @param {number[]} times @param {number} part */
function at(times, part) {
  return [...times]
    .sort((a, b) => a - b)
    [Math.min(times.length - 1, Math.floor(times.length * part))]?.toFixed(1);
}
