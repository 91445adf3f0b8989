// Verifies the audit log part by part: recalculates every hash and compares it with the signed checkpoints.
// Invariants: the response names the first fault; entries deleted by retention are not a fault, entries
// missing for any other reason are.
import { and, asc, eq, gt, gte, lt, lte } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/d1';
import { auditCheckpoints, auditSegments, type CheckpointRow } from '../../db/schema';
import type { Missing } from '../../gate/archive/gaps';
import type { Entry } from '../../gate/audit/entry';
import { keysOf, type RenderContext } from '../../http/context';
import { type Chain, chainFrom, type Position } from './check-chain';
import { MOST_CHECKPOINTS, type VerifyPart } from './gate/operations';
import { readSegment } from './reading';
import { type CheckpointKey, checkpointKey } from './signing';

/** The most segments that one request opens, of up to 1,000 entries or 2 MB each. */
const MOST_OPENED = 10;

/**
 * What is wrong: an entry breaks the chain, or a checkpoint was altered, is missing, contradicts the chain or
 * is ahead of it.
 */
export type Fault = 'entry' | 'checkpoint_altered' | 'checkpoint_missing' | 'checkpoint_differs' | 'cut_off';

interface Broken {
  sequence: number;
  id: string | null;
  reason: Fault;
}

/** A gap, and the highest sequence in it that a checkpoint confirms. */
type Lost = Missing & { confirmed_through: number | null };

export interface Verdict {
  ok: boolean;
  checked_from: number;
  checked_to: number;
  head: { sequence: number; hash: string };
  /** Checkpoints that match the entries of this part. */
  checkpoints: number;
  next: Position | null;
  broken?: Broken;
  /** Gaps within this part; the chain is checked again after each. */
  missing: Lost[];
}

/** Verifies the next part of the chain: several segments, or the entries in the gate. */
export async function verifyOn(context: RenderContext, part: VerifyPart, asked: Position): Promise<Verdict> {
  const { head, cut, from } = part;
  const isAtCut = cut !== null && from === cut.sequence + 1;
  // safety: audit-verified-from-cut
  const start = isAtCut ? { from, hash: cut.hash } : asked;
  const chain = chainFrom(context.org, start, part.missing, cut === null && asked.from === 1);
  const faults = [await walk(context, part, chain, start.from)];
  const walked = chain.position();
  const isAtEnd = walked.from > head.sequence;
  // All entries present may follow each other and still not reach the head.
  if (!faults[0] && isAtEnd && walked.hash !== null && walked.hash !== head.hash)
    faults.push({ sequence: head.sequence, id: null, reason: 'entry' });
  if (!faults[0] && !isAtEnd && walked.from === start.from)
    faults.push({ sequence: walked.from, id: null, reason: 'entry' });
  if (isAtCut) chain.hashes.set(cut.sequence, cut.hash);
  const signed = await compare(context, part, chain, isAtCut ? cut.sequence : start.from, isAtEnd);
  const [broken] = [...faults, signed.fault]
    .filter((fault) => fault !== null)
    .sort((a, b) => a.sequence - b.sequence);
  return {
    ok: !broken,
    checked_from: start.from,
    checked_to: walked.from - 1,
    head,
    checkpoints: signed.confirmed,
    next: broken || isAtEnd ? null : walked,
    ...(broken && { broken }),
    missing: signed.missing,
  };
}

/** Takes the entries of this part and skips known gaps. Returns the first entry that does not follow. */
async function walk(
  context: RenderContext,
  part: VerifyPart,
  chain: Chain,
  from: number,
): Promise<Broken | null> {
  for await (const { sequence, entries } of partsFrom(context, part, from)) {
    if (!entries) return { sequence, id: null, reason: 'entry' };
    const bad = entries.find((entry) => entry.sequence >= from && !chain.take(entry));
    if (bad) return { sequence: bad.sequence, id: bad.id, reason: 'entry' };
  }
  if (chain.position().from <= part.head.sequence) chain.skip();
  return null;
}

/** Entries from a sequence on, oldest first, one part at a time; null for an unreadable segment. */
export async function* partsFrom(
  context: Pick<RenderContext, 'env' | 'org' | 'trace'>,
  part: Pick<VerifyPart, 'oldest' | 'entries' | 'held'>,
  from: number,
  most = MOST_OPENED,
): AsyncGenerator<{ sequence: number; entries: Entry[] | null }> {
  if (from >= part.oldest) return yield { sequence: from, entries: part.entries };
  const held = part.held.filter(({ sequence }) => sequence >= from);
  let at = from;
  for (let opened = 0; ; opened++) {
    if (opened === most) return;
    const segment = await segmentFrom(context, at, part.oldest);
    if (!segment) break;
    while ((held[0]?.sequence ?? Number.POSITIVE_INFINITY) < segment.first_sequence)
      yield oneOf(held.shift() as Entry);
    yield { sequence: segment.first_sequence, entries: await readSegment(segment) };
    at = Math.max(at, segment.last_sequence) + 1;
  }
  for (const entry of held) yield oneOf(entry);
}

