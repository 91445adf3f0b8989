// Whether the tests notice when a safety check is removed: applies each mutant of scripts/test/mutants to a
// copy of the project, one at a time, and runs the tests that should notice. Invariant: a mutant counts as
// killed only if a test that passes without it failed or hung.
// npm run test:mutants -- [--only TEXT]... [--json]
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { mutants } from './mutants/index.mjs';
import { applied, sourcesIn, testFile } from './safety-tags.mjs';
import '../shared/temporary-files.mjs';
import { root } from '../shared/wrangler.mjs';
import { runTests } from './run-vitest.mjs';

const COPIED = [
  'src',
  'test',
  'scripts',
  'migrations',
  'packages',
  'dist',
  'docs',
  'package.json',
  'tsconfig.json',
  'vitest.config.ts',
  'vitest.node.config.ts',
  'vitest.packages.config.ts',
  'wrangler.toml',
];
/** Packages' own node_modules: mutants never apply there. */
const IN_PACKAGES = /packages.[^/\\]+.node_modules$/;
const PATIENCE = 300_000;

const { values: options } = parseArgs({
  options: { only: { type: 'string', multiple: true, default: [''] }, json: { type: 'boolean' } },
});
const isOf = (text, { name, tag }) => `${name}\n${tag ?? ''}`.includes(text);
const missing = options.only.find((text) => !mutants.some((mutant) => isOf(text, mutant)));
if (missing !== undefined)
  stop(`No mutant has a name or a tag containing ${JSON.stringify(missing)}: see scripts/test/mutants.`);
const chosen = mutants.filter((mutant) => options.only.some((text) => isOf(text, mutant)));

const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'svc-mutants-'));
process.on('exit', () => fs.rmSync(dir, { recursive: true, force: true }));
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => process.exit(130));
for (const name of COPIED)
  if (fs.existsSync(path.join(root, name)))
    fs.cpSync(path.join(root, name), path.join(dir, name), {
      recursive: true,
      filter: (from) => !IN_PACKAGES.test(from),
    });
fs.symlinkSync(fs.realpathSync(path.join(root, 'node_modules')), path.join(dir, 'node_modules'));

const tests = [...new Set(chosen.map(({ notice }) => notice))];
say(`The tests for ${chosen.length} mutants must pass without a mutant.`);
const whole = await run(tests, PATIENCE + tests.length * 30_000);
if (whole.why) stop(`They fail: fix that first.\n${whole.failed ?? ''} ${whole.why}`);
const unknown = tests.find((notice) => !whole.passed.some((name) => name.includes(split(notice)[1])));
if (unknown) stop(`No test has a name containing "${unknown}": fix scripts/test/mutants.`);
say(`They pass.${seconds(whole.ms)}`);

const sources = sourcesIn(dir);
const results = [];
for (const [i, mutant] of chosen.entries()) {
  const { name, notice, survives } = mutant;
  const { file, source } = applied(mutant, sources);
  fs.writeFileSync(path.join(dir, file), source);
  if (file.startsWith('packages/')) buildCli();
  const { failed, why, ms } = await run([notice], PATIENCE);
  fs.writeFileSync(path.join(dir, file), sources.get(file));

  const end = failed ? 'killed' : why ? 'did not run' : 'survived';
  results.push({
    name,
    end,
    expected: survives ? 'survived' : 'killed',
    by: failed,
    why: why && line(why),
    ms,
  });
  say(
    `${String(i + 1).padStart(3)}/${chosen.length}${seconds(ms)}  ${end}${survives ? ', as expected' : ''}: ${name}`,
  );
  if (why) say(`              ${failed ?? ''}: ${line(why)}`);
}

const amiss = results.filter(({ end, expected }) => end !== expected);
if (options.json) process.stdout.write(`${JSON.stringify(results, null, 2)}\n`);
else {
  for (const { name, end } of amiss) process.stdout.write(`${end}: ${name}\n`);
  const killed = results.filter(({ end }) => end === 'killed').length;
  process.stdout.write(`${killed} of ${results.length} mutants killed, ${amiss.length} not as expected.\n`);
}
process.exitCode = amiss.length ? 1 : 0;

/** The tests of svc run the built program. */
function buildCli() {
  const { status, stderr } = spawnSync(process.execPath, [path.join(dir, 'packages/cli/build.mjs')], {
    encoding: 'utf8',
  });
  if (status !== 0) stop(`svc could not be built:\n${stderr}`);
}

/** @param {string} notice @returns {string[]} A file of tests, and part of a name. */
function split(notice) {
  return notice.split(/: (.*)/);
}

/**
 * Tests in test/vendors and those of packages run in Node, all others in the real runtime.
 * @param {string[]} notices @param {number} patience
 */
async function run(notices, patience) {
  const inNode = notices.filter((notice) => notice.startsWith('vendors/'));
  const inPackages = notices.filter((notice) => notice.startsWith('packages/'));
  const inRuntime = notices.filter((notice) => !inNode.includes(notice) && !inPackages.includes(notice));
  const runs = [];
  if (inNode.length) runs.push(await runPart(inNode, patience, 'vitest.node.config.ts'));
  if (inPackages.length) runs.push(await runPart(inPackages, patience, 'vitest.packages.config.ts'));
  if (inRuntime.length) runs.push(await runPart(inRuntime, patience));
  const amiss = runs.find(({ why }) => why);
  return {
    ...amiss,
    passed: runs.flatMap(({ passed }) => passed),
    ms: runs.reduce((sum, { ms }) => sum + ms, 0),
  };
}

/** @param {string[]} notices @param {number} patience @param {string} [config] */
function runPart(notices, patience, config) {
  const parts = notices.map(split);
  const files = [...new Set(parts.map(([file]) => testFile(file)))];
  // Vitest compares names in which " > " stands between a group and its test.
  const named = parts
    .map(([, name]) => name.replace(/[.*+?^${}()|[\]\\]/g, '\\$&').replaceAll(' ', ' (?:> )?'))
    .join('|');
  return runTests(dir, { files, named, config, env: { HISTORIES: '150', SEED: '1' }, patience });
}

/** @param {string} text */
function line(text) {
  return text.replace(/\s+/g, ' ').trim().slice(0, 240);
}

/** @param {number} ms */
function seconds(ms) {
  return `${(ms / 1000).toFixed(0).padStart(5)} s`;
}

/** @param {string} text */
function say(text) {
  process.stderr.write(`${text}\n`);
}

/** @param {string} text @returns {never} */
function stop(text) {
  say(text);
  process.exit(1);
}
