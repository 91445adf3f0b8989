// Delivery of events to webhooks: signatures, retries, dead letters, redelivery, and endpoints that fail.
import { Webhook as Verifier } from 'standardwebhooks';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { utf8 } from '../../../src/crypto/bytes';
import { hmacHex } from '../../../src/crypto/digest';
import { createDeliveries, deliveries, deliveryQuotas } from '../../../src/delivery/gate/deliveries';
import { LEASE } from '../../../src/delivery/gate/endpoints';
import { RETRIES } from '../../../src/delivery/gate/retries';
import { ATTENDED } from '../../../src/delivery/gate/task';
import { mirror } from '../../../src/gate/journal/mirror';
import { faults, until } from '../../support/faults';
import { evict, inCore, inGate, loseStorage } from '../../support/gate';
import {
  askedFor,
  attendTo,
  deliverAll,
  deliveriesOf,
  newWebhook,
  type Received,
  raise,
  useReceivers,
} from '../../support/integrations/webhooks';
import { slow } from '../../support/slow';
import { DAY, HOUR, MINUTE } from '../../support/time';
import { type Caller, newOrg, useWorld } from '../../support/world';

useWorld();

const START = Date.parse('2027-01-01T00:00:00.000Z');
let now = START;
const at = (time: number) => {
  now = time;
  faults.clock = time;
};
const later = (ms: number) => at(now + ms);

let received: Received[];
let receivers: ReturnType<typeof useReceivers>['receivers'];
beforeEach(() => {
  at(START);
  ({ received, receivers } = useReceivers());
});
afterEach(() => vi.unstubAllGlobals());

const namesTo = (host: string) =>
  received.filter((one) => one.host === host).map(({ event }) => event.data.name);
const answers =
  (code: number, headers: Record<string, string> = {}) =>
  () =>
    new Response('no', { status: code, headers });

/** Delivers until a delivery is done, or for so many rounds, an hour or the next attempt apart. */
async function untilSettled(o: Caller, id: string, rounds = 30) {
  for (let round = 0; round < rounds; round++) {
    await deliverAll(o);
    const waiting = (await deliveriesOf(o, id, '&status=pending')).map(({ next_attempt_at }) =>
      Date.parse(next_attempt_at as string),
    );
    if (waiting.length === 0) return;
    at(Math.max(now, Math.min(...waiting)));
  }
}

