// A gate that lost its storage starts again from D1: it loads every row that decisions depend on whose MAC is
// correct, and the end of the audit chain that had moved there. It begins a new term first, so no batch of
// its earlier life can still take effect. What D1 had not received is lost.

import { and, asc, eq, gt } from 'drizzle-orm';
import { LOCAL_KINDS } from '../../db/credential-kinds';
import { kindOf, macOf, readable, rowKinds } from '../../db/rows';
import { sqlite } from '../../db/statements';
import { takeUpEvents } from '../archive/event-segments';
import { gapsBetween, missingEntries, noteMissing, takeUpSegments } from '../archive/gaps';
import { archive } from '../archive/segments';
import { genesis } from '../audit/chain';
import { reportViolation } from '../audit/integrity';
import { MOST_ENTRIES, RESERVE } from '../audit/log';
import type { Core } from '../core';
import { expiries } from '../events/expiry';
import { MOST_EVENTS } from '../outbox';
import type { RequestFacts } from '../request/call';
import { isInD1 } from './batch';
import { beginTerm, newTerm, POSITION, type Position, standing } from './position';
import { journal } from './records';

const PAGE = 2000;

/**
 * Loads an organisation that D1 knows. Returns whether D1 has its row. An audit entry records
 * it, because outdated rows would be accepted.
 */
export async function recover(core: Core, key: Uint8Array, by: RequestFacts): Promise<boolean> {
  const [found] = await core.database.all<Position & Record<string, unknown>>({
    sql: `select o.*, ${POSITION} from orgs o where o.id = ?1`,
    params: [core.org],
  });
  const own = found && readable('org', found);
  // Without the row of the organisation the gate would accept no credential.
  // safety: recovery-needs-org-row
  if (!found || own?.mac !== macOf(key, 'org', own as object)) return false;
  const term = newTerm();
  // safety: recovery-begins-term
  await beginTerm(core, found, term, found.position);
  // An earlier release stored session tokens in D1. They end with the gate's storage, as all others do.
  await core.database.write([
    { sql: `delete from credentials where org_id = ? and kind in ${LOCAL_KINDS}`, params: [core.org] },
  ]);

  let refused = 0;
  for (const kind of rowKinds()) {
    const table = kindOf(kind).table;
    for (let after = ''; ; ) {
      const mine = kind === 'org' ? eq(table.id, core.org) : eq(table.org_id, core.org);
      const page = await core.database.all<Record<string, unknown>>(
        sqlite
          .select()
          .from(table)
          .where(and(mine, gt(table.id, after)))
          .orderBy(asc(table.id))
          .limit(PAGE)
          .toSQL(),
      );
      const rows = page.map((raw) => readable(kind, raw));
      core.storage.transactionSync(() => {
        for (const row of rows) {
          // safety: recovered-row-mac
          if (!row || row.mac !== macOf(key, kind, row)) refused++;
          // safety: lost-sessions-end
          else if (isInD1({ kind, row } as never)) core.rows.put(kind, row as never);
        }
      });
      if (rows.length < PAGE) break;
      after = (page.at(-1) as { id: string }).id;
    }
  }
  core.storage.transactionSync(() => core.rows.stored.recount());
  await takeUpLog(core);
  await takeUpEvents(core, MOST_EVENTS);
  expiries(core).begin(core.now());
  journal(core).begin(term, found.position, term);
  standing(core).isBehind = false;
  core.schedule.at('syncs', core.now());
  // In a restored vault nothing knows whose the domains are, until their records are looked up.
  // safety: recovery-claims-domains
  core.schedule.at('domains', core.now());
  core.meta.set('reads_since', String(core.now()));
  core.meta.set('loaded_at', String(core.now()));
  const met = { request_id: by.id, ip: by.ip, user_agent: by.user_agent };
  // The request goes on: loading has succeeded.
  const violation = { event: 'gate_loaded_from_database', resource: core.org, status: 200 } as const;
  reportViolation(core, violation, met, { refused }, { missing: missingEntries(core) });
  // In D1 this entry says which sequences are in use: a gate that is lost again soon would begin at the same
  // one.
  // safety: recovery-moves-its-entry
  await archive(core, core.now());
  return true;
}

/**
 * Continues the audit log after the segments in D1. The lost gate may have used further sequences, so these
 * are skipped.
 */
async function takeUpLog(core: Core): Promise<void> {
  const segments = await core.database.all<{ from: number; to: number; last_hash: string }>({
    sql: 'select first_sequence as "from", last_sequence as "to", last_hash from audit_segments where org_id = ? order by first_sequence',
    params: [core.org],
  });
  const [signed] = await core.database.all<{ newest: number | null }>({
    sql: 'select max(sequence) newest from audit_checkpoints where org_id = ?',
    params: [core.org],
  });
  const newestSegment = segments.at(-1);
  const last = newestSegment?.to ?? 0;
  const hash = newestSegment?.last_hash ?? genesis(core.org);
  // Segments may be missing in D1 too: a signed sequence is never given to another entry.
  // safety: signed-sequences-not-reused
  const next = Math.max(last, signed?.newest ?? 0) + MOST_ENTRIES + RESERVE + 1;
  core.auditLog.begin(next - 1, hash);
  const before = segments.length ? segments : [{ from: 0, to: 0 }];
  noteMissing(core, gapsBetween([...before, { from: next, to: next }], 'gate_lost'));
  await takeUpSegments(core, { tell: false });
}
