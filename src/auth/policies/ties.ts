// Which people are tied to each other, for approvals. Pure. Invariants: the relation is symmetric and
// transitive, so nobody gains a second vote through people whom they brought in, however many are in between;
// a tie lasts seven days; one of a removed member still counts.
import { DAY } from '../../db/rows';

/**
 * How long two people are tied after one invited, re-enrolled or promoted the other, or added them to an
 * approving team.
 */
export const TIED_FOR = 7 * DAY;

/** Two people, by id, and when one brought in the other. */
export type Tie = readonly [one: string, other: string, at: number];

export interface Ties {
  /** Whether two people are the same, or tied directly or through others. */
  tied(one: string, other: string): boolean;
  /** When it was computed, and until when it holds: a tie ends then. */
  since: number;
  until: number;
}

/** The ties at a given time, joined into groups (union-find). */
export function tiesAt(ties: Iterable<Tie>, now: number): Ties {
  const above = new Map<string, string>();
  const top = (id: string): string => {
    let at = id;
    for (let next = above.get(at); next !== undefined; next = above.get(at)) {
      // Halves the path, so that later look-ups are short.
      const further = above.get(next);
      if (further !== undefined) above.set(at, further);
      at = next;
    }
    return at;
  };
  let until = Number.POSITIVE_INFINITY;
  for (const [one, other, at] of ties) {
    // safety: tie-ends
    if (at + TIED_FOR <= now) continue;
    until = Math.min(until, at + TIED_FOR);
    const a = top(one);
    const b = top(other);
    if (a !== b) above.set(a, b);
  }
  return { tied: (one, other) => top(one) === top(other), since: now, until };
}
