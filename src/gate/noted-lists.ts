// Lists in the audit entries of bulk reads: the name patterns of the caller, and the secrets that were withheld for approval. A list stands
// in full at least once in twelve hours for each caller, else as its digest, so that frequent reads do not fill the log. Invariant: whoever
// reads the log from twelve hours before an entry finds the list that its digest stands for; a list of withheld secrets may be missing
// where a caller has caused too many.

import QuickLRU from 'quick-lru';
import { sha256 } from '../crypto/digest';
import type { Draft } from './audit-entry';

const AGAIN = 12 * 3_600_000;
/** Ids of withheld secrets that a credential and those below it cause to be listed in twelve hours. */
const MOST_WITHHELD = 20_000;

export interface NotedLists {
  /** A draft as it is written: each list in full, or as its digest. */
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
  /** The digest of a list, and the list unless it was written before. */
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
      const secrets = withheld && asNoted(caller, withheld, now, () => hasRoom(actor.parent_id ?? caller, withheld.length, now));
      return {
        ...draft,
        ...(names && { patterns: names.list, patterns_digest: names.digest }),
        ...(secrets && { withheld: secrets.list, withheld_digest: secrets.digest }),
      };
    },
  };
}
