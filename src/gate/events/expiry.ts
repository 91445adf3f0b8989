// Expiry: raises that a secret or a credential will expire, 7 days and 1 day ahead, and that a secret has
// expired. Invariants: when to raise is written in the turn in which the expiry is set, so none is forgotten;
// an event, its audit entry and the deletion of that note are one turn, so an interrupted run neither loses
// nor repeats an event; after an outage, events that are still true are raised late, but no warning comes
// after the expiry.

import { BRIEF_KINDS, isBrief } from '../../db/credential-kinds';
import { newId } from '../../db/ids';
import { DAY } from '../../db/rows';
import type { CredentialRow, SecretRow } from '../../db/schema';
import { systemEntry } from '../audit/entry';
import type { Core, Declared } from '../core';
import { isAlive } from '../identity/lifetime';
import { WINDOW } from '../limits/rate-limit';
import type { Meta } from '../meta';
import type { Raised } from '../outbox';
import { part } from '../part';
import { credentialData, secretData } from './raised';

/** The most events per turn. */
const PAGE = 200;
/** Audit log entries in the gate above which the run waits for them to move to D1: it never fills the log. */
const CROWDED = 20_000;

interface Announcement {
  event: Raised;
  action: 'secret.expiring' | 'secret.expired' | 'credential.expiring';
  environment: string | null;
  version: number | null;
}

/** One page of the run; the next follows immediately. */
export function tellExpiries(core: Core, now: number): number | null {
  if (core.rows.get('org', core.org)?.deleted_at !== null) return null;
  if (core.auditLog.size() > CROWDED) return now + WINDOW;
  core.storage.transactionSync(() => {
    const request = newId('req', now);
    for (const expiry of expiries(core).due(now, PAGE)) {
      // safety: expiry-told-once
      expiries(core).announced(expiry);
      const announcement =
        expiry.kind === 'secret' ? ofSecret(core, expiry, now) : ofCredential(core, expiry, now);
      if (announcement) announce(core, expiry.id, announcement, request, now);
    }
  });
  return expiries(core).next();
}

const aheadOf = (expires_at: number, lead: number) => ({
  expires_at: new Date(expires_at).toISOString(),
  ...(lead && { days: lead / DAY }),
});

/** Whether a warning is too late, or a restore has postponed the expiry. */
const isObsolete = (expires_at: number, lead: number, now: number) =>
  (lead > 0 && expires_at <= now) || expires_at - lead > now;

function ofSecret(core: Core, { id, lead }: Expiry, now: number): Announcement | null {
  const row = core.rows.get('secret', id);
  // safety: only-live-secrets-expire
  if (!row || row.deleted_at !== null || row.revoked_at !== null || row.expires_at === null) return null;
  if (isObsolete(row.expires_at, lead, now)) return null;
  const data = { ...secretData(core, row), ...aheadOf(row.expires_at, lead) };
  return {
    event: { type: lead > 0 ? 'SECRET_EXPIRING' : 'SECRET_EXPIRED', data },
    action: lead > 0 ? 'secret.expiring' : 'secret.expired',
    environment: data.environment,
    version: row.version,
  };
}

function ofCredential(core: Core, { id, lead }: Expiry, now: number): Announcement | null {
  const row = core.rows.get('credential', id);
  // safety: only-live-credentials-expire
  if (!row || row.expires_at === null || isObsolete(row.expires_at, lead, now) || !isAlive(core, row))
    return null;
  return {
    event: {
      type: 'CREDENTIAL_EXPIRING',
      data: { ...credentialData(row), ...aheadOf(row.expires_at, lead) },
    },
    action: 'credential.expiring',
    environment: null,
    version: null,
  };
}

function announce(
  core: Core,
  id: string,
  { event, action, environment, version }: Announcement,
  request: string,
  now: number,
): void {
  core.outbox.put(event, now);
  const { name } = event.data as { name: string };
  core.auditLog.append(
    systemEntry({
      action,
      resource: id,
      ...(version !== null && { resource_name: name }),
      environment,
      version,
      request_id: request,
    }),
    200,
    now,
  );
}

