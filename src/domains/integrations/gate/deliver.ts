// Notifications of events, in the gate: leases due events of one kind to the job of a connection and records
// the result. Invariant: leasing and reporting write no audit entries, so notifications never cause more
// notifications.

import type { IntegrationRow } from '../../../db/schema';
import type { Attempt, Taken } from '../../../delivery/gate/attempts';
import { deliveries } from '../../../delivery/gate/deliveries';
import { ATTENDED } from '../../../delivery/gate/task';
import { alwaysNotified } from '../../../gate/outbox';
import type { Call, Operation, OperationOutcome } from '../../../gate/request/call';
import { ok } from '../../../gate/request/outcome';
import { LONGEST_PERMIT, permits } from '../../../gate/request/permits';
import { ownersOf } from '../../members/gate/member';
import { subjectOf } from '../events';

/** Paging services, whose alerts are each about one subject. */
const PAGING: ReadonlySet<string> = new Set(['pagerduty', 'opsgenie']);

export interface DeliverInput {
  integration: string;
  /** The result of the last message. */
  report: { together: Pick<Taken, 'id' | 'lease'>[]; attempt: Attempt; isFinal: boolean } | null;
  /** Whether the job continues. */
  more: boolean;
}

/** What the job sends next; nothing if `taken` is empty. */
export interface Given {
  row: IntegrationRow | null;
  taken: Taken[];
  /** The message must begin so many milliseconds after this was asked for. */
  lasts: number;
  /** The owners' addresses, for an e-mail about an event that owners must receive; otherwise empty. */
  owners: string[];
}

export const deliver: Operation<DeliverInput> = {
  read: ({ core, input }): OperationOutcome => ({
    ...ok(core.storage.transactionSync(() => step(core, input))),
    audited: true,
  }),
};

/** The holder of the permit for one message. */
const holderOf = ([first]: readonly Pick<Taken, 'id' | 'lease'>[]): string => `${first?.id} ${first?.lease}`;

function step(core: Call<unknown>['core'], { integration, report, more }: DeliverInput): Given {
  const now = core.now();
  const queue = deliveries(core);
  if (report) queue.reportTogether(report.together, report.attempt, report.isFinal, now);
  if (report) permits(core).giveBack(holderOf(report.together));
  const row = core.rows.get('integration', integration);
  if (row?.kind !== 'notify') return { row: null, taken: [], lasts: 0, owners: [] };
  const taken = more ? queue.takeTogether(integration, PAGING.has(row.platform) ? subjectOf : null, now) : [];
  // Nothing is sent there after the reply to a change or deletion of the connection.
  // safety: message-begins-under-permit
  if (taken.length)
    permits(core).give(
      holderOf(taken),
      LONGEST_PERMIT,
      () => core.rows.get('integration', integration)?.revision !== row.revision,
    );
  if (taken.length) queue.attend(integration, now);
  // Another job may be running: a queue can deliver a message twice.
  else if (!queue.isBusy(integration, now)) queue.attend(integration, null);
  const since = queue.attendedSince(integration);
  const due = queue.dueAt(integration, now);
  if (due !== null) core.schedule.at('deliveries', Math.max(due, since === null ? 0 : since + ATTENDED));
  const isForOwners = row.platform === 'email' && taken.some(({ event }) => alwaysNotified.has(event.type));
  return {
    row,
    taken,
    lasts: LONGEST_PERMIT,
    owners: isForOwners ? ownersOf(core).map(({ email }) => email) : [],
  };
}
