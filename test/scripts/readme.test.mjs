// The README's commands, pasted one after the other into one shell, exactly as they stand there, beside a service that `npm start`
// started on a copy of the project. Only the port is another where the usual one is taken.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { after, it } from 'node:test';

const project = path.resolve(import.meta.dirname, '..', '..');
const LEFT_OUT = ['node_modules', '.git', '.wrangler', '.dev.vars'];
const NOT_INHERITED = [
  ...['PORT', 'STATE_DIR', 'BOOTSTRAP_TOKEN', 'MASTER_KEYS', 'ALLOW_PRIVATE_TARGETS', 'PLATFORM_BASE_URLS', 'PUBLIC_URL'],
  ...['NODE_TEST_CONTEXT', 'NODE_OPTIONS'],
];
const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !NOT_INHERITED.includes(name)));

const listen = (port) =>
  new Promise((done) => {
    const probe = net.createServer().once('error', () => done(null));
    probe.listen(port, '127.0.0.1', () => {
      const { port: got } = /** @type {net.AddressInfo} */ (probe.address());
      probe.close(() => done(got));
    });
  });

it('take a newcomer from a fresh copy to a secret read back, and through the rest of the tour', { timeout: 150_000 }, async () => {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'readme-'));
  fs.cpSync(project, dir, { recursive: true, filter: (from) => !LEFT_OUT.includes(path.relative(project, from)) });
  fs.symlinkSync(fs.realpathSync(path.join(project, 'node_modules')), path.join(dir, 'node_modules'));
  const port = (await listen(8787)) ?? (await listen(0));
  const service = spawn('npm', ['start'], {
    cwd: dir,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...env, PORT: String(port) },
  });
  after(() => {
    try {
      process.kill(-service.pid, 'SIGTERM');
    } catch {}
    fs.rmSync(dir, { recursive: true, force: true, maxRetries: 20, retryDelay: 250 });
  });
  let said = '';
  for (const stream of [service.stdout, service.stderr]) stream.on('data', (data) => (said += data));
  for (let waited = 0; ; waited += 200) {
    const well = await fetch(`http://127.0.0.1:${port}/healthz`, { signal: AbortSignal.timeout(2000) }).catch(() => null);
    if (well?.status === 200) break;
    assert.ok(waited < 100_000 && service.exitCode === null, `the service did not start: ${said.slice(-800)}`);
    await new Promise((done) => setTimeout(done, 200));
  }

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
  assert.match(parts.at(-2), /"ok":true/, 'the audit chain');
});
