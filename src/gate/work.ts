// What a gate does by itself, in time, in bounded batches: settles what is in doubt, closes minutes of the rate limit, moves audit
// segments to D1, clears away what has ended. Invariant: each task may be cut off anywhere and simply runs again.

import { toBase64, utf8 } from '../crypto/bytes';
import { gzip } from '../crypto/gzip';
import { auditSegments, type OrgRow } from '../db/schema';
import { SLACK, WINDOW } from './budget';
import type { Entry } from './chain';
import { settle, sqlite } from './commit';
import type { Core } from './core';
import type { Task } from './due';
import { DAY, isBrief, REMEMBERED, type RowKind } from './rows';

/** Entries of a closed segment, and how long they may be, packed: a row of D1 holds 2 MB. */
export const SEGMENT = 1000;
const MOST_PACKED = 700_000;
const BATCH = 200;
/** How long audit segments are kept. */
export const RETENTION = 400 * DAY;

/** Each task answers when it wants to run next, or null. */
const tasks: Record<Task, (core: Core, org: string, now: number) => Promise<number | null> | number | null> = {
  settle: async (core, org, now) => ((await settle(core, org)) ? null : now + 5000),
  minutes: (core, _org, now) =>
    core.storage.transactionSync(() => {
      const times = [core.budget.flush(now), core.outbox.flush(now)].filter((time) => time !== null);
      return times.length ? Math.min(...times) : null;
    }),
  segments: moveSegments,
  replays: (core, _org, now) => {
    const next = core.replays.sweep(now, 1000);
    return next === null ? null : Math.max(next, now + 60_000);
  },
  rows: sweepRows,
  past: clearPast,
  retention: async (core, org, now) => {
    core.outbox.sweep(now);
    if (isPastOver(core, org, now)) core.due.at('past', now);
    const before = { sessions: now - REMEMBERED, markers: now - DAY, segments: now - RETENTION };
    const done = await core.database.write([
      {
        sql: `delete from credentials where org_id = ?1 and id in (select id from credentials where org_id = ?1 and kind in ('session', 'browser') and (expires_at < ?2 or revoked_at < ?2) limit 1000)`,
        params: [org, before.sessions],
      },
      ...(core.marks.unsettled().length === 0
        ? [
            {
              sql: 'delete from commits where id in (select id from commits where org_id = ? and created_at < ? limit 5000)',
              params: [org, before.markers],
            },
          ]
        : []),
      { sql: 'delete from audit_segments where org_id = ? and last_at < ?', params: [org, before.segments] },
    ]);
    return done.end === 'done' ? now + DAY : now + 60_000;
  },
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
    core.storage.transactionSync(() => core.seals.clear());
    return null;
  },
};

/** Runs what is due. Never throws: a task that fails is tried again a minute later. */
export async function work(core: Core, org: string, now = core.now()): Promise<void> {
  for (const task of core.due.now(now)) {
    core.due.begin(task);
    try {
      core.due.done(task, await tasks[task](core, org, core.now()));
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
      core.due.done(task, now + WINDOW);
    }
  }
  core.due.arm();
}

const pack = async (entries: Entry[]): Promise<string> => toBase64(await gzip(utf8(JSON.stringify(entries))));

/** Moves closed segments to D1, oldest first. The last minute stays: the rate budgets are read from it. */
async function moveSegments(core: Core, org: string, now: number): Promise<number | null> {
  const first = core.chain.oldest();
  let entries = core.chain.from(first, SEGMENT);
  if (entries.length < SEGMENT) return null;
  let packed = await pack(entries);
  while (packed.length > MOST_PACKED) {
    entries = entries.slice(0, Math.ceil(entries.length / 2));
    packed = await pack(entries);
  }
  const last = entries.at(-1) as Entry;
  const movable = Date.parse(last.time) + WINDOW + SLACK;
  if (movable > now) return movable;
  const distinct = (of: (entry: Entry) => string | null) => [...new Set(entries.flatMap((entry) => of(entry) ?? []))];
  const segment = sqlite
    .insert(auditSegments)
    .values({
      org_id: org,
      first_sequence: first,
      last_sequence: last.sequence,
      first_at: Date.parse((entries[0] as Entry).time),
      last_at: Date.parse(last.time),
      prev_hash: (entries[0] as Entry).prev_hash,
      last_hash: last.hash,
      actors: distinct((entry) => entry.actor.id),
      actions: distinct((entry) => entry.action),
      resources: distinct((entry) => entry.resource),
      entries: packed,
    })
    .onConflictDoNothing()
    .toSQL();
  const moved = await core.database.write([segment]);
  if (moved.end !== 'done') return now + 5000;
  core.storage.transactionSync(() => {
    core.uses.flush(core.chain.head().sequence);
    core.chain.moved(last.sequence);
  });
  return now;
}

/** Clears away rows whose time is over: secrets deleted for good, credentials long ended, grants that are over, session tokens that D1 remembers. */
async function sweepRows(core: Core, org: string, now: number): Promise<number | null> {
  const { rows } = core.rows.sweepable(now, BATCH);
  const brief = rows.filter(({ kind, id }) => kind === 'credential' && isBrief(core.rows.get('credential', id)?.kind ?? 'api_key'));
  const rest = rows.filter((row) => !brief.includes(row));
  if (!(await clear(core, org, rest))) return now + 5000;
  core.storage.transactionSync(() => {
    // What ended with them has no end of its own. It is remembered for as long as they are.
    const ofCredentials = (of: typeof rows) => of.filter(({ kind }) => kind === 'credential').map(({ id }) => id);
    core.rows.orphan(ofCredentials(brief), now + REMEMBERED);
    core.rows.orphan(ofCredentials(rest), now);
    for (const id of ofCredentials(rows)) core.uses.forget(id);
    for (const { id } of brief) core.rows.forget('credential', id);
  });
  const { next } = core.rows.sweepable(now, 0);
  return next === null ? null : Math.max(next, rows.length === BATCH ? now : now + WINDOW);
}

/** Deletes rows, in D1 first, and leaves tombstones. Answers whether it is done. */
async function clear(core: Core, org: string, rows: { kind: RowKind; id: string }[]): Promise<boolean> {
  if (rows.length === 0) return true;
  const ids = (kind: string) => JSON.stringify(rows.filter((row) => row.kind === kind).map(({ id }) => id));
  const among = 'org_id = ? and id in (select value from json_each(?))';
  const done = await core.database.write([
    { sql: 'delete from secret_versions where org_id = ? and secret_id in (select value from json_each(?))', params: [org, ids('secret')] },
    { sql: `delete from secrets where ${among}`, params: [org, ids('secret')] },
    { sql: `delete from credentials where ${among}`, params: [org, ids('credential')] },
    { sql: `delete from grants where ${among}`, params: [org, ids('grant')] },
  ]);
  if (done.end !== 'done') return false;
  core.storage.transactionSync(() => {
    for (const { kind, id } of rows) {
      core.rows.bury(kind, id);
      core.seals.drop(id);
      core.replays.forget(id);
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
  const standing = core.rows.get('org', org) as OrgRow;
  const ids = core.rows.past(standing, BATCH);
  const rows = ids.map((id) => ({ kind: 'credential', id }) as const);
  // Locked, for one of them may just be revoked once more.
  const done = await core.locks.hold(ids, () => clear(core, org, rows));
  if (!done) return now + 5000;
  if (ids.length === BATCH) return now;
  core.meta.set('cleared', String(standing.generation));
  return null;
}
