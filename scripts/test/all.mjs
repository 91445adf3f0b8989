// `npm test`: every check, and all tests but the slow ones. `npm run test:whole`: these too. Checks run two
// at a time, then all suites of tests at once, because some wait for programs and browsers while others use
// the cores. Each has its output in one piece. Invariants: the exit code is 0 only if everything passed; the
// last line names the failures.
import { spawn } from 'node:child_process';
import os from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { root } from '../shared/wrangler.mjs';
import { inMemory } from './memory.mjs';

/** @typedef {{ name: string, command: string }} Step */

const { values: options } = parseArgs({ options: { whole: { type: 'boolean', default: false } } });
/** What includes slow tests of scripts and packages, or leaves out slow ones of all suites. */
const env = { ...inMemory(), ...(options.whole ? { SLOW: '1' } : { QUICK: '1' }) };
const filter = options.whole ? '' : " -- --tags-filter='!slow'";

/** Slowest first. @type {Step[]} */
const checks = [
  { name: 'bundle', command: 'npm run --silent bundle' },
  { name: 'types', command: 'tsc' },
  { name: 'packages', command: 'npm run --silent build' },
  { name: 'format and lint', command: 'biome ci' },
  { name: 'migrations', command: 'npm run --silent check:migrations' },
];
/** Longest first. @type {Step[]} */
const suites = [
  { name: 'tests in the runtime', command: `npm run --silent test:runtime${filter}` },
  { name: 'tests of scripts', command: 'npm run --silent test:scripts' },
  { name: 'tests of packages', command: `npm run --silent test:packages${filter}` },
  { name: 'tests of vendors', command: `npm run --silent test:vendors${filter}` },
];

/** @type {string[]} */
const failed = [];
const cores = os.availableParallelism();
await inTurn(checks, Math.min(2, cores));
if (failed.length === 0) await inTurn(suites, cores + 1);
if (failed.length) {
  process.stderr.write(`npm test failed: ${failed.join(', ')}.\n`);
  process.exitCode = 1;
}

/** Runs steps, so many at a time. @param {Step[]} steps @param {number} atOnce */
async function inTurn(steps, atOnce) {
  const open = [...steps];
  const work = async () => {
    for (let step = open.shift(); step; step = open.shift()) await run(step);
  };
  await Promise.all(Array.from({ length: atOnce }, work));
}

/** Runs a step, and prints its output when it has ended. @param {Step} step @returns {Promise<void>} */
function run({ name, command }) {
  const started = Date.now();
  const binaries = path.join(root, 'node_modules', '.bin');
  const child = spawn(command, {
    cwd: root,
    shell: true,
    env: { ...process.env, ...env, PATH: `${binaries}${path.delimiter}${process.env.PATH}` },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let said = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (data) => (said += data));
  return new Promise((done) =>
    child.on('close', (code, signal) => {
      if (code !== 0) failed.push(name);
      const end = code === 0 ? 'passed' : `failed (${signal ?? code})`;
      process.stdout.write(`${said}── ${name} ${end}, ${((Date.now() - started) / 1000).toFixed(0)} s\n`);
      done();
    }),
  );
}
