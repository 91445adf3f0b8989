// `npm run test:sdks`: uses vendors' own clients to read what syncs wrote. They are too large to be
// dependencies, so they are installed once into .sdks.
import { spawnSync } from 'node:child_process';
import path from 'node:path';
import '../shared/temporary-files.mjs';
import { root } from '../shared/wrangler.mjs';

const PACKAGES = [
  ...[
    '@gitbeaker/rest@43.8.0',
    '@netlify/api@15.1.2',
    '@octokit/rest@22.0.1',
    '@vercel/sdk@1.28.35',
    'bitbucket@2.12.0',
    'cloudflare@7.3.0',
  ],
  ...[
    '@aws-sdk/client-secrets-manager@3.1163.0',
    '@aws-sdk/client-ssm@3.1169.0',
    '@kubernetes/client-node@2.0.1',
  ],
  ...['@azure/keyvault-secrets@4.11.2', '@azure/core-rest-pipeline@1.24.0'],
  ...['@google-cloud/secret-manager@6.3.0', 'google-auth-library@10.5.0'],
  ...['dots-wrapper@3.12.12', 'heroku-client@3.1.4', 'openai@7.59.0', 'supabase-management-js@2.0.2'],
];

const folder = path.join(root, '.sdks');

/** @param {string} command @param {string[]} args @param {string} cwd */
const run = (command, args, cwd) => spawnSync(command, args, { cwd, stdio: 'inherit' });

const installed = run(
  'npm',
  ['install', '--no-save', '--no-audit', '--no-fund', '--ignore-scripts', '--prefix', folder, ...PACKAGES],
  root,
);
const built = run(
  'go',
  ['build', '-o', path.join(folder, 'readback'), '.'],
  path.join(root, 'test/vendors/sdks/readback'),
);
if (built.error) console.log('Go is not installed: tests with clients in Go are skipped.');
const venv = path.join(folder, 'venv');
const python = run('python3', ['-m', 'venv', venv], root);
if (python.error) console.log('Python is not installed: tests with Moto are skipped.');
const moto = python.error
  ? python
  : run(path.join(venv, 'bin/pip'), ['install', '--quiet', 'moto[server]==5.2.5'], root);
const vitest = [
  path.join(root, 'node_modules/vitest/vitest.mjs'),
  'run',
  '--config',
  'vitest.node.config.ts',
  'test/vendors/sdks',
];
const tested = run(process.execPath, vitest, root);
const temporary = ['--import', './scripts/shared/temporary-files.mjs'];
const bound = run(
  process.execPath,
  [...temporary, '--test', 'test/scripts/bindings/bound-upstreams.test.mjs'],
  root,
);
process.exitCode = [installed, built, python, moto, tested, bound].some(
  ({ status, error }) => !error && status !== 0,
)
  ? 1
  : 0;
