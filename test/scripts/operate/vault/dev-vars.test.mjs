// .dev.vars: read as wrangler reads it, created once, whole and private.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, describe, it } from 'node:test';
import { pathToFileURL } from 'node:url';
import { Worker } from 'node:worker_threads';
import {
  bootstrapTokenCommand,
  createDevVars,
  freshSecrets,
  readDevVars,
} from '../../../../scripts/operate/vault/dev-vars.mjs';
import { readSettings } from '../../../../scripts/operate/vault/settings.mjs';

const dir = fs.mkdtempSync(path.join(os.tmpdir(), "dev-vars it's "));
after(() => fs.rmSync(dir, { recursive: true, force: true }));
let files = 0;
const newFile = () => path.join(fs.mkdtempSync(path.join(dir, 'd')), `.dev.vars${files++}`);

describe('.dev.vars', () => {
  it('is read with comments, blank lines, quotes, export and either line end, and without expansion', () => {
    const file = newFile();
    fs.writeFileSync(
      file,
      '\uFEFF# a comment\r\n\r\nA=plain # why\nexport B="in quotes # kept"\nC=\'$HOME\'\nD=$HOME\nE=\n  F = spaced \r\nG=k1:ab+/=\n',
      { mode: 0o600 },
    );
    const { vars, exposed } = readDevVars(file);
    assert.deepEqual(
      { ...vars },
      { A: 'plain', B: 'in quotes # kept', C: '$HOME', D: '$HOME', E: '', F: 'spaced', G: 'k1:ab+/=' },
    );
    assert.equal(exposed, false);
    fs.chmodSync(file, 0o640);
    assert.equal(readDevVars(file).exposed, true);
    assert.equal(readDevVars(`${file}.none`), undefined);
  });

  it('is created with secrets that pass the checks, except those that the shell gives', () => {
    const file = newFile();
    createDevVars(file, freshSecrets({}));
    assert.equal(fs.statSync(file).mode & 0o777, 0o600);
    assert.ok(readSettings({}, readDevVars(file).vars).settings);
    assert.match(readDevVars(file).vars.BOOTSTRAP_TOKEN, /^[\w-]{43,}$/);
    assert.deepEqual(Object.keys(freshSecrets({ MASTER_KEYS: 'given' })), ['BOOTSTRAP_TOKEN']);
    assert.deepEqual(freshSecrets({ MASTER_KEYS: '', BOOTSTRAP_TOKEN: '' }), {});
  });

  it('is never overwritten, and no draft stays', () => {
    const file = newFile();
    fs.writeFileSync(file, 'MINE=1\n');
    createDevVars(file, freshSecrets({}));
    assert.equal(fs.readFileSync(file, 'utf8'), 'MINE=1\n');
    assert.deepEqual(fs.readdirSync(path.dirname(file)), [path.basename(file)]);
  });

  it('is one file for concurrent starts', async () => {
    const file = newFile();
    const code = `import { workerData, parentPort } from 'node:worker_threads';
      import { createDevVars, freshSecrets, readDevVars } from ${JSON.stringify(pathToFileURL(path.resolve(import.meta.dirname, '../../../../scripts/operate/vault/dev-vars.mjs')).href)};
      createDevVars(workerData, freshSecrets({}));
      parentPort.postMessage(readDevVars(workerData).text);`;
    const seen = await Promise.all(
      Array.from(
        { length: 8 },
        async () =>
          (
            await once(
              new Worker(new URL(`data:text/javascript,${encodeURIComponent(code)}`), { workerData: file }),
              'message',
            )
          )[0],
      ),
    );
    assert.equal(new Set(seen).size, 1);
    assert.deepEqual(fs.readdirSync(path.dirname(file)), [path.basename(file)]);
  });

  it('gives the bootstrap token to the printed command, however it is written', () => {
    const token = 'A-_z0'.repeat(9);
    for (const line of [
      `BOOTSTRAP_TOKEN=${token}`,
      `BOOTSTRAP_TOKEN="${token}"`,
      `BOOTSTRAP_TOKEN='${token}'\r`,
      ` BOOTSTRAP_TOKEN = ${token} `,
    ]) {
      const file = newFile();
      fs.writeFileSync(file, `# BOOTSTRAP_TOKEN=no\n${line}\nMASTER_KEYS=k1:x\n`);
      assert.equal(
        execFileSync('sh', ['-c', `printf %s "$(${bootstrapTokenCommand(file, readDevVars(file).text)})"`], {
          encoding: 'utf8',
        }),
        token,
      );
    }
  });
});
