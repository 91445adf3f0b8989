// A week's outage: of the gate and its queue, of the receivers, or of D1. Afterwards each event has arrived
// once, what a receiver missed for too long is a dead letter of an endpoint that is disabled and arrives once
// it is enabled, and whatever was scheduled is told late, but once.
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { ATTENDED } from '../../src/delivery/gate/task';
import { faults } from '../support/faults';
import { evict, inCore } from '../support/gate';
import {
  askedFor,
  attendTo,
  deliveriesOf,
  newWebhook,
  type Received,
  raise,
  useReceivers,
} from '../support/integrations/webhooks';
import { slow } from '../support/slow';
import { DAY, HOUR, MINUTE } from '../support/time';
import { type Caller, newOrg, newSecret, useWorld } from '../support/world';

useWorld();

const START = Date.parse('2027-01-01T00:00:00.000Z');
let received: Received[] = [];
let receivers: ReturnType<typeof useReceivers>['receivers'] = {};
beforeEach(() => {
  faults.clock = START;
  ({ received, receivers } = useReceivers());
});
afterEach(() => vi.unstubAllGlobals());

const clock = () => faults.clock as number;
const answers = (status: number) => () => new Response('no', { status });

/** What gate and queue do of their own accord, until nothing is due. */
async function work(o: Caller) {
  for (let round = 0; round < 30; round++) {
    const asked = await askedFor(o);
    if (asked.length === 0) return;
    await Promise.all(asked.map((id) => attendTo(o, id).catch(() => {})));
  }
}

/** A week, three hours at a time, with an event each day; `isAway`: nothing runs meanwhile. */
async function aWeek(o: Caller, isAway = false) {
  for (let hour = 0; hour < 7 * 24; hour += 3) {
    faults.clock = START + hour * HOUR + MINUTE;
    if (isAway) continue;
    if (hour % 24 === 0) await raise(o, `day ${hour / 24}`);
    await work(o);
  }
  faults.clock = START + 7 * DAY + HOUR;
}

/**
 * An organisation with a webhook for all, one that fails from the start, and what is scheduled for the week.
 */
async function prepared() {
  const o = await newOrg();
  const living = await newWebhook(o);
  const failing = await newWebhook(o, { events: ['SECRET_CREATED'] });
  await newSecret(o, { name: 'over', ttlSeconds: (3 * DAY) / 1000 });
  await newSecret(o, { name: 'near', ttlSeconds: (7.5 * DAY) / 1000 });
  await newSecret(o, { name: 'far', ttlSeconds: (10 * DAY) / 1000 });
  await newSecret(o, { name: 'old', rotate_every_seconds: (2 * DAY) / 1000 });
  await raise(o, 'before');
  faults.clock = START + 1000;
  return { o, living, failing };
}

/** What was told of the schedule, in the order of the kinds; each has an id of its own. */
const told = (o: Caller) =>
  inCore(o, ({ outbox }) =>
    outbox
      .oldest(5000)
      .filter(({ type }) => /EXPIR|DUE/.test(type))
      .map(({ type, data }) => [type, data.name, ...(data.days ? [data.days] : [])].join(' '))
      .sort(),
  );
const requestsTo = ({ host }: { host: string }) =>
  received.filter((one) => one.host === host).map(({ event }) => event.id as string);
const eventsOf = (o: Caller) => inCore(o, ({ outbox }) => outbox.oldest(5000));
/** Whether an endpoint for all has got each event since it was made, in one request. */
async function hasEachOnce(o: Caller, endpoint: { host: string }) {
  const ids = (await eventsOf(o))
    .filter(({ type }) => !['MEMBER_ADDED', 'CREDENTIAL_CREATED'].includes(type))
    .map(({ id }) => id);
  expect(requestsTo(endpoint).sort()).toEqual(ids.sort());
}

