// Counts of audit entries by time, outcome and group of actions. Pure. Invariant: an entry counts in the
// bucket in which its time lies, as many times as it stands for requests.
import type { Entry } from '../../gate/audit/entry';

export type Outcomes = Record<Entry['outcome'], number>;

/** What happened in one bucket. */
export interface Bucket extends Outcomes {
  /** Requests by the first part of their action. */
  groups: Record<string, number>;
}

/** Equal parts of the time from `from` until before `to`. */
export interface Span {
  from: number;
  to: number;
  buckets: number;
}

/** Buckets by their number; those that are absent are empty. */
export type Counts = Record<number, Bucket>;

export const bucketOf = ({ from, to, buckets }: Span, time: number): number =>
  Math.min(buckets - 1, Math.floor(((time - from) * buckets) / (to - from)));

/** When a bucket begins. */
export const beginOf = ({ from, to, buckets }: Span, bucket: number): number =>
  from + Math.ceil((bucket * (to - from)) / buckets);

const groupOf = (action: string): string => action.slice(0, Math.max(0, action.indexOf('.'))) || action;

/** Counts entries that lie within a span. */
export function count(counts: Counts, span: Span, entries: readonly Entry[]): void {
  for (const { time, outcome, action, count: many } of entries) {
    const at = bucketOf(span, Date.parse(time));
    const bucket = counts[at] ?? { success: 0, denied: 0, failed: 0, groups: {} };
    counts[at] = bucket;
    bucket[outcome] += many;
    const group = groupOf(action);
    bucket.groups[group] = (bucket.groups[group] ?? 0) + many;
  }
}
