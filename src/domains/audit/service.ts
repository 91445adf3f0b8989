// Reading the audit log over both its places: the newest entries from the gate, the rest from segments in D1, opened only where the
// sets beside them say that a filter may match. And checking it: every hash is made anew.

import { and, asc, desc, eq, gte, lt, type SQL, type SQLWrapper, sql } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/d1';
import { fromBase64, fromUtf8 } from '../../crypto/bytes';
import { gunzip } from '../../crypto/gzip';
import { auditSegments, type SegmentRow } from '../../db/schema';
import { type Entry, type Filter, genesis, hashOf } from '../../gate/audit-log';
import type { Missing } from '../../gate/missing-entries';
import { unwrap } from '../../gate/outcome';
import type { RenderContext } from '../../http/context';
import type { AuditPart, VerifyPart } from './gate/operations';
import { shows } from './view';

/** Segments that one request opens, of a thousand entries or 2 MB each. */
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
export async function readSegment(segment: Pick<SegmentRow, 'entries'>): Promise<Entry[] | null> {
  try {
    const text = fromUtf8(await gunzip(fromBase64(segment.entries) as Uint8Array));
    return JSON.parse(text as string) as Entry[];
  } catch {
    return null;
  }
}

/** Goes on from what the gate gave: to the rest that lies there, and into the segments, until the page is full. */
export async function readOn(
  context: RenderContext,
  first: AuditPart,
  filter: Filter,
  before: number | null,
  limit: number,
): Promise<Slice> {
  const items: Entry[] = [];
  let part = first;
  for (let rounds = 0; ; rounds++) {
    items.push(...part.entries.slice(0, limit - items.length));
    if (part.entries.length && items.length === limit && (items.at(-1) !== part.entries.at(-1) || part.next !== null))
      return { items, next: (items.at(-1) as Entry).sequence };
    if (part.next === null) break;
    if (rounds === MOST_OPENED) return { items, next: part.next };
    const outcome = await context.further({ filter, before: part.next, limit: limit + 1 - items.length, further: true });
    part = unwrap(outcome).data as AuditPart;
  }
  const at = Math.min(before ?? Number.MAX_SAFE_INTEGER, part.oldest);
  return at <= 1 ? { items, next: null } : readSegments(context, part, filter, at, limit, items);
}

/** Fills a page from the segments that are older than a sequence. */
async function readSegments(
  context: RenderContext,
  { view, held }: AuditPart,
  filter: Filter,
  before: number,
  limit: number,
  items: Entry[],
): Promise<Slice> {
  const segments = await segmentsBefore(context, filter, before);
  const isShown = (entry: Entry) => matches(entry, filter) && shows(view, entry);
  let at = before;
  /** Takes entries that come before `at`, newest first; answers whether the page is full. */
  const take = (entries: Entry[]): boolean => {
    for (const entry of entries) {
      if (entry.sequence >= at || !isShown(entry)) continue;
      if (items.length === limit) return true;
      items.push(entry);
    }
    return false;
  };
  const full = () => ({ items, next: (items.at(-1) as Entry).sequence });
  const heldFrom = (sequence: number) => held.filter((entry) => entry.sequence > sequence).reverse();
  for (const segment of segments.slice(0, MOST_OPENED)) {
    if (take(heldFrom(segment.last_sequence))) return full();
    at = Math.min(at, segment.last_sequence + 1);
    if (take(((await readSegment(segment)) ?? []).reverse())) return full();
    at = segment.first_sequence;
  }
  if (segments.length > MOST_OPENED) return { items, next: at };
  return take(heldFrom(0)) ? full() : { items, next: null };
}

/** Segments older than a sequence that may hold what a filter looks for, newest first; one more than a request opens. */
async function segmentsBefore(context: RenderContext, filter: Filter, before: number): Promise<SegmentRow[]> {
  const has = (column: SQLWrapper, value: string | undefined): SQL | undefined =>
    value === undefined ? undefined : sql`exists (select 1 from json_each(${column}) where json_each.value = ${value})`;
  context.trace.d1_calls++;
  return drizzle(context.env.DB)
    .select()
    .from(auditSegments)
    .where(
      and(
        eq(auditSegments.org_id, context.org),
        lt(auditSegments.first_sequence, before),
        has(auditSegments.actors, filter.actor),
        has(auditSegments.actions, filter.action),
        has(auditSegments.resources, filter.resource),
        filter.from === undefined ? undefined : gte(auditSegments.last_at, filter.from),
        filter.to === undefined ? undefined : lt(auditSegments.first_at, filter.to),
      ),
    )
    .orderBy(desc(auditSegments.first_sequence))
    .limit(MOST_OPENED + 1);
}

