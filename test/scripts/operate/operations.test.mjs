// The commands of operators where they are used in a hurry: help, a closed pipe, a full disk, a directory in
// place of a file. No stack trace.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, describe, it } from 'node:test';
import { reported } from '../../../scripts/shared/expected-error.mjs';
import { env, project, runScript, scriptOf } from '../service.mjs';

const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'operations-'));
after(() => fs.rmSync(dir, { recursive: true, force: true }));
const commands = ['backup', 'restore', 'keys:rotate', 'doctor', 'audit:verify', 'start', 'deploy'];

describe('operations: help', () => {
  for (const name of commands)
    it(`${name} prints every option, and does nothing`, async () => {
      const { status, stdout, said } = await runScript(project, [scriptOf(name), '--help'], {
        STATE_DIR: path.join(dir, 'none'),
      });
      assert.deepEqual([status, stdout], [0, said]);
      const source =
        fs.readFileSync(path.join(project, scriptOf(name)), 'utf8') +
        fs.readFileSync(path.join(project, 'scripts/operate/deploy/options.mjs'), 'utf8');
      const [, block = ''] = /options: \{([\s\S]*?)\n {2,6}\}(?:,|\)| \))/.exec(source) ?? [];
      for (const [, option] of block.matchAll(/(?:^|\s|')([a-z-]+)'?: (?:\{ type|text)/g))
        if (option !== 'help' && name !== 'deploy')
          assert.ok(stdout.includes(`--${option}`), `--${option} of ${name}`);
      assert.match(stdout, new RegExp(`npm (run )?${name}`));
      assert.ok(!fs.existsSync(path.join(dir, 'none')));
    });

  for (const name of ['backup', 'restore', 'keys:rotate', 'doctor'])
    it(`${name} shows its usage for an unknown option`, async () => {
      const { status, said } = await runScript(project, [scriptOf(name), '--nonsense']);
      assert.equal(status, 1);
      assert.match(said, /--nonsense/);
      assert.match(said, /--help +print this/);
      assert.doesNotMatch(said, /^ {4}at /m);
    });
});

describe('operations: what the system refuses', () => {
  it('is one line that says what to do, and any other error keeps its stack', () => {
    const of = (error) => reported(Object.assign(new Error('x'), error));
    assert.match(
      of({ code: 'ENOSPC', path: '/b.sql' }) ?? '',
      /^\/b\.sql cannot be used, because the disk is full: free some space/,
    );
    assert.match(of({ code: 'EISDIR' }) ?? '', /it is a directory: name a file/);
    assert.match(of({ code: 'ERR_SQLITE_ERROR', errcode: 13 }) ?? '', /the disk is full/);
    assert.match(
      of({ code: 'ERR_SQLITE_ERROR', errcode: 779 }) ?? '',
      /the database is damaged: restore a backup with npm run restore/,
    );
    assert.equal(of({ code: 'ERR_ASSERTION' }), undefined);
    assert.equal(reported(new TypeError('x')), undefined);
    assert.equal(reported(null), undefined);
  });

  it('restore of a directory, and a key file that is one, end in one line', async () => {
    for (const args of [
      [scriptOf('restore'), dir],
      [scriptOf('keys:rotate'), '--keys', dir],
      [scriptOf('restore'), path.join(project, 'package.json'), '--keys', dir],
    ]) {
      const { status, said } = await runScript(project, args, { STATE_DIR: path.join(dir, 'none') });
      assert.equal(status, 1, said);
      assert.doesNotMatch(said, /^ {4}at /m);
      assert.equal(said.trim().split('\n').length, 1, said);
    }
  });

  it('a full disk ends in one line', {
    skip: !fs.existsSync('/dev/full') && 'this system has no /dev/full',
  }, () => {
    const code =
      "import('./scripts/operate/vault/vault.mjs').then(({ run }) => run(async () => void fs.writeFileSync('/dev/full', 'x'.repeat(1e6))))";
    const { status, stderr } = spawnSync(process.execPath, ['-e', `const fs = require('node:fs'); ${code}`], {
      cwd: project,
      env,
      encoding: 'utf8',
    });
    assert.equal(status, 1);
    assert.match(
      stderr,
      /^\S+ cannot be used, because the disk is full: .*\n$|^A file cannot be used, because the disk is full: .*\n$/,
    );
  });

  it('a closed pipe ends no command, and shows no error', async () => {
    const code = `import('./scripts/operate/vault/vault.mjs').then(({ run }) => run(async () => {
      for (let n = 0; n < 200; n++) { process.stdout.write('x'.repeat(65536)); await new Promise((done) => setTimeout(done, 1)); }
      require('node:fs').writeFileSync(${JSON.stringify(path.join(dir, 'done'))}, '');
    }))`;
    const child = spawn(process.execPath, ['-e', code], {
      cwd: project,
      env,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let said = '';
    child.stderr.setEncoding('utf8').on('data', (text) => {
      said += text;
    });
    child.stdout.once('data', () => child.stdout.destroy());
    const status = await new Promise((done) => child.once('close', done));
    assert.deepEqual([status, said], [0, '']);
    assert.ok(fs.existsSync(path.join(dir, 'done')), 'what it began is finished');
  });
});
