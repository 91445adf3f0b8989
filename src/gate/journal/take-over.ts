// Takes over a gate that release 0.5.0 or an earlier one left: its changes waited for D1, each with an intent
// in the gate (the tables `marks` and `mark_parts`) and a marker in D1 (`commits`), under an epoch
// (`fences`). Invariant: the epoch is raised first, so that what D1 does not have then will never take
// effect; only after that does the journal begin.

import type { RowKind } from '../../db/rows';
import type { Draft } from '../audit/entry';
import type { Core } from '../core';
import type { Raised } from '../outbox';
import { locks } from '../request/locks';
import type { ApprovalDetails, Put } from '../request/plan';
import type { StoredResponse } from '../request/stored-responses';
import { takeEffect } from './apply';
import { newTerm, noteBehind } from './position';
import { journal } from './records';

/** A change of an earlier release that may be in D1, under the names that it had there. */
interface Intent {
  id: string;
  at: number;
  /** Absent before 0.5.0: then its marker has the time. */
  mark?: number;
  puts: Omit<Put, 'from'>[];
  gone: { kind: RowKind; id: string }[];
  root?: string;
  environments: string[];
  draft: Draft;
  status: number;
  events?: Raised[];
  keep: StoredResponse | null;
  details?: ApprovalDetails;
  destroyed: string[];
  trimmed: { secret: string; version: number }[];
}

/** Whether a change is in doubt that an earlier release made: until it is settled, nothing is answered. */
export const isInDoubt = (core: Core): boolean => journal(core).term() === null && intentsIn(core).length > 0;

const has = (sql: SqlStorage, table: string): boolean =>
  sql.exec("select 1 from sqlite_master where type = 'table' and name = ?", table).toArray().length > 0;

function intentsIn({ storage: { sql } }: Core): Intent[] {
  if (!has(sql, 'marks')) return [];
  return sql
    .exec<{ id: string; body: string }>('select id, body from marks order by id')
    .toArray()
    .map(({ id, body }) => {
      const rest = has(sql, 'mark_parts')
        ? sql.exec<{ body: string }>('select body from mark_parts where id = ? order by part', id).toArray()
        : [];
      return JSON.parse([body, ...rest.map((one) => one.body)].join('')) as Intent;
    });
}

/**
 * Settles what was in doubt and begins the journal. Returns whether the gate now has a term: false if D1 does
 * not hold what the gate left there, null if D1 does not respond.
 */
export const takeOver = (core: Core): Promise<boolean | null> =>
  locks(core).run(['term'], async () => {
    if (journal(core).term() !== null) return true;
    const { meta } = core;
    const open = intentsIn(core);
    const epochs = [Number(meta.get('epoch') ?? 1), Number(meta.get('raising') ?? 1)];
    const before = await stateOf(core);
    if (before === null) return null;
    const newest = Math.max(Number(meta.get('mark') ?? 0) || core.auditLog.time(), ...open.map(markOf));
    // safety: older-gate-by-mark
    if (before.mark > newest) {
      noteBehind(core);
      return false;
    }
    const term = meta.get('next_term') ?? newTerm();
    // Kept, so that a batch whose reply is lost is known by it.
    meta.set('next_term', term);
    if (before.term !== term) {
      const { end } = await core.database.write([
        {
          sql: `insert into journal_positions (org_id, term, position, record, holds)
            values (?, ?, 0, ?, (select epoch in (?, ?) from fences where org_id = ?))`,
          params: [core.org, term, term, ...epochs, core.org],
        },
        // safety: epoch-raised
        { sql: 'update fences set epoch = epoch + 1 where org_id = ?', params: [core.org] },
      ]);
      const after = await stateOf(core);
      if (after === null) return null;
      // Without a reply it may still arrive: it is found by its term then.
      if (after.term !== term) return end === 'refused' ? false : null;
    }
    const present = await markersOf(core, open);
    if (present === null) return null;
    core.storage.transactionSync(() => {
      // safety: intent-settled-by-marker
      for (const intent of open) settle(core, intent, present.has(intent.id));
      forgetIntents(core);
      journal(core).begin(term, 0, term);
    });
    return true;
  });

function forgetIntents({ storage: { sql }, meta, schedule }: Core): void {
  // Emptied, not dropped: SQLite drops none while a cursor is open.
  for (const table of ['marks', 'mark_parts']) if (has(sql, table)) sql.exec(`delete from ${table}`);
  for (const key of ['epoch', 'raising', 'mark', 'last_change', 'next_term']) meta.forget(key);
  schedule.done('settle', null);
}

/** Gives up what was in doubt: the database that is adopted has no marker of it. */
export function dropIntents(core: Core): void {
  for (const intent of intentsIn(core)) settle(core, intent, false);
  forgetIntents(core);
}

/** Intents of earlier releases have no mark: their marker has the time. */
const markOf = ({ mark, at }: Intent): number => mark ?? at;

async function stateOf(core: Core): Promise<{ term: string | null; mark: number } | null> {
  const found = await core.database
    .all<{ term: string | null; mark: number }>({
      sql: `select (select term from journal_positions where org_id = ?1) term,
        coalesce((select max(created_at) from commits where org_id = ?1), 0) mark`,
      params: [core.org],
    })
    .catch(() => null);
  return found?.[0] ?? null;
}

async function markersOf(core: Core, open: Intent[]): Promise<Set<string> | null> {
  if (open.length === 0) return new Set();
  const found = await core.database
    .all<{ id: string }>({
      sql: 'select id from commits where org_id = ? and id in (select value from json_each(?))',
      params: [core.org, JSON.stringify(open.map(({ id }) => id))],
    })
    .catch(() => null);
  return found && new Set(found.map(({ id }) => id));
}

function settle(core: Core, intent: Intent, isDone: boolean): void {
  if (!isDone) return void core.auditLog.append(intent.draft, 503, core.now());
  const { at, root, draft, status, events = [], keep, puts, gone, details, ...plan } = intent;
  takeEffect(core, {
    at,
    root,
    draft,
    events,
    keep,
    plan: {
      ...plan,
      status,
      data: null,
      writes: puts.map((put) => ({ ...put, from: put.row.revision - 1 }) as Put),
      deletes: gone,
      ...(details && { details }),
    },
  });
}
