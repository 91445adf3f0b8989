// The service bound to Workers of the same account: each attack comes from a second Worker.
import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import { BOOTSTRAP, startBound } from './bound.mjs';

let service;
let org;
before(async () => {
  service = await startBound({ plain: {} });
  const founded = await service.call('POST', '/orgs', BOOTSTRAP, {
    name: 'Acme',
    owner: { email: 'a@example.com', name: 'A' },
  });
  org = { id: founded.json.org.id, token: founded.json.api_key.token };
});
after(() => service?.stop());

it('bindings: a Worker cannot run the queue handler or the cron', async () => {
  const attempts = {
    queue: `const called = [];
      const message = {
        body: { kind: 'probe' }, attempts: 1, timestamp: new Date(),
        ack() { called.push('ack') }, retry() { called.push('retry') },
      };
      await env.VAULT.queue({ queue: 'secrets-vault', messages: [message] });
      return called;`,
    scheduled: 'return env.VAULT.scheduled({ scheduledTime: 1, cron: "* * * * *" });',
    tail: 'return env.VAULT.tail([]);',
    email: 'return env.VAULT.email({});',
  };
  for (const [name, code] of Object.entries(attempts)) {
    const { thrown } = await service.run('plain', code);
    assert.match(thrown ?? '', /does not implement/, name);
  }
  const { thrown } = await service.run('plain', 'await env.VAULT.connect("x:1").opened');
  assert.ok(thrown, 'connect');
  // The platform still runs both.
  const worker = await service.miniflare.getWorker('vault');
  const { outcome } = await worker.scheduled({ scheduledTime: new Date(), cron: '* * * * *' });
  assert.equal(outcome, 'ok');
  const probe = { id: 'm', timestamp: new Date(), attempts: 1, body: { kind: 'probe' } };
  assert.equal((await worker.queue('secrets-vault', [probe])).outcome, 'ok');
});

it("audit log: a Worker's own request has no address", async () => {
  const send = `const { headers } = await env.VAULT.fetch('http://vault.example/api/v1/orgs/' + id, {
    headers: { Authorization: 'Bearer ' + token, 'CF-Connecting-IP': '198.51.100.66' },
  });
  return headers.get('Request-Id');`;
  const made = await service.run('plain', send, org);
  const { json } = await service.call('GET', `/orgs/${org.id}/audit-log`, org.token);
  const entry = json.data.find(({ request_id }) => request_id === made);
  assert.equal(entry?.ip, 'unknown');
});
