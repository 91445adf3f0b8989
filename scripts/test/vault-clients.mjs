// `npm run test:vault-clients`: runs clients of HashiCorp Vault, unchanged, against `npm start`. They are
// installed once into .sdks. What cannot be installed is named, and its test is skipped.
import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { root } from '../shared/wrangler.mjs';

const folder = path.join(root, '.sdks', 'vault');

/** @param {string} what @param {string} command @param {string[]} args @param {string} [cwd] */
function run(what, command, args, cwd = root) {
  const { status, error } = spawnSync(command, args, { cwd, stdio: 'inherit' });
  if (error || status !== 0) process.stderr.write(`\n${what} cannot be installed: its test is SKIPPED.\n\n`);
}

const npm = ['install', '--no-save', '--no-audit', '--no-fund', '--ignore-scripts', '--prefix', folder];
run('node-vault', 'npm', [...npm, 'node-vault@0.12.0']);
const venv = path.join(folder, 'venv');
run('hvac', 'python3', ['-m', 'venv', venv]);
run('hvac', path.join(venv, 'bin/pip'), ['install', '--quiet', 'hvac==2.4.0']);
const sources = path.join(root, 'test/tools/vault-go');
run("Vault's client in Go", 'go', ['build', '-o', path.join(folder, 'vault-go'), '.'], sources);

const tests = [
  '--import',
  './scripts/shared/temporary-files.mjs',
  '--test',
  'test/scripts/vault-clients.slow.mjs',
];
process.exitCode = spawnSync(process.execPath, tests, { cwd: root, stdio: 'inherit' }).status ?? 1;
