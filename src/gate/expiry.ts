// Expiry: raises that a secret or a credential will expire, 7 days and 1 day ahead, and that a secret has expired. Invariants: an event,
// its audit entry and the note that it was raised are one turn, so an interrupted run neither loses nor repeats an event; after an outage,
// events that are still true are raised late, but no warning comes after the expiry.

import { newId } from '../db/ids';
import { DAY } from '../db/rows';
import { SYSTEM_ACTOR } from './audit-entry';
import type { Core } from './core';
import { type Expiry, expiries } from './expiries';
import { intents } from './intents';
import { isAlive } from './lifetime';
import { locks } from './locks';
import type { Raised } from './outbox';
import { credentialData, secretData } from './raised';
import { WINDOW } from './rate-limit';

/** The most events per turn. */
const PAGE = 200;
/** Audit log entries in the gate above which the run waits for them to move to D1: it never fills the log. */
const CROWDED = 20_000;

interface Told {
  event: Raised;
  action: 'secret.expiring' | 'secret.expired' | 'credential.expiring';
  environment: string | null;
  version: number | null;
}

/** One page of the run; the next follows immediately. */
export async function tellExpiries(core: Core, org: string, now: number): Promise<number | null> {
  if (core.rows.get('org', org)?.deleted_at !== null) return null;
  if (core.auditLog.size() > CROWDED) return now + WINDOW;
  const ids = expiries(core)
    .due(now, PAGE)
    .map(({ id }) => id);
  // A concurrent change may set another expiry.
  // safety: expiry-told-under-lock
  return locks(core).hold([...new Set(ids)], async () => {
    if (intents(core).unsettled().length) return now + 5000;
    core.storage.transactionSync(() => {
      const request = newId('req', now);
      for (const expiry of expiries(core)
        .due(now, PAGE)
        .filter(({ id }) => ids.includes(id))) {
        // safety: expiry-told-once
        expiries(core).told(expiry);
        const told = expiry.kind === 'secret' ? ofSecret(core, expiry, now) : ofCredential(core, org, expiry, now);
        if (told) tell(core, expiry.id, told, request, now);
      }
    });
    return expiries(core).next();
  });
}

const aheadOf = (expires_at: number, lead: number) => ({
  expires_at: new Date(expires_at).toISOString(),
  ...(lead && { days: lead / DAY }),
});

/** Whether a warning is too late, or a restore has postponed the expiry. */
const isPast = (expires_at: number, lead: number, now: number) => (lead > 0 && expires_at <= now) || expires_at - lead > now;

function ofSecret(core: Core, { id, lead }: Expiry, now: number): Told | null {
  const row = core.rows.get('secret', id);
  // safety: only-live-secrets-expire
  if (!row || row.deleted_at !== null || row.revoked_at !== null || row.expires_at === null) return null;
  if (isPast(row.expires_at, lead, now)) return null;
  const data = { ...secretData(core, row), ...aheadOf(row.expires_at, lead) };
  return {
    event: { type: lead > 0 ? 'SECRET_EXPIRING' : 'SECRET_EXPIRED', data },
    action: lead > 0 ? 'secret.expiring' : 'secret.expired',
    environment: data.environment,
    version: row.version,
  };
}

function ofCredential(core: Core, org: string, { id, lead }: Expiry, now: number): Told | null {
  const row = core.rows.get('credential', id);
  // safety: only-live-credentials-expire
  if (!row || row.expires_at === null || isPast(row.expires_at, lead, now) || !isAlive(core, org, row)) return null;
  return {
    event: { type: 'CREDENTIAL_EXPIRING', data: { ...credentialData(row), ...aheadOf(row.expires_at, lead) } },
    action: 'credential.expiring',
    environment: null,
    version: null,
  };
}

function tell(core: Core, id: string, { event, action, environment, version }: Told, request: string, now: number): void {
  core.outbox.put(event, now);
  const { name } = event.data as { name: string };
  core.auditLog.append(
    {
      actor: SYSTEM_ACTOR,
      action,
      resource: id,
      ...(version !== null && { resource_name: name }),
      environment,
      version,
      reason: null,
      request_id: request,
      ip: '',
      user_agent: null,
    },
    200,
    now,
  );
}
