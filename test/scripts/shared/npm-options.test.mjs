import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import path from 'node:path';
import test from 'node:test';

const root = path.resolve(import.meta.dirname, '../../..');

for (const [script, option] of [
  ['doctor', '--deep'],
  ['backup', '--verify'],
  ['restore', '--adopt'],
]) {
  test(`options: npm run ${script} ${option} without -- is refused`, () => {
    const { status, stderr } = spawnSync('npm', ['run', '-s', script, option], {
      cwd: root,
      encoding: 'utf8',
      env: { ...process.env, STATE_DIR: '/nonexistent' },
    });
    assert.notEqual(status, 0);
    assert.match(stderr, /put -- before the options/);
  });
}
