// What `npm test` leaves out: tests with the tag `slow`, and never all of a subject. The documents name the
// command that runs them.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { root } from '../../../scripts/shared/wrangler.mjs';
import { inMemory } from '../../../scripts/test/memory.mjs';
import { read } from '../docs/markdown.mjs';

/** The files of TypeScript in a folder of tests. @param {string} folder */
const filesIn = (folder) =>
  fs
    .readdirSync(path.join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts') && !name.includes('node_modules'))
    .map((name) => `${folder}/${name.replaceAll(path.sep, '/')}`);

const ofPackages = fs
  .readdirSync(path.join(root, 'packages'))
  .map((name) => `packages/${name}/test`)
  .filter((folder) => fs.existsSync(path.join(root, folder)));

/** Whether `npm test` runs a test of this file: one that is not marked as slow. @param {string} file */
const hasQuick = (file) =>
  read(file)
    .split(/^ *(?=(?:it|test|slow)\b)/m)
    .slice(1)
    .some((text) => /^(it|test)\b/.test(text) && !/^.{0,400}?\{ tags: 'slow'/s.test(text));

test('slow tests: no other tag is used, and each configuration defines this one and refuses others', () => {
  for (const file of ['test', ...ofPackages].flatMap(filesIn))
    for (const [, tag] of read(file).matchAll(/\{[^{}]*\btags: '(\w+)'/g)) assert.equal(tag, 'slow', file);
  for (const file of ['vitest.config.ts', 'vitest.node.config.ts', 'vitest.packages.config.ts']) {
    assert.match(read(file), /^ +tags: \[\{ name: 'slow', description: '[^']+' \}\],$/m, file);
    assert.doesNotMatch(read(file), /strictTags/, file);
  }
});

test('slow tests: each folder of test/api, and each file of test/faults and test/model, has a quick one', () => {
  const folders = fs.readdirSync(path.join(root, 'test/api')).map((name) => filesIn(`test/api/${name}`));
  const files = ['test/faults', 'test/model'].flatMap(filesIn).map((file) => [file]);
  for (const group of [...folders, ...files]) {
    const tests = group.filter((file) => file.endsWith('.test.ts'));
    assert.ok(tests.length === 0 || tests.some(hasQuick), group[0]);
  }
});

test('slow tests: README.md and CONTRIBUTING.md name the command that runs them', () => {
  for (const file of ['README.md', 'CONTRIBUTING.md']) assert.match(read(file), /`npm run test:whole`/, file);
  assert.match(read('package.json'), /"test:whole": "node scripts\/test\/all\.mjs --whole"/);
});

test('temporary files: tests keep them in memory only where there is room, and programs run', () => {
  assert.deepEqual(inMemory('/nowhere'), {});
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'memory-'));
  assert.ok([dir, undefined].includes(inMemory(dir).TMPDIR));
  assert.deepEqual(fs.readdirSync(dir), []);
  fs.rmSync(dir, { recursive: true });
});
