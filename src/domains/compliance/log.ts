// Walks the audit log for a compliance report: newest first, the gate's entries and then closed segments. A
// segment is opened only if its indexed sets may match. Invariants: at most one segment is in memory at a
// time; a walk opens a bounded number of segments; the result says what was not opened or could not be read.
import { and, desc, eq, gte, inArray, lt, type SQL, sql } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/d1';
import { idStart } from '../../db/ids';
import { auditCheckpoints, auditSegments } from '../../db/schema';
import type { Entry } from '../../gate/audit/entry';
import type { RenderContext } from '../../http/context';
import type { VerifyPart } from '../audit/gate/operations';
import { readSegment } from '../audit/reading';
import { verifyOn } from '../audit/verify';
import type { ChainFacts } from './checks/chain';
import { administrative, rareActions } from './interest';
import type { EntriesPart, Overview, Part, Period } from './payloads';

/** Requests one part of the report from the gate. */
export type Parts = <T>(part: Part) => Promise<T>;

/** The most segments that one query names and returns. */
const AT_ONCE = 1000;
const OPENED_AT_ONCE = 5;
/** The most segments that a walk opens, of 1,000 entries each. */
const MOST_RARE = 500;
const MOST_REFUSED = 100;
/** Entries whose hashes are recalculated, and gate calls for it. */
const VERIFIED = 10_000;
const MOST_ROUNDS = 20;

/** Which segments a walk opens. */
export interface Wanted {
  where: SQL;
  most: number;
}

const some = (column: typeof auditSegments.actions | typeof auditSegments.actors, holds: SQL) =>
  sql`exists (select 1 from json_each(${column}) where ${holds})`;

/** Segments with emergencies or alarms. */
export const rare: Wanted = {
  where: sql`(${some(auditSegments.actions, sql`value in (select value from json_each(${JSON.stringify(rareActions)}))`)} or ${some(
    auditSegments.actors,
    // The character after `_`.
    sql`value > ${idStart('break_glass')} and value < ${idStart('break_glass').replace('_', '`')}`,
  )})`,
  most: MOST_RARE,
};

/** Segments with administrative requests; only their entries say which were refused. */
export const refused: Wanted = {
  where: some(
    auditSegments.actions,
    sql`substr(value, 1, instr(value, '.')) in (select value from json_each(${JSON.stringify(administrative)}))`,
  ),
  most: MOST_REFUSED,
};

/**
 * Passes on the gate's relevant entries, newest first. Returns the sequence below which D1 holds the rest.
 */
export async function walkGate(parts: Parts, period: Period, take: (entry: Entry) => void): Promise<number> {
  for (let before: number | null = null; ; ) {
    const part: EntriesPart = await parts<EntriesPart>({ part: 'entries', before, period });
    part.entries.forEach(take);
    // Entries that moved to D1 in the meantime and are newer than the last `before` were already passed on.
    // safety: report-entry-counted-once
    if (part.next === null) return Math.min(before ?? Number.MAX_SAFE_INTEGER, part.oldest);
    before = part.next;
  }
}

export interface Walked {
  /** Segments that may match, and how many were opened. */
  segments: number;
  opened: number;
  unreadable: { from: number; to: number }[];
}

/** Passes on the entries of matching segments older than a sequence, newest first. */
export async function walkSegments(
  context: RenderContext,
  { where, most }: Wanted,
  period: Period,
  before: number,
  take: (entry: Entry) => void,
): Promise<Walked> {
  const walked: Walked = { segments: 0, opened: 0, unreadable: [] };
  const { first_sequence, last_sequence, first_at, last_at, org_id, entries } = auditSegments;
  const db = drizzle(context.env.DB);
  const isWithin = ({ time, sequence }: Entry) =>
    sequence < before && Date.parse(time) >= period.from && Date.parse(time) < period.to;
  for (let at = before; ; ) {
    context.trace.d1_calls++;
    // An index narrows the segments by time; only those of the period have their sets examined.
    const found = await db
      .select({ first: first_sequence })
      .from(auditSegments)
      .where(
        and(
          eq(org_id, context.org),
          lt(first_sequence, at),
          gte(last_at, period.from),
          lt(first_at, period.to),
          where,
        ),
      )
      .orderBy(desc(first_sequence))
      .limit(AT_ONCE);
    walked.segments += found.length;
    const wanted = found.slice(0, Math.max(0, most - walked.opened)).map(({ first }) => first);
    for (let n = 0; n < wanted.length; n += OPENED_AT_ONCE) {
      context.trace.d1_calls++;
      const rows = await db
        .select({ first: first_sequence, last: last_sequence, entries })
        .from(auditSegments)
        .where(and(eq(org_id, context.org), inArray(first_sequence, wanted.slice(n, n + OPENED_AT_ONCE))))
        .orderBy(desc(first_sequence));
      for (const row of rows) {
        walked.opened++;
        const opened = await readSegment(row);
        if (opened) opened.reverse().filter(isWithin).forEach(take);
        else walked.unreadable.push({ from: row.first, to: row.last });
      }
    }
    if (found.length < AT_ONCE) return walked;
    at = (found.at(-1) as { first: number }).first;
  }
}

/** Verifies the newest part of the chain, and reads its last checkpoint. */
export async function chainOf(
  context: RenderContext,
  parts: Parts,
  { head, audit_retention_days }: Overview,
  unreadable: ChainFacts['unreadable'],
): Promise<ChainFacts> {
  const from = Math.max(1, head.sequence - VERIFIED + 1);
  const facts: ChainFacts = {
    head,
    from,
    to: from - 1,
    broken: null,
    missing: [],
    unreadable,
    checkpoint: await lastCheckpoint(context),
    retention_days: audit_retention_days,
  };
  let position: Parameters<typeof verifyOn>[2] | null = { from, hash: null };
  for (let round = 0; position && round < MOST_ROUNDS; round++) {
    const part: VerifyPart = await parts<VerifyPart>({ part: 'chain', from: position.from });
    const verdict = await verifyOn(context, part, position);
    if (round === 0) facts.from = verdict.checked_from;
    facts.to = verdict.checked_to;
    facts.head = verdict.head;
    facts.missing.push(...verdict.missing);
    facts.broken ??= verdict.broken ?? null;
    position = verdict.next;
  }
  return facts;
}

async function lastCheckpoint({ env, org, trace }: RenderContext): Promise<ChainFacts['checkpoint']> {
  trace.d1_calls++;
  const { sequence, time, org_id } = auditCheckpoints;
  const [last] = await drizzle(env.DB)
    .select({ sequence, time })
    .from(auditCheckpoints)
    .where(eq(org_id, org))
    .orderBy(desc(sequence))
    .limit(1);
  return last ?? null;
}