const oneOf = (entry: Entry) => ({ sequence: entry.sequence, entries: [entry] });

/** The segment that contains a sequence, or the next one after it. */
async function segmentFrom(
  context: Pick<RenderContext, 'env' | 'org' | 'trace'>,
  at: number,
  oldest: number,
) {
  context.trace.d1_calls++;
  const [segment] = await drizzle(context.env.DB)
    .select()
    .from(auditSegments)
    .where(
      and(
        eq(auditSegments.org_id, context.org),
        gte(auditSegments.last_sequence, at),
        lt(auditSegments.first_sequence, oldest),
      ),
    )
    .orderBy(asc(auditSegments.first_sequence))
    .limit(1);
  return segment ?? null;
}

/**
 * Compares the checkpoints in D1 with the verified part of the chain and with those that the gate says must
 * exist.
 */
async function compare(
  context: RenderContext,
  part: VerifyPart,
  chain: Chain,
  from: number,
  isAtEnd: boolean,
) {
  const { from: after } = chain.position();
  const key = await checkpointKey(keysOf(context).checkpoint);
  const rows = await checkpointsOf(context, from, after - 1);
  const faults = [absentOf(part, rows, from, after - 1)];
  const missing: Lost[] = chain.missing.map((one) => ({ ...one, confirmed_through: null }));
  let confirmed = 0;
  for (const row of rows) {
    const fault = await faultOf(key, row, chain);
    if (fault) {
      faults.push({ sequence: Number(row.sequence), id: null, reason: fault });
      break;
    }
    const lost = missing.find((one) => one.from <= row.sequence && row.sequence <= one.to);
    if (lost) lost.confirmed_through = row.sequence;
    else if (chain.hashes.has(row.sequence)) confirmed++;
  }
  if (isAtEnd) faults.push(await aheadOf(context, part, key));
  const [fault = null] = faults.filter((one) => one !== null).sort((a, b) => a.sequence - b.sequence);
  return { fault, confirmed, missing };
}

async function faultOf(key: CheckpointKey, row: CheckpointRow, chain: Chain): Promise<Fault | null> {
  if (!(await key.isGenuine(row))) return 'checkpoint_altered';
  const hash = chain.hashes.get(row.sequence);
  // safety: checkpoint-compared
  return hash !== undefined && hash !== row.hash ? 'checkpoint_differs' : null;
}

/** A checkpoint that the gate stored and D1 no longer has. */
function absentOf(
  { checkpoints }: VerifyPart,
  rows: CheckpointRow[],
  from: number,
  to: number,
): Broken | null {
  const there = new Set(rows.map(({ sequence }) => sequence));
  // safety: checkpoint-deletion-noticed
  const gone = checkpoints.find((sequence) => sequence >= from && sequence <= to && !there.has(sequence));
  return gone === undefined ? null : { sequence: gone, id: null, reason: 'checkpoint_missing' };
}

/** A checkpoint newer than the newest entry: the log was truncated. */
async function aheadOf(
  context: RenderContext,
  { head, now }: VerifyPart,
  key: CheckpointKey,
): Promise<Broken | null> {
  context.trace.d1_calls++;
  const rows = await drizzle(context.env.DB)
    .select()
    .from(auditCheckpoints)
    .where(
      and(
        eq(auditCheckpoints.org_id, context.org),
        gt(auditCheckpoints.sequence, head.sequence),
        lt(auditCheckpoints.time, now),
      ),
    )
    .orderBy(asc(auditCheckpoints.sequence))
    .limit(1);
  const [row] = rows;
  if (!row) return null;
  // safety: truncated-log-noticed
  return (await key.isGenuine(row))
    ? { sequence: head.sequence + 1, id: null, reason: 'cut_off' }
    : { sequence: Number(row.sequence), id: null, reason: 'checkpoint_altered' };
}

async function checkpointsOf(context: RenderContext, from: number, to: number): Promise<CheckpointRow[]> {
  context.trace.d1_calls++;
  return drizzle(context.env.DB)
    .select()
    .from(auditCheckpoints)
    .where(
      and(
        eq(auditCheckpoints.org_id, context.org),
        gte(auditCheckpoints.sequence, from),
        lte(auditCheckpoints.sequence, to),
      ),
    )
    .orderBy(asc(auditCheckpoints.sequence))
    .limit(MOST_CHECKPOINTS);
}
