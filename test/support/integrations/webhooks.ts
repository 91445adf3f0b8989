// Webhooks for tests: receivers behind a stubbed `fetch`, with names that lead to public addresses, and
// delivery as the gate and the queue do it.
import { env } from 'cloudflare:workers';
import { vi } from 'vitest';
import { newId } from '../../../src/db/ids';
import { deliveries } from '../../../src/delivery/gate/deliveries';
import type { Env } from '../../../src/env';
import { runTasks } from '../../../src/gate/tasks/run';
import { runJob } from '../../../src/queue';
import { faults, faulty } from '../faults';
import { inCore } from '../gate';
import { type Caller, db } from '../world';

/** A request that a receiver got. */
export interface Received {
  url: string;
  host: string;
  headers: Record<string, string>;
  body: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into events freely
  event: any;
}

type Receiver = (received: Received, signal: AbortSignal) => Response | Promise<Response>;

/**
 * Answers every request but those to the resolver. What was received is in `received`; `receivers` answer by
 * host, with 200 by default.
 */
export function useReceivers() {
  // Tests deliver by themselves: the queue would deliver as well, from a request of its own.
  faults.isAlarmHeld = true;
  const received: Received[] = [];
  const receivers: Record<string, Receiver> = {};
  vi.stubGlobal('fetch', async (url: string, init: RequestInit) => {
    const { hostname, host, searchParams } = new URL(url);
    if (hostname === 'cloudflare-dns.com') {
      const isA = searchParams.get('type') === 'A';
      return Response.json({ Status: 0, Answer: isA ? [{ type: 1, data: '93.184.215.14' }] : [] });
    }
    const headers = Object.fromEntries(new Headers(init.headers).entries());
    const one = { url, host, headers, body: init.body as string, event: JSON.parse(init.body as string) };
    received.push(one);
    return (await receivers[host]?.(one, init.signal as AbortSignal)) ?? new Response('ok');
  });
  return { received, receivers };
}

let hosts = 0;

/** A new webhook; answers what the service said. */
export async function newWebhook(o: Caller, fields: Record<string, unknown> = {}) {
  const { json, status, text } = await o.post('/webhooks', {
    url: `https://hook-${++hosts}.example.com/in`,
    events: '*',
    ...fields,
  });
  if (status !== 201) throw new Error(`no webhook: ${status} ${text}`);
  return { ...json, host: new URL(json.url).host } as {
    id: string;
    url: string;
    host: string;
    secret: string;
    [field: string]: unknown;
  };
}

/** Runs the tasks that are due; answers which endpoints the Worker is asked to attend to. */
export const askedFor = (o: Caller): Promise<string[]> =>
  inCore(o, async (core) => {
    const asked: string[] = [];
    const { enqueue } = core;
    core.enqueue = async (job, id) => {
      if (job === 'deliver' && id !== undefined) asked.push(id);
    };
    for (let turn = 0; turn < 3; turn++) await runTasks(core);
    core.enqueue = enqueue;
    return asked;
  });

/** Attends to an endpoint, as the queue has the Worker do it. */
export const attendTo = (o: Caller, id: string) =>
  runJob(faulty(env as unknown as Env, db), { kind: 'job', job: 'deliver', org: o.id, id });

/** Delivers what is due, until nothing is. */
export async function deliverAll(o: Caller, most = 20): Promise<void> {
  for (let round = 0; round < most; round++) {
    const asked = await askedFor(o);
    if (asked.length === 0) return;
    await Promise.all(asked.map((id) => attendTo(o, id)));
  }
}

export const deliveriesOf = async (o: Caller, id: string, query = '') =>
  (await o.get(`/webhooks/${id}/deliveries?limit=100${query}`)).json.data as Record<string, unknown>[];

/** An endpoint whose last attempt was answered with 410. */
export const plantGone = (o: Caller, id: string) =>
  inCore(o, (core) =>
    core.storage.transactionSync(() => {
      deliveries(core).add(
        [{ id, combines: false }],
        { id: newId('evt', core.now()), type: 'WEBHOOK_TEST', at: core.now(), data: {} },
        core.now(),
      );
      const gone = { status: 410, error: 'http_status', response: '', ms: 1, retry_after: null };
      for (const taken of deliveries(core).take(id, core.now()))
        deliveries(core).report(taken.id, taken.lease, gone, core.now());
    }),
  );

/** Raises events that the webhooks of an organisation get. */
export const raise = (o: Caller, ...names: string[]) =>
  inCore(o, (core) => {
    for (const name of names)
      core.outbox.put({ type: 'SECRET_CREATED', data: { secret_id: 'sec_x', name } }, core.now());
  });
