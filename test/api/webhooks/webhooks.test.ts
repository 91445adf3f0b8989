// Webhooks as resources: what they show, who may use them, and that what is stored cannot be moved.
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { WebhookRow } from '../../../src/db/schema';
import { deliveries } from '../../../src/delivery/gate/deliveries';
import { newKey, newSession } from '../../support/credentials';
import { faults } from '../../support/faults';
import { evict, inCore, loseStorage } from '../../support/gate';
import {
  attendTo,
  deliverAll,
  deliveriesOf,
  newWebhook,
  type Received,
  raise,
  useReceivers,
} from '../../support/integrations/webhooks';
import { slow } from '../../support/slow';
import { type Caller, codeOf, db, newOrg, newSecret, useWorld } from '../../support/world';
import { hostileTargets, publicTargets } from '../../unit/delivery/targets';

useWorld();

let received: Received[];
let receivers: ReturnType<typeof useReceivers>['receivers'];
beforeEach(() => {
  faults.clock = Date.parse('2027-01-01T00:00:00.000Z');
  ({ received, receivers } = useReceivers());
});
afterEach(() => vi.unstubAllGlobals());

const URL_IN = 'https://hooks.example.com/in';

describe('webhooks: the resource', () => {
  slow('webhooks: are created, listed, shown, changed and deleted', async () => {
    const o = await newOrg();
    const created = await o.post('/webhooks', {
      url: URL_IN,
      events: ['SECRET_ROTATED'],
      description: 'Restarts',
    });
    expect(created.status).toBe(201);
    const { secret, ...rest } = created.json;
    expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
    expect(rest).toMatchObject({
      url: URL_IN,
      events: ['SECRET_ROTATED'],
      description: 'Restarts',
      enabled: true,
      disabled_reason: null,
    });
    const path = `/webhooks/${rest.id}`;
    expect((await o.get(path)).json).toEqual(rest);
    expect((await o.get('/webhooks')).json).toEqual({ data: [rest], next_cursor: null, has_more: false });
    const changed = await o.patch(path, {
      url: 'https://other.example.com:8443/x',
      events: '*',
      description: null,
      enabled: false,
    });
    expect(changed.json).toMatchObject({
      url: 'https://other.example.com:8443/x',
      events: '*',
      description: null,
      enabled: false,
      disabled_reason: 'user',
    });
    expect((await o.patch(path, { events: ['*'] })).json.events).toBe('*');
    expect((await o.get(path)).json.disabled_reason).toBe('user');
    expect((await o.del(path)).status).toBe(204);
    expect((await o.get(path)).status).toBe(404);
    for (const suffix of ['/test', '/rotate-secret', '/deliveries/dlv_01M9xQeKcX3vTz6nWJfQ4b/redeliver'])
      expect((await o.post(`${path}${suffix}`)).status, suffix).toBe(404);
    expect((await o.get(`${path}/deliveries`)).status).toBe(404);
  });

  it('webhooks: a repeat under an Idempotency-Key shows the same secret, and changes nothing more', async () => {
    const o = await newOrg();
    const again = async (call: () => ReturnType<Caller['post']>) => [
      (await call()).json,
      (await call()).json,
    ];
    const [one, two] = await again(() =>
      o.post('/webhooks', { url: URL_IN, events: '*' }, { 'Idempotency-Key': 'a' }),
    );
    expect(two).toEqual(one);
    const [first, second] = await again(() =>
      o.post(`/webhooks/${one.id}/rotate-secret`, {}, { 'Idempotency-Key': 'b' }),
    );
    expect(second).toEqual(first);
    expect(first.secret).not.toBe(one.secret);
    const [third, fourth] = await again(() =>
      o.call(
        'PATCH',
        `/webhooks/${one.id}`,
        { url: 'https://other.example.com/' },
        { 'Idempotency-Key': 'c' },
      ),
    );
    expect(fourth).toEqual({ ...third, revision: third.revision + 1 });
    expect(fourth.url).toBe('https://other.example.com/');
  });

  it.each([
    ['events', { events: [] }],
    ['events', { events: ['SECRET_READ'] }],
    ['events', { events: ['SECRET_ROTATED', 'SECRET_ROTATED'] }],
    ['description', { description: 'a\nb' }],
    ['secret', { secret: 'whsec_mine' }],
  ])('webhooks: %s is validated', async (path, fields) => {
    const o = await newOrg();
    const refused = await o.post('/webhooks', { url: URL_IN, events: '*', ...fields });
    expect(codeOf(refused)).toEqual([400, 'VALIDATION_FAILED']);
    expect(refused.json.error.details[0].path).toMatch(new RegExp(`^${path}`));
  });

  it('webhooks: egress: no hostile target is stored, by POST or PATCH', async () => {
    const o = await newOrg();
    const { id } = await newWebhook(o);
    for (const url of hostileTargets) {
      const posted = await o.post('/webhooks', { url, events: '*' });
      const patched = await o.patch(`/webhooks/${id}`, { url });
      for (const refused of [posted, patched]) {
        expect(codeOf(refused), url).toEqual([400, 'VALIDATION_FAILED']);
        expect(refused.json.error.details[0].path).toBe('url');
      }
    }
    for (const url of publicTargets)
      expect((await o.patch(`/webhooks/${id}`, { url })).status, url).toBe(200);
    expect(received).toEqual([]);
  });

  it.each([
    ['https://hooks.slack.com/services/T0/B0/abc', 'https://hooks.slack.com'],
    ['https://discord.com/api/webhooks/1/abc', 'https://discord.com'],
    ['https://acme.webhook.office.com/webhookb2/abc', 'https://acme.webhook.office.com'],
    [
      'https://prod-1.westeurope.logic.azure.com:8443/workflows/a?sig=abc',
      'https://prod-1.westeurope.logic.azure.com:8443',
    ],
    ['https://hooks.example.com/in?token=abc', 'https://hooks.example.com'],
  ])('webhooks: %s is shown only as its host, everywhere', async (url, shown) => {
    const o = await newOrg();
    const created = await o.post('/webhooks', { url, events: '*' });
    const path = `/webhooks/${created.json.id}`;
    const answers = [
      created,
      await o.get(path),
      await o.get('/webhooks'),
      await o.patch(path, { description: 'x' }),
    ];
    answers.push(
      await o.post(`${path}/rotate-secret`),
      await o.post(`${path}/test`),
      await o.get(`${path}/deliveries`),
    );
    for (const { text, status } of answers)
      expect([status < 300, text.includes('abc')]).toEqual([true, false]);
    expect(created.json.url).toBe(shown);
    expect(received[0]?.url).toBe(url);
  });

  it('webhooks: an organisation has at most 100', async () => {
    const o = await newOrg();
    await inCore(o, (core) => {
      core.rows.count = () => 100;
    });
    expect(codeOf(await o.post('/webhooks', { url: URL_IN, events: '*' }))).toEqual([409, 'LIMIT_REACHED']);
    await evict(o);
  });

  it('webhooks: a test event is sent immediately and is in the log, regardless of the result', async () => {
    const o = await newOrg();
    const { id, host } = await newWebhook(o, { events: ['DEVICE_BLOCKED'] });
    await o.patch(`/webhooks/${id}`, { enabled: false });
    const good = await o.post(`/webhooks/${id}/test`);
    expect([good.status, good.json]).toMatchObject([
      200,
      { event_type: 'WEBHOOK_TEST', status: 'delivered', response_status: 200, attempts: 1 },
    ]);
    expect(received[0]?.event).toMatchObject({
      type: 'WEBHOOK_TEST',
      org_id: o.id,
      data: { webhook_id: id },
    });
    receivers[host] = () => Promise.reject(new Error(`connect ${host}`));
    const bad = await o.post(`/webhooks/${id}/test`);
    expect([bad.status, bad.json]).toMatchObject([
      200,
      { status: 'failed', error: 'connection_failed', next_attempt_at: null },
    ]);
    expect((await deliveriesOf(o, id)).map(({ status }) => status)).toEqual(['failed', 'delivered']);
    expect(await deliveriesOf(o, id, '&status=delivered')).toHaveLength(1);
    // One request, one entry.
    const { data } = (await o.get('/audit-log?action=webhook.test')).json;
    expect(data).toHaveLength(2);
  });

  it('webhooks: deliveries are paged, newest first', async () => {
    const o = await newOrg();
    const { id } = await newWebhook(o);
    for (let n = 0; n < 5; n++) await o.post(`/webhooks/${id}/test`);
    const first = (await o.get(`/webhooks/${id}/deliveries?limit=3`)).json;
    const second = (await o.get(`/webhooks/${id}/deliveries?limit=3&cursor=${first.next_cursor}`)).json;
    const ids = [...first.data, ...second.data].map((one: { id: string }) => one.id);
    expect([first.has_more, second.has_more, ids.length]).toEqual([true, false, 5]);
    expect(ids).toEqual([...ids].sort().reverse());
  });

  it('webhooks: a change of a secret arrives, without its value, and delivering leaves no audit entries', async () => {
    const o = await newOrg();
    await newWebhook(o, { events: ['SECRET_CREATED', 'SECRET_ROTATED'] });
    const secret = await newSecret(o, { name: 'DB_PASSWORD' });
    await o.post(`/secrets/${secret.id}/rotate`, { value: 'second-value' });
    const entries = async () => (await o.get('/audit-log?limit=100')).json.data.length;
    const before = await entries();
    faults.clock = (faults.clock as number) + 1000;
    await deliverAll(o);
    expect(received.map(({ event }) => [event.type, event.data.name]).sort()).toEqual([
      ['SECRET_CREATED', 'DB_PASSWORD'],
      ['SECRET_ROTATED', 'DB_PASSWORD'],
    ]);
    for (const { body } of received)
      for (const value of [secret.value, 'second-value']) expect(body).not.toContain(value);
    expect(await entries()).toBe(before + 1);
  });

  it('webhooks: a deleted webhook gets nothing more, and leaves nothing', async () => {
    const o = await newOrg();
    const { id } = await newWebhook(o);
    await raise(o, 'a');
    await o.del(`/webhooks/${id}`);
    faults.clock = (faults.clock as number) + 1000;
    await deliverAll(o);
    await attendTo(o, id);
    expect(received).toEqual([]);
    expect(await inCore(o, (core) => deliveries(core).endpoints())).toEqual([]);
  });
});