describe('webhooks: requests', () => {
  it('webhooks: the first event of a gate that began again from D1 arrives', async () => {
    const o = await newOrg();
    const webhook = await newWebhook(o, { events: ['SECRET_CREATED'] });
    await raise(o, 'before');
    later(1000);
    await deliverAll(o);
    await inCore(o, (core) => mirror(core).follow());
    await loseStorage(o);
    expect((await o.get('')).status).toBe(200);
    await raise(o, 'after');
    later(1000);
    await deliverAll(o);
    expect(namesTo(new URL(webhook.url).host)).toEqual(['before', 'after']);
  });

  it('webhooks: an event arrives once, thin, with both signatures', async () => {
    const o = await newOrg();
    const webhook = await newWebhook(o, { events: ['SECRET_CREATED'] });
    await raise(o, 'a');
    later(1000);
    await deliverAll(o);
    expect(received).toHaveLength(1);
    const [{ event, body, headers, url }] = received as [Received];
    expect(url).toBe(webhook.url);
    expect(event).toMatchObject({
      type: 'SECRET_CREATED',
      org_id: o.id,
      data: { name: 'a' },
      timestamp: new Date(START).toISOString(),
    });
    expect(Object.keys(event)).toEqual(['id', 'type', 'timestamp', 'org_id', 'data']);
    expect(headers).toMatchObject({ 'content-type': 'application/json', 'webhook-id': event.id });
    expect(headers['user-agent']).toMatch(/^secrets-vault-service\//);
    expect(headers['x-svc-signature']).toBe(hmacHex(utf8(webhook.secret), utf8(body)));
    expect(new Verifier(webhook.secret).verify(body, headers)).toEqual(event);
    expect(() => new Verifier(webhook.secret).verify(`${body} `, headers)).toThrow();
    expect(await deliveriesOf(o, webhook.id)).toMatchObject([
      {
        event_id: event.id,
        event_type: 'SECRET_CREATED',
        status: 'delivered',
        attempts: 1,
        response_status: 200,
        response: 'ok',
      },
    ]);
    later(DAY);
    await deliverAll(o);
    expect(received).toHaveLength(1);
  });

  slow('webhooks: an endpoint gets the kinds that it subscribes to, from its creation on', async () => {
    const o = await newOrg();
    const other = await newWebhook(o, { events: ['DEVICE_REGISTERED'] });
    await raise(o, 'before');
    later(1000);
    const all = await newWebhook(o);
    const some = await newWebhook(o, { events: ['DEVICE_BLOCKED', 'SECRET_CREATED'] });
    await raise(o, 'after');
    later(1000);
    await deliverAll(o);
    expect([namesTo(other.host), namesTo(all.host), namesTo(some.host)]).toEqual([[], ['after'], ['after']]);
  });

  slow('webhooks: each event is delivered, regardless of concurrency', async () => {
    const o = await newOrg();
    const { host } = await newWebhook(o);
    // More than what leaves for D1 once there is room for a range.
    const names = Array.from({ length: 2100 }, (_, n) => `n${n}`);
    await raise(o, ...names);
    later(1000);
    await deliverAll(o, 100);
    expect(namesTo(host).sort()).toEqual(names.sort());
  });

  it('webhooks: both secrets sign while they overlap, and X-Svc-Signature stays with the old one', async () => {
    const o = await newOrg();
    const webhook = await newWebhook(o);
    const rotated = await o.post(`/webhooks/${webhook.id}/rotate-secret`, { overlap_seconds: 3600 });
    expect([rotated.status, rotated.json.old_secret_until]).toEqual([
      200,
      new Date(START + HOUR).toISOString(),
    ]);
    const { secret } = rotated.json;
    await raise(o, 'during');
    later(HOUR - 1);
    await deliverAll(o);
    const [during] = received as [Received];
    for (const each of [webhook.secret, secret]) new Verifier(each).verify(during.body, during.headers);
    expect(during.headers['x-svc-signature']).toBe(hmacHex(utf8(webhook.secret), utf8(during.body)));
    await raise(o, 'after');
    later(1000);
    await deliverAll(o);
    const after = received[1] as Received;
    new Verifier(secret).verify(after.body, after.headers);
    expect(() => new Verifier(webhook.secret).verify(after.body, after.headers)).toThrow();
    expect(after.headers['x-svc-signature']).toBe(hmacHex(utf8(secret), utf8(after.body)));
    const atOnce = (await o.post(`/webhooks/${webhook.id}/rotate-secret`, { overlap_seconds: 0 })).json;
    expect(atOnce.old_secret_until).toBeNull();
    await raise(o, 'at once');
    later(1000);
    await deliverAll(o);
    const last = received[2] as Received;
    expect(last.headers['webhook-signature']?.split(' ')).toHaveLength(1);
    new Verifier(atOnce.secret).verify(last.body, last.headers);
  });
});

describe('webhooks: rotation', () => {
  it('webhooks: each secret of two concurrent rotations signs during its overlap', async () => {
    const o = await newOrg();
    const { id } = await newWebhook(o);
    const rotated = await Promise.all([1, 2].map(() => o.post(`/webhooks/${id}/rotate-secret`)));
    await raise(o, 'a');
    later(1000);
    await deliverAll(o);
    const [{ body, headers }] = received as [Received];
    for (const { json } of rotated) new Verifier(json.secret).verify(body, headers);
  });
});

describe('webhooks: limits', () => {
  it('webhooks: deliveries beyond the backlog limit of an endpoint are dead letters immediately', async () => {
    const o = await newOrg();
    const { id } = await newWebhook(o);
    await inGate(o, ({ core }, { storage }) => {
      const few = createDeliveries(storage.sql, core.meta, 2);
      for (const n of [1, 2, 3])
        few.add(
          [{ id, combines: false }],
          { id: `evt_${n}`, type: 'SECRET_CREATED', at: now, data: {} },
          now,
        );
    });
    const rows = (await deliveriesOf(o, id)).map(({ status, error }) => [status, error]);
    expect(rows).toEqual([
      ['failed', 'backlog_full'],
      ['pending', null],
      ['pending', null],
    ]);
  });

  it('webhooks: there is room again at an endpoint once some have been delivered', async () => {
    const o = await newOrg();
    const { id } = await newWebhook(o);
    await inGate(o, ({ core }, { storage }) => {
      const few = createDeliveries(storage.sql, core.meta, 2);
      let n = 0;
      const add = () =>
        few.add(
          [{ id, combines: false }],
          { id: `evt_${++n}`, type: 'SECRET_CREATED', at: now, data: {} },
          now + n,
        );
      const done = { status: 200, error: null, response: '', ms: 1, retry_after: null };
      for (let i = 0; i < 3; i++) add();
      const [first] = few.take(id, now + n);
      few.report(first?.id as string, first?.lease as number, done, now + n);
      for (let i = 0; i < 2; i++) add();
      // One that is sent anew takes its place.
      few.again(first?.id as string, now + n);
      expect(few.againSince(id, 0, 10, now + n)).toEqual({ redelivered: 0, more: true });
    });
    const rows = (await deliveriesOf(o, id)).map(({ event_id, status }) => `${event_id} ${status}`).sort();
    expect(rows).toEqual(['evt_1 pending', 'evt_2 pending', 'evt_3 failed', 'evt_4 pending', 'evt_5 failed']);
  });

  it('webhooks: past the quotas of an endpoint and of the organisation the oldest ended deliveries leave, and events with the last one', async () => {
    const o = await newOrg();
    const one = await newWebhook(o);
    const other = await newWebhook(o);
    const before = { ...deliveryQuotas };
    Object.assign(deliveryQuotas, { org: 7, endpoint: 4, slack: 1 });
    const counted = await inGate(o, ({ core }, { storage }) => {
      // Whatever is beyond two pending ones has failed.
      const few = createDeliveries(storage.sql, core.meta, 2);
      let n = 0;
      const add = (webhook: string) =>
        few.add(
          [{ id: webhook, combines: false }],
          { id: `evt_${String(++n).padStart(2, '0')}`, type: 'SECRET_CREATED', at: now, data: {} },
          now + n,
        );
      const count = (table: string) =>
        storage.sql.exec<{ n: number }>(`select count(*) n from ${table}`).one().n;
      return storage.transactionSync(() => {
        for (let i = 0; i < 12; i++) add(one.id);
        const first = count('deliveries');
        for (let i = 0; i < 12; i++) add(other.id);
        few.sweep(now);
        return [first, count('deliveries'), count('delivery_events')];
      });
    }).finally(() => Object.assign(deliveryQuotas, before));
    expect(counted).toEqual([5, 7, 7]);
    // What waits stays.
    expect((await deliveriesOf(o, one.id)).filter(({ status }) => status === 'pending')).toHaveLength(2);
  });

  it('webhooks: deliveries are kept for 30 days, and those that wait for longer', async () => {
    const o = await newOrg();
    const fine = await newWebhook(o);
    const late = await newWebhook(o);
    await raise(o, 'a');
    later(1000);
    await askedFor(o);
    await attendTo(o, fine.id);
    const sweep = () =>
      inCore(o, (core) => core.storage.transactionSync(() => deliveries(core).sweep(core.now())));
    later(30 * DAY - 1000);
    await sweep();
    expect(await deliveriesOf(o, fine.id)).toHaveLength(1);
    later(2000);
    await sweep();
    expect([await deliveriesOf(o, fine.id), await deliveriesOf(o, late.id)]).toMatchObject([
      [],
      [{ status: 'pending' }],
    ]);
    await deliverAll(o);
    expect(namesTo(late.host)).toEqual(['a']);
  });
});

describe('webhooks: retries', () => {
  slow(
    'webhooks: an attempt that fails is repeated after growing times with the same id, and is a dead letter in the end',
    async () => {
      const o = await newOrg();
      const webhook = await newWebhook(o);
      receivers[webhook.host] = answers(500);
      await raise(o, 'a');
      later(1000);
      const times: number[] = [];
      receivers[webhook.host] = () => {
        times.push(now);
        return new Response('x'.repeat(5000), { status: 500 });
      };
      await untilSettled(o, webhook.id);
      expect(times).toHaveLength(RETRIES.length + 1);
      times.slice(1).forEach((time, n) => {
        const waited = time - (times[n] as number);
        expect(waited).toBeGreaterThanOrEqual(RETRIES[n] as number);
        expect(waited).toBeLessThanOrEqual((RETRIES[n] as number) * 1.2 + 1);
      });
      expect(new Set(received.map(({ headers }) => headers['webhook-id'])).size).toBe(1);
      const [failed] = await deliveriesOf(o, webhook.id);
      expect(failed).toMatchObject({
        status: 'failed',
        attempts: 8,
        response_status: 500,
        error: 'http_status',
        next_attempt_at: null,
      });
      expect(failed?.response).toBe('x'.repeat(1024));
    },
  );

  slow('webhooks: Retry-After is honoured up to 12 hours', async () => {
    const o = await newOrg();
    const short = await newWebhook(o);
    const long = await newWebhook(o);
    receivers[short.host] = answers(429, { 'Retry-After': '600' });
    receivers[long.host] = answers(503, { 'Retry-After': '9999999' });
    await raise(o, 'a');
    later(1000);
    await deliverAll(o);
    const next = async (id: string) =>
      Date.parse((await deliveriesOf(o, id))[0]?.next_attempt_at as string) - now;
    expect(await next(short.id)).toBe(10 * MINUTE);
    expect(await next(long.id)).toBe(12 * HOUR);
  });

  it.each([301, 302, 307, 404])('webhooks: %i is a failure', async (code) => {
    const o = await newOrg();
    const webhook = await newWebhook(o);
    receivers[webhook.host] = answers(code, { Location: 'http://169.254.169.254/' });
    await raise(o, 'a');
    later(1000);
    await deliverAll(o);
    expect(received).toHaveLength(1);
    expect(await deliveriesOf(o, webhook.id)).toMatchObject([
      { status: 'pending', attempts: 1, response_status: code },
    ]);
  });

  slow('webhooks: dead letters are sent again one by one, or all since a time', async () => {
    const o = await newOrg();
    const webhook = await newWebhook(o);
    receivers[webhook.host] = answers(500);
    for (const name of ['a', 'b', 'c']) {
      await raise(o, name);
      later(HOUR);
    }
    await untilSettled(o, webhook.id, 60);
    const failed = await deliveriesOf(o, webhook.id, '&status=failed');
    expect(failed).toHaveLength(3);
    received.length = 0;
    receivers[webhook.host] = answers(200);
    const first = failed[2]?.id;
    const again = await o.post(`/webhooks/${webhook.id}/deliveries/${first}/redeliver`);
    expect([again.status, again.json.status, again.json.attempts]).toEqual([202, 'pending', 0]);
    await deliverAll(o);
    expect(namesTo(webhook.host)).toEqual(['a']);
    const since = new Date(START + HOUR).toISOString();
    expect((await o.post(`/webhooks/${webhook.id}/redeliver`, { since })).json).toEqual({
      redelivered: 2,
      has_more: false,
    });
    await deliverAll(o);
    expect(namesTo(webhook.host).sort()).toEqual(['a', 'b', 'c']);
    expect(await deliveriesOf(o, webhook.id, '&status=delivered')).toHaveLength(3);
    const other = await newWebhook(o);
    expect((await o.post(`/webhooks/${other.id}/deliveries/${first}/redeliver`)).status).toBe(404);
  });
});

describe('webhooks: endpoints that fail', () => {
  slow('webhooks: 410 disables the endpoint immediately, with an event', async () => {
    const o = await newOrg();
    const gone = await newWebhook(o, { events: ['SECRET_CREATED'] });
    const watcher = await newWebhook(o, { events: ['WEBHOOK_DISABLED'] });
    receivers[gone.host] = answers(410);
    await raise(o, 'a', 'b');
    later(1000);
    await deliverAll(o);
    later(1000);
    await deliverAll(o);
    expect((await o.get(`/webhooks/${gone.id}`)).json).toMatchObject({
      enabled: false,
      disabled_reason: 'gone',
    });
    const told = received.filter(({ host }) => host === watcher.host);
    expect(told.map(({ event }) => event.data)).toEqual([
      { webhook_id: gone.id, host: gone.host, reason: 'gone' },
    ]);
    expect((await deliveriesOf(o, gone.id)).map(({ status }) => status)).toEqual(['failed', 'failed']);
    received.length = 0;
    await raise(o, 'c');
    later(DAY);
    await deliverAll(o);
    expect(namesTo(gone.host)).toEqual([]);
    // Enabled again, it starts afresh.
    receivers[gone.host] = answers(200);
    expect((await o.patch(`/webhooks/${gone.id}`, { enabled: true })).json).toMatchObject({
      enabled: true,
      disabled_reason: null,
    });
    await o.post(`/webhooks/${gone.id}/redeliver`, { since: new Date(START).toISOString() });
    await raise(o, 'd');
    later(1000);
    await deliverAll(o);
    expect(namesTo(gone.host).sort()).toEqual(['a', 'b', 'd']);
  });

  it('webhooks: deliveries pending when a webhook is disabled are dead letters', async () => {
    const o = await newOrg();
    const { id, host } = await newWebhook(o);
    receivers[host] = answers(500);
    await raise(o, 'a');
    later(1000);
    await deliverAll(o);
    await o.patch(`/webhooks/${id}`, { enabled: false });
    later(DAY);
    await deliverAll(o);
    expect(received).toHaveLength(1);
    expect(await deliveriesOf(o, id)).toMatchObject([
      { status: 'failed', error: 'webhook_disabled', next_attempt_at: null },
    ]);
    expect((await o.post(`/webhooks/${id}/redeliver`, { since: new Date(START).toISOString() })).status).toBe(
      409,
    );
  });

  it('webhooks: an endpoint that fails for 5 days is disabled, and one success in between is enough', async () => {
    const o = await newOrg();
    const dead = await newWebhook(o, { events: ['SECRET_CREATED'] });
    const flaky = await newWebhook(o, { events: ['SECRET_CREATED'] });
    receivers[dead.host] = answers(500);
    receivers[flaky.host] = answers(500);
    for (let day = 0; day < 6; day++) {
      if (day === 3) receivers[flaky.host] = answers(200);
      if (day === 4) receivers[flaky.host] = answers(500);
      await raise(o, `day ${day}`);
      later(1000);
      await deliverAll(o);
      later(DAY);
    }
    await deliverAll(o);
    expect((await o.get(`/webhooks/${dead.id}`)).json.disabled_reason).toBe('failing');
    expect((await o.get(`/webhooks/${flaky.id}`)).json.disabled_reason).toBeNull();
  });

  slow(
    'webhooks: an endpoint that had nothing to do for 5 days is not disabled by its next failure',
    async () => {
      const o = await newOrg();
      const webhook = await newWebhook(o);
      receivers[webhook.host] = answers(500);
      await raise(o, 'a');
      later(1000);
      await untilSettled(o, webhook.id);
      later(20 * DAY);
      await raise(o, 'b');
      later(1000);
      await deliverAll(o);
      expect((await o.get(`/webhooks/${webhook.id}`)).json.enabled).toBe(true);
    },
  );

  it('webhooks: a slow or dead endpoint delays no other, and has one attempt in flight once it fails', async () => {
    const o = await newOrg();
    const slow = await newWebhook(o);
    const good = await newWebhook(o);
    let inFlight = 0;
    let most = 0;
    const release: (() => void)[] = [];
    receivers[slow.host] = async () => {
      most = Math.max(most, ++inFlight);
      await new Promise<void>((done) => release.push(done));
      inFlight--;
      return new Response('late', { status: 500 });
    };
    await raise(o, ...Array.from({ length: 12 }, (_, n) => `n${n}`));
    later(1000);
    const asked = await askedFor(o);
    expect(asked.sort()).toEqual([slow.id, good.id].sort());
    const hanging = Promise.all([attendTo(o, slow.id), attendTo(o, slow.id)]);
    await attendTo(o, good.id);
    expect(namesTo(good.host)).toHaveLength(12);
    // Twice the message, and still four in flight.
    await until(() => inFlight === 4);
    await new Promise((done) => setTimeout(done, 50));
    expect(most).toBe(4);
    most = 0;
    for (const done of release.splice(0)) done();
    // The jobs go on, or leave it to the next one where the round took long.
    const further: Promise<void>[] = [];
    await until(async () => {
      if (inFlight === 0) for (const id of await askedFor(o)) further.push(attendTo(o, id));
      return inFlight === 1;
    });
    receivers[slow.host] = answers(200);
    for (const done of release.splice(0)) done();
    await Promise.all([hanging, ...further]);
    expect(most).toBe(1);
  });
});

describe('webhooks: an endpoint that changes', () => {
  const changes: [string, object][] = [
    ['is disabled', { enabled: false }],
    ['subscribes to other kinds', { events: ['SECRET_DELETED'] }],
  ];
  it.each(changes)(
    'webhooks: an event from before a webhook %s is delivered or a dead letter',
    async (_what, change) => {
      const o = await newOrg();
      const { id, host } = await newWebhook(o);
      await raise(o, 'a');
      expect((await o.patch(`/webhooks/${id}`, change)).status).toBe(200);
      await raise(o, 'b');
      later(1000);
      await deliverAll(o);
      const isDisabled = 'enabled' in change;
      expect(namesTo(host)).toEqual(isDisabled ? [] : ['a']);
      const log = await deliveriesOf(o, id);
      expect(log.map(({ status, error }) => [status, error])).toEqual([
        isDisabled ? ['failed', 'webhook_disabled'] : ['delivered', null],
      ]);
    },
  );
});

describe('webhooks: cut off anywhere', () => {
  it('webhooks: a duplicate message sends nothing twice', async () => {
    const o = await newOrg();
    const { host, id } = await newWebhook(o);
    await raise(o, 'a', 'b');
    later(1000);
    await askedFor(o);
    await Promise.all([attendTo(o, id), attendTo(o, id), attendTo(o, id)]);
    await attendTo(o, id);
    expect(namesTo(host).sort()).toEqual(['a', 'b']);
  });

  it('webhooks: a message that is lost is sent again', async () => {
    const o = await newOrg();
    const { id } = await newWebhook(o);
    await raise(o, 'a');
    later(1000);
    expect(await askedFor(o)).toEqual([id]);
    expect(await askedFor(o)).toEqual([]);
    later(ATTENDED);
    expect(await askedFor(o)).toEqual([id]);
  });

  it.each(['before', 'after'] as const)(
    'webhooks: each call of a job to the gate may fail %s it takes effect',
    async (fate) => {
      for (const n of [1, 2]) {
        const o = await newOrg();
        const { host, id } = await newWebhook(o);
        await raise(o, 'a', 'b');
        later(1000);
        await askedFor(o);
        faults.gate = 0;
        faults.rpc = (call) => (call === n ? { fate, retryable: false } : null);
        await attendTo(o, id).catch(() => {});
        faults.rpc = null;
        await evict(o);
        later(Math.max(LEASE, ATTENDED));
        await deliverAll(o);
        expect(new Set(namesTo(host)), `call ${n}`).toEqual(new Set(['a', 'b']));
        expect((await deliveriesOf(o, id)).map(({ status }) => status)).toEqual(['delivered', 'delivered']);
      }
    },
  );

  slow('webhooks: a run of the task that is cut off makes each delivery once', async () => {
    const o = await newOrg();
    const { host, id } = await newWebhook(o);
    for (let n = 1; n < 60; n++) {
      const name = `n${n}`;
      await raise(o, name);
      later(1000);
      faults.statements = 0;
      faults.storage = (statement) => (statement === n ? 'before' : null);
      await askedFor(o).catch(() => {});
      faults.storage = null;
      // The fault has reset it, unless the run was over before.
      await evict(o).catch(() => {});
      later(ATTENDED);
      await deliverAll(o);
      expect(namesTo(host).filter((one) => one === name)).toEqual([name]);
    }
    expect(await deliveriesOf(o, id, '&status=pending')).toEqual([]);
  });

  it('webhooks: a failure that is reported late changes nothing', async () => {
    const o = await newOrg();
    const { id } = await newWebhook(o);
    await raise(o, 'a');
    later(1000);
    await askedFor(o);
    const lease = () =>
      inCore(o, (core) => core.storage.transactionSync(() => deliveries(core).take(id, core.now())));
    const [first] = await lease();
    expect(await lease()).toEqual([]);
    later(LEASE);
    const [second] = await lease();
    expect(second?.lease).toBe((first?.lease ?? 0) + 1);
    const failure = { status: 500, error: 'http_status', response: '', ms: 1, retry_after: null };
    await inCore(o, (core) =>
      deliveries(core).report(first?.id as string, first?.lease as number, failure, core.now()),
    );
    expect(await deliveriesOf(o, id)).toMatchObject([{ status: 'pending', attempts: 0 }]);
    await inCore(o, (core) =>
      deliveries(core).report(
        first?.id as string,
        first?.lease as number,
        { ...failure, error: null },
        core.now(),
      ),
    );
    expect(await deliveriesOf(o, id)).toMatchObject([{ status: 'delivered', attempts: 1 }]);
    await inCore(o, (core) =>
      deliveries(core).report(second?.id as string, second?.lease as number, failure, core.now()),
    );
    expect(await deliveriesOf(o, id)).toMatchObject([{ status: 'delivered', attempts: 1 }]);
  });
});
