// The event feed: closed ranges from D1 and the newest events from the gate. Invariants: events are returned
// oldest first; a page starts exactly where the previous one ended; a missing range is an error and is never
// skipped silently.

import QuickLRU from 'quick-lru';
import { fromBase64, fromUtf8 } from '../../crypto/bytes';
import { gunzip } from '../../crypto/gzip';
import { unavailable } from '../../db/unavailable';
import { ApiError } from '../../errors';
import type { EventType, StoredEvent } from '../../gate/outbox';
import type { RenderContext } from '../../http/context';
import { type EventsPart, eventsGone } from './gate/operations';
import { mostLookedAt, shows } from './view';

/** Ranges that one request opens, of up to 1,000 events or 2 MB each. */
const MOST_OPENED = 5;

export interface FeedPage {
  events: StoredEvent[];
  next_after: number;
  has_more: boolean;
}

interface Range {
  first_sequence: number;
  last_sequence: number;
  events: string;
}

/** Ranges by their stored text: a stream needs one for many pages, and many streams need the same one. */
const opened = new QuickLRU<string, StoredEvent[]>({ maxSize: 1 });

/** The events of a range, or null if they cannot be read. */
export async function eventsOf({ events }: Pick<Range, 'events'>): Promise<StoredEvent[] | null> {
  const known = opened.get(events);
  if (known) return known;
  try {
    const text = fromUtf8(await gunzip(fromBase64(events) as Uint8Array)) as string;
    const found = JSON.parse(text) as StoredEvent[];
    opened.set(events, found);
    return found;
  } catch {
    return null;
  }
}

/** The range in D1 that contains the event after a sequence, or the next range. */
const rangeAfter = ({ env, org, trace }: RenderContext, sequence: number): Promise<Range | null> => {
  trace.d1_calls++;
  // An index finds the last range that starts early enough; if it ends too early, the next range is used.
  return env.DB.prepare(
    `select first_sequence, last_sequence, events from event_segments where org_id = ?1 and first_sequence >=
       coalesce((select max(first_sequence) from event_segments where org_id = ?1 and first_sequence <= ?2), 0)
       and last_sequence >= ?2 order by first_sequence limit 1`,
  )
    .bind(org, sequence + 1)
    .first<Range>()
    .catch(unavailable);
};

/** Continues after what the gate returned. */
export async function feedOn(
  context: RenderContext,
  part: EventsPart,
  types: EventType[] | null,
  limit: number,
): Promise<FeedPage> {
  const found: StoredEvent[] = [];
  let at = part.after;
  let looked = mostLookedAt(part.view);
  for (let opened = 0; at < part.moved; opened++) {
    if (opened === MOST_OPENED || looked <= 0) return { events: found, next_after: at, has_more: true };
    const range = await rangeAfter(context, at);
    const events = range && range.first_sequence <= at + 1 ? await eventsOf(range) : null;
    if (!events) {
      // Events found before the missing range are returned first.
      if (found.length) return { events: found, next_after: at, has_more: true };
      const isBroken = range !== null && range.first_sequence <= at + 1;
      throw new ApiError(
        eventsGone(isBroken ? range.last_sequence + 1 : (range?.first_sequence ?? part.moved + 1)),
      );
    }
    for (const event of events) {
      if (event.sequence <= at) continue;
      if (found.length === limit || looked-- <= 0) return { events: found, next_after: at, has_more: true };
      at = event.sequence;
      if (shows(part.view, types, event)) found.push(event);
    }
  }
  const here = part.events.slice(0, limit - found.length);
  const through = here.length < part.events.length ? (here.at(-1)?.sequence ?? at) : part.through;
  return { events: [...found, ...here], next_after: through, has_more: through < part.head };
}
