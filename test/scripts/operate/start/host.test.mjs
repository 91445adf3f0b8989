// HOST: which address of a caller the service believes, and where its banner, its page at / and the
// operator's scripts say that it is reached.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import os from 'node:os';
import { it } from 'node:test';
import { callerOf } from '../../../../scripts/operate/vault/vault.mjs';
import { copyOfProject, env, freePort, project, sharedService, startService } from '../../service.mjs';
import { skipped } from '../../slow.mjs';

/** Documentation addresses: no machine has them. */
const SPOOFED = '203.0.113.9';

/** An API key that is limited to addresses, in an organisation of its own, and calls with it. */
async function limitedKey(service, allowed_addresses) {
  const { json: org } = await service.call('POST', '/orgs', service.variable('BOOTSTRAP_TOKEN'), {
    name: 'Acme',
    owner: { email: 'a@example.com', name: 'A' },
  });
  const at = `/orgs/${org.org.id}`;
  const made = await service.call('POST', `${at}/api-keys`, org.api_key.token, {
    name: 'limited',
    scopes: ['*'],
    allowed_addresses,
  });
  assert.equal(made.status, 201, JSON.stringify(made.json));
  const read = async (headers) => {
    const { status, json } = await service.call('GET', `${at}/secrets`, made.json.token, undefined, headers);
    return [status, json.error?.code];
  };
  const addresses = async () => {
    const { json } = await service.call('GET', `${at}/audit-log?limit=100`, org.api_key.token);
    return new Set(json.data.map(({ ip }) => ip));
  };
  return { read, addresses };
}

it("allowed_addresses: refused if other machines can reach the service, because callers' addresses are unknown", {
  timeout: 120_000,
}, async () => {
  const service = await startService(copyOfProject(), { HOST: '0.0.0.0', PORT: String(await freePort()) });
  const refused = [403, 'ADDRESS_NOT_ALLOWED'];
  const ranges = ['0.0.0.0/0', '::/0', `${SPOOFED}/32`, '127.0.0.1/32'];
  const { read, addresses } = await limitedKey(service, ranges);
  assert.deepEqual(await read({}), refused);
  for (const address of [SPOOFED, '127.0.0.1', '::1'])
    assert.deepEqual(await read({ 'CF-Connecting-IP': address }), refused);
  assert.deepEqual(await addresses(), new Set(['unknown']));
  assert.match(service.said(), /HOST is 0\.0\.0\.0: other machines reach this service/);
});

it('allowed_addresses: work if only this machine can reach the service', { timeout: 120_000 }, async () => {
  const service = await sharedService();
  const { read, addresses } = await limitedKey(service, ['127.0.0.1/32', `${SPOOFED}/32`]);
  assert.deepEqual(await read({}), [200, undefined]);
  assert.deepEqual(
    await read({ 'CF-Connecting-IP': SPOOFED }),
    [200, undefined],
    'a test may name an address',
  );
  assert.deepEqual(await read({ 'CF-Connecting-IP': '198.51.100.1' }), [403, 'ADDRESS_NOT_ALLOWED']);
  assert.deepEqual(await addresses(), new Set(['127.0.0.1', SPOOFED, '198.51.100.1']));

  // The page at / needs no credential; its links lead somewhere, for a browser and for a program.
  const origin = `http://localhost:${service.port}`;
  const paths = ['/console', '/sign-in', '/console/approvals', '/docs', '/api/v1/openapi.json', '/healthz'];
  const shown = ['/console', '/docs', '/api/v1/openapi.json', '/healthz'];
  const browser = await fetch(service.base, {
    headers: { Accept: 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8' },
  });
  assert.deepEqual([browser.status, browser.headers.get('content-type')], [200, 'text/html; charset=utf-8']);
  assert.match(browser.headers.get('content-security-policy') ?? '', /^default-src 'none'/);
  const page = await browser.text();
  for (const path of shown) assert.ok(page.includes(`href="${path}"`), path);
  for (const Accept of ['*/*', 'application/json', 'nonsense']) {
    const { name, version, ...links } = await (await fetch(service.base, { headers: { Accept } })).json();
    assert.ok(name && version);
    assert.deepEqual(
      Object.values(links),
      paths.map((path) => `${origin}${path}`),
    );
    for (const link of Object.values(links)) assert.equal((await fetch(link)).status, 200, link);
  }
  assert.equal((await fetch(service.base, { method: 'POST' })).status, 405);
});

const own = Object.values(os.networkInterfaces())
  .flatMap((list) => list ?? [])
  .find(({ internal, family }) => !internal && family === 'IPv4')?.address;

it('npm start: the banner names an address that answers', {
  timeout: 120_000,
  skip: own ? skipped : 'no other interface',
}, async () => {
  const dir = copyOfProject();
  const service = await startService(dir, { HOST: own, PORT: String(await freePort()) });
  const origin = `http://${own}:${service.port}`;
  assert.equal((await fetch(`${origin}/healthz`)).status, 200);
  assert.ok(service.said().includes(`is ready at ${origin};`), service.said());
  assert.ok(service.said().includes(`curl -sS ${origin}/api/v1/orgs `));
  assert.ok(!service.said().includes('localhost'));
  const call = callerOf(origin, service.variable('BOOTSTRAP_TOKEN'));
  assert.equal((await call('GET', '/orgs')).status, 200);
});

it('operator scripts: a token is sent over plain HTTP only to this machine', () => {
  const refusal = /not a URL that a token may be sent to/;
  const here = [
    'http://localhost:1',
    'http://127.0.0.1:1',
    'http://[::1]:1',
    ...(own ? [`http://${own}:1`] : []),
    'https://vault.example.com',
  ];
  for (const url of here) assert.doesNotThrow(() => callerOf(url, 't'), url);
  const elsewhere = [
    'http://203.0.113.9',
    'http://[2001:db8::1]',
    'http://vault.example.com',
    'http://127.0.0.1.example.com',
    'ftp://localhost',
    'x',
  ];
  for (const url of elsewhere) assert.throws(() => callerOf(url, 't'), refusal, url);
});

it('operator scripts: no error quotes a malformed token, or the password of a URL', () => {
  const quotes = [
    ['http://127.0.0.1:1', 'hunter2\nx', /contains a line break, a space/],
    ['http://127.0.0.1:1', 'hunter2 é', /contains a line break, a space/],
    ['https://me:hunter2@vault.example.com', 't', /not a URL that a token may be sent to/],
    ['https://hunter2@vault.example.com', 't', /not a URL that a token may be sent to/],
  ];
  for (const [url, token, message] of quotes)
    assert.throws(
      () => callerOf(url, token),
      (error) => message.test(error.message) && !error.message.includes('hunter2'),
    );
});

it('operator scripts: report immediately that nothing responds, and keep trying', async () => {
  const PORT = String(await freePort());
  const child = spawn(
    process.execPath,
    ['scripts/operate/recovery/restore.mjs', '--adopt', '--reason', 'a test'],
    {
      cwd: project,
      env: { ...env, PORT, BOOTSTRAP_TOKEN: 'x'.repeat(32) },
      stdio: ['ignore', 'ignore', 'pipe'],
    },
  );
  const [said] = await once(child.stderr.setEncoding('utf8'), 'data');
  child.kill('SIGKILL');
  assert.match(
    said,
    new RegExp(
      `^The service at http://127\\.0\\.0\\.1:${PORT} does not respond \\(ECONNREFUSED\\).* set PORT or pass --url\\.$`,
      'm',
    ),
  );
});
