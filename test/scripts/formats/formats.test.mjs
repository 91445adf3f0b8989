// Generated files, read back by what is on every machine of ours: bash and dash, Node.js, and Wrangler.
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import { createRequire } from 'node:module';
import os from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { root } from '../../../scripts/shared/wrangler.mjs';
import { slow } from '../slow.mjs';
import { files, same } from './formats.mjs';

const has = (shell) => spawnSync(shell, ['-c', 'exit 0']).status === 0;

/** The environment that a shell has after a script, with nothing of ours in it. */
function environmentAfter(shell, script, file, env = {}) {
  const printed = execFileSync(
    '/usr/bin/env',
    ['-i', ...Object.entries(env).map(([name, value]) => `${name}=${value}`), shell, '-c', script, 'x', file],
    {
      maxBuffer: 64 * 1024 ** 2,
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  );
  const variables = printed.toString('utf8').split('\0').filter(Boolean);
  const pairs = variables.map((each) => [
    each.slice(0, each.indexOf('=')),
    each.slice(each.indexOf('=') + 1),
  ]);
  return Object.fromEntries(pairs.filter(([name]) => /^V\d+$/.test(name)));
}

for (const shell of ['bash', 'dash', 'sh'])
  test(`generate: shell is read back by ${shell}`, {
    skip: !has(shell) && `${shell} is not installed`,
  }, () => {
    for (const { file, expected } of files('shell'))
      same(environmentAfter(shell, '. "$1"; /usr/bin/env -0', file), expected, shell);
  });

for (const shell of ['bash', 'dash'])
  test(`generate: dotenv of the dialect bash is read back by ${shell}`, {
    skip: !has(shell) && `${shell} is not installed`,
  }, () => {
    for (const { file, expected } of files('dotenv', { dialect: 'bash' }))
      same(environmentAfter(shell, 'set -a; . "$1"; /usr/bin/env -0', file), expected, shell);
  });

test('generate: dotenv of the dialect node is read back by npm dotenv from a file', () => {
  const dotenv = createRequire(path.join(root, 'package.json'))('dotenv');
  for (const { file, expected } of files('dotenv'))
    same(dotenv.parse(fs.readFileSync(file)), expected, 'dotenv');
});

test('generate: dev-vars is read back by Wrangler', slow(120_000), async () => {
  const { unstable_getVarsForDev: varsForDev } = await import('wrangler');
  for (const { file, expected } of files('dev-vars')) {
    const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'dev-vars-'));
    fs.copyFileSync(file, path.join(dir, '.dev.vars'));
    const found = varsForDev(path.join(dir, 'wrangler.toml'), undefined, {}, undefined, true);
    const values = Object.entries(found).map(([name, one]) => [name, one?.value ?? one]);
    same(Object.fromEntries(values), expected, 'wrangler');
  }
});

/**
 * The runner's rules for the file behind GITHUB_ENV: a name, `<<` and a delimiter; lines up to the delimiter
 * are the value.
 */
function runnerEnvironment(text) {
  const found = {};
  const lines = text.split('\n');
  for (let at = 0; at < lines.length - 1; ) {
    const [name, delimiter] = lines[at++].split('<<');
    const end = lines.indexOf(delimiter, at);
    assert.ok(end >= 0, `no end of ${name}`);
    found[name] = lines.slice(at, end).join('\n');
    at = end + 1;
  }
  return found;
}

/** What a workflow command holds. */
const unescaped = (data) => data.replaceAll('%0D', '\r').replaceAll('%0A', '\n').replaceAll('%25', '%');

for (const shell of ['bash', 'dash'])
  test(`generate: github-actions masks and sets every value, run by ${shell}`, {
    skip: !has(shell) && `${shell} is not installed`,
  }, () => {
    for (const { file, expected } of files('github-actions')) {
      const env = `${file}.env`;
      fs.writeFileSync(env, '');
      const printed = execFileSync(shell, [file], {
        env: { GITHUB_ENV: env },
        maxBuffer: 64 * 1024 ** 2,
        stdio: ['ignore', 'pipe', 'inherit'],
      }).toString('utf8');
      same(runnerEnvironment(fs.readFileSync(env, 'utf8')), expected, shell);
      const commands = printed.split('\n').slice(0, -1);
      assert.deepEqual(
        commands.filter((line) => !line.startsWith('::add-mask::')),
        [],
      );
      const masks = new Set(commands.map((line) => unescaped(line.slice('::add-mask::'.length))));
      for (const value of Object.values(expected))
        for (const text of [value, ...value.split(/\r\n|\r|\n/)])
          assert.ok(text === '' || masks.has(text), JSON.stringify(text).slice(0, 100));
    }
  });
