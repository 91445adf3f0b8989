// The disk of a local vault: what doctor says of its free space and permissions.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, it } from 'node:test';
import { diskOf } from '../../../../scripts/operate/doctor/disk.mjs';

const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'disk-'));
after(() => fs.rmSync(dir, { recursive: true, force: true }));
const MIB = 2 ** 20;
const free = (/** @type {number} */ bytes) => diskOf(dir, () => bytes);

it('doctor: a full disk fails, a scarce one warns', () => {
  assert.deepEqual(
    [0, 16 * MIB - 1, 16 * MIB, 256 * MIB - 1, 256 * MIB].map((bytes) => free(bytes)?.verdict),
    ['fail', 'fail', 'warn', 'warn', 'ok'],
  );
  assert.match(
    free(0)?.message ?? '',
    /^0 MiB are free on the disk of STATE_DIR: requests fail once it is full\. Free some space/,
  );
});

it('doctor: a directory that does not exist has no disk', () =>
  assert.equal(diskOf(path.join(dir, 'none')), undefined));

it('doctor: a directory that cannot be written fails', {
  skip: process.getuid?.() === 0 && 'root may write everywhere',
}, () => {
  fs.chmodSync(dir, 0o500);
  assert.match(free(10 ** 9)?.message ?? '', /^STATE_DIR cannot be written/);
  fs.chmodSync(dir, 0o700);
});

it('doctor: a database that cannot be written fails by its name', () => {
  const file = path.join(dir, 'd1', 'vault.sqlite');
  fs.mkdirSync(path.dirname(file));
  for (const name of [file, `${file}-wal`]) fs.writeFileSync(name, '');
  const refused = (/** @type {string} */ code) => (/** @type {string} */ name) => {
    if (name === file) throw Object.assign(new Error(code), { code });
  };
  const said = (/** @type {string} */ code) => diskOf(dir, () => 10 ** 9, refused(code));
  assert.equal(said('EROFS')?.verdict, 'fail');
  assert.match(said('EACCES')?.message ?? '', /^d1\/vault\.sqlite in STATE_DIR cannot be written/);
  assert.equal(said('ENOENT')?.verdict, 'ok', 'deleted meanwhile');
  assert.equal(free(10 ** 9)?.verdict, 'ok');
});
