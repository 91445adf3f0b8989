// `npm run test:runtimes`, `test:generated-clients` and `test:upstream-sdks`: tools too large to be
// dependencies are installed once into .sdks; then the packages' tests that need them are run. Tools that
// cannot be installed are named, and their tests are skipped.
import { spawnSync } from 'node:child_process';
import path from 'node:path';
import '../shared/temporary-files.mjs';
import { root } from '../shared/wrangler.mjs';

const folder = path.join(root, '.sdks');
const which = process.argv[2];

/** @param {string} command @param {string[]} args @param {Record<string, string>} [env] */
function run(command, args, env = {}) {
  const { status, error } = spawnSync(command, args, {
    cwd: root,
    stdio: 'inherit',
    env: { ...process.env, ...env },
  });
  if (error || status !== 0)
    process.stderr.write(
      `\n${command} ${args.slice(0, 3).join(' ')} failed: the tests that need it are SKIPPED.\n\n`,
    );
}

if (which === 'runtimes') {
  const prefix = path.join(folder, 'runtimes');
  run('npm', ['install', '--no-save', '--prefix', prefix, 'bun@1.4.5', 'deno@2.9.6', 'node@20.20.2']);
} else if (which === 'sdks') {
  const prefix = path.join(folder, 'upstreams');
  const sdks = ['openai@7.59.0', '@anthropic-ai/sdk@1.14.0', 'stripe@23.1.0', '@octokit/rest@22.0.1'];
  run('npm', ['install', '--no-save', '--ignore-scripts', '--prefix', prefix, ...sdks]);
  run('python3', ['-m', 'venv', path.join(prefix, 'venv')]);
  run(path.join(prefix, 'venv/bin/pip'), ['install', '--quiet', 'boto3==1.44.8']);
} else {
  const venv = path.join(folder, 'generators');
  run('python3', ['-m', 'venv', venv]);
  run(path.join(venv, 'bin/pip'), ['install', '--quiet', 'openapi-python-client==0.29.1']);
  run('go', ['install', 'github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen@v2.8.2'], {
    GOBIN: path.join(venv, 'bin'),
  });
}
const vitest = path.join(root, 'node_modules/vitest/vitest.mjs');
const args = [
  vitest,
  'run',
  '--config',
  'vitest.packages.config.ts',
  `packages/${which === 'sdks' ? 'cli/test/proxy' : 'client/test/package'}/${which}.test.ts`,
  ...(which === 'runtimes' ? ['packages/client/test/reads/restart.test.ts'] : []),
];
process.exitCode =
  spawnSync(process.execPath, args, { cwd: root, stdio: 'inherit', env: { ...process.env, SLOW: '1' } })
    .status ?? 1;
