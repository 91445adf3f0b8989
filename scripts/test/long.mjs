// Every fault of test/faults/sweep.test.ts and test/faults/deliveries.test.ts, a long flood of
// test/api/limits/flood.test.ts, many revocations of test/api/regions/revocation.test.ts, and many random
// histories of test/model/histories.test.ts, in batches with their own seeds; ends at the first failure.
// npm run test:long -- [--flood 1000] [--trials 200] [--histories 10000] [--batch 500] [--seed NUMBER]
// [--no-faults]
import { createHash, randomInt } from 'node:crypto';
import { parseArgs } from 'node:util';
import '../shared/temporary-files.mjs';
import { root } from '../shared/wrangler.mjs';
import { runTests } from './run-vitest.mjs';

const { values: options } = parseArgs({
  options: {
    flood: { type: 'string', default: '1000' },
    trials: { type: 'string', default: '200' },
    histories: { type: 'string', default: '10000' },
    batch: { type: 'string', default: '500' },
    seed: { type: 'string', default: String(randomInt(2 ** 31)) },
    'no-faults': { type: 'boolean', default: false },
  },
});
const flood = number('flood', 0);
const trials = number('trials', 0);
const histories = number('histories', 1);
const batch = number('batch', 1);
const seed = number('seed', 0);
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => process.exit(130));

if (flood) {
  say(`Every route, ${flood} times, with the largest requests.`);
  const { why } = await runTests(root, {
    files: ['test/api/limits/flood.test.ts'],
    named: 'a flood',
    env: { FLOOD: String(flood) },
  });
  if (why) {
    const again = `FLOOD=${flood} npx vitest run test/api/limits/flood.test.ts -t 'a flood'`;
    process.stdout.write(`${why}\n\nThe flood exceeds a bound. To repeat it: ${again}\n`);
    process.exit(1);
  }
}
if (trials) {
  say(`Revocations with replicas, ${trials} of each kind.`);
  const file = 'test/api/regions/revocation.test.ts';
  const env = { TRIALS: String(trials) };
  const { why } = await runTests(root, { files: [file], named: 'revocation', env });
  if (why) {
    process.stdout.write(`${why}\n\nTo repeat it: TRIALS=${trials} npx vitest run ${file}\n`);
    process.exit(1);
  }
}
if (!options['no-faults']) {
  say('Every fault of every change, of sign-ins, deliveries and syncs, and every attack on rows.');
  const files = ['sweep', 'deliveries', 'signin', 'credential-races', 'tampering', 'syncs'].map(
    (name) => `test/faults/${name}.test.ts`,
  );
  const { why } = await runTests(root, { files, named: '.', env: { FAULTS: 'all' } });
  if (why) {
    process.stdout.write(
      `${why}\n\nA change is not made exactly once, or an event is lost. To repeat it: FAULTS=all npx vitest run ${files.join(' ')}\n`,
    );
    process.exit(1);
  }
}
say(
  `${histories} histories from seed ${seed}, ${batch} at a time; to repeat: npm run test:long -- --histories ${histories} --batch ${batch} --seed ${seed}`,
);
const started = Date.now();
for (let done = 0; done < histories; ) {
  const count = Math.min(batch, histories - done);
  const env = { HISTORIES: String(count), SEED: String(seedOf(seed, done / batch)) };
  const { failed, why } = await runTests(root, {
    files: ['test/model/histories.test.ts'],
    named: 'random histories',
    env,
  });
  if (why) {
    process.stdout.write(`${why}\n\n`);
    const again = `HISTORIES=${env.HISTORIES} SEED=${env.SEED} npx vitest run test/model/histories.test.ts -t 'random histories'`;
    process.stdout.write(
      `${failed ? 'A history failed' : 'The batch did not run'}. To repeat it: ${again}\n`,
    );
    process.exit(1);
  }
  done += count;
  const rate = done / ((Date.now() - started) / 1000);
  say(
    `${String(done).padStart(6)} of ${histories} passed, ${rate.toFixed(1)} a second, ${duration((histories - done) / rate)} left (seed ${env.SEED})`,
  );
}
process.stdout.write(`${histories} random histories passed.\n`);

/** The seed of the n-th batch: 32 bits. @param {number} master @param {number} n */
function seedOf(master, n) {
  return createHash('sha256').update(`${master}/${n}`).digest().readInt32BE();
}

/** @param {'flood' | 'trials' | 'histories' | 'batch' | 'seed'} name @param {number} least */
function number(name, least) {
  const value = Number(options[name]);
  if (Number.isSafeInteger(value) && value >= least) return value;
  say(`--${name} must be an integer of at least ${least}.`);
  process.exit(2);
}

/** @param {number} seconds */
function duration(seconds) {
  const minutes = Math.ceil(seconds / 60);
  return minutes < 60 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/** @param {string} text */
function say(text) {
  process.stderr.write(`${text}\n`);
}
