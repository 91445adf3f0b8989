// The webhook of a request, and what the gate gives the Worker for it. Invariant: only a caller without
// limits to environments or names can use webhooks, because a webhook receives the events of all of them.

import { mustReachAll } from '../../../auth/authorize';
import type { WebhookRow } from '../../../db/schema';
import type { Refusal } from '../../../errors';
import type { Call } from '../../../gate/request/call';
import { namedId } from '../../../gate/request/target';

export const target = ({ ask }: Call<unknown>): string => namedId(ask, 'webhook');
export const find = (call: Call<unknown>): WebhookRow | null => call.core.rows.get('webhook', target(call));

/** 403 for a caller with limits. */
// safety: webhooks-by-unlimited-callers
export const whole = ({ need, caller }: Call<unknown>): Refusal | null =>
  mustReachAll(caller, need.scopes, 'use webhooks');

/** The address of deliveries and the signing secrets. */
export const targetOf = (row: WebhookRow, now: number) => ({
  id: row.id,
  host: row.host,
  url_sealed: row.url_sealed,
  secret_sealed: row.secret_sealed,
  // safety: old-secret-ends
  old_secret_sealed: (row.old_secret_until ?? 0) > now ? row.old_secret_sealed : null,
});
export type Target = ReturnType<typeof targetOf>;
