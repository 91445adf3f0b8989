// `npm run test:aws-clients`: runs clients of AWS Secrets Manager, unchanged, against `npm start`. They are
// installed once into .sdks. What cannot be installed is named, and its test is skipped.
import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { root } from '../shared/wrangler.mjs';

const folder = path.join(root, '.sdks', 'aws');

/** @param {string} what @param {string} command @param {string[]} args @param {string} [cwd] */
function run(what, command, args, cwd = root) {
  const { status, error } = spawnSync(command, args, { cwd, stdio: 'inherit' });
  if (error || status !== 0) process.stderr.write(`\n${what} cannot be installed: its test is SKIPPED.\n\n`);
}

const npm = ['install', '--no-save', '--no-audit', '--no-fund', '--ignore-scripts', '--prefix', folder];
run("AWS's client in JavaScript", 'npm', [...npm, '@aws-sdk/client-secrets-manager@3.1163.0']);
const venv = path.join(folder, 'venv');
run('boto3', 'python3', ['-m', 'venv', venv]);
const python = ['boto3==1.43.1', 'awscli==1.45.11', 'aws-secretsmanager-caching==1.2.0'];
run('boto3', path.join(venv, 'bin/pip'), ['install', '--quiet', ...python]);
const sources = path.join(root, 'test/tools/aws-go');
run("AWS's SDK for Go", 'go', ['build', '-o', path.join(folder, 'aws-go'), '.'], sources);

const classPath = path.join(folder, 'aws-java.class-path');
const maven = ['-q', '-B', 'dependency:build-classpath', `-Dmdep.outputFile=${classPath}`];
run("AWS's SDK for Java", 'mvn', maven, path.join(root, 'test/tools/aws-java'));
const crate = ['install', 'aws_secretsmanager_agent@2.1.0', '--locked', '--root', path.join(folder, 'agent')];
run('aws-secretsmanager-agent', 'cargo', crate);

const tests = [
  '--import',
  './scripts/shared/temporary-files.mjs',
  '--test',
  'test/scripts/clients/aws-clients.slow.mjs',
];
process.exitCode = spawnSync(process.execPath, tests, { cwd: root, stdio: 'inherit' }).status ?? 1;
