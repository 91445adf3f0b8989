// The checker of histories: it takes one that is linearizable, with answers that were lost, and finds each
// violation that is put into it.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { buildChecker, linesOf, violations } from '../../linearizability/history.mjs';
import { project } from '../service.mjs';

const check = buildChecker();
const options = { skip: check === null && 'Go is not installed, or its modules cannot be downloaded' };
const verdict = (lines) => /** @type {NonNullable<typeof check>} */ (check)(lines).isLinearizable;
const examples = ['example', 'example-replicas'].map((name) =>
  linesOf(fs.readFileSync(path.join(project, 'test', 'linearizability', `${name}.jsonl`), 'utf8')),
);

test('linearizability: histories with lost answers, and with replicas, are taken', options, () => {
  assert.deepEqual(examples.map(verdict), [true, true]);
});

for (const [what, inject] of Object.entries(violations))
  test(`linearizability: ${what} is found`, options, () => {
    const broken = examples.map(inject).filter((lines) => lines !== null);
    assert.ok(broken.length);
    for (const lines of broken) assert.equal(verdict(lines), false);
  });
