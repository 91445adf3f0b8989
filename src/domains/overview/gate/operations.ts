// Operations for people who look: one call, one audit entry, and no part without its scope.
import { DAY } from '../../../db/rows';
import type { Call, Operation } from '../../../gate/request/call';
import { type Outcome, ok } from '../../../gate/request/outcome';
import { type Walk, walked } from '../../../gate/request/progress';
import { actions as auditActions } from '../../audit/actions';
import { countedIn, type HistogramPart } from '../../audit/gate/histogram';
import { within } from './lists';
import { type Parts, partsOf } from './overview';
import { folded, found, type SearchInput } from './search';

const HOUR = 3_600_000;
const DAYS = 7;

export interface OverviewParts {
  parts: Parts;
  activity: HistogramPart | null;
}

/** Seven days by whole hours, up to the current one. */
function* activity(call: Call<unknown>): Walk<HistogramPart | null> {
  const listing = within(call, auditActions['audit.histogram'], null);
  if (!listing) return null;
  const to = (Math.floor(call.core.now() / HOUR) + 1) * HOUR;
  const span = { from: to - DAYS * DAY, to, buckets: DAYS * 24 };
  return yield* countedIn(listing, { from: span.from, to }, span);
}

function* overviewOf(call: Call<unknown>): Walk<OverviewParts> {
  return { parts: yield* partsOf(call), activity: yield* activity(call) };
}

const overview: Operation<Record<string, never>> = {
  readsLog: true,
  read: (call): Outcome => ok(walked(call, () => overviewOf(call))),
};

const search: Operation<SearchInput> = {
  read(call): Outcome {
    const folding = { ...call, input: { text: folded(call.input.text) } };
    return ok(walked(call, () => found(folding)));
  },
};

export const overviewOperations = { 'org.overview': overview, 'org.search': search };
