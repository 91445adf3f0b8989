// The task of deliveries: gives each new event a delivery for each webhook that subscribes to it, and asks the Worker to attend to each
// endpoint that has something to send. Invariants: the cursor moves in the turn in which deliveries are made, so that none is missing or double;
// whoever was asked and does nothing for a minute is asked again; each endpoint has a message of its own, so that none waits for another.
import type { WebhookRow } from '../db/schema';
import type { Core } from './core';
import { LEASE } from './deliveries';

/** Events that one run gives their deliveries, and deliveries that it ends or deletes. */
const EVENTS = 500;
const ENDED = 2000;
/** How long an endpoint is left to the job that was asked for. */
export const ATTENDED = LEASE + 15_000;

/** A webhook changes, just before it does; null for one that goes. */
export function followWebhook(core: Core, id: string, after: WebhookRow | null, now: number): void {
  const before = core.rows.get('webhook', id);
  // The first of all: what happened before it was never for anybody.
  if (core.rows.count('webhook') === 0) core.deliveries.advance(core.outbox.head());
  if (before?.disabled !== after?.disabled || before?.url_sealed !== after?.url_sealed) core.deliveries.reset(id);
  core.schedule.at('deliveries', now);
}

/** The sequence through which events have their deliveries. */
export const deliveredThrough = ({ rows, deliveries }: Pick<Core, 'rows' | 'deliveries'>): number =>
  rows.count('webhook') > 0 ? (deliveries.cursor() ?? 0) : Number.MAX_SAFE_INTEGER;

/** One run. */
export async function deliver(core: Core, org: string, now: number): Promise<number | null> {
  if (core.rows.get('org', org)?.deleted_at !== null) return null;
  const webhooks = core.rows.within('webhook', '');
  const isMore = core.storage.transactionSync(() => fanOut(core, webhooks, now) || clearUp(core, webhooks, now));
  const next = await attend(core, webhooks, now);
  return isMore ? now : next;
}

/** Makes the deliveries of the next events. Answers whether there are more. */
function fanOut({ deliveries, outbox }: Core, webhooks: WebhookRow[], now: number): boolean {
  const cursor = deliveries.cursor();
  if (webhooks.length === 0 || cursor === null) {
    deliveries.advance(outbox.head());
    return false;
  }
  const events = outbox.from(cursor, EVENTS);
  for (const event of events)
    for (const webhook of webhooks)
      if (isFor(webhook, event)) deliveries.add(webhook.id, { id: event.id, type: event.type, at: event.at, data: event.data }, now);
  const last = events.at(-1);
  // safety: delivery-cursor-with-deliveries
  if (last) deliveries.advance(last.sequence);
  return events.length === EVENTS;
}

/** Whether an event is for a webhook: it is enabled, subscribes to the kind, and was there. */
const isFor = ({ disabled, events, created_at }: WebhookRow, { type, at }: { type: string; at: number }): boolean =>
  disabled === null && at >= created_at && (events === null || events.includes(type));

/** Ends what is left of webhooks that are disabled or gone. Answers whether there is more. */
function clearUp({ deliveries }: Core, webhooks: WebhookRow[], now: number): boolean {
  const known = new Map(webhooks.map((webhook) => [webhook.id, webhook]));
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
async function attend({ deliveries, enqueue }: Core, webhooks: WebhookRow[], now: number): Promise<number | null> {
  let next = Number.POSITIVE_INFINITY;
  const asked: string[] = [];
  for (const { id, disabled } of webhooks) {
    const due = disabled === null ? deliveries.dueAt(id, now) : null;
    if (due === null) continue;
    const since = deliveries.attendedSince(id);
    const at = Math.max(due, since === null ? 0 : since + ATTENDED);
    if (at <= now) asked.push(id);
    else next = Math.min(next, at);
  }
  await Promise.all(asked.map((id) => enqueue('deliver', id)));
  // A message can be lost.
  for (const id of asked) deliveries.attend(id, now);
  if (asked.length) next = Math.min(next, now + ATTENDED);
  return Number.isFinite(next) ? next : null;
}
