// `npm run test:vault-clients`: runs clients of HashiCorp Vault, unchanged, against `npm start`. They are
// installed once into .sdks. What cannot be installed is named, and its test is skipped.
import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { root } from '../shared/wrangler.mjs';

const folder = path.join(root, '.sdks', 'vault');

/**
 * @param {string} what @param {string} command @param {string[]} args @param {string} [cwd]
 * @param {Record<string, string>} [variables]
 */
function run(what, command, args, cwd = root, variables = {}) {
  const { status, error } = spawnSync(command, args, {
    cwd,
    stdio: 'inherit',
    env: { ...process.env, ...variables },
  });
  if (error || status !== 0) process.stderr.write(`\n${what} cannot be installed: its test is SKIPPED.\n\n`);
}

const npm = ['install', '--no-save', '--no-audit', '--no-fund', '--ignore-scripts', '--prefix', folder];
run('node-vault', 'npm', [...npm, 'node-vault@0.12.0']);
const venv = path.join(folder, 'venv');
run('hvac', 'python3', ['-m', 'venv', venv]);
run('hvac', path.join(venv, 'bin/pip'), ['install', '--quiet', 'hvac==2.4.0']);
const sources = path.join(root, 'test/tools/vault-go');
run("Vault's client in Go", 'go', ['build', '-o', path.join(folder, 'vault-go'), '.'], sources);
run('consul-template', 'go', ['install', 'github.com/hashicorp/consul-template@v0.41.1'], root, {
  GOBIN: folder,
});
for (const [what, why] of [
  ["Vault's and OpenBao's command lines, agents and servers", 'no registry has them: set OPENBAO'],
  ['envconsul', 'the Go proxy does not have it'],
  ["Terraform's provider for Vault", 'the Go proxy has no release of this decade'],
  ['External Secrets Operator and Vault Secrets Operator', 'they are not built here yet'],
])
  process.stderr.write(`\nSKIPPED: ${what} (${why}).\n`);

const tests = [
  '--import',
  './scripts/shared/temporary-files.mjs',
  '--test',
  'test/scripts/vault-clients.slow.mjs',
  'test/scripts/vault-conformance.slow.mjs',
];
process.exitCode = spawnSync(process.execPath, tests, { cwd: root, stdio: 'inherit' }).status ?? 1;
