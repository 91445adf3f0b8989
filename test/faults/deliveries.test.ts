// Every storage statement, D1 call and gate call on the way of events to webhooks fails once before and once
// after taking effect, and the gate is reset there, while the queue delivers each message twice. Afterwards
// each event has reached each living endpoint, what a dead one did not get is a dead letter, and an endpoint
// that is gone is disabled once, with one event.
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { type Fault, faults, faultsOf, reset } from '../support/faults';
import { evict, inCore } from '../support/gate';
import {
  askedFor,
  attendTo,
  deliverAll,
  deliveriesOf,
  newWebhook,
  type Received,
  raise,
  useReceivers,
} from '../support/integrations/webhooks';
import { sampled } from '../support/limits/sampled';
import { DAY, HOUR } from '../support/time';
import { type Caller, newOrg, useWorld } from '../support/world';

useWorld();

const START = Date.parse('2027-01-01T00:00:00.000Z');
let received: Received[] = [];
let receivers: ReturnType<typeof useReceivers>['receivers'] = {};
beforeEach(() => {
  ({ received, receivers } = useReceivers());
});
afterEach(() => vi.unstubAllGlobals());

const answers = (status: number) => () => new Response('no', { status });

/**
 * What a gate and a queue do of their own accord: the tasks, then a job for each message, which comes twice.
 * It may be cut off anywhere.
 */
async function turn(o: Caller) {
  const asked = await askedFor(o).catch(() => []);
  for (const id of asked) for (let copy = 0; copy < 2; copy++) await attendTo(o, id).catch(() => {});
}

/** Three events for a living endpoint, one that fails at first, and one that is gone. */
async function deliverOnce(fault?: Fault) {
  faults.clock = START;
  const o = await newOrg();
  const living = await newWebhook(o);
  const flaky = await newWebhook(o, { events: ['SECRET_CREATED'] });
  const gone = await newWebhook(o, { events: ['SECRET_CREATED'] });
  received.length = 0;
  receivers[flaky.host] = answers(500);
  receivers[gone.host] = answers(410);
  await raise(o, 'a', 'b', 'c');
  faults.clock += 1000;

  Object.assign(faults, { statements: 0, d1: 0, gate: 0 }, fault?.how);
  for (let n = 0; n < 3; n++) await turn(o);
  const calls = { statements: faults.statements, d1: faults.d1, gate: faults.gate };
  const { orphans } = faults;
  reset();
  for (const land of orphans) await land().catch(() => {});
  await evict(o).catch(() => {});

  delete receivers[flaky.host];
  for (const at of [START + HOUR, START + 2 * HOUR, START + DAY]) {
    faults.clock = at;
    await deliverAll(o);
  }
  const names = ({ host }: { host: string }) =>
    [
      ...new Set(
        received
          .filter((one) => one.host === host && one.event.type === 'SECRET_CREATED')
          .map(({ event }) => event.data.name),
      ),
    ].sort();
  const fates = async ({ id }: { id: string }) =>
    (await deliveriesOf(o, id))
      .filter(({ event_type }) => event_type === 'SECRET_CREATED')
      .map(({ status }) => status);
  const outcome = {
    names: { living: names(living), flaky: names(flaky) },
    fates: { living: await fates(living), flaky: await fates(flaky), gone: await fates(gone) },
    disabled: (await o.get(`/webhooks/${gone.id}`)).json.disabled_reason,
    events: await inCore(o, ({ outbox }) =>
      outbox.oldest(1000).flatMap(({ type, data }) => (type === 'WEBHOOK_DISABLED' ? [data.webhook_id] : [])),
    ),
    told: [
      ...new Set(
        received.flatMap(({ host, event }) =>
          host === living.host && event.type === 'WEBHOOK_DISABLED' ? [event.id] : [],
        ),
      ),
    ].length,
    gone: gone.id,
  };
  return { calls, outcome };
}

it('fault: each event reaches each live endpoint or is a dead letter, whichever call fails', {
  timeout: 600_000,
}, async () => {
  const { calls } = await deliverOnce();
  expect(calls.gate).toBeGreaterThan(5);
  for (const fault of sampled([null, ...faultsOf(calls)], 36)) {
    const { outcome } = await deliverOnce(fault ?? undefined);
    const all = ['a', 'b', 'c'];
    const delivered = all.map(() => 'delivered');
    expect(outcome, fault?.what).toEqual({
      names: { living: all, flaky: all },
      fates: { living: delivered, flaky: delivered, gone: all.map(() => 'failed') },
      disabled: 'gone',
      events: [outcome.gone],
      told: 1,
      gone: outcome.gone,
    });
  }
});
