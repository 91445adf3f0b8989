// The Worker that `npm start` keeps: taken only if it is complete and of the sources that are there.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { it } from 'node:test';
import { pathToFileURL } from 'node:url';
import { keepWorker, takeWorker } from '../../../scripts/build/worker-build.mjs';
import { copyOfProject } from '../service.mjs';

const newDir = () => fs.mkdtempSync(path.join(os.tmpdir(), 'build-'));

/** A directory with a built Worker. */
function built(text = 'worker') {
  const dir = newDir();
  for (const name of ['index.js', 'index.js.map']) fs.writeFileSync(path.join(dir, name), `${text} ${name}`);
  return dir;
}

it('npm start: a kept Worker is taken as it was built, and the newest one wins', () => {
  const kept = newDir();
  const to = newDir();
  assert.equal(takeWorker('one', to, kept), false);
  keepWorker('one', built('first'), kept);
  keepWorker('two', built('second'), kept);
  assert.equal(takeWorker('one', to, kept), false);
  assert.equal(takeWorker('two', to, kept), true);
  assert.deepEqual(
    ['index.js', 'index.js.map'].map((name) => fs.readFileSync(path.join(to, name), 'utf8')),
    ['second index.js', 'second index.js.map'],
  );
});

it('npm start: a kept Worker that is incomplete, altered or half replaced is not taken', () => {
  for (const spoil of [
    (kept) => fs.rmSync(path.join(kept, 'index.js.map')),
    (kept) => fs.appendFileSync(path.join(kept, 'index.js'), ' altered'),
    (kept) => fs.truncateSync(path.join(kept, 'built-from.json'), 10),
    (kept) => fs.copyFileSync(path.join(built('other'), 'index.js'), path.join(kept, 'index.js')),
  ]) {
    const kept = newDir();
    const to = newDir();
    keepWorker('one', built(), kept);
    spoil(kept);
    assert.equal(takeWorker('one', to, kept), false, `${spoil}`);
    assert.deepEqual(fs.readdirSync(to), []);
  }
});

it('npm start: a failed attempt to keep a Worker is no fault, and leaves nothing to take', () => {
  const file = path.join(newDir(), 'file');
  fs.writeFileSync(file, '');
  keepWorker('one', built(), path.join(file, 'kept'));
  assert.equal(takeWorker('one', newDir(), path.join(file, 'kept')), false);
});

it('npm start: the Worker is built again after a change of its source, its configuration or the installed packages', async () => {
  const dir = copyOfProject();
  fs.rmSync(path.join(dir, 'node_modules'));
  fs.mkdirSync(path.join(dir, 'node_modules'));
  const { digestOf } = await import(pathToFileURL(path.join(dir, 'scripts', 'build', 'digest.mjs')).href);
  const { workerSources } = await import(
    pathToFileURL(path.join(dir, 'scripts', 'build', 'worker-build.mjs')).href
  );
  const seen = new Set([workerSources()]);
  assert.equal(seen.has(workerSources()), true);
  for (const file of [
    'src/index.ts',
    'src/http/zod.js',
    'wrangler.toml',
    'package-lock.json',
    'node_modules/.package-lock.json',
  ]) {
    fs.appendFileSync(path.join(dir, file), '\n');
    seen.add(workerSources());
  }
  fs.renameSync(path.join(dir, 'src/text.ts'), path.join(dir, 'src/other.ts'));
  seen.add(workerSources());
  assert.equal(seen.size, 7);
  assert.notEqual(digestOf(['src']), digestOf(['docs']));
});
