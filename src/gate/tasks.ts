// What a gate does by itself, in time, in bounded batches: settles what is in doubt, closes minutes of the rate limit, moves audit
// segments to D1, clears away what has ended. Invariant: each task may be cut off anywhere and simply runs again.

import type { OrgRow } from '../db/schema';
import { settle } from './commit';
import type { Core } from './core';
import { WINDOW } from './rate-limit';
import { DAY, isBrief, REMEMBERED, type RowKind, type Sweepable } from './rows';
import type { Task } from './schedule';
import { closeSegments } from './segments';

const BATCH = 200;
/** Rows of a table that one run of a task deletes: it runs again at once while there are more. */
const PER_RUN = 1000;
/** How long audit segments are kept. */
export const RETENTION = 400 * DAY;
/** How long D1 remembers sessions that have ended: then their tokens are unknown. */
const SESSIONS_REMEMBERED = DAY / 2;
const HOUR = 3_600_000;
/** Expired session tokens that D1 remembers all the same, the newest; older ones go after a quarter of an hour. One key mints 60,000 an hour. */
const MOST_SESSIONS = 20_000;
const CROWDED = HOUR / 4;
/** Credentials with an end that the gate remembers, live ones included; those that ended longest ago go first. */
const MOST_ENDED = 60_000;

/** Each task answers when it wants to run next, or null. */
const tasks: Record<Task, (core: Core, org: string, now: number) => Promise<number | null> | number | null> = {
  settle: async (core, org, now) => ((await settle(core, org)) ? null : now + 5000),
  minutes: (core, _org, now) =>
    core.storage.transactionSync(() => {
      const times = [core.rateLimit.flush(now), core.outbox.flush(now)].filter((time) => time !== null);
      return times.length ? Math.min(...times) : null;
    }),
  segments: closeSegments,
  replays: (core, _org, now) => {
    const next = core.storedResponses.sweep(now, PER_RUN);
    return next === null ? null : next <= now ? now : Math.max(next, now + WINDOW);
  },
  rows: sweepRows,
  past: clearPast,
  retention: retain,
  end: async (core, org, now) => {
    const rest = [
      ...['secret_versions', 'secrets', 'credentials', 'grants', 'team_members', 'teams', 'passkeys', 'members'],
      ...['environments', 'audit_segments', 'commits'],
    ];
    for (const table of rest) {
      const left = await core.database.all<{ one: number }>({ sql: `select 1 one from ${table} where org_id = ? limit 1`, params: [org] });
      if (left.length === 0) continue;
      await core.database.write([
        { sql: `delete from ${table} where rowid in (select rowid from ${table} where org_id = ? limit 500)`, params: [org] },
      ]);
      return now + 1000;
    }
    const done = await core.database.write([{ sql: 'delete from orgs where id = ?', params: [org] }]);
    if (done.end !== 'done') return now + 5000;
    // What is left is what its tokens are refused by: hashes, and that the org has ended.
    core.storage.transactionSync(() => core.rows.clear(['secret', 'environment', 'grant', 'team_member', 'team', 'passkey', 'member']));
    core.storage.transactionSync(() => core.ciphertexts.clear());
    return null;
  },
};

/** Runs what is due. Never throws: a task that fails is tried again a minute later. */
export async function runTasks(core: Core, org: string, now = core.now()): Promise<void> {
  for (const task of core.schedule.now(now)) {
    core.schedule.begin(task);
    try {
      core.schedule.done(task, await tasks[task](core, org, core.now()));
    } catch (error) {
      console.error(
        JSON.stringify({
          level: 'error',
          event: 'task_failed',
          org,
          task,
          why: error instanceof Error ? error.message.slice(0, 200) : 'unknown',
        }),
      );
      core.schedule.done(task, now + WINDOW);
    }
  }
  core.schedule.arm();
}

/** Deletes what is past its time, every hour, and goes on at once while there is more. */
async function retain(core: Core, org: string, now: number): Promise<number> {
  core.outbox.sweep(now);
  if (isPastOver(core, org, now)) core.schedule.at('past', now);
  const ended = core.rows.endedBefore(MOST_ENDED, BATCH).map((id) => ({ kind: 'credential', id }) as const);
  const isMore = core.rows.forgetOldest(PER_RUN) || ended.length === BATCH;
  if (
    !(await core.locks.hold(
      ended.map(({ id }) => id),
      () => clear(core, org, ended),
    ))
  )
    return now + WINDOW;
  const over = overdue(core, now);
  const done = await core.database.write(over.map(({ table, where }) => deletion(org, table, where)));
  if (done.end !== 'done') return now + WINDOW;
  const left = over.map(({ table, where }) => `exists (select 1 from ${table} where org_id = ?1 and ${where})`);
  const [rest] = await core.database.all<{ n: number; crowded: number }>({
    sql: `select ${left.join(' or ')} n, ${oldestKept(now)} is not null crowded`,
    params: [org],
  });
  if (isMore || rest?.n) return now;
  return now + (rest?.crowded ? CROWDED : HOUR);
}

/** When the oldest of the session tokens that D1 remembers expired; null where there are fewer than so many. */
const oldestKept = (now: number) =>
  `(select expires_at from credentials where org_id = ?1 and kind = 'session' and expires_at < ${now} order by expires_at desc limit 1 offset ${MOST_SESSIONS - 1})`;

