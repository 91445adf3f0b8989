// Lists in the audit entries of bulk reads: the caller's name patterns, and the secrets withheld for
// approval. Each list is written in full at least every twelve hours per caller, otherwise as a digest, so
// frequent reads do not fill the log. Invariant: the twelve hours before an entry contain the list for its
// digest; lists of withheld secrets may be missing for a caller with too many of them.

import QuickLRU from 'quick-lru';
import { sha256 } from '../../crypto/digest';
import type { Draft } from './entry';

const AGAIN = 12 * 3_600_000;
/** The most ids of withheld secrets listed for a credential and its descendants in twelve hours. */
const MOST_WITHHELD = 20_000;

export interface NotedLists {
  /** A draft with each list in full or as its digest. */
  noted(draft: Draft, now: number): Draft;
}

export function createNotedLists(): NotedLists {
  const last = new QuickLRU<string, number>({ maxSize: 2500 });
  const budgets = new QuickLRU<string, { until: number; left: number }>({ maxSize: 2500 });
  const hasRoom = (caller: string, ids: number, now: number): boolean => {
    const known = budgets.get(caller);
    const budget = known && known.until > now ? known : { until: now + AGAIN, left: MOST_WITHHELD };
    // safety: withheld-lists-bounded
    if (budget.left < ids) return false;
    budget.left -= ids;
    budgets.set(caller, budget);
    return true;
  };
  /** The digest of a list, with the list unless it was written recently. */
  const asNoted = (caller: string, list: readonly string[], now: number, room = () => true) => {
    const digest = sha256(JSON.stringify(list));
    const key = `${caller} ${digest}`;
    const isNoted = (last.get(key) ?? Number.NEGATIVE_INFINITY) > now - AGAIN;
    if (isNoted || !room()) return { digest, list: undefined };
    last.set(key, now);
    return { digest, list };
  };
  return {
    noted(draft, now) {
      const { actor, patterns, withheld } = draft;
      if (!patterns && !withheld) return draft;
      const caller = actor.id ?? '';
      const names = patterns && asNoted(caller, patterns, now);
      const secrets =
        withheld &&
        asNoted(caller, withheld, now, () => hasRoom(actor.parent_id ?? caller, withheld.length, now));
      return {
        ...draft,
        ...(names && { patterns: names.list, patterns_digest: names.digest }),
        ...(secrets && { withheld: secrets.list, withheld_digest: secrets.digest }),
      };
    },
  };
}
