// Walks the audit log from oldest to newest, in both places: closed segments in D1, then the gate. Only one
// part is in memory at a time. Invariant: unreadable entries are reported as a gap, never skipped silently.
import { and, asc, desc, eq, gte, lt, lte, or, type SQL, type SQLWrapper, sql } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/d1';
import { auditSegments } from '../../db/schema';
import type { Entry } from '../../gate/audit/entry';
import type { Context } from '../../http/context';
import { readSegment } from '../audit/reading';
import type { LogPart, Part } from './payloads';

/** Segments per query, of up to 1,000 entries each. */
const MOST_OPENED = 10;
/** The most ids for finding segments; with more, every segment is opened. */
const MOST_IDS = 1000;

/** Requests one part of the report from the gate. */
export type Parts = <T>(part: Part) => Promise<T>;

/** Sequences that are lost or unreadable. */
export interface Gap {
  from: number;
  to: number;
}

/** Which segments to open. The sets may grow during the walk. */
export interface Wanted {
  /** First and last sequence. */
  from?: number;
  to?: number;
  /** In milliseconds. */
  since?: number;
  actors?: ReadonlySet<string>;
  /** Segments with one of these actions are opened too, whoever acts in them. */
  besides?: ReadonlySet<string>;
  actions?: readonly string[];
  resources?: ReadonlySet<string>;
}

const among = (column: SQLWrapper, ids: Iterable<string>): SQL | undefined => {
  const list = [...ids];
  return list.length > MOST_IDS
    ? undefined
    : sql`exists (select 1 from json_each(${column}) where json_each.value in (select value from json_each(${JSON.stringify(list)})))`;
};

/** The entries of the wanted range, oldest first, part by part. Not every entry is a match. */
export async function* walk(
  context: Context,
  parts: Parts,
  wanted: Wanted,
  gaps: Gap[],
): AsyncGenerator<Entry[]> {
  const { from = 1, to = Number.MAX_SAFE_INTEGER, since = 0 } = wanted;
  const isWanted = ({ sequence, time }: Entry) => sequence <= to && Date.parse(time) >= since;
  let isFirst = true;
  for (let at = from; at <= to; ) {
    const part = await parts<LogPart>({ part: 'log', from: at });
    if (isFirst && part.missing.length) {
      const begin = since ? await before(context, since) : from;
      const lost = part.missing.filter((one) => one.to >= begin && one.from <= to);
      gaps.push(...lost.map((one) => ({ from: one.from, to: one.to })));
    }
    isFirst = false;
    if (at < part.oldest) {
      for await (const entries of walkSegments(context, part, wanted, at, gaps))
        yield entries.filter(isWanted);
      at = part.oldest;
      continue;
    }
    const last = part.entries.at(-1);
    if (last) yield part.entries.filter(isWanted);
    if (!last || last.sequence >= part.head) return;
    at = last.sequence + 1;
  }
}

const found = ({ actors, besides }: Wanted): number => (actors?.size ?? 0) + (besides?.size ?? 0);

/** The entries in D1 from a sequence on, and those that D1 rejected. */
async function* walkSegments(
  context: Context,
  part: LogPart,
  wanted: Wanted,
  from: number,
  gaps: Gap[],
): AsyncGenerator<Entry[]> {
  const held = part.held.filter(({ sequence }) => sequence >= from);
  const to = wanted.to ?? Number.MAX_SAFE_INTEGER;
  let at = from;
  for (let isMore = true; isMore && at <= to; ) {
    const segments = await segmentsFrom(context, wanted, at, part.oldest);
    isMore = segments.length === MOST_OPENED;
    for (const segment of segments) {
      while ((held[0]?.sequence ?? Number.POSITIVE_INFINITY) < segment.first) yield [held.shift() as Entry];
      const known = found(wanted);
      const opened = await readSegment(segment);
      if (!opened) gaps.push({ from: segment.first, to: segment.last });
      else yield opened.filter(({ sequence }) => sequence >= at);
      at = segment.last + 1;
      // A newly found actor may have acted in a segment that was skipped.
      // safety: exposure-rereads-segments
      if (found(wanted) !== known) {
        isMore = true;
        break;
      }
    }
  }
  if (held.length) yield held;
}

function actedIn(actors: ReadonlySet<string>, besides: ReadonlySet<string> | undefined): SQL | undefined {
  const by = among(auditSegments.actors, actors);
  return by && besides?.size ? or(by, among(auditSegments.actions, besides)) : by;
}

function segmentsFrom(
  context: Context,
  { to, since, actors, besides, actions, resources }: Wanted,
  at: number,
  oldest: number,
) {
  context.trace.d1_calls++;
  return drizzle(context.env.DB)
    .select({
      first: auditSegments.first_sequence,
      last: auditSegments.last_sequence,
      entries: auditSegments.entries,
    })
    .from(auditSegments)
    .where(
      and(
        eq(auditSegments.org_id, context.org),
        gte(auditSegments.last_sequence, at),
        lt(auditSegments.first_sequence, oldest),
        to === undefined ? undefined : lte(auditSegments.first_sequence, to),
        since ? gte(auditSegments.last_at, since) : undefined,
        actors && actedIn(actors, besides),
        actions && among(auditSegments.actions, actions),
        resources && among(auditSegments.resources, resources),
      ),
    )
    .orderBy(asc(auditSegments.first_sequence))
    .limit(MOST_OPENED);
}

/** The last sequence in D1 that is older than a time. */
async function before({ env, org, trace }: Context, time: number): Promise<number> {
  trace.d1_calls++;
  const [found] = await drizzle(env.DB)
    .select({ last: auditSegments.last_sequence })
    .from(auditSegments)
    .where(and(eq(auditSegments.org_id, org), lt(auditSegments.last_at, time)))
    .orderBy(desc(auditSegments.last_at))
    .limit(1);
  return found?.last ?? 0;
}