/**
 * How long before an expiry an event is raised; 0 is the expiry itself, which raises no event for a
 * credential.
 */
const LEADS = { secret: [7 * DAY, DAY, 0], credential: [7 * DAY, DAY] } as const;

export interface Expiry {
  kind: keyof typeof LEADS;
  id: string;
  lead: number;
  due: number;
}

export interface Expiries {
  /** Records a row written by a change at this time. Returns when its first event is due, or null. */
  note(kind: Expiry['kind'], before: Expiring | null, after: Expiring, at: number): number | null;
  /** Up to `limit` that are due, earliest first. */
  due(now: number, limit: number): Expiry[];
  /** When the next is due, or null. */
  next(): number | null;
  announced(expiry: Expiry): void;
  /**
   * Rebuilds from all rows, only with events due in the future, because these rows were not written by a
   * change here.
   */
  begin(now: number): void;
}

type Expiring = Pick<SecretRow | CredentialRow, 'id' | 'expires_at'>;

export function createExpiries(sql: SqlStorage, meta: Meta): Expiries {
  sql.exec(
    'create table if not exists expiries (id text not null, lead integer not null, kind text not null, due integer not null, primary key (id, lead)) without rowid',
  );
  sql.exec('create index if not exists expiries_due on expiries (due)');
  const begin = (now: number) => {
    sql.exec('delete from expiries where due > ?', now);
    for (const [kind, leads] of Object.entries(LEADS))
      for (const lead of leads)
        sql.exec(
          `insert or ignore into expiries select id, ?1, kind, (body ->> 'expires_at') - ?1 from rows
            where kind = ?2 and body is not null and space not in ${BRIEF_KINDS} and (body ->> 'expires_at') - ?1 > ?3`,
          lead,
          kind,
          now,
        );
    meta.set('expiries', '1');
  };
  // An earlier release did not record them.
  if (meta.get('expiries') === null) begin(Date.now());
  return {
    note(kind, before, after, at) {
      const { id, expires_at: expires } = after;
      if ((before?.expires_at ?? null) === expires) return null;
      if (before) sql.exec('delete from expiries where id = ?', id);
      if (expires === null) return null;
      const times = LEADS[kind].map((lead) => ({ lead, due: expires - lead })).filter(({ due }) => due > at);
      for (const { lead, due } of times)
        sql.exec('insert into expiries values (?, ?, ?, ?)', id, lead, kind, due);
      return times.length ? Math.min(...times.map(({ due }) => due)) : null;
    },
    due: (now, limit) =>
      sql
        .exec<Expiry & Record<string, SqlStorageValue>>(
          'select kind, id, lead, due from expiries where due <= ? order by due, id limit ?',
          now,
          limit,
        )
        .toArray(),
    next: () => sql.exec<{ n: number | null }>('select min(due) n from expiries').one().n,
    announced: ({ id, lead }) => void sql.exec('delete from expiries where id = ? and lead = ?', id, lead),
    begin,
  };
}

export const expiries = part(({ storage, meta }) => createExpiries(storage.sql, meta));

function follow(
  core: Core,
  kind: Expiry['kind'],
  { before, after, at }: { before: Expiring | null; after: Expiring | null; at: number },
): void {
  const due = after && expiries(core).note(kind, before, after, at);
  if (due !== null) core.schedule.at('expiry', due);
}

export const expiry: Declared = {
  tasks: { expiry: tellExpiries },
  follows: {
    secret: (core, change) => follow(core, 'secret', change),
    credential: (core, change) =>
      void (change.after && !isBrief(change.after.kind) && follow(core, 'credential', change)),
  },
  sweep(core, now) {
    if (expiries(core).next() !== null) core.schedule.at('expiry', now);
    return false;
  },
};
