// The histogram of the audit log: adds the entries in segments to what the gate has counted, from the newest
// on. Invariant: one segment is in memory at a time, and a request opens a bounded number.
import type { z } from '@hono/zod-openapi';
import type { RenderContext } from '../../http/context';
import { iso } from '../../http/wire';
import { type Bucket, beginOf, count } from './counting';
import type { HistogramPart } from './gate/histogram';
import { readSegments } from './reading';
import type { Histogram } from './wire';

/** How often ten segments are opened. */
const MOST_ROUNDS = 5;

const empty = (): Bucket => ({ success: 0, denied: 0, failed: 0, groups: {} });

/** The histogram, and the time from which on it is complete. */
export async function histogramOf(
  context: Pick<RenderContext, 'env' | 'org' | 'trace'>,
  part: HistogramPart,
  rounds = MOST_ROUNDS,
): Promise<z.infer<typeof Histogram>> {
  const { span, filter, counts } = part;
  let complete = span.from;
  for (let at: number | null = part.oldest, round = 0; at !== null && at > 1; round++) {
    // safety: histogram-segments-bounded
    if (round === rounds) break;
    const slice: Awaited<ReturnType<typeof readSegments>> = await readSegments(
      context,
      part,
      filter,
      at,
      Number.POSITIVE_INFINITY,
      [],
    );
    count(counts, span, slice.items);
    at = slice.next;
    // Nothing is before the first entry.
    complete = at === null || at <= 1 ? span.from : Math.max(span.from, (slice.since ?? span.from) + 1);
  }
  const data = Array.from({ length: span.buckets }, (_, bucket) => ({
    time: iso(beginOf(span, bucket)),
    ...(counts[bucket] ?? empty()),
  }));
  return { from: iso(span.from), to: iso(span.to), complete_from: iso(complete), data };
}
