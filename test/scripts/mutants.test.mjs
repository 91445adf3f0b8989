// The table of mutants is true to today's source, so that npm run test:mutants takes out what it says.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { it } from 'node:test';
import { applied, mutants } from '../../scripts/mutant-table.mjs';
import { root } from '../../scripts/wrangler.mjs';

const read = (file) => fs.readFileSync(path.join(root, file), 'utf8');

it('mutants: each replaces a text that occurs exactly once in its file, and has a unique name', () => {
  for (const mutant of mutants) assert.notEqual(applied(mutant, read(mutant.file)), read(mutant.file), mutant.name);
  assert.equal(new Set(mutants.map(({ name }) => name)).size, mutants.length);
});

it('mutants: a text that is missing or occurs twice is an error that names the mutant', () => {
  const mutant = { name: 'nobody checks', file: 'src/a.ts', from: 'check();', to: '', notice: 'a: b' };
  assert.equal(applied(mutant, 'a(); check(); b();'), 'a();  b();');
  assert.throws(() => applied(mutant, 'a(); b();'), /src\/a\.ts: .*nobody checks.* 0 times/);
  assert.throws(() => applied(mutant, 'check(); check();'), /2 times/);
});

it('mutants: each names an existing test file', () => {
  for (const { notice } of mutants) assert.ok(fs.existsSync(path.join(root, 'test', `${notice.split(': ')[0]}.test.ts`)), notice);
});
