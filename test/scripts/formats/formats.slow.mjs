// Generated files, read back by the parsers of the tools that read them: in Go (Docker, Compose, Terraform,
// Kubernetes, Helm, External Secrets), in Java, in Python (Ansible, PyYAML), by systemd's own library, and by
// Terraform. A tool that is not installed is skipped, with the reason.
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { root } from '../../../scripts/shared/wrangler.mjs';
import { decoded, fileOfNames, files, same } from './formats.mjs';

const tools = path.join(root, 'test/tools/formats');
const BIG = { maxBuffer: 256 * 1024 ** 2 };
const run = (command, args, options = {}) =>
  execFileSync(command, args, { ...BIG, stdio: ['ignore', 'pipe', 'inherit'], ...options }).toString('utf8');
const works = (command, ...args) => spawnSync(command, args, { stdio: 'ignore' }).status === 0;

/** The Go program that holds the parsers; null where it cannot be built. */
function buildGo() {
  const built = path.join(fs.mkdtempSync(path.join(os.tmpdir(), 'formats-go-')), 'formats');
  return spawnSync('go', ['build', '-o', built, '.'], { cwd: tools, stdio: 'ignore' }).status === 0
    ? built
    : null;
}
const go = buildGo();
const noGo = go === null && 'Go is not installed, or its modules cannot be downloaded';

const byGo = (reader, paths, env = {}) =>
  decoded(
    run(
      go,
      paths.flatMap((file) => [reader, file]),
      { env: { ...process.env, ...env } },
    ),
  );

for (const [format, reader, options] of [
  ['docker-env', 'docker-env', {}],
  ['dotenv', 'compose-env', { dialect: 'compose' }],
  ['tfvars', 'tfvars', {}],
  ['tfvars-json', 'tfvars', {}],
  ['kubernetes', 'kubernetes', {}],
  ['helm', 'helm', {}],
  ['yaml', 'yaml', {}],
])
  test(`generate: ${format} is read back by ${reader} in Go`, { skip: noGo }, () => {
    const made = files(format, options);
    const found = byGo(
      reader,
      made.map(({ file }) => file),
    );
    for (const [at, { expected }] of made.entries()) same(found[at], expected, format);
  });

const NAMES = ['DB', 'app/url', 'a.b-c', '9'];
const KEYS = { DB: 'DB', app_url: 'app/url', 'a.b-c': 'a.b-c', 9: '9' };

test('generate: compose-secrets is loaded by Compose', { skip: noGo }, () => {
  const [found] = byGo('compose-secrets', [fileOfNames('compose-secrets', NAMES)]);
  assert.deepEqual(found, Object.fromEntries(Object.keys(KEYS).map((key) => [key, key])));
});

for (const [format, reader, keys] of [
  ['docker-env', 'docker-env', ['DB', 'app_url', 'a_b_c', '_x']],
  ['tfvars', 'tfvars', ['DB', 'app_url', 'a_b-c', '_x']],
  ['tfvars-json', 'tfvars', ['DB', 'app_url', 'a_b-c', '_x']],
  ['kubernetes', 'kubernetes', ['DB', 'app_url', 'a.b-c', '_x']],
  ['helm', 'helm', ['DB', 'app/url', 'a.b-c', '_x']],
  ['yaml', 'yaml', ['DB', 'app/url', 'a.b-c', '_x']],
])
  test(`generate: names of ${format} are read back by ${reader} in Go`, { skip: noGo }, () => {
    const [found] = byGo(reader, [fileOfNames(format, ['DB', 'app/url', 'a.b-c', '_x'])]);
    assert.deepEqual(Object.keys(found).sort(), [...keys].sort());
  });

/**
 * The definition of the External Secrets Operator, from its Go module; null where it cannot be downloaded.
 */
function crd() {
  const { status, stdout } = spawnSync(
    'go',
    ['mod', 'download', '-json', 'github.com/external-secrets/external-secrets@v1.3.2'],
    BIG,
  );
  const file =
    status === 0
      ? path.join(
          JSON.parse(stdout.toString()).Dir,
          'config/crds/bases/external-secrets.io_externalsecrets.yaml',
        )
      : '';
  return fs.existsSync(file) ? file : null;
}
const definition = go && crd();

test('generate: external-secrets is valid by the definition of the operator', {
  skip:
    noGo || (definition === null && 'the Go module of the External Secrets Operator cannot be downloaded'),
}, () => {
  const [found] = byGo('external-secret', [fileOfNames('external-secrets', NAMES)], {
    EXTERNAL_SECRETS_CRD: definition,
  });
  assert.deepEqual(found, KEYS);
});

test('generate: properties is read back by java.util.Properties', {
  skip: !works('java', '-version') && 'Java is not installed',
}, () => {
  const made = files('properties');
  const found = decoded(
    run('java', [path.join(tools, 'ReadProperties.java'), ...made.map(({ file }) => file)]),
  );
  for (const [at, { expected }] of made.entries()) same(found[at], expected, 'java');
});

const python = (code) => works('python3', '-c', code);
for (const [format, reader, skip] of [
  ['ansible', 'ansible', !python('import ansible') && 'ansible-core is not installed'],
  ['ansible', 'pyyaml', !python('import yaml') && 'PyYAML is not installed'],
  ['yaml', 'pyyaml', !python('import yaml') && 'PyYAML is not installed'],
  [
    'systemd',
    'systemd',
    !python('import glob; assert glob.glob("/usr/lib/*/systemd/libsystemd-shared-*.so")') &&
      'systemd is not installed',
  ],
])
  test(`generate: ${format} is read back by ${reader}`, { skip }, () => {
    const made = files(format);
    const found = decoded(
      run('python3', [path.join(tools, 'read.py'), ...made.flatMap(({ file }) => [reader, file])]),
    );
    for (const [at, { expected }] of made.entries()) same(found[at], expected, reader);
  });

for (const format of ['tfvars', 'tfvars-json'])
  test(`generate: ${format} is read back by Terraform`, {
    skip: !works('terraform', 'version') && 'Terraform is not installed',
  }, () => {
    for (const { file, expected } of files(format)) {
      const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'terraform-'));
      const names = Object.keys(expected);
      const declared = names.map(
        (name) => `variable "${name}" { type = string }\noutput "${name}" { value = var.${name} }\n`,
      );
      fs.writeFileSync(path.join(dir, 'main.tf'), declared.join(''));
      fs.copyFileSync(file, path.join(dir, `secrets.auto.tfvars${format === 'tfvars' ? '' : '.json'}`));
      const env = { ...process.env, CHECKPOINT_DISABLE: '1', TF_CLI_CONFIG_FILE: '/dev/null' };
      run('terraform', [`-chdir=${dir}`, 'apply', '-auto-approve', '-input=false', '-no-color'], { env });
      const found = JSON.parse(run('terraform', [`-chdir=${dir}`, 'output', '-json'], { env }));
      same(Object.fromEntries(names.map((name) => [name, found[name]?.value])), expected, 'terraform');
    }
  });
