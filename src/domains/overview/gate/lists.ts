// Lists as parts of one answer. Invariants: a part is absent where the list would refuse; it has what the
// list would show to this caller, by the list's own code.
import { fullNeed, type Need } from '../../../auth/actions';
import { mayAct } from '../../../auth/authorize';
import { ApiError } from '../../../errors';
import type { Call, Operation } from '../../../gate/request/call';
import type { ListInput } from '../../../gate/request/listing';
import { type Outcome, refusalOf } from '../../../gate/request/outcome';
import type { Walk } from '../../../gate/request/progress';

/** The cost of one page of a list in matching steps: it examines up to 1,000 rows. */
const PAGE_COST = 1_000_000;
const PAGE = 100;

/** The call of a list within another call; null if the list would refuse it. */
export function within<I>(call: Call<unknown>, need: Need, input: I, operation?: Operation<never>) {
  const listing = { ...call, need: fullNeed(need), input } as Call<I>;
  // safety: part-needs-the-scope-of-its-list
  if (mayAct(call.caller, listing.need, call.ask.request.ip)) return null;
  return operation?.reach?.(listing as Call<never>) ? null : listing;
}

/** All items of a list; null if the list would refuse. */
export function* itemsOf<T>(
  call: Call<unknown>,
  need: Need,
  operation: Operation<never>,
  filters: object = {},
): Walk<T[] | null> {
  const items: T[] = [];
  for (let after: string | null = null; ; ) {
    const listing = within(call, need, { ...filters, limit: PAGE, after } as ListInput, operation);
    if (!listing) return null;
    const outcome = operation.read?.(listing as Call<never>) as Outcome;
    if (outcome.kind !== 'ok') throw new ApiError(refusalOf(outcome));
    const page = outcome.data as { items: T[]; next: string | null };
    items.push(...page.items);
    after = page.next;
    if (after === null) return items;
    yield PAGE_COST;
  }
}
