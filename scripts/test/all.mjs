// `npm test`: every check and every test. Checks run two at a time, and so do tests that mostly wait for
// programs and browsers, each with its output in one piece. Tests in the runtime run on their own afterwards,
// because they use both cores. Invariants: the exit code is 0 only if everything passed; the last line names
// the failures.
import { spawn } from 'node:child_process';
import os from 'node:os';
import path from 'node:path';
import { root } from '../shared/wrangler.mjs';

/** @typedef {{ name: string, command: string }} Step */

/** Slowest first. @type {Step[]} */
const checks = [
  { name: 'bundle', command: 'npm run --silent bundle' },
  { name: 'types', command: 'tsc' },
  { name: 'packages', command: 'npm run --silent build' },
  { name: 'format and lint', command: 'biome ci' },
  { name: 'migrations', command: 'npm run --silent check:migrations' },
];
/** @type {Step[]} */
const waiting = [
  { name: 'tests of scripts', command: 'npm run --silent test:scripts' },
  { name: 'tests of packages', command: 'npm run --silent test:packages' },
  { name: 'tests of vendors', command: 'npm run --silent test:vendors' },
];
/** @type {Step} */
const runtime = { name: 'tests in the runtime', command: 'npm run --silent test:runtime' };

/** @type {string[]} */
const failed = [];
await inPairs(checks);
if (failed.length === 0) await inPairs(waiting);
if (failed.length === 0) await run(runtime, false);
if (failed.length) {
  process.stderr.write(`npm test failed: ${failed.join(', ')}.\n`);
  process.exitCode = 1;
}

/** Runs steps two at a time. @param {Step[]} steps */
async function inPairs(steps) {
  const open = [...steps];
  const work = async () => {
    for (let step = open.shift(); step; step = open.shift()) await run(step, true);
  };
  await Promise.all(Array.from({ length: Math.min(2, os.availableParallelism()) }, work));
}

/**
 * Runs a step until it ends. @param {Step} step @param {boolean} isKept Whether its output is buffered until
 * then. @returns {Promise<void>}
 */
function run({ name, command }, isKept) {
  const started = Date.now();
  const binaries = path.join(root, 'node_modules', '.bin');
  const child = spawn(command, {
    cwd: root,
    shell: true,
    env: { ...process.env, PATH: `${binaries}${path.delimiter}${process.env.PATH}` },
    stdio: isKept ? ['ignore', 'pipe', 'pipe'] : ['ignore', 'inherit', 'inherit'],
  });
  let said = '';
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (data) => (said += data));
  return new Promise((done) =>
    child.on('close', (code, signal) => {
      if (code !== 0) failed.push(name);
      const end = code === 0 ? 'passed' : `failed (${signal ?? code})`;
      process.stdout.write(`${said}── ${name} ${end}, ${((Date.now() - started) / 1000).toFixed(0)} s\n`);
      done();
    }),
  );
}
