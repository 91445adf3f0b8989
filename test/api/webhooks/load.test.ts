// Many events to many endpoints, of which some are slow, dead or lying, over a queue that loses and repeats
// messages: nothing is lost, and no healthy endpoint waits for a sick one.
// test/scripts/deliveries/deliveries.slow.mjs does the same with the real service, and with more of
// everything.
import { afterEach, beforeEach, expect, vi } from 'vitest';
import { ATTENDED } from '../../../src/delivery/gate/task';
import { faults, until } from '../../support/faults';
import { evict, inCore } from '../../support/gate';
import {
  askedFor,
  attendTo,
  newWebhook,
  type Received,
  useReceivers,
} from '../../support/integrations/webhooks';
import { slow } from '../../support/slow';
import { MINUTE } from '../../support/time';
import { type Caller, newOrg, useWorld } from '../../support/world';

useWorld();

const later = (ms: number) => {
  faults.clock = (faults.clock ?? 0) + ms;
};
let received: Received[];
let receivers: ReturnType<typeof useReceivers>['receivers'];
beforeEach(() => {
  faults.clock = Date.parse('2027-01-01T00:00:00.000Z');
  ({ received, receivers } = useReceivers());
});
afterEach(() => vi.unstubAllGlobals());

const EVENTS = 80;
const HEALTHY = 12;

const no = (status: number, headers: Record<string, string> = {}) => new Response('no', { status, headers });
/** Headers of a success, and then a body that breaks off. */
const half = () =>
  new Response(
    new ReadableStream({
      start(controller) {
        controller.enqueue(new Uint8Array(10));
        controller.error(new Error('closed'));
      },
    }),
  );
/** A body without an end. */
const endless = () =>
  new Response(new ReadableStream({ pull: (controller) => controller.enqueue(new Uint8Array(65_536)) }));

/** What is wrong with the others. All but the last two recover, so that they get what they have missed. */
const sick: Record<string, () => Response | Promise<Response>> = {
  slow: () => new Promise(() => {}),
  refusing: () => {
    throw new Error('connection refused');
  },
  redirecting: () => no(302, { Location: 'https://other.example.com/' }),
  busy: () => no(503, { 'Retry-After': 'tomorrow, perhaps' }),
  hurried: () => no(429, { 'Retry-After': '-60' }),
  half,
  endless,
  gone: () => no(410),
};

/** What became of the deliveries of an endpoint: the events by status. */
const fatesOf = (o: Caller, id: string) =>
  inCore(o, ({ storage }) =>
    storage.sql
      .exec<{ event: string; status: string }>('select event, status from deliveries where webhook = ?', id)
      .toArray()
      .filter(({ event }) => event !== ''),
  );

const raised = (o: Caller) =>
  inCore(o, (core) => {
    const head = core.outbox.head();
    core.storage.transactionSync(() => {
      for (let n = 0; n < EVENTS; n++)
        core.outbox.put({ type: 'SECRET_CREATED', data: { secret_id: 'sec_x', name: `n${n}` } }, core.now());
    });
    return core.outbox.from(head, EVENTS).map(({ id }) => id);
  });

slow(
  'webhooks: under load no event is lost, and no healthy endpoint waits for a sick one',
  { timeout: 180_000 },
  async () => {
    const o = await newOrg();
    const events = ['SECRET_CREATED'];
    const healthy = await Promise.all(Array.from({ length: HEALTHY }, () => newWebhook(o, { events })));
    const ill = await Promise.all(
      Object.keys(sick).map(async (what) => ({ what, ...(await newWebhook(o, { events })) })),
    );
    for (const { what, host } of ill) receivers[host] = sick[what] as () => Response;
    const slow = ill.find(({ what }) => what === 'slow') as { id: string; host: string };
    const held: (() => void)[] = [];
    receivers[slow.host] = () => new Promise((answer) => held.push(() => answer(no(500))));
    const got = (host: string) =>
      new Set(received.filter((one) => one.host === host).map(({ event }) => event.id));
    const sent = await raised(o);
    expect(sent).toHaveLength(EVENTS);

    // Every fifth message is lost, every third comes twice, and the gate goes away now and then.
    let messages = 0;
    const jobs: Promise<void>[] = [];
    const waiting = new Set<Promise<void>>();
    const round = async () => {
      later(ATTENDED);
      for (const id of await askedFor(o)) {
        messages++;
        for (let copy = 0; copy < (messages % 5 === 0 ? 0 : messages % 3 === 0 ? 2 : 1); copy++) {
          const job = attendTo(o, id).catch(() => {});
          if (id === slow.id) jobs.push(job);
          else waiting.add(job.finally(() => waiting.delete(job)));
        }
      }
      await Promise.all(waiting);
    };
    const isDone = (host: string) => got(host).size === EVENTS;
    let rounds = 0;
    while (!healthy.every(({ host }) => isDone(host))) {
      expect(++rounds, 'rounds').toBeLessThan(20);
      await round();
    }
    // The slow one has answered nothing yet: nobody has waited for it.
    expect(held.length).toBeGreaterThan(0);
    for (const { id } of healthy)
      expect((await fatesOf(o, id)).every(({ status }) => status === 'delivered')).toBe(true);

    // The sick ones recover, but for two.
    for (const { what, host } of ill) if (what !== 'half' && what !== 'gone') delete receivers[host];
    for (const answer of held.splice(0)) answer();
    await Promise.all(jobs.splice(0));
    await evict(o);
    const fates = async () =>
      new Map(await Promise.all(ill.map(async ({ what, id }) => [what, await fatesOf(o, id)] as const)));
    await until(async () => {
      later(30 * MINUTE);
      await round();
      await Promise.all(jobs.splice(0));
      const now = await fates();
      return [...now.values()].every(
        (list) => list.length >= EVENTS && list.every(({ status }) => status !== 'pending'),
      );
    }, 400);
    for (const { what, host } of ill) {
      const list = (await fates()).get(what) ?? [];
      expect(new Set(list.map(({ event }) => event)), what).toEqual(new Set(sent));
      expect(list, what).toHaveLength(EVENTS);
      const delivered = list.filter(({ status }) => status === 'delivered');
      for (const { event } of delivered) expect(got(host)).toContain(event);
      if (what === 'gone') expect(delivered).toEqual([]);
      else if (what !== 'half') expect(delivered, what).toHaveLength(EVENTS);
    }
  },
);
