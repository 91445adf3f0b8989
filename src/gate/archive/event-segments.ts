// Moves closed ranges of events to D1, each as one compressed row. Invariants: an event is deleted from the
// gate only once D1 has it; ranges have no gaps; the newest events stay in the gate.
import { toBase64, utf8 } from '../../crypto/bytes';
import { gzip } from '../../crypto/gzip';
import { eventSegments } from '../../db/schema';
import { insertOf } from '../../db/statements';
import type { Core } from '../core';
import { EVENTS_A_SEGMENT, type StoredEvent } from '../outbox';
import { locks } from '../request/locks';

/** The most bytes of a range, and of its row. */
const MOST_UNPACKED = 2 * 1024 * 1024;
const MOST_ROW = 1_000_000;
const RETRY = 5000;

/** As many of the first events as one range can hold. */
function range(events: StoredEvent[]): StoredEvent[] {
  let bytes = 0;
  const past = events.findIndex((event) => {
    bytes += utf8(JSON.stringify(event)).length;
    return bytes > MOST_UNPACKED;
  });
  return past < 0 ? events : events.slice(0, Math.max(1, past));
}

/** Moves the oldest range. Returns when the next one can move, or null. */
export const closeEvents = (core: Core, now: number): Promise<number | null> =>
  locks(core).run(['event_segments'], async () => {
    if (!core.outbox.canClose()) return null;
    for (
      let part = range(core.outbox.from(core.outbox.moved(), EVENTS_A_SEGMENT));
      ;
      part = part.slice(0, Math.ceil(part.length / 2))
    ) {
      const first = part[0];
      const last = part.at(-1);
      if (!first || !last) return null;
      // safety: events-kept-until-delivered
      if (last.sequence > core.outbox.movable()) return now + RETRY;
      const events = toBase64(await gzip(utf8(JSON.stringify(part))));
      if (part.length > 1 && events.length > MOST_ROW) continue;
      // Replaces what an interrupted move left under this number.
      const { sql, params } = insertOf(eventSegments, {
        org_id: core.org,
        // The range covers the numbers of events that were altered: ranges have no gaps.
        first_sequence: core.outbox.moved() + 1,
        last_sequence: last.sequence,
        first_at: first.at,
        last_at: last.at,
        events,
      });
      const { end } = await core.database.write([
        { sql: sql.replace('insert into', 'insert or replace into'), params },
      ]);
      // safety: events-kept-until-stored
      if (end !== 'done') return now + RETRY;
      core.storage.transactionSync(() => core.outbox.move(last.sequence));
      return core.outbox.canClose() ? now : null;
    }
  });

/**
 * Ends the feed before events that have been in D1 for 30 days; their rows are deleted next. Returns the last
 * forgotten sequence.
 */
export async function forgetOldEvents(core: Core, before: number): Promise<number> {
  const [old] = await core.database.all<{ n: number | null }>({
    sql: 'select max(last_sequence) n from event_segments where org_id = ? and last_at < ?',
    params: [core.org, before],
  });
  // D1 cannot make the gate forget events in its own storage.
  // safety: events-forgotten-only-if-moved
  core.storage.transactionSync(() => core.outbox.forgetThrough(Math.min(old?.n ?? 0, core.outbox.moved())));
  return core.outbox.gone();
}

/**
 * Continues the numbering of events after those in D1, beyond any number that a lost gate may have used, so
 * that no number is used twice.
 */
export async function takeUpEvents(core: Core, most: number): Promise<void> {
  const [newest] = await core.database.all<{ n: number | null }>({
    sql: 'select max(last_sequence) n from event_segments where org_id = ?',
    params: [core.org],
  });
  // safety: event-numbers-not-reused
  core.outbox.forgetThrough((newest?.n ?? 0) + most);
}