/** What is past its time in D1, by table. Times are numbers of our own. */
const overdue = ({ intents, rows }: Core, now: number) => {
  const session = now - SESSIONS_REMEMBERED;
  const early = now - CROWDED;
  // What is in the gate, or comes back into it by a commit in doubt, may be changed there, and then has to be in D1.
  // safety: markers-kept-in-doubt
  const isSettled = intents.unsettled().length === 0;
  const next = isSettled ? (rows.sweepable(now, 0).next ?? now) : 0;
  const sessions = {
    table: 'credentials',
    where: `kind in ('session', 'browser') and (expires_at < ${session} or revoked_at < ${session})`,
  };
  const surplus = { table: 'credentials', where: `kind = 'session' and expires_at < ${early} and expires_at < ${oldestKept(now)}` };
  return [
    ...(next > session ? [sessions] : []),
    // safety: expired-sessions-bounded
    ...(next > early ? [surplus] : []),
    { table: 'audit_segments', where: `last_at < ${now - RETENTION}` },
    // A commit in doubt is settled by its marker.
    ...(isSettled ? [{ table: 'commits', where: `created_at < ${now - DAY}` }] : []),
  ];
};

const deletion = (org: string, table: string, where: string) => ({
  sql: `delete from ${table} where rowid in (select rowid from ${table} where org_id = ?1 and ${where} limit ${PER_RUN})`,
  params: [org],
});

/** Clears away rows whose time is over: secrets deleted for good, credentials long ended, grants that are over, sessions that D1 remembers, tombstones. */
async function sweepRows(core: Core, org: string, now: number): Promise<number | null> {
  const ids = core.rows.sweepable(now, BATCH).rows.map(({ id }) => id);
  // Locked, for one of them may just be changed.
  return core.locks.hold(ids, () => sweepLocked(core, org, now, new Set(ids)));
}

async function sweepLocked(core: Core, org: string, now: number, locked: ReadonlySet<string>): Promise<number | null> {
  // A row of a commit in doubt stays until that is settled.
  if (core.intents.unsettled().length) return now + 5000;
  const rows = core.rows.sweepable(now, BATCH).rows.filter(({ id }) => locked.has(id));
  const isSession = ({ kind, id }: Sweepable) => kind === 'credential' && isBrief(core.rows.get('credential', id)?.kind ?? 'api_key');
  const brief = rows.filter((row) => row.buried || isSession(row));
  const rest = rows.filter((row) => !brief.includes(row));
  if (!(await clear(core, org, rest))) return now + 5000;
  core.storage.transactionSync(() => {
    const credentials = brief.filter(({ kind, buried }) => kind === 'credential' && !buried).map(({ id }) => id);
    // What ended with them is remembered for as long as they are.
    core.descendants.orphan(credentials, now + REMEMBERED);
    for (const id of credentials) forgetUse(core, id);
    for (const { kind, id } of brief) core.rows.forget(kind, id);
  });
  const { next } = core.rows.sweepable(now, 0);
  return next === null ? null : Math.max(next, rows.length === BATCH ? now : now + WINDOW);
}

/** Forgets what is noted of a credential beside its row. */
function forgetUse(core: Core, id: string): void {
  core.lastUsed.forget(id);
  core.outbox.forget(id);
  core.meta.drop(`due:${id}:`);
}

/** Deletes rows, in D1 first, and leaves tombstones. Answers whether it is done. */
async function clear(core: Core, org: string, rows: readonly { kind: RowKind; id: string }[]): Promise<boolean> {
  if (rows.length === 0) return true;
  const idsOf = (kind: RowKind) => rows.filter((row) => row.kind === kind).map(({ id }) => id);
  const ids = (kind: RowKind) => JSON.stringify(idsOf(kind));
  const among = 'org_id = ? and id in (select value from json_each(?))';
  const done = await core.database.write([
    { sql: 'delete from secret_versions where org_id = ? and secret_id in (select value from json_each(?))', params: [org, ids('secret')] },
    { sql: `delete from secrets where ${among}`, params: [org, ids('secret')] },
    { sql: `delete from credentials where ${among}`, params: [org, ids('credential')] },
    { sql: `delete from grants where ${among}`, params: [org, ids('grant')] },
  ]);
  // safety: purged-in-database-first
  if (done.end !== 'done') return false;
  core.storage.transactionSync(() => {
    core.descendants.orphan(idsOf('credential'), core.now());
    for (const id of idsOf('credential')) forgetUse(core, id);
    for (const { kind, id } of rows) {
      core.rows.bury(kind, id, core.now());
      core.ciphertexts.drop(id);
      core.storedResponses.forget(id);
    }
  });
  return true;
}

/** Whether what the last panic ended has been remembered for long enough, and is still here. */
function isPastOver(core: Core, org: string, now: number): boolean {
  const { generation, panicked_at } = core.rows.get('org', org) ?? {};
  return panicked_at != null && panicked_at + REMEMBERED <= now && core.meta.get('cleared') !== String(generation);
}

/** Clears away what a panic ended, a batch at a time: such credentials have no end of their own. */
async function clearPast(core: Core, org: string, now: number): Promise<number | null> {
  if (!isPastOver(core, org, now)) return null;
  const orgRow = core.rows.get('org', org) as OrgRow;
  const ids = core.rows.past(orgRow, BATCH);
  const rows = ids.map((id) => ({ kind: 'credential', id }) as const);
  // Locked, for one of them may just be revoked once more.
  const done = await core.locks.hold(ids, () => clear(core, org, rows));
  if (!done) return now + 5000;
  if (ids.length === BATCH) return now;
  core.meta.set('cleared', String(orgRow.generation));
  return null;
}
