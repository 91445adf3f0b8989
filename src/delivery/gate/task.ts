// The delivery task: creates a delivery of each new event for each endpoint that subscribes to it, and
// requests a job for each endpoint that has something due. Invariants: the cursor advances in the turn in
// which deliveries are created, so none is missing or duplicated; if an endpoint has no finished job within
// about a minute, another is requested; each endpoint has its own queue message, so none waits for another.
// What a new event schedules: the delivery task, and the task that moves a closed range of events to D1.

import type { Core, RowChange } from '../../gate/core';
import { alwaysNotified } from '../../gate/outbox';
import { part } from '../../gate/part';
import type { JobName } from '../../gate/queue-messages';
import type { Rows } from '../../gate/rows/store';
import { COLLECTED_FOR, deliveries } from './deliveries';
import { LEASE } from './endpoints';

/** Events for which one run creates deliveries, and deliveries that one run ends or deletes. */
const EVENTS = 500;
const ENDED = 2000;
/** How many such runs one change of an endpoint catches up on. */
const MOST_RUNS = 10;
/** How long to wait for an endpoint's job before requesting another. */
export const ATTENDED = LEASE + 15_000;

/** A target of events: a webhook, or a notify connection, which gets one message about several events. */
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

/** Before a webhook changes. */
export function followWebhook(core: Core, { id, before, after }: RowChange<'webhook'>, now: number): void {
  followEndpoint(core, now);
  if (before?.disabled !== after?.disabled || before?.url_sealed !== after?.url_sealed)
    deliveries(core).reset(id);
}

/** Called just before an endpoint changes. */
export function followEndpoint(core: Core, now: number): void {
  // Earlier events are delivered by the old configuration; events before the first endpoint are delivered to
  // none.
  // safety: events-before-endpoint-changes
  catchUp(core, now);
  core.schedule.at('deliveries', now);
}

/** The sequence up to which events have their deliveries. */
const deliveredThrough = (core: Core): number =>
  hasEndpoints(core.rows) ? (deliveries(core).cursor() ?? 0) : Number.MAX_SAFE_INTEGER;

/** One run. */
export async function runDeliveries(core: Core, now: number): Promise<number | null> {
  if (core.rows.get('org', core.org)?.deleted_at !== null) return null;
  const endpoints = endpointsOf(core);
  const isMore = core.storage.transactionSync(
    () => fanOut(core, endpoints, now) || clearUp(core, endpoints, now),
  );
  const next = await attend(core, endpoints, now);
  return isMore ? now : next;
}

/** Creates the deliveries of past events, up to the limit of one turn. */
function catchUp(core: Core, now: number): void {
  const endpoints = endpointsOf(core);
  for (let run = 0; run < MOST_RUNS && fanOut(core, endpoints, now); run++);
}

/** Creates the deliveries of the next events. Returns whether there are more. */
function fanOut(core: Core, endpoints: Endpoint[], now: number): boolean {
  const queue = deliveries(core);
  if (endpoints.length === 0) {
    queue.advance(core.outbox.head());
    return false;
  }
  // A gate that began from D1 has endpoints and no cursor: `isFor` leaves out what is older than they are.
  // safety: new-gate-delivers-its-first-event
  const cursor = queue.cursor() ?? 0;
  const events = core.outbox.from(cursor, EVENTS);
  for (const event of events) {
    const reached = endpoints
      .filter((endpoint) => isFor(endpoint, event))
      .map(({ id, job }) => ({ id, combines: job === 'notify' }));
    queue.add(reached, { id: event.id, type: event.type, at: event.at, data: event.data }, now);
  }
  const isMore = events.length === EVENTS;
  // Behind the last event that can be read, there may be others.
  // safety: delivery-cursor-with-deliveries
  queue.advance(isMore ? (events.at(-1)?.sequence ?? cursor) : core.outbox.head());
  return isMore;
}

/** Whether an endpoint gets an event: it is enabled, subscribes to the kind, and existed at the time. */
function isFor(
  { disabled, events, created_at, job }: Endpoint,
  { type, at }: { type: string; at: number },
): boolean {
  // safety: owners-always-notified
  const isSubscribed =
    events === null || events.includes(type) || (job === 'notify' && alwaysNotified.has(type));
  return disabled === null && at >= created_at && isSubscribed;
}

/**
 * Ends the deliveries of disabled webhooks, and deletes those of deleted ones. Returns whether there is more.
 */
function clearUp(core: Core, endpoints: Endpoint[], now: number): boolean {
  const queue = deliveries(core);
  const known = new Map(endpoints.map((endpoint) => [endpoint.id, endpoint]));
  return queue
    .endpoints()
    .map((id) => {
      const webhook = known.get(id);
      if (!webhook) return queue.forget(id, ENDED);
      // safety: disabled-webhook-not-delivered
      return webhook.disabled !== null && queue.end(id, ENDED, now);
    })
    .includes(true);
}

/** Requests a job for each endpoint that has something due and no job. Returns when to look again. */
async function attend(core: Core, endpoints: Endpoint[], now: number): Promise<number | null> {
  const queue = deliveries(core);
  let next = Number.POSITIVE_INFINITY;
  const asked: Pick<Endpoint, 'id' | 'job'>[] = [];
  for (const { id, disabled, job } of endpoints) {
    if (disabled !== null) continue;
    const since = queue.attendedSince(id);
    // The running job requests the next run.
    const at = since !== null && since + ATTENDED > now ? since + ATTENDED : queue.dueAt(id, now);
    if (at === null) continue;
    if (at <= now) asked.push({ id, job });
    else next = Math.min(next, at);
  }
  // Recorded before the job is requested: a fast job may end before the queue confirms its message. A message
  // can be lost.
  for (const { id } of asked) queue.attend(id, now);
  await Promise.all(asked.map(({ id, job }) => core.enqueue(job, id)));
  if (asked.length) next = Math.min(next, now + ATTENDED);
  return Number.isFinite(next) ? next : null;
}

/** Whether there is any endpoint for events. */
export const hasEndpoints = (rows: Pick<Rows, 'count'>): boolean =>
  rows.count('webhook') > 0 || rows.count('integration') > 0;

part((core) => {
  const { rows, outbox, schedule } = core;
  outbox.keepAfter(() => deliveredThrough(core));
  outbox.follow((now) => {
    if (hasEndpoints(rows)) schedule.at('deliveries', now + COLLECTED_FOR);
    if (outbox.canClose()) schedule.at('events', now);
  });
});
