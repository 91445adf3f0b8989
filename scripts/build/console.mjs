// Builds the console with Vite if its sources, or those of the client in it, have changed since the last
// build. Invariant: a failed build leaves the last one in place, and no program reads a partial build.
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { root } from '../shared/wrangler.mjs';
import { digestOf } from './digest.mjs';

const require = createRequire(path.join(root, 'package.json'));
const home = path.join(root, 'packages', 'console');
export const consoleDist = path.join(home, 'dist');
const stamp = path.join(consoleDist, '.built-from');

/** A digest of everything that goes into the build. */
const sources = () =>
  digestOf([
    'packages/client/src',
    ...['src', 'index.html', 'vite.config.ts', 'package.json'].map((name) => `packages/console/${name}`),
  ]);

/** @param {string} program @param {string[]} args */
function run(program, args) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [program, ...args], {
    cwd: home,
    // A test runner sets another one, with which libraries keep their checks for development.
    env: { ...process.env, NODE_ENV: 'production' },
    encoding: 'utf8',
  });
  if (status !== 0) throw new Error(`The console could not be built:\n${stdout}${stderr}`);
}

/**
 * Replaces the last build. If another process did the same concurrently, its build stays.
 * @param {string} part
 * @param {string} wanted
 */
function replaceDist(part, wanted) {
  const old = `${part}.old`;
  try {
    if (fs.existsSync(consoleDist)) fs.renameSync(consoleDist, old);
    fs.renameSync(part, consoleDist);
  } catch (error) {
    if (!fs.existsSync(consoleDist) && fs.existsSync(old)) fs.renameSync(old, consoleDist);
    if (!fs.existsSync(stamp) || fs.readFileSync(stamp, 'utf8') !== wanted) throw error;
  } finally {
    fs.rmSync(old, { recursive: true, force: true });
  }
}

/** Builds the console if necessary. @returns whether it was built */
export function buildConsole() {
  const wanted = sources();
  if (fs.existsSync(stamp) && fs.readFileSync(stamp, 'utf8') === wanted) return false;
  const vite = path.join(path.dirname(require.resolve('vite/package.json')), 'bin', 'vite.js');
  const part = `${consoleDist}.${process.pid}`;
  try {
    run(vite, ['build', '--outDir', part, '--logLevel', 'error']);
    fs.writeFileSync(path.join(part, '.built-from'), wanted);
    replaceDist(part, wanted);
  } finally {
    fs.rmSync(part, { recursive: true, force: true });
  }
  return true;
}
