// The gate's part in deliveries: it hands due deliveries to the job, records the results, and disables
// endpoints that are gone or keep failing. Invariant: leasing and reporting write no audit entries, so that
// deliveries do not cause further deliveries.

import { newId } from '../../../db/ids';
import type { Attempt, DeliveryStatus, Sent, Taken } from '../../../delivery/gate/attempts';
import { deliveries } from '../../../delivery/gate/deliveries';
import type { Disabling } from '../../../delivery/gate/endpoints';
import { ATTENDED } from '../../../delivery/gate/task';
import { refuse } from '../../../errors';
import type { Call, Operation, OperationOutcome } from '../../../gate/request/call';
import type { ListInput } from '../../../gate/request/listing';
import { fail, type Outcome, ok } from '../../../gate/request/outcome';
import { namedId } from '../../../gate/request/target';
import { revision } from '../../../gate/request/writes';
import { deliveryOut } from '../wire';
import { find, type Target, targetOf, whole } from './webhook';

/** The number of deliveries that one request repeats. */
const MOST_AGAIN = 1000;

// ---------------------------------------------------------------- by callers

const list: Operation<ListInput & { status: DeliveryStatus | null }> = {
  reach: whole,
  read(call): Outcome {
    const { core, input } = call;
    const row = find(call);
    if (!row) return fail(refuse('NOT_FOUND'));
    const found = deliveries(core).page(row.id, input.status, input.after, input.limit + 1);
    const items = found.slice(0, input.limit).map(deliveryOut);
    return ok({ items, next: found.length > input.limit ? (items.at(-1)?.id ?? null) : null });
  },
};

const disabled = fail(refuse('CONFLICT', { message: 'This webhook is disabled. Enable it first.' }));

const redeliver: Operation<Record<string, never>> = {
  reach: whole,
  read(call): Outcome {
    const { core, ask } = call;
    const row = find(call);
    const delivery = row && deliveries(core).get(row.id, namedId(ask, 'delivery'));
    if (!row || !delivery) return fail(refuse('NOT_FOUND'));
    if (row.disabled !== null) return disabled;
    const now = core.now();
    core.storage.transactionSync(() => deliveries(core).again(delivery.id, now));
    core.schedule.at('deliveries', now);
    return ok(deliveryOut(deliveries(core).get(row.id, delivery.id) ?? delivery), { status: 202 });
  },
};

const redeliverSince: Operation<{ since: number }> = {
  reach: whole,
  read(call): Outcome {
    const { core, input } = call;
    const row = find(call);
    if (!row) return fail(refuse('NOT_FOUND'));
    if (row.disabled !== null) return disabled;
    const now = core.now();
    const { redelivered, more } = core.storage.transactionSync(() =>
      deliveries(core).againSince(row.id, input.since, MOST_AGAIN, now),
    );
    core.schedule.at('deliveries', now);
    return ok({ redelivered, has_more: more }, { status: 202 });
  },
};

/** First the data that the Worker needs for a test, then its result for the delivery log. */
export interface Testing {
  target: Target;
  event: Sent;
}

const test: Operation<{ event?: Sent; attempt?: Attempt }> = {
  reach: whole,
  read(call): OperationOutcome {
    const { core, input } = call;
    const row = find(call);
    if (!row) return fail(refuse('NOT_FOUND'));
    const now = core.now();
    const { event, attempt } = input;
    if (event && attempt) {
      const noted = core.storage.transactionSync(() => deliveries(core).note(row.id, event, attempt, now));
      return { ...ok(deliveryOut(noted)), audited: true };
    }
    const made: Sent = { id: newId('evt', now), type: 'WEBHOOK_TEST', at: now, data: { webhook_id: row.id } };
    return ok({ target: targetOf(row, now), event: made } satisfies Testing);
  },
};

// ---------------------------------------------------------------- by the job

export interface DeliverInput {
  webhook: string;
  reports: { id: string; lease: number; attempt: Attempt }[];
  /** Whether the job continues. */
  more: boolean;
}

/** The next work for the job; none if `taken` is empty and no endpoint is to be disabled. */
export interface Given {
  disabling: Disabling | null;
  target: Target | null;
  taken: Taken[];
}

const NOTHING: Given = { disabling: null, target: null, taken: [] };

const deliver: Operation<DeliverInput> = {
  read: ({ core, input }): OperationOutcome => ({
    ...ok(core.storage.transactionSync(() => step(core, input))),
    audited: true,
  }),
};

function step(core: Call<unknown>['core'], { webhook, reports, more }: DeliverInput): Given {
  const now = core.now();
  const queue = deliveries(core);
  for (const { id, lease, attempt } of reports) queue.report(id, lease, attempt, now);
  const row = core.rows.get('webhook', webhook);
  if (row?.disabled !== null) return NOTHING;
  const disabling = queue.disabling(webhook);
  if (disabling) return { ...NOTHING, disabling };
  const taken = more ? queue.take(webhook, now) : [];
  if (taken.length) queue.attend(webhook, now);
  // Another job may be running: a queue may deliver a message twice.
  else if (!queue.isBusy(webhook, now)) queue.attend(webhook, null);
  const since = queue.attendedSince(webhook);
  const due = queue.dueAt(webhook, now);
  if (due !== null) core.schedule.at('deliveries', Math.max(due, since === null ? 0 : since + ATTENDED));
  return { disabling: null, target: targetOf(row, now), taken };
}

/** Disables an endpoint if its deliveries still call for it. */
const disable: Operation<{ webhook: string }> = {
  subject: ({ input }) => ({ resource: input.webhook }),
  change: {
    plan(call, now) {
      const { core, input } = call;
      const row = core.rows.get('webhook', input.webhook);
      const reason = deliveries(core).disabling(input.webhook);
      if (!row || row.disabled !== null || reason === null) return { status: 204, data: null };
      const put = revision(call, 'webhook', row, { disabled: reason, updated_at: now });
      const data = { webhook_id: row.id, host: row.host, reason };
      return {
        status: 204,
        data: null,
        writes: [put],
        events: [{ type: 'WEBHOOK_DISABLED', data }],
        audit: { reason },
      };
    },
  },
};

export const deliveryOperations = {
  'webhook.deliveries': list,
  'webhook.redeliver': redeliver,
  'webhook.redeliver_since': redeliverSince,
  'webhook.test': test,
  'webhook.deliver': deliver,
  'webhook.disable': disable,
};