describe('webhooks: who may', () => {
  it('webhooks: a credential that is limited to environments or names cannot use them', async () => {
    const o = await newOrg();
    const { id } = await newWebhook(o);
    const limited = [{ environments: ['production'] }, { secrets: ['app/*'] }];
    for (const limits of limited) {
      const key = await newKey(o, { scopes: ['webhooks:*'], ...limits });
      const calls = [
        key.o.get('/webhooks'),
        key.o.get(`/webhooks/${id}`),
        key.o.get(`/webhooks/${id}/deliveries`),
      ];
      calls.push(
        key.o.post('/webhooks', { url: URL_IN, events: '*' }),
        key.o.patch(`/webhooks/${id}`, { events: '*' }),
      );
      calls.push(
        key.o.post(`/webhooks/${id}/test`),
        key.o.post(`/webhooks/${id}/rotate-secret`),
        key.o.del(`/webhooks/${id}`),
      );
      calls.push(key.o.post(`/webhooks/${id}/redeliver`, { since: '2026-01-01T00:00:00Z' }));
      for (const refused of await Promise.all(calls))
        expect(codeOf(refused)).toEqual([403, 'INSUFFICIENT_SCOPE']);
    }
    expect(received).toEqual([]);
  });

  slow('webhooks: reading needs webhooks:read, and all else webhooks:write', async () => {
    const o = await newOrg();
    const { id } = await newWebhook(o);
    const reader = await newKey(o, { scopes: ['webhooks:read'] });
    expect((await reader.o.get(`/webhooks/${id}`)).status).toBe(200);
    for (const path of ['/test', '/rotate-secret'])
      expect((await reader.o.post(`/webhooks/${id}${path}`)).status).toBe(403);
    const session = await newSession(o, { scopes: ['webhooks:write'] });
    expect((await session.o.get(`/webhooks/${id}`)).status).toBe(403);
    expect((await session.o.post(`/webhooks/${id}/test`)).status).toBe(200);
  });

  it('webhooks: another organisation sees none of it', async () => {
    const o = await newOrg();
    const other = await newOrg();
    const { id } = await newWebhook(o);
    expect((await other.get(`/webhooks/${id}`)).status).toBe(404);
    expect((await other.post(`/webhooks/${id}/test`)).status).toBe(404);
    expect((await other.get('/webhooks')).json.data).toEqual([]);
  });

  it('webhooks: callers cannot invoke operations of the service itself', async () => {
    const o = await newOrg();
    const { id } = await newWebhook(o);
    expect((await o.post(`/webhooks/${id}/deliver`)).status).toBe(404);
    expect((await o.post(`/webhooks/${id}/disable`)).status).toBe(404);
  });
});

