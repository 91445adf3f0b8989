// `npm run bundle`: how large the minified Worker is, gzipped. Invariant: it stays under a limit that leaves room below the platform's own.
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { gzipSync } from 'node:zlib';
import './scratch.mjs';
import { root, wranglerArgs, wranglerEnv } from './wrangler.mjs';

const LIMIT = 600_000;

const out = fs.mkdtempSync(path.join(os.tmpdir(), 'bundle-'));
try {
  const args = wranglerArgs(['deploy', '--dry-run', '--minify', '--outdir', out]);
  const built = spawnSync(process.execPath, args, { cwd: root, env: { ...process.env, ...wranglerEnv }, encoding: 'utf8' });
  if (built.status !== 0) {
    process.stderr.write(`The bundle could not be built; wrangler said:\n${built.stdout}${built.stderr}`);
    process.exitCode = 1;
  } else {
    // What is uploaded: the script and the modules beside it; source maps and wrangler's note are not.
    const modules = fs
      .readdirSync(out, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && !/\.map$|^README\.md$/.test(entry.name));
    const size = modules.reduce((sum, entry) => sum + gzipSync(fs.readFileSync(path.join(entry.parentPath, entry.name))).length, 0);
    const verdict = `The bundle is ${(size / 1000).toFixed(1)} kB gzipped, of ${LIMIT / 1000} kB allowed`;
    if (size <= LIMIT) process.stdout.write(`${verdict}.\n`);
    else {
      process.stderr.write(`${verdict}: drop or replace what grew (esbuild's --metafile on src/index.ts shows it).\n`);
      process.exitCode = 1;
    }
  }
} finally {
  fs.rmSync(out, { recursive: true, force: true });
}
