// Reading the audit log over both its places: the newest entries from the gate, the rest from segments in D1, opened only where the
// sets beside them say that a filter may match. And checking it: every hash is made anew.
import { and, asc, desc, eq, gte, lt, lte, type SQL, type SQLWrapper, sql } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/d1';
import { fromBase64, fromUtf8 } from '../../crypto/bytes';
import { gunzip } from '../../crypto/gzip';
import { auditSegments, type SegmentRow } from '../../db/schema';
import { type Entry, type Filter, genesis, hashOf } from '../../gate/chain';
import type { Context } from '../../http/context';
import type { AuditPart, VerifyPart } from './operations';

/** Segments that one request opens: a thousand entries each. */
const MOST_OPENED = 10;

export interface Slice {
  items: Entry[];
  /** Sequence before which to go on, or null at the end. */
  next: number | null;
}

const matches = (entry: Entry, { actor, action, resource, outcome, from, to }: Filter) => {
  const at = Date.parse(entry.time);
  return (
    (actor === undefined || entry.actor.id === actor) &&
    (action === undefined || entry.action === action) &&
    (resource === undefined || entry.resource === resource) &&
    (outcome === undefined || entry.outcome === outcome) &&
    (from === undefined || at >= from) &&
    (to === undefined || at < to)
  );
};

/** The entries of a segment, or null if they cannot be read. */
export async function openSegment(segment: Pick<SegmentRow, 'entries'>): Promise<Entry[] | null> {
  try {
    const text = fromUtf8(await gunzip(fromBase64(segment.entries) as Uint8Array));
    return JSON.parse(text as string) as Entry[];
  } catch {
    return null;
  }
}

/** Goes on from what the gate gave, into the segments, until the page is full. */
export async function readOn(context: Context, part: AuditPart, filter: Filter, before: number | null, limit: number): Promise<Slice> {
  const items = part.entries.slice(0, limit);
  if (part.entries.length > limit) return { items, next: (items.at(-1) as Entry).sequence };
  let at = Math.min(before ?? Number.MAX_SAFE_INTEGER, part.oldest);
  if (at <= 1) return { items, next: null };

  const has = (column: SQLWrapper, value: string | undefined): SQL | undefined =>
    value === undefined ? undefined : sql`exists (select 1 from json_each(${column}) where json_each.value = ${value})`;
  const where = [
    eq(auditSegments.org_id, context.org),
    lt(auditSegments.first_sequence, at),
    has(auditSegments.actors, filter.actor),
    has(auditSegments.actions, filter.action),
    has(auditSegments.resources, filter.resource),
    filter.from === undefined ? undefined : gte(auditSegments.last_at, filter.from),
    filter.to === undefined ? undefined : lt(auditSegments.first_at, filter.to),
  ];
  context.trace.d1_calls++;
  const segments = await drizzle(context.env.DB)
    .select()
    .from(auditSegments)
    .where(and(...where))
    .orderBy(desc(auditSegments.first_sequence))
    .limit(MOST_OPENED + 1);
  for (const segment of segments.slice(0, MOST_OPENED)) {
    for (const entry of ((await openSegment(segment)) ?? []).reverse()) {
      if (entry.sequence >= at || !matches(entry, filter)) continue;
      if (items.length === limit) return { items, next: (items.at(-1) as Entry).sequence };
      items.push(entry);
    }
    at = segment.first_sequence;
  }
  return { items, next: segments.length > MOST_OPENED ? at : null };
}

/** All entries that match, newest first, one a line, read part by part while the receiver takes them. */
export function streamOf(context: Context, first: Slice, filter: Filter): Response {
  const encoder = new TextEncoder();
  let slice = first;
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      if (slice.items.length) controller.enqueue(encoder.encode(slice.items.map((entry) => `${JSON.stringify(entry)}\n`).join('')));
      if (slice.next === null) return controller.close();
      const before = slice.next;
      const outcome = await context.further({ filter, before, limit: 1001, further: true });
      // A caller who has ended meanwhile gets no more: the stream breaks off, so that nobody takes it for whole.
      if (outcome.ok !== true) return controller.error(new Error('no longer allowed'));
      slice = await readOn(context, outcome.data as AuditPart, filter, before, 1000);
    },
  });
  return new Response(body, { headers: { 'Content-Type': 'application/x-ndjson; charset=utf-8' } });
}

/** Where a check of the chain stands: from which sequence on, and which hash comes before it (null where it is not known yet). */
export interface Position {
  from: number;
  hash: string | null;
}

export interface Verdict {
  ok: boolean;
  checked_from: number;
  checked_to: number;
  head: { sequence: number; hash: string };
  next: Position | null;
  broken?: { sequence: number; id: string | null };
  /** Stretches within this part that were lost with a database: the chain is checked from behind them on. */
  lost?: { from: number; to: number }[];
}

/** Checks the next part of the chain: some segments, or what lies in the gate. */
export async function verifyOn(context: Context, part: VerifyPart, position: Position): Promise<Verdict> {
  const { head, oldest } = part;
  const parts: { sequence: number; entries: Entry[] | null }[] = [];
  if (position.from < oldest) {
    context.trace.d1_calls++;
    const segments = await drizzle(context.env.DB)
      .select()
      .from(auditSegments)
      .where(
        and(
          eq(auditSegments.org_id, context.org),
          gte(auditSegments.last_sequence, position.from),
          lte(auditSegments.first_sequence, oldest),
        ),
      )
      .orderBy(asc(auditSegments.first_sequence))
      .limit(MOST_OPENED);
    for (const segment of segments) parts.push({ sequence: segment.first_sequence, entries: await openSegment(segment) });
  } else parts.push({ sequence: position.from, entries: part.entries });

  // What is older than the oldest kept segment has been cleared away after its time: the chain is checked from there on.
  const cleared = position.hash === null && position.from === 1;
  let hash = position.hash;
  let expected = position.from;
  const verdict = (rest: Partial<Verdict>): Verdict => ({
    ok: true,
    checked_from: position.from,
    checked_to: expected - 1,
    head,
    next: null,
    ...rest,
  });
  const broken = (sequence: number, id: string | null) => verdict({ ok: false, broken: { sequence, id } });

  const lost: { from: number; to: number }[] = [];
  /** Goes on behind a stretch that was lost with a database, if one begins here. */
  const skip = () => {
    const stretch = part.lost.find(([first, last]) => first <= expected && expected <= last);
    if (!stretch) return;
    lost.push({ from: expected, to: stretch[1] });
    expected = stretch[1] + 1;
    hash = null;
  };
  const passed = (rest: Partial<Verdict>) => verdict({ ...(lost.length && { lost }), ...rest });

  for (const { sequence, entries } of parts) {
    if (!entries) return broken(sequence, null);
    for (const entry of entries) {
      if (cleared && expected === 1 && entry.sequence > 1) expected = entry.sequence;
      if (entry.sequence !== expected) skip();
      const before = hash ?? (entry.sequence === 1 ? genesis(context.org) : entry.prev_hash);
      if (entry.sequence !== expected || entry.prev_hash !== before || entry.hash !== hashOf(entry))
        return broken(entry.sequence, entry.id);
      hash = entry.hash;
      expected++;
    }
  }
  const nothing = parts.length === 0 || (parts.length === 1 && parts[0]?.entries?.length === 0);
  skip();
  if (nothing && lost.length === 0) return expected > head.sequence ? passed({}) : broken(expected, null);
  if (expected > head.sequence) return hash === head.hash ? passed({}) : broken(head.sequence, null);
  return passed({ next: { from: expected, hash } });
}
