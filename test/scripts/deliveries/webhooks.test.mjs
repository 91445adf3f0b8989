// Webhooks with the real service and real HTTP receivers: deliveries and their signatures, a dead and a slow
// receiver beside others, redirects, retries, a service that is restarted meanwhile, and the same receivers
// refused where private targets are not allowed.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { createHmac, randomBytes } from 'node:crypto';
import fs from 'node:fs';
import http from 'node:http';
import os from 'node:os';
import path from 'node:path';
import { after, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { Webhook } from 'standardwebhooks';
import { blocksOf, read } from '../docs/markdown.mjs';
import { copyOfProject, freePort, startService } from '../service.mjs';
import { slow } from '../slow.mjs';

/** A receiver: what it got, and where. `answer` gets the number of the request. */
async function receiver(answer = (_n, response) => response.end('ok')) {
  const got = [];
  const server = http.createServer((request, response) => {
    let body = '';
    request.setEncoding('utf8').on('data', (part) => (body += part));
    request.on('end', () => {
      got.push({
        method: request.method,
        headers: request.headers,
        body,
        event: JSON.parse(body || '{}'),
        at: Date.now(),
      });
      answer(got.length, response);
    });
  });
  await new Promise((done) => server.listen(0, '127.0.0.1', () => done(undefined)));
  after(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());
  return { got, url: `http://127.0.0.1:${port}/hook?x=1` };
}

async function until(holds, ms = 20_000) {
  const end = Date.now() + ms;
  while (!(await holds())) {
    assert.ok(Date.now() < end, 'waited in vain');
    await sleep(50);
  }
}

async function newOrg(service) {
  const { json } = await service.call('POST', '/orgs', service.variable('BOOTSTRAP_TOKEN'), {
    name: 'Acme',
    owner: { email: 'a@example.com', name: 'A' },
  });
  const at = `/orgs/${json.org.id}`;
  return (method, path, body) => service.call(method, `${at}${path}`, json.api_key.token, body);
}

it(
  'webhooks: real receivers get signed events, and a slow or dead one delays no other',
  slow(240_000),
  async () => {
    const dir = copyOfProject();
    let service = await startService(dir, { ALLOW_PRIVATE_TARGETS: 'true' });
    const call = await newOrg(service);
    const good = await receiver();
    const slow = await receiver(() => {});
    const flaky = await receiver((n, response) => {
      response.statusCode = n === 1 ? 503 : 200;
      response.end('x'.repeat(4000));
    });
    const target = await receiver();
    const redirecting = await receiver((_n, response) =>
      response.writeHead(307, { Location: target.url }).end(),
    );
    const dead = 'http://127.0.0.1:9/';
    const made = {};
    for (const [name, url] of Object.entries({
      good: good.url,
      slow: slow.url,
      flaky: flaky.url,
      redirecting: redirecting.url,
    }))
      made[name] = (await call('POST', '/webhooks', { url, events: ['SECRET_CREATED'] })).json;
    assert.equal(
      (await call('POST', '/webhooks', { url: dead, events: '*' })).status,
      400,
      'port 9 is of a known service',
    );

    const began = Date.now();
    const names = Array.from({ length: 5 }, (_, n) => `NAME_${n}`);
    for (const name of names)
      assert.equal(
        (await call('POST', '/secrets', { name, type: 'generic', value: `value-of-${name}` })).status,
        201,
      );
    await until(() => good.got.length >= names.length);
    // A later event, while the slow receiver holds its connections.
    await call('POST', '/secrets', { name: 'LATER', type: 'generic', value: 'value-of-LATER' });
    await until(() => good.got.some(({ event }) => event.data.name === 'LATER'));
    assert.ok(Date.now() - began < 9000, `the good receiver waited ${Date.now() - began} ms`);

    for (const { method, headers, body, event } of good.got) {
      assert.equal(method, 'POST');
      assert.deepEqual(new Webhook(made.good.secret).verify(body, headers), event);
      assert.equal(
        headers['x-svc-signature'],
        createHmac('sha256', made.good.secret).update(body).digest('hex'),
      );
      assert.equal(headers['webhook-id'], event.id);
      assert.ok(!body.includes('value-of-'));
      for (const ambient of ['authorization', 'cookie']) assert.equal(headers[ambient], undefined);
    }
    // Repeated after about five seconds, under the same id.
    await until(() => flaky.got.length >= names.length + 2);
    const first = flaky.got[0].headers['webhook-id'];
    const again = flaky.got.filter(({ headers }) => headers['webhook-id'] === first);
    assert.equal(again.length, 2);
    assert.ok(again[1].at - again[0].at >= 5000);
    const log = async (name) => (await call('GET', `/webhooks/${made[name].id}/deliveries`)).json.data;
    await until(async () => (await log('flaky')).every(({ status }) => status === 'delivered'));
    assert.equal((await log('flaky'))[0].response, 'x'.repeat(1024));
    assert.equal(target.got.length, 0, 'redirects are not followed');
    assert.equal((await log('redirecting'))[0].response_status, 307);
    await until(async () => (await log('slow')).some(({ error }) => error === 'timeout'));
    const tested = await call('POST', `/webhooks/${made.good.id}/test`);
    assert.deepEqual([tested.status, tested.json.status], [200, 'delivered']);

    // What waits when the service ends is delivered by the next one.
    const stopped = await receiver((n, response) => {
      response.statusCode = n === 1 ? 500 : 200;
      response.end();
    });
    await call('POST', '/webhooks', { url: stopped.url, events: ['SECRET_DELETED'] });
    const { json } = await call('GET', '/secrets?limit=1');
    assert.equal((await call('DELETE', `/secrets/${json.data[0].id}`)).status, 204);
    await until(() => stopped.got.length === 1);
    const { port } = service;
    await service.stop();
    service = await startService(dir, { ALLOW_PRIVATE_TARGETS: 'true', PORT: String(port) });
    await until(() => stopped.got.length === 2, 60_000);
    assert.equal(stopped.got[1].headers['webhook-id'], stopped.got[0].headers['webhook-id']);

    // Without the variable the same targets are neither stored nor asked.
    const before = good.got.length;
    await service.stop();
    service = await startService(dir, { PORT: String(port) });
    assert.equal((await call('POST', '/webhooks', { url: good.url, events: '*' })).status, 400);
    const refused = await call('POST', `/webhooks/${made.good.id}/test`);
    assert.deepEqual([refused.json.status, refused.json.error], ['failed', 'target_refused']);
    assert.equal(good.got.length, before);
  },
);

it('webhooks: the receivers of the guide accept genuine deliveries, once, and refuse everything else', {
  timeout: 300_000,
}, async (t) => {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'receivers-'));
  after(() => fs.rmSync(dir, { recursive: true, force: true }));
  const commands = { 'receiver.mjs': ['node'], 'receiver.py': ['python3'], 'receiver.go': ['go', 'run'] };
  const files = blocksOf(read('docs/guides/webhooks.md')).filter(({ file }) => file);
  assert.deepEqual(
    files.map(({ file }) => file),
    Object.keys(commands),
  );
  for (const { file, text } of files) {
    const [command, ...args] = commands[file];
    if (spawnSync(command, [command === 'go' ? 'version' : '--version']).status !== 0) {
      t.diagnostic(`${command} is not installed`);
      continue;
    }
    fs.writeFileSync(path.join(dir, file), text);
    const secret = `whsec_${randomBytes(32).toString('base64')}`;
    const port = await freePort();
    const child = spawn(command, [...args, path.join(dir, file)], {
      stdio: ['ignore', 'pipe', 'inherit'],
      detached: true,
      env: { ...process.env, PORT: String(port), WEBHOOK_SECRET: secret, GO111MODULE: 'off' },
    });
    let said = '';
    child.stdout.on('data', (data) => (said += data));
    try {
      const body = JSON.stringify({
        id: 'evt_1',
        type: 'SECRET_ROTATED',
        timestamp: '',
        org_id: 'org_1',
        data: { name: 'é' },
      });
      const post = async (headers, sent = body) => {
        const answer = await fetch(`http://127.0.0.1:${port}/`, {
          method: 'POST',
          headers,
          body: sent,
        }).catch(() => null);
        return answer?.status ?? 0;
      };
      const signed = (by, time) => ({
        'webhook-id': 'evt_1',
        'webhook-timestamp': String(Math.floor(time / 1000)),
        'webhook-signature': `v1,${randomBytes(32).toString('base64')} ${new Webhook(by).sign('evt_1', new Date(time), body)}`,
      });
      await until(async () => (await post({})) === 401, 200_000);
      for (let n = 0; n < 2; n++) assert.equal(await post(signed(secret, Date.now())), 204, file);
      assert.equal(await post(signed(secret, Date.now()), body.replace('é', 'e')), 401, file);
      assert.equal(await post(signed(secret, Date.now() - 400_000)), 401, file);
      assert.equal(await post(signed(`whsec_${randomBytes(32).toString('base64')}`, Date.now())), 401, file);
      await until(() => said.includes('SECRET_ROTATED'));
      assert.equal(said.split('SECRET_ROTATED').length, 2, `${file}: handled once`);
    } finally {
      process.kill(-(/** @type {number} */ (child.pid)), 'SIGTERM');
    }
  }
});