const LATE = [
  'SECRET_EXPIRED over',
  'SECRET_EXPIRING far 7',
  'SECRET_EXPIRING near 1',
  'SECRET_EXPIRING near 7',
];
const IN_TIME = [...LATE, 'SECRET_EXPIRING over 1'];

describe("a week's outage", () => {
  it('of the gate: pending deliveries arrive once, an endpoint that failed before is not disabled by it, and warnings are not doubled', async () => {
    const { o, living, failing } = await prepared();
    receivers[living.host] = answers(503);
    receivers[failing.host] = answers(500);
    await work(o);
    expect(await deliveriesOf(o, failing.id, '&status=pending')).toHaveLength(5);
    received.length = 0;
    await evict(o);
    await aWeek(o, true);
    delete receivers[living.host];
    await work(o);
    faults.clock = clock() + 1000;
    await work(o);
    await hasEachOnce(o, living);
    expect(await told(o)).toEqual([...LATE, 'SECRET_ROTATION_DUE old']);
    // It had no chance to do better.
    expect((await o.get(`/webhooks/${failing.id}`)).json.disabled_reason).toBeNull();
    delete receivers[failing.host];
    faults.clock = clock() + 12 * HOUR;
    await work(o);
    expect((await deliveriesOf(o, failing.id)).map(({ status }) => status)).toEqual(
      Array(5).fill('delivered'),
    );
    expect((await o.get('/audit-log/verify')).json.ok).toBe(true);
  });

  slow(
    'of the receivers: they are disabled after five days with one event each, and get all that they missed once they are back',
    async () => {
      const { o, living, failing } = await prepared();
      const dead = await newWebhook(o, { events: ['SECRET_CREATED'] });
      receivers[failing.host] = answers(500);
      receivers[dead.host] = () => {
        throw new Error('connection refused');
      };
      await aWeek(o);
      await work(o);
      await hasEachOnce(o, living);
      expect((await told(o)).filter((one) => one.includes('EXPIR'))).toEqual(IN_TIME);
      const disabled = (await eventsOf(o)).filter(({ type }) => type === 'WEBHOOK_DISABLED');
      expect(disabled.map(({ data }) => [data.webhook_id, data.reason]).sort()).toEqual(
        [failing, dead].map(({ id }) => [id, 'failing']).sort(),
      );
      for (const { at } of disabled) {
        expect(at).toBeGreaterThanOrEqual(START + 5 * DAY);
        expect(at).toBeLessThan(START + 6 * DAY);
      }
      for (const one of [failing, dead]) {
        const log = await deliveriesOf(o, one.id);
        expect(log.every(({ status }) => status === 'failed')).toBe(true);
        delete receivers[one.host];
        received.length = 0;
        await o.patch(`/webhooks/${one.id}`, { enabled: true });
        const again = (
          await o.post(`/webhooks/${one.id}/redeliver`, { since: new Date(START).toISOString() })
        ).json;
        expect(again).toEqual({ redelivered: log.length, has_more: false });
        await work(o);
        expect(requestsTo(one).sort()).toEqual(log.map(({ event_id }) => event_id).sort());
      }
      expect((await o.get('/audit-log/verify')).json.ok).toBe(true);
    },
  );

  it('of D1: a delivery that a job cannot send without its keys waits, and arrives once', async () => {
    const { o, living, failing } = await prepared();
    faults.fail = () => 'before';
    await aWeek(o);
    expect(received).toEqual([]);
    await evict(o);
    faults.fail = null;
    faults.clock = clock() + ATTENDED;
    await work(o);
    await hasEachOnce(o, living);
    expect((await told(o)).filter((one) => one.includes('EXPIR'))).toEqual(IN_TIME);
    // What is not tried does not fail.
    expect(
      (await deliveriesOf(o, failing.id)).every(
        ({ status, attempts }) => status === 'delivered' && attempts === 1,
      ),
    ).toBe(true);
    expect((await o.get('/audit-log/verify')).json.ok).toBe(true);
  });
});
