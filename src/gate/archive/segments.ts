// Moves the audit log to D1: entries are closed into segments, one compressed row each. Invariants: an entry
// is deleted from the gate only once D1 has it; a segment's row stays below D1's size limit, counting all
// columns; an entry that D1 rejects is kept here and does not block later ones.
import { toBase64, utf8 } from '../../crypto/bytes';
import { gzip } from '../../crypto/gzip';
import { auditSegments } from '../../db/schema';
import { insertOf } from '../../db/statements';
import { type Entry, secretsIn } from '../audit/entry';
import type { Core } from '../core';
import { lastUsed } from '../limits/last-used';
import { SLACK, WINDOW } from '../limits/rate-limit';
import { locks } from '../request/locks';
import { closeSegment } from './checkpoints';
import { readers } from './readers';

/**
 * The most entries of a segment, and their most bytes: a check of the chain decompresses them in a Worker's
 * memory.
 */
export const SEGMENT = 1000;
const MOST_UNPACKED = 2 * 1024 * 1024;
/**
 * The most bytes of a segment's row, including the lists of actors, actions and resources: a D1 row holds 2
 * MB.
 */
const MOST_ROW = 1_000_000;
/** The most entries that D1 rejected and the gate keeps; with more, the entries are not the cause. */
const MOST_HELD = 100;
const RETRY = 5000;

type Segment = typeof auditSegments.$inferInsert;

async function segmentOf(org: string, entries: Entry[]): Promise<Segment> {
  const first = entries[0] as Entry;
  const last = entries.at(-1) as Entry;
  const distinct = (of: (entry: Entry) => string | null) => [
    ...new Set(entries.flatMap((entry) => of(entry) ?? [])),
  ];
  return {
    org_id: org,
    first_sequence: first.sequence,
    last_sequence: last.sequence,
    first_at: Date.parse(first.time),
    last_at: Date.parse(last.time),
    prev_hash: first.prev_hash,
    last_hash: last.hash,
    actors: distinct(({ actor }) => actor.id),
    actions: distinct(({ action }) => action),
    resources: [
      ...new Set(
        entries.flatMap((entry) => [
          ...(entry.resource === null ? [] : [entry.resource]),
          ...secretsIn(entry),
        ]),
      ),
    ],
    entries: toBase64(await gzip(utf8(JSON.stringify(entries)))),
  };
}

const sizeOf = ({ actors, actions, resources, entries }: Segment): number =>
  entries.length + utf8(JSON.stringify([actors, actions, resources])).length;

const half = <T>(list: T[]): T[] => list.slice(0, Math.ceil(list.length / 2));

/**
 * Moves the first of these entries, as many as one row holds, or fewer if D1 rejects more. Returns the last
 * moved sequence, or null if D1 does not respond.
 */
async function move(core: Core, entries: Entry[], now: number): Promise<number | null> {
  for (let part = entries; ; part = half(part)) {
    const last = part.at(-1) as Entry;
    const segment = await segmentOf(core.org, part);
    if (part.length > 1 && sizeOf(segment) > MOST_ROW) continue;
    // Replaces what an interrupted move left under this number: the entries here are the log, regardless of
    // D1.
    const { sql, params } = insertOf(auditSegments, segment);
    const moved = await core.database.write([
      { sql: sql.replace('insert into', 'insert or replace into'), params },
    ]);
    // safety: segment-kept-until-stored
    if (moved.end === 'unknown') return null;
    if (moved.end === 'refused' && part.length > 1) continue;
    const isHeld = moved.end === 'refused';
    if (isHeld && core.auditLog.held().length >= MOST_HELD) return null;
    core.storage.transactionSync(() => {
      lastUsed(core).flush(core.auditLog.head().sequence);
      readers(core).flush(core.auditLog.head().sequence);
      if (isHeld) core.auditLog.hold(last.sequence);
      else closeSegment(core, { sequence: last.sequence, hash: last.hash, at: Date.parse(last.time) }, now);
      core.auditLog.moved(last.sequence, now);
    });
    if (isHeld)
      console.error(
        JSON.stringify({
          level: 'error',
          event: 'audit_entry_refused',
          org: core.org,
          sequence: last.sequence,
          why: moved.why,
        }),
      );
    return last.sequence;
  }
}

/**
 * Moves the oldest closed segment. Returns when the next one can move, or null. The last minute stays,
 * because rate limits are counted from it.
 */
export const closeSegments = (core: Core, now: number): Promise<number | null> =>
  locks(core).run(['segments'], () => closeOldest(core, now));

async function closeOldest(core: Core, now: number): Promise<number | null> {
  const { entries } = core.auditLog.from(core.auditLog.oldest(), SEGMENT, MOST_UNPACKED);
  const last = entries.at(-1);
  const isClosed = entries.length === SEGMENT || (last && last.sequence < core.auditLog.head().sequence);
  if (!last || !isClosed) return null;
  // Where the clock was ahead and was put right, the times of entries stay ahead for as long: those do not
  // wait.
  const at = Date.parse(last.time);
  const movable = at > now + SLACK ? now : at + WINDOW + SLACK;
  if (movable > now) return movable;
  return (await move(core, entries, now)) === null ? now + RETRY : now;
}

/**
 * Moves all current entries, for a backup. Returns how many were moved, and the last sequence; null if D1
 * does not respond.
 */
export async function archive(core: Core, now: number): Promise<{ archived: number; head: number } | null> {
  return locks(core).run(['segments'], async () => {
    const head = core.auditLog.head().sequence;
    const first = core.auditLog.oldest();
    for (let at = first; at <= head; ) {
      const { entries } = core.auditLog.from(at, SEGMENT, MOST_UNPACKED);
      const moved = await move(core, entries, now);
      if (moved === null) return null;
      at = moved + 1;
    }
    return { archived: head + 1 - first, head };
  });
}
