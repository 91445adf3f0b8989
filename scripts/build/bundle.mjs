// `npm run bundle`: the gzipped size of the minified Worker and of the console's shell, and the CPU time of
// the Worker's start on this machine. Invariants: each size stays under its limit, the Worker's with room
// below the platform's own limit; the CPU time has no limit, because it depends on the machine.
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { gzipSync } from 'node:zlib';
import { consoleDist } from './console.mjs';
import '../shared/temporary-files.mjs';
import { root, wranglerArgs, wranglerEnv } from '../shared/wrangler.mjs';
import { keepWorker, workerSources } from './worker-build.mjs';

const LIMIT = 800_000;
/** What the console loads before any page: see docs/guides/console.md. */
const SHELL_LIMIT = 105_900;
/** How often the start is measured; the median is printed. */
const STARTS = 3;

const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'bundle-'));
try {
  const modules = path.join(dir, 'modules');
  const upload = path.join(dir, 'upload');
  const sources = workerSources();
  const built = wrangler(['deploy', '--dry-run', '--minify', '--outdir', modules, '--outfile', upload]);
  if (built.status !== 0) {
    process.stderr.write(`The bundle could not be built; wrangler said:\n${built.stdout}${built.stderr}`);
    process.exitCode = 1;
  } else {
    keepWorker(sources, modules);
    reportSize('The bundle', sizeOf(modules), LIMIT, "esbuild's --metafile on src/index.ts shows it");
    reportSize(
      'The shell of the console',
      shellSize(),
      SHELL_LIMIT,
      'npm run build -w packages/console shows it',
    );
    reportCpu(startsOf(upload));
  }
} finally {
  fs.rmSync(dir, { recursive: true, force: true });
}

/** @param {string[]} args */
function wrangler(args) {
  return spawnSync(process.execPath, wranglerArgs(args), {
    cwd: root,
    env: { ...process.env, ...wranglerEnv },
    encoding: 'utf8',
  });
}

/**
 * What is uploaded, gzipped: the script and its modules, without source maps and wrangler's note.
 * @param {string} modules
 */
function sizeOf(modules) {
  return fs
    .readdirSync(modules, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !/\.map$|^README\.md$/.test(entry.name))
    .reduce(
      (sum, entry) => sum + gzipSync(fs.readFileSync(path.join(entry.parentPath, entry.name))).length,
      0,
    );
}

/** The files that the console's page references, gzipped as Cloudflare sends them. */
function shellSize() {
  const page = fs.readFileSync(path.join(consoleDist, 'index.html'), 'utf8');
  const files = [...page.matchAll(/"\/console\/(assets\/[^"]+)"/g)].map(([, name]) =>
    fs.readFileSync(path.join(consoleDist, name)),
  );
  return [Buffer.from(page), ...files].reduce((sum, bytes) => sum + gzipSync(bytes).length, 0);
}

/** @param {string} what @param {number} size @param {number} limit @param {string} how to see what grew */
function reportSize(what, size, limit, how) {
  const verdict = `${what} is ${(size / 1000).toFixed(1)} kB gzipped, of ${limit / 1000} kB allowed`;
  if (size <= limit) process.stdout.write(`${verdict}.\n`);
  else {
    process.stderr.write(`${verdict}: remove or replace what grew (${how}).\n`);
    process.exitCode = 1;
  }
}

/**
 * The CPU time of each start, in milliseconds, from wrangler's profile in the local runtime.
 * @param {string} upload
 */
function startsOf(upload) {
  const profile = path.join(dir, 'start.cpuprofile');
  return Array.from({ length: STARTS }, () =>
    wrangler(['check', 'startup', '--worker', upload, '--outfile', profile]),
  )
    .map(({ stdout }) => Number(/Active: ([\d.]+) ms/.exec(stdout)?.[1]))
    .filter((ms) => ms > 0);
}

/** @param {number[]} starts */
function reportCpu(starts) {
  const median = starts.sort((a, b) => a - b)[starts.length >> 1];
  process.stdout.write(
    median === undefined
      ? 'Its start-up CPU could not be measured: npx wrangler check startup says why.\n'
      : `Its start takes ${median.toFixed(0)} ms of CPU on this machine (median of ${starts.length}).\n`,
  );
}
