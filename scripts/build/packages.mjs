// `npm run build`: compiles every package to its dist, or runs its own build.mjs, and type-checks its tests.
// Packages come after their dependencies.
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { root } from '../shared/wrangler.mjs';

const require = createRequire(path.join(root, 'package.json'));
const tsc = path.join(path.dirname(require.resolve('typescript/package.json')), 'bin', 'tsc');
const packages = path.join(root, 'packages');
const first = ['client'];
const names = fs
  .readdirSync(packages)
  .filter((name) => fs.existsSync(path.join(packages, name, 'tsconfig.json')));
names.sort((a, b) => Number(first.includes(b)) - Number(first.includes(a)) || a.localeCompare(b));
for (const name of names) {
  // The console is built when it is served: see console.mjs.
  if (name !== 'console') fs.rmSync(path.join(packages, name, 'dist'), { recursive: true, force: true }); // a file deleted from src must not stay in the package
  for (const project of ['tsconfig.json', 'test/tsconfig.json']) {
    const file = path.join(packages, name, project);
    if (!fs.existsSync(file)) continue;
    const { status } = spawnSync(process.execPath, [tsc, '-p', file], { cwd: root, stdio: 'inherit' });
    if (status !== 0) process.exit(status ?? 1);
  }
  if (fs.existsSync(path.join(packages, name, 'build.mjs')))
    await import(pathToFileURL(path.join(packages, name, 'build.mjs')).href);
}
