// The task of deliveries: gives each new event a delivery for each endpoint that subscribes to it, and asks the Worker to attend to each
// endpoint that has something to send. Invariants: the cursor moves in the turn in which deliveries are made, so that none is missing or double;
// whoever was asked and does nothing for a minute is asked again; each endpoint has a message of its own, so that none waits for another.

import type { WebhookRow } from '../db/schema';
import type { JobName } from '../delivery/messages';
import type { Core } from './core';
import { LEASE } from './delivery-endpoints';
import { hasEndpoints } from './wake';

/** Events that one run gives their deliveries, and deliveries that it ends or deletes. */
const EVENTS = 500;
const ENDED = 2000;
/** Of those runs, how many one change of an endpoint makes up for. */
const MOST_RUNS = 10;
/** How long an endpoint is left to the job that was asked for. */
export const ATTENDED = LEASE + 15_000;

/** Where events are sent: a webhook, or a connection that messages are sent to, about several events in one. */
interface Endpoint {
  id: string;
  disabled: string | null;
  /** Kinds of events; null for all. */
  events: string[] | null;
  created_at: number;
  job: JobName & ('deliver' | 'notify');
}

const endpointsOf = ({ rows }: Core): Endpoint[] => [
  ...rows.within('webhook', '').map((row) => ({ ...row, job: 'deliver' as const })),
  ...rows.within('integration', 'notify').map((row) => ({ ...row, disabled: null, job: 'notify' as const })),
];

/** A webhook changes, just before it does; null for one that goes. */
export function followWebhook(core: Core, id: string, after: WebhookRow | null, now: number): void {
  const before = core.rows.get('webhook', id);
  followEndpoint(core, now);
  if (before?.disabled !== after?.disabled || before?.url_sealed !== after?.url_sealed) core.deliveries.reset(id);
}

/** An endpoint changes, just before it does. */
export function followEndpoint(core: Core, now: number): void {
  // What happened until now is for the endpoints as they were; before the first of all it is for nobody.
  // safety: events-before-endpoint-changes
  catchUp(core, now);
  core.schedule.at('deliveries', now);
}

/** The sequence through which events have their deliveries. */
export const deliveredThrough = ({ rows, deliveries }: Pick<Core, 'rows' | 'deliveries'>): number =>
  hasEndpoints(rows) ? (deliveries.cursor() ?? 0) : Number.MAX_SAFE_INTEGER;

/** One run. */
export async function deliver(core: Core, org: string, now: number): Promise<number | null> {
  if (core.rows.get('org', org)?.deleted_at !== null) return null;
  const endpoints = endpointsOf(core);
  const isMore = core.storage.transactionSync(() => fanOut(core, endpoints, now) || clearUp(core, endpoints, now));
  const next = await attend(core, endpoints, now);
  return isMore ? now : next;
}

/** Makes the deliveries of all events until now, as far as one turn may. */
function catchUp(core: Core, now: number): void {
  const endpoints = endpointsOf(core);
  for (let run = 0; run < MOST_RUNS && fanOut(core, endpoints, now); run++);
}

/** Makes the deliveries of the next events. Answers whether there are more. */
function fanOut({ deliveries, outbox }: Core, endpoints: Endpoint[], now: number): boolean {
  const cursor = deliveries.cursor();
  if (endpoints.length === 0 || cursor === null) {
    deliveries.advance(outbox.head());
    return false;
  }
  const events = outbox.from(cursor, EVENTS);
  for (const event of events) {
    const reached = endpoints.filter((endpoint) => isFor(endpoint, event)).map(({ id, job }) => ({ id, combines: job === 'notify' }));
    deliveries.add(reached, { id: event.id, type: event.type, at: event.at, data: event.data }, now);
  }
  const last = events.at(-1);
  // safety: delivery-cursor-with-deliveries
  if (last) deliveries.advance(last.sequence);
  return events.length === EVENTS;
}

/** Whether an event is for an endpoint: it is enabled, subscribes to the kind, and was there. */
const isFor = ({ disabled, events, created_at }: Endpoint, { type, at }: { type: string; at: number }): boolean =>
  disabled === null && at >= created_at && (events === null || events.includes(type));

/** Ends what is left of webhooks that are disabled or gone. Answers whether there is more. */
function clearUp({ deliveries }: Core, endpoints: Endpoint[], now: number): boolean {
  const known = new Map(endpoints.map((endpoint) => [endpoint.id, endpoint]));
  return deliveries
    .endpoints()
    .map((id) => {
      const webhook = known.get(id);
      if (!webhook) return deliveries.forget(id, ENDED);
      // safety: disabled-webhook-not-delivered
      return webhook.disabled !== null && deliveries.end(id, ENDED, now);
    })
    .includes(true);
}

/** Asks for a job for each endpoint that has something to do and no job. Answers when to look again. */
async function attend({ deliveries, enqueue }: Core, endpoints: Endpoint[], now: number): Promise<number | null> {
  let next = Number.POSITIVE_INFINITY;
  const asked: Pick<Endpoint, 'id' | 'job'>[] = [];
  for (const { id, disabled, job } of endpoints) {
    if (disabled !== null) continue;
    const since = deliveries.attendedSince(id);
    // The job that is on it asks for the next run.
    const at = since !== null && since + ATTENDED > now ? since + ATTENDED : deliveries.dueAt(id, now);
    if (at === null) continue;
    if (at <= now) asked.push({ id, job });
    else next = Math.min(next, at);
  }
  // Before it is asked for: a job that is quick has ended by the time the queue says that it took the message. A message can be lost.
  for (const { id } of asked) deliveries.attend(id, now);
  await Promise.all(asked.map(({ id, job }) => enqueue(job, id)));
  if (asked.length) next = Math.min(next, now + ATTENDED);
  return Number.isFinite(next) ? next : null;
}