describe('webhooks: stored data', () => {
  const COLUMNS = ['url_sealed', 'secret_sealed', 'old_secret_sealed'] as const;

  it('webhooks: neither URL, secret nor payload is in D1, the queue or the logs', async () => {
    const lines: string[] = [];
    for (const level of ['log', 'error', 'warn'] as const)
      vi.spyOn(console, level).mockImplementation((line) => void lines.push(String(line)));
    const o = await newOrg();
    const { id, secret, host } = await newWebhook(o, {
      url: 'https://plain.example.com/path-marker?q=query-marker',
    });
    receivers[host] = () => new Response('response-marker', { status: 500 });
    await raise(o, 'name-marker');
    faults.clock = (faults.clock as number) + 1000;
    await deliverAll(o);
    await o.post(`/webhooks/${id}/test`);
    expect(received.length).toBeGreaterThan(1);
    const stored = JSON.stringify([...faults.asked]) + JSON.stringify(faults.queued) + lines.join('\n');
    for (const marker of ['path-marker', 'query-marker', secret, 'response-marker', 'name-marker'])
      expect(stored).not.toContain(marker);
    vi.restoreAllMocks();
  });

  it('webhooks: a list names a URL that does not open, shows the others and raises an alarm', async () => {
    const o = await newOrg();
    const one = await newWebhook(o);
    const two = await newWebhook(o);
    await inCore(o, ({ rows, storage }) =>
      storage.transactionSync(() =>
        rows.put('webhook', { ...(rows.get('webhook', one.id) as WebhookRow), url_sealed: 'altered' }),
      ),
    );
    const { status, json } = await o.get('/webhooks');
    expect(status).toBe(200);
    const byId = Object.fromEntries(json.data.map((row: { id: string }) => [row.id, row]));
    expect(byId[one.id]).toMatchObject({ url: null, unreadable: ['url'], enabled: true });
    expect(byId[one.id]).not.toHaveProperty('url_sealed');
    expect(byId[two.id].url).toContain(two.host);
    expect(byId[two.id]).not.toHaveProperty('unreadable');
    const alarms = (await o.get('/audit-log?action=integrity.alarm')).json.data;
    expect(alarms).toMatchObject([{ reason: 'value_does_not_open', resource: one.id }]);
    expect(codeOf(await o.get(`/webhooks/${one.id}`))).toEqual([500, 'INTERNAL']);
  });

  slow(
    'webhooks: a ciphertext of another webhook or column does not decrypt, and nothing is sent',
    async () => {
      const o = await newOrg();
      const one = await newWebhook(o);
      const two = await newWebhook(o);
      for (const { id } of [one, two]) await o.post(`/webhooks/${id}/rotate-secret`);
      const rowOf = (id: string) =>
        db.prepare('select * from webhooks where id = ?').bind(id).first<Record<string, string>>();
      const mine = (await rowOf(one.id)) as Record<string, string>;
      const theirs = (await rowOf(two.id)) as Record<string, string>;
      const swaps = COLUMNS.flatMap((column) => [
        [column, theirs[column]] as const,
        ...COLUMNS.filter((other) => other !== column).map((other) => [column, mine[other]] as const),
      ]);
      for (const [column, text] of swaps) {
        await db.prepare(`update webhooks set ${column} = ? where id = ?`).bind(text, one.id).run();
        await loseStorage(o);
        received.length = 0;
        const answer = await o.post(`/webhooks/${one.id}/test`);
        expect([codeOf(answer), received], column).toEqual([[500, 'INTERNAL'], []]);
        await db.prepare(`update webhooks set ${column} = ? where id = ?`).bind(mine[column], one.id).run();
      }
      await loseStorage(o);
      expect((await o.post(`/webhooks/${one.id}/test`)).json.status).toBe('delivered');
    },
  );

  slow('webhooks: a row that was altered is not believed', async () => {
    const o = await newOrg();
    const { id } = await newWebhook(o, { events: ['DEVICE_BLOCKED'] });
    await db.prepare('update webhooks set events = null where id = ?').bind(id).run();
    await loseStorage(o);
    expect((await o.get(`/webhooks/${id}`)).status).toBe(404);
  });
});
