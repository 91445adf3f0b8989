// The README's commands, pasted one after the other into one shell, exactly as they stand there, beside a service that `npm start`
// started on a copy of the project. Only the port is another where the usual one is taken.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { it } from 'node:test';
import { copyOfProject, env, freePort, project, startService } from './service.mjs';

it('take a newcomer from a fresh copy to a secret read back, and through the rest of the tour', { timeout: 150_000 }, async () => {
  const dir = copyOfProject();
  const { port } = await startService(dir, { PORT: String(await freePort(8787)) });
  const readme = fs.readFileSync(path.join(project, 'README.md'), 'utf8');
  const blocks = [...readme.matchAll(/<!-- run -->\n```sh\n([\s\S]*?)```/g)].map(([, block]) => block);
  assert.ok(blocks.length >= 10, `${blocks.length} blocks`);
  const script = blocks
    .map((block) => `${block}echo "-- done"\n`)
    .join('')
    .replaceAll('127.0.0.1:8787', `127.0.0.1:${port}`);
  const { stdout, stderr, status } = spawnSync('bash', ['-c', script], { cwd: dir, encoding: 'utf8', timeout: 60_000, env });
  assert.equal(status, 0, stderr);
  const parts = stdout.split('-- done\n');
  assert.match(parts[0], /^organisation org_\w+$/m);
  assert.match(parts[2], /"value":"postgres:\/\/app:s3cret@db\.example\.com:5432\/app"/, 'the secret is read back');
  assert.match(stdout, /"version":3/, 'the rollback');
  assert.match(stdout, /^304$/m, 'the ETag');
  assert.match(stdout, /DATABASE_URL has \d+ characters/, 'the environment of a process');
  assert.match(stdout, /^204\n401$/m, 'the revocation');
  assert.match(parts.at(-4), /"ok":true/, 'the audit chain');
  assert.match(parts.at(-3), /"reason":"the last key was lost with a laptop"/, 'the recovery');
  assert.match(parts.at(-2), /^204\n401$/m, 'the end');
});
