// The delivery task: creates a delivery of each new event for each endpoint that subscribes to it, and asks the Worker to serve each
// endpoint that has something due. Invariants: the cursor advances in the turn in which deliveries are created, so none is missing or
// duplicated; an endpoint that was not served within a minute is asked for again; each endpoint has a queue message of its own, so none
// waits for another.

import type { WebhookRow } from '../db/schema';
import type { JobName } from '../delivery/messages';
import type { Core } from './core';
import { LEASE } from './delivery-endpoints';
import { alwaysNotified } from './outbox';
import { hasEndpoints } from './wake';

/** Events for which one run creates deliveries, and deliveries that it ends or deletes. */
const EVENTS = 500;
const ENDED = 2000;
/** Of those runs, how many one change of an endpoint makes up for. */
const MOST_RUNS = 10;
/** How long to wait for the job of an endpoint before asking for another. */
export const ATTENDED = LEASE + 15_000;

/** Where events are sent: a webhook, or a notify connection, which gets one message about several events. */
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

/** Called just before a webhook changes; `after` is null for one that is deleted. */
export function followWebhook(core: Core, id: string, after: WebhookRow | null, now: number): void {
  const before = core.rows.get('webhook', id);
  followEndpoint(core, now);
  if (before?.disabled !== after?.disabled || before?.url_sealed !== after?.url_sealed) core.deliveries.reset(id);
}

/** Called just before an endpoint changes. */
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

/** Creates the deliveries of all events until now, as far as one turn may. */
function catchUp(core: Core, now: number): void {
  const endpoints = endpointsOf(core);
  for (let run = 0; run < MOST_RUNS && fanOut(core, endpoints, now); run++);
}

/** Creates the deliveries of the next events. Returns whether there are more. */
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

/** Whether an endpoint gets an event: it is enabled, subscribes to the kind, and existed at the time. */
function isFor({ disabled, events, created_at, job }: Endpoint, { type, at }: { type: string; at: number }): boolean {
  // safety: owners-always-notified
  const isSubscribed = events === null || events.includes(type) || (job === 'notify' && alwaysNotified.has(type));
  return disabled === null && at >= created_at && isSubscribed;
}

/** Ends the deliveries of disabled webhooks, and deletes those of deleted ones. Returns whether there is more. */
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

/** Asks for a job for each endpoint that has something due and no job. Returns when to look again. */
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
