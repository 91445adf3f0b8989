// The histogram of the audit log in the gate: counts the entries in its storage, and says below which
// sequence D1 holds the rest. Invariant: it counts what the list would show to the caller.
import { invalid } from '../../../errors';
import { cutOf } from '../../../gate/archive/gaps';
import type { Entry } from '../../../gate/audit/entry';
import type { Filter } from '../../../gate/audit/filter';
import { rateLimit } from '../../../gate/limits/rate-limit';
import type { Call, Operation } from '../../../gate/request/call';
import { fail, type Outcome, ok } from '../../../gate/request/outcome';
import { type Walk, walked } from '../../../gate/request/progress';
import { slugOf } from '../../../gate/request/target';
import { type Counts, count, type Span } from '../counting';
import { mostLookedAt, seenIn, shows, type View, viewOf } from '../view';

const DEFAULT = 7 * 86_400_000;
/** The entries of one step, and what they cost in matching steps. */
const PAGE = 1000;
const COST = 1_000_000;

export interface HistogramInput {
  filter: Filter;
  buckets: number;
}

/** What was counted in the gate, and what D1 holds of the log, as in the list. */
export interface HistogramPart {
  /** The oldest sequence that was counted; D1 holds everything older. */
  oldest: number;
  held: Entry[];
  cut: number;
  view: View | null;
  filter: Filter;
  span: Span;
  counts: Counts;
}

/** Counts what is in the gate, with a filter that has both times. */
export function* countedIn(call: Call<unknown>, filter: Filter, span: Span): Walk<HistogramPart> {
  const { core, caller } = call;
  // Past minutes that were not yet flushed belong in the result.
  core.storage.transactionSync(() => rateLimit(core).flush(core.now()));
  const view = viewOf(caller, (id) => slugOf(core, id));
  const counts: Counts = {};
  let before = core.auditLog.head().sequence + 1;
  for (;;) {
    // safety: histogram-within-view
    const isShown = (entry: Parameters<typeof shows>[1]) => shows(view, entry);
    const lookedAt = Math.min(PAGE, mostLookedAt(view));
    const { entries, next } = core.auditLog.newest(filter, before, PAGE, isShown, lookedAt);
    count(
      counts,
      span,
      entries.map((entry) => seenIn(view, entry)),
    );
    if (next === null) break;
    before = next;
    yield COST;
  }
  const rest = { oldest: Math.min(before, core.auditLog.oldest()), held: core.auditLog.held() };
  return { ...rest, cut: cutOf(core)?.sequence ?? 0, view, filter, span, counts };
}

export const histogram: Operation<HistogramInput> = {
  readsLog: true,
  read(call): Outcome {
    const { core, input } = call;
    const { to = core.now() + 1, from = to - DEFAULT } = input.filter;
    if (from >= to) return fail(invalid('from', 'must be before to, which defaults to now'));
    const span = { from, to, buckets: input.buckets };
    return ok(walked(call, () => countedIn(call, { ...input.filter, from, to }, span)));
  },
};