/** All entries that match, newest first, one a line, read part by part while the receiver takes them. */
export function streamOf(context: RenderContext, first: Slice, filter: Filter): Response {
  const encoder = new TextEncoder();
  let slice = first;
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      if (slice.items.length) controller.enqueue(encoder.encode(slice.items.map((entry) => `${JSON.stringify(entry)}\n`).join('')));
      if (slice.next === null) return controller.close();
      const before = slice.next;
      const outcome = await context.further({ filter, before, limit: 1001, further: true });
      // A caller who has ended meanwhile gets no more: the stream breaks off, so that nobody takes it for whole.
      if (outcome.kind !== 'ok') return controller.error(new Error('no longer allowed'));
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
  /** Lost stretches within this part: the chain is checked from behind them on. */
  missing: Missing[];
}

/** Entries from a sequence on, oldest first, a part at a time; null for a segment that cannot be read. */
async function* partsFrom(
  context: RenderContext,
  part: VerifyPart,
  from: number,
): AsyncGenerator<{ sequence: number; entries: Entry[] | null }> {
  if (from >= part.oldest) return yield { sequence: from, entries: part.entries };
  context.trace.d1_calls++;
  const segments = await drizzle(context.env.DB)
    .select()
    .from(auditSegments)
    .where(
      and(eq(auditSegments.org_id, context.org), gte(auditSegments.last_sequence, from), lt(auditSegments.first_sequence, part.oldest)),
    )
    .orderBy(asc(auditSegments.first_sequence))
    .limit(MOST_OPENED);
  const held = part.held.filter(({ sequence }) => sequence >= from);
  for (const segment of segments) {
    while ((held[0]?.sequence ?? Number.POSITIVE_INFINITY) < segment.first_sequence) yield oneOf(held.shift() as Entry);
    yield { sequence: segment.first_sequence, entries: await readSegment(segment) };
  }
  if (segments.length < MOST_OPENED) for (const entry of held) yield oneOf(entry);
}

const oneOf = (entry: Entry) => ({ sequence: entry.sequence, entries: [entry] });

/** Checks the next part of the chain: some segments, or what lies in the gate. */
export async function verifyOn(context: RenderContext, part: VerifyPart, position: Position): Promise<Verdict> {
  const { head } = part;
  let { from: expected, hash } = position;
  // What is older than the oldest kept segment has been cleared away after its time: the chain is checked from there on.
  let isBegun = position.from > 1 || hash !== null;
  const missing: Missing[] = [];
  const verdict = (rest: Partial<Verdict>): Verdict => ({
    ...{ ok: true, checked_from: position.from, checked_to: expected - 1, head, next: null, missing },
    ...rest,
  });
  const broken = (sequence: number, id: string | null) => verdict({ ok: false, broken: { sequence, id } });
  /** Goes on behind a lost stretch, if one begins here. */
  const skip = () => {
    const stretch = part.missing.find(({ from, to }) => from <= expected && expected <= to);
    if (!stretch) return;
    missing.push({ ...stretch, from: expected });
    expected = stretch.to + 1;
    hash = null;
    isBegun = true;
  };

  for await (const { sequence, entries } of partsFrom(context, part, position.from)) {
    if (!entries) return broken(sequence, null);
    for (const entry of entries) {
      if (entry.sequence < position.from) continue;
      if (entry.sequence !== expected) skip();
      if (!isBegun && entry.sequence > expected) expected = entry.sequence;
      isBegun = true;
      const before = hash ?? (entry.sequence === 1 ? genesis(context.org) : entry.prev_hash);
      // safety: audit-prev-hash-checked, audit-hash-checked
      if (entry.sequence !== expected || entry.prev_hash !== before || entry.hash !== hashOf(entry))
        return broken(entry.sequence, entry.id);
      hash = entry.hash;
      expected++;
    }
  }
  if (expected <= head.sequence) skip();
  if (expected > head.sequence) return hash === null || hash === head.hash ? verdict({}) : broken(head.sequence, null);
  return expected === position.from ? broken(expected, null) : verdict({ next: { from: expected, hash } });
}
