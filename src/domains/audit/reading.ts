// Reads the audit log from both places: the newest entries from the gate, the rest from segments in D1. A
// segment is opened only if its indexed sets may match the filter. Invariant: at most one segment is in
// memory at a time.

import { and, desc, eq, gt, gte, lt, or, type SQL, type SQLWrapper, sql } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/d1';
import { fromBase64, fromUtf8 } from '../../crypto/bytes';
import { gunzip } from '../../crypto/gzip';
import { idStart } from '../../db/ids';
import { auditSegments, type SegmentRow } from '../../db/schema';
import type { Entry } from '../../gate/audit/entry';
import { type Filter, finds, NAMELESS, SYSTEM } from '../../gate/audit/filter';
import { unwrap } from '../../gate/request/outcome';
import type { RenderContext } from '../../http/context';
import type { AuditPart } from './gate/operations';
import { seenIn, shows } from './view';

/** The most segments that one request opens, of up to 1,000 entries or 2 MB each. */
const MOST_OPENED = 10;

export interface Slice {
  items: Entry[];
  /** Pass this sequence for the next page; null at the end. */
  next: number | null;
  /** The time from which on all entries of the segments were looked at; absent at the end. */
  since?: number;
}

/** The entries of a segment, or null if they cannot be read. */
export async function readSegment(segment: Pick<SegmentRow, 'entries'>): Promise<Entry[] | null> {
  try {
    const text = fromUtf8(await gunzip(fromBase64(segment.entries) as Uint8Array));
    return JSON.parse(text as string) as Entry[];
  } catch {
    return null;
  }
}

/**
 * Continues after the gate's first part: through the rest of the gate's entries and then the segments, until
 * the page is full.
 */
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
    if (
      part.entries.length &&
      items.length === limit &&
      (items.at(-1) !== part.entries.at(-1) || part.next !== null)
    )
      return { items, next: (items.at(-1) as Entry).sequence };
    if (part.next === null) break;
    if (rounds === MOST_OPENED) return { items, next: part.next };
    const outcome = await context.further({
      filter,
      before: part.next,
      limit: limit + 1 - items.length,
      further: true,
    });
    part = unwrap(outcome).data as AuditPart;
  }
  const at = Math.min(before ?? Number.MAX_SAFE_INTEGER, part.oldest);
  return at <= 1 ? { items, next: null } : readSegments(context, part, filter, at, limit, items);
}

/** Fills a page from segments older than a sequence. */
export async function readSegments(
  context: Pick<RenderContext, 'env' | 'org' | 'trace'>,
  // A gate of the previous release does not send a cut.
  { view, held, cut = 0 }: Pick<AuditPart, 'view' | 'held' | 'cut'>,
  filter: Filter,
  before: number,
  limit: number,
  items: Entry[],
): Promise<Slice> {
  const isShown = (entry: Entry) => finds(filter, entry) && shows(view, entry);
  let at = before;
  let since: number | undefined;
  /** Takes entries older than `at`, newest first. Returns whether the page is full. */
  const take = (entries: Entry[]): boolean => {
    for (const entry of entries) {
      if (entry.sequence >= at || !isShown(entry)) continue;
      if (items.length === limit) return true;
      items.push(seenIn(view, entry));
    }
    return false;
  };
  const full = () => ({ items, next: (items.at(-1) as Entry).sequence });
  const heldFrom = (sequence: number) => held.filter((entry) => entry.sequence > sequence).reverse();
  for (let opened = 0; opened < MOST_OPENED; opened++) {
    const segment = await segmentBefore(context, filter, cut, at);
    if (!segment) return take(heldFrom(cut)) ? full() : { items, next: null };
    if (take(heldFrom(segment.last_sequence))) return full();
    at = Math.min(at, segment.last_sequence + 1);
    if (take(((await readSegment(segment)) ?? []).reverse())) return full();
    at = segment.first_sequence;
    since = segment.first_at;
  }
  return { items, next: at, since };
}

/** The newest segment older than a sequence that may match the filter. */
async function segmentBefore(
  context: Pick<RenderContext, 'env' | 'org' | 'trace'>,
  filter: Filter,
  cut: number,
  before: number,
): Promise<SegmentRow | null> {
  const has = (column: SQLWrapper, value: string | undefined): SQL | undefined =>
    value === undefined
      ? undefined
      : sql`exists (select 1 from json_each(${column}) where json_each.value = ${value})`;
  const hasAny = (column: SQLWrapper, values: readonly string[] | undefined): SQL | undefined =>
    values &&
    sql`exists (select 1 from json_each(${column}) as held where held.value in (select wanted.value from json_each(${JSON.stringify(values)}) as wanted))`;
  // The sets hold neither browser sessions nor the system of entries before 0.5.0.
  const byActor = (actor: string | undefined): SQL | undefined => {
    if (actor?.startsWith(idStart('browser'))) return undefined;
    return actor === SYSTEM
      ? or(has(auditSegments.actors, actor), hasAny(auditSegments.actions, NAMELESS))
      : has(auditSegments.actors, actor);
  };
  context.trace.d1_calls++;
  const [segment] = await drizzle(context.env.DB)
    .select()
    .from(auditSegments)
    .where(
      and(
        eq(auditSegments.org_id, context.org),
        lt(auditSegments.first_sequence, before),
        // safety: audit-cut-not-shown
        gt(auditSegments.last_sequence, cut),
        byActor(filter.actor),
        has(auditSegments.actions, filter.action),
        hasAny(auditSegments.actions, filter.actions),
        has(auditSegments.resources, filter.resource),
        filter.from === undefined ? undefined : gte(auditSegments.last_at, filter.from),
        filter.to === undefined ? undefined : lt(auditSegments.first_at, filter.to),
      ),
    )
    .orderBy(desc(auditSegments.first_sequence))
    .limit(1);
  return segment ?? null;
}

/** All matching entries, newest first, one per line. Parts are read only as the client consumes them. */
export function streamOf(context: RenderContext, first: Slice, filter: Filter): Response {
  const encoder = new TextEncoder();
  let slice = first;
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      if (slice.items.length)
        controller.enqueue(encoder.encode(slice.items.map((entry) => `${JSON.stringify(entry)}\n`).join('')));
      if (slice.next === null) return controller.close();
      const before = slice.next;
      const outcome = await context.further({ filter, before, limit: 1001, further: true });
      // A caller revoked in the meantime gets no more. The stream fails, so the client cannot mistake it for
      // complete.
      if (outcome.kind !== 'ok') return controller.error(new Error('no longer allowed'));
      slice = await readOn(context, outcome.data as AuditPart, filter, before, 1000);
    },
  });
  return new Response(body, { headers: { 'Content-Type': 'application/x-ndjson; charset=utf-8' } });
}
