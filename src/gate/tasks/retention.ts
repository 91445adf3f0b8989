// Retention: deletes overdue data hourly from D1 and the gate: audit segments, ended session tokens, commit
// markers, excess tombstones. Invariants: a run is bounded, and another follows immediately while there is
// more; the gate decides where the audit log is cut, regardless of times in D1; what is kept for days goes by
// `archive/age.ts`, so a clock that leapt forward deletes no more than a day's worth; if a retention is set,
// only exported entries are deleted.

import { BRIEF_KINDS } from '../../db/credential-kinds';
import { DAY, REMEMBERED } from '../../db/rows';
import { advanceAge } from '../archive/age';
import { checkpoints } from '../archive/checkpoints';
import { forgetOldEvents } from '../archive/event-segments';
import { cutOf, noteCut, takeUpSegments } from '../archive/gaps';
import type { Core } from '../core';
import { bound } from '../identity/device-bound';
import { endedWithDevices } from '../identity/lifetime';
import { journal } from '../journal/records';
import { WINDOW } from '../limits/rate-limit';
import { EVENTS_KEPT } from '../outbox';
import { BATCH, isPanicPurgeable, purge } from './purge';

/** The most rows of a table that one run deletes. */
const PER_RUN = 1000;
/** How many days audit segments are kept by default. */
const RETENTION_DAYS = 400;
/** How long D1 keeps ended sessions; after that, their tokens are unknown. */
const SESSIONS_REMEMBERED = DAY / 2;
const HOUR = 3_600_000;
/**
 * How many expired session tokens D1 keeps at most, the newest; older ones are deleted after a quarter of an
 * hour. One key can mint 60,000 an hour.
 */
const MOST_SESSIONS = 20_000;
const CROWDED = HOUR / 4;

/** Deletes overdue data every hour, and continues immediately while there is more. */
export async function retain(core: Core, now: number): Promise<number> {
  const age = advanceAge(core, now);
  const isMoreToSweep = core.rules.sweep(core, age);
  const goneEvents = await forgetOldEvents(core, age - EVENTS_KEPT);
  await takeUpSegments(core, { tell: true });
  if (isPanicPurgeable(core, age)) core.schedule.at('past', now);
  rememberEnded(core, now);
  const overdueRows = pastIncidents(core, age);
  const isMore = core.rows.forgetOldest(PER_RUN) || overdueRows.length >= BATCH;
  if (!purge(core, overdueRows)) return now + WINDOW;
  const cut = cutOf(core)?.sequence ?? 0;
  const over = overdue(core, now, cut, goneEvents);
  const done = await core.database.write(over.map(({ table, where }) => deletion(core.org, table, where)));
  if (done.end !== 'done') return now + WINDOW;
  const left = over.map(
    ({ table, where }) => `exists (select 1 from ${table} where org_id = ?1 and ${where})`,
  );
  const [rest] = await core.database.all<{ n: number; crowded: number; known: number }>({
    sql: `select ${left.join(' or ')} n, ${oldestKept(now)} is not null crowded, exists (select 1 from orgs where id = ?1) known`,
    params: [core.org],
  });
  // The health check walks the organisations that D1 has: of one that is gone with its key, only the gate can
  // tell.
  if (rest?.known === 0 && core.rows.get('org', core.org)?.deleted_at === null)
    console.error(JSON.stringify({ level: 'error', event: 'org_row_missing', org: core.org }));
  if (isMore || isMoreToSweep || rest?.n) return now;
  if (cutLog(core, age, cut)) return now + WINDOW;
  return now + (rest?.crowded ? CROWDED : HOUR);
}

/**
 * Credentials that ended with their device have no end in their own rows: they are kept from now on as long
 * as others.
 */
function rememberEnded(core: Core, now: number): void {
  const row = core.rows.get('org', core.org);
  const devices = row ? endedWithDevices(core, row, now).map(({ device }) => device) : [];
  if (devices.length === 0) return;
  bound(core).orphan(devices, now + REMEMBERED);
  core.schedule.at('rows', now + REMEMBERED);
}

/** Incidents are kept as long as the audit log, from which their reports follow. */
const pastIncidents = (core: Core, age: number) =>
  core.rows
    .after('incident', '', BATCH)
    .filter(({ created_at }) => created_at < age - retentionDays(core, core.org) * DAY)
    .map(({ id }) => ({ kind: 'incident', id }) as const);

/** How many days an organisation keeps its audit log. */
export const retentionDays = ({ rows }: Core, org: string): number =>
  rows.get('org', org)?.audit_retention_days ?? RETENTION_DAYS;

/** The last sequence of a confirmed export. */
export const exportedThrough = ({ meta }: Core): number => Number(meta.get('exported') ?? 0);
export const noteExported = (core: Core, sequence: number): void =>
  core.meta.set('exported', String(Math.max(exportedThrough(core), sequence)));

/**
 * Forgets what was deleted from D1, and records the next cut. The next run deletes from D1, so a running
 * check still finds its entries. Returns whether there is a new cut.
 */
function cutLog(core: Core, age: number, cut: number): boolean {
  const isSet = core.rows.get('org', core.org)?.audit_retention_days != null;
  // safety: segments-kept-until-exported
  const most = isSet ? exportedThrough(core) : Number.MAX_SAFE_INTEGER;
  const end = checkpoints(core).endBefore(age - retentionDays(core, core.org) * DAY, most);
  core.storage.transactionSync(() => {
    checkpoints(core).forget(cut);
    core.auditLog.dropHeld(cut);
    if (end && end.sequence > cut) noteCut(core, end);
  });
  return end !== null && end.sequence > cut;
}

/** When the oldest of the session tokens to keep expired; null if there are fewer. */
const oldestKept = (now: number) =>
  `(select expires_at from credentials where org_id = ?1 and kind = 'session' and expires_at < ${now} order by expires_at desc limit 1 offset ${MOST_SESSIONS - 1})`;

/** Overdue rows in D1, by table. The numbers in the SQL are not user input. */
const overdue = (core: Core, now: number, cut: number, goneEvents: number) => {
  const session = now - SESSIONS_REMEMBERED;
  const early = now - CROWDED;
  // A row in the gate can be changed there and must then exist in D1.
  const next = core.rows.sweepable(now, 0).next ?? now;
  // So must one that a record changes which D1 lacks.
  const { since } = journal(core).extent();
  // safety: unmirrored-sessions-kept
  const isFollowed = since === null || since > early;
  const sessions = {
    table: 'credentials',
    where: `kind in ${BRIEF_KINDS} and (expires_at < ${session} or revoked_at < ${session})`,
  };
  const surplus = {
    table: 'credentials',
    where: `kind = 'session' and expires_at < ${early} and expires_at < ${oldestKept(now)}`,
  };
  return [
    ...(isFollowed && next > session ? [sessions] : []),
    // safety: expired-sessions-bounded
    ...(isFollowed && next > early ? [surplus] : []),
    { table: 'audit_segments', where: `last_sequence <= ${cut}` },
    { table: 'event_segments', where: `last_sequence <= ${goneEvents}` },
    // The checkpoint at the cut stays: the log begins there.
    { table: 'audit_checkpoints', where: `sequence < ${cut}` },
    // Only release 0.5.0 and earlier ones wrote them.
    { table: 'commits', where: `created_at < ${now - DAY}` },
  ];
};

const deletion = (org: string, table: string, where: string) => ({
  sql: `delete from ${table} where rowid in (select rowid from ${table} where org_id = ?1 and ${where} limit ${PER_RUN})`,
  params: [org],
});
