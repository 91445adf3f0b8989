// Purging: deletes rows that have ended permanently, by a record of the journal, and leaves tombstones:
// secrets past their restore period, credentials that ended long ago, expired grants, everything of a deleted
// organisation. Invariants: each run is bounded and can be interrupted at any point; what refuses the tokens
// of a deleted organisation stays.

import { isBrief, isLocal } from '../../db/credential-kinds';
import { REMEMBERED, type RowKind, rowKinds, tableName } from '../../db/rows';
import type { OrgRow } from '../../db/schema';
import { ageAt } from '../archive/age';
import type { Core } from '../core';
import { formerSessions } from '../identity/former-sessions';
import { leave } from '../journal/apply';
import { ciphertexts } from '../journal/ciphertexts';
import { barred, mirror, noteRecorded } from '../journal/mirror';
import { journal } from '../journal/records';
import { WINDOW } from '../limits/rate-limit';
import { storedResponses } from '../request/stored-responses';
import type { Sweepable } from '../rows/store';

/** The most rows that one run purges. */
export const BATCH = 200;

/**
 * Purges overdue rows: permanently deleted secrets, long-ended credentials, expired grants, sessions that D1
 * keeps, tombstones.
 */
export function purgeRows(core: Core, now: number): number | null {
  const { rows } = core.rows.sweepable(now, BATCH, ageAt(core, now));
  const isSession = ({ kind, id }: Sweepable) =>
    kind === 'credential' && isBrief(core.rows.get('credential', id)?.kind ?? 'api_key');
  const brief = rows.filter((row) => row.buried || isSession(row));
  const rest = rows.filter((row) => !brief.includes(row));
  if (!purge(core, rest)) return now + 5000;
  core.storage.transactionSync(() => {
    const credentials = brief
      .filter(({ kind, buried }) => kind === 'credential' && !buried)
      .map(({ id }) => id);
    // Credentials revoked together with them are kept for just as long.
    for (const id of credentials) follow(core, 'credential', id);
    formerSessions(core).leave(
      credentials.flatMap((id) => core.rows.get('credential', id) ?? []).filter(({ kind }) => isLocal(kind)),
    );
    leave(core, credentials, now + REMEMBERED);
    for (const { kind, id } of brief) core.rows.forget(kind, id);
  });
  const { next } = core.rows.sweepable(now, 0);
  return next === null ? null : Math.max(next, rows.length === BATCH ? now : now + WINDOW);
}

/** Tells what follows a row that it leaves. */
const follow = (core: Core, kind: RowKind, id: string): void =>
  core.rules.follow<RowKind>(core, kind, {
    id,
    before: core.rows.get(kind, id),
    after: null,
    at: core.now(),
    action: null,
  });

/** Deletes rows, and leaves tombstones. Returns whether it is done: not while no change can be made. */
export function purge(core: Core, rows: readonly { kind: RowKind; id: string }[]): boolean {
  if (rows.length === 0) return true;
  // safety: no-purge-while-barred
  if (barred(core, false)) return false;
  const now = core.now();
  core.storage.transactionSync(() => {
    for (const { kind, id } of rows) follow(core, kind, id);
    leave(
      core,
      rows.filter(({ kind }) => kind === 'credential').map(({ id }) => id),
      now,
    );
    for (const { kind, id } of rows) {
      core.rows.bury(kind, id, now);
      ciphertexts(core).drop(id);
      storedResponses(core).forget(id);
    }
    journal(core).append({
      id: crypto.randomUUID(),
      request: null,
      at: now,
      resource: null,
      writes: [],
      deletes: rows.map(({ kind, id }) => ({ kind, id })),
      versions: [],
      trimmed: [],
      statements: [],
    });
  });
  noteRecorded(core, now);
  return true;
}

/** Whether credentials revoked by the last panic are past their retention and still here. */
export function isPanicPurgeable(core: Core, now: number): boolean {
  const { generation, panicked_at } = core.rows.get('org', core.org) ?? {};
  return (
    panicked_at != null && panicked_at + REMEMBERED <= now && core.meta.get('cleared') !== String(generation)
  );
}

/** Purges credentials that a panic revoked, in batches: they have no end in their own rows. */
export function purgeEndedByPanic(core: Core, now: number): number | null {
  if (!isPanicPurgeable(core, ageAt(core, now))) return null;
  const orgRow = core.rows.get('org', core.org) as OrgRow;
  const ids = core.rows.endedByPanic(orgRow, BATCH);
  const rows = ids.map((id) => ({ kind: 'credential', id }) as const);
  if (!purge(core, rows)) return now + 5000;
  if (ids.length === BATCH) return now;
  core.meta.set('cleared', String(orgRow.generation));
  return null;
}

/** Tables of D1, values first. The organisation's own row is deleted last. */
const tables = () =>
  new Set([
    ...['secret_versions', 'secrets'],
    ...rowKinds()
      .filter((kind) => kind !== 'org')
      .map(tableName),
    ...['event_segments', 'audit_segments', 'audit_checkpoints', 'commits', 'log_stream_positions'],
  ]);

/** Kinds of rows that the gate deletes. */
const cleared = () => rowKinds().filter((kind) => kind !== 'org' && kind !== 'credential');

/** Deletes the remaining data of a deleted organisation, in batches. */
export async function endOrg(core: Core, now: number): Promise<number | null> {
  // The schedule does not decide that an organisation ends: it may have been altered.
  // safety: only-deleted-orgs-end
  if (core.rows.get('org', core.org)?.deleted_at == null) return null;
  // A record that comes later would bring rows back.
  // safety: org-ends-after-its-records
  if (!(await mirror(core).follow())) return now + 5000;
  for (const table of tables()) {
    const left = await core.database.all<{ one: number }>({
      sql: `select 1 one from ${table} where org_id = ? limit 1`,
      params: [core.org],
    });
    if (left.length === 0) continue;
    await core.database.write([
      {
        sql: `delete from ${table} where rowid in (select rowid from ${table} where org_id = ? limit 500)`,
        params: [core.org],
      },
    ]);
    return now + 1000;
  }
  const done = await core.database.write([{ sql: 'delete from orgs where id = ?', params: [core.org] }]);
  if (done.end !== 'done') return now + 5000;
  core.storage.transactionSync(() => core.rows.clear(cleared()));
  core.storage.transactionSync(() => ciphertexts(core).clear());
  core.rules.clear(core);
  return null;
}
