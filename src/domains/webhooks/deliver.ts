// Sends deliveries, in the Worker: the job of one endpoint, and one attempt. Invariants: repeating a job
// loses nothing, because its leases expire; no URL, secret or payload is logged.

import { type Egress, guardedFetch } from '../../delivery/egress';
import type { Attempt, Sent } from '../../delivery/gate/attempts';
import type { JobContext } from '../../delivery/job';
import { settingsOf } from '../../env';
import { unwrap } from '../../gate/request/outcome';
import { iso } from '../../http/wire';
import type { OrgKeys } from '../../keys/keyring';
import { decryptOldSecret, decryptSecret, decryptUrl } from './encryption';
import type { DeliverInput, Given } from './gate/delivery-operations';
import type { Target } from './gate/webhook';
import { signedHeaders } from './signing';

/** Bytes of a response that are stored. */
const KEPT = 1024;
/**
 * How long a job runs, and how long a round may take for the job to continue: after a slow round, the
 * endpoint goes back to the queue.
 */
const JOB_LASTS = 30_000;
const SLOW = 2000;

/** Sends what is due at one endpoint. */
export async function deliver({ env, org, keys, id, ask }: JobContext): Promise<void> {
  const settings = settingsOf(env);
  if (id === null || 'problem' in settings) return;
  const until = Date.now() + JOB_LASTS;
  let reports: DeliverInput['reports'] = [];
  let more: boolean = true;
  while (more || reports.length) {
    const input: DeliverInput = { webhook: id, reports, more };
    const { disabling, target, taken } = unwrap(await ask('webhook.deliver', input)).data as Given;
    if (disabling) return void unwrap(await ask('webhook.disable', { webhook: id }));
    if (!target || taken.length === 0) return;
    const began = Date.now();
    reports = await Promise.all(
      taken.map(async ({ id: delivery, lease, event }) => ({
        id: delivery,
        lease,
        attempt: await attempt(settings, keys, org, target, event).catch(() => altered(org, id)),
      })),
    );
    more = Date.now() < until && Date.now() - began < SLOW;
  }
}

/** The stored URL or secret does not decrypt: the delivery is retried like any other and finally fails. */
function altered(org: string, resource: string): Attempt {
  console.error(JSON.stringify({ level: 'error', event: 'webhook_does_not_open', org, resource }));
  return { status: null, error: 'webhook_altered', response: '', ms: 0, retry_after: null };
}

/** One attempt to deliver an event. Throws if the stored URL or secret does not decrypt. */
export async function attempt(
  egress: Egress,
  keys: OrgKeys,
  org: string,
  target: Target,
  event: Sent,
): Promise<Attempt> {
  const owner = { keys, org, id: target.id };
  const body = JSON.stringify({
    id: event.id,
    type: event.type,
    timestamp: iso(event.at),
    org_id: org,
    data: event.data,
  });
  const old = target.old_secret_sealed === null ? null : decryptOldSecret(owner, target.old_secret_sealed);
  const headers = signedHeaders(event.id, Date.now(), body, decryptSecret(owner, target.secret_sealed), old);
  const got = await guardedFetch(egress, decryptUrl(owner, target), { headers, body, read: KEPT });
  if ('unreachable' in got)
    return { status: null, error: got.unreachable, response: '', ms: got.ms, retry_after: null };
  // safety: success-is-2xx
  const isDelivered = got.status >= 200 && got.status < 300;
  return {
    status: got.status,
    error: isDelivered ? null : 'http_status',
    response: got.text,
    ms: got.ms,
    retry_after: retryAfterOf(got.headers.get('Retry-After')),
  };
}

/** Seconds, or the time until a date; null for anything else. */
export function retryAfterOf(header: string | null, now = Date.now()): number | null {
  if (header === null) return null;
  const seconds = /^\d{1,9}$/.test(header.trim())
    ? Number(header)
    : Math.ceil((Date.parse(header) - now) / 1000);
  return Number.isFinite(seconds) && seconds > 0 ? seconds : null;
}
