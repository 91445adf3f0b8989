// Ties: who counts as the same person for approvals, against a naive model.
import fc from 'fast-check';
import { expect, it, vi } from 'vitest';
import { TIED_FOR, type Tie, tiesAt } from '../../../src/auth/policies/ties';

const people = ['ann', 'bob', 'cat', 'dan', 'eve', 'fay', 'gus', 'hal'];
const someone = fc.constantFrom(...people);
const history = fc.array(fc.tuple(someone, someone, fc.nat(2 * TIED_FOR)), { maxLength: 20 });

/** Whether a walk over ties that are in force leads from one to the other. */
function isReached(ties: readonly Tie[], from: string, to: string, now: number): boolean {
  const reached = new Set([from]);
  for (let before = 0; before !== reached.size; ) {
    before = reached.size;
    for (const [one, other, at] of ties) {
      if (now - at >= TIED_FOR) continue;
      if (reached.has(one)) reached.add(other);
      if (reached.has(other)) reached.add(one);
    }
  }
  return reached.has(to);
}

it('tie: two people are tied if and only if ties of the last seven days lead from one to the other', () => {
  fc.assert(
    fc.property(history, fc.nat(3 * TIED_FOR), (ties, now) => {
      const { tied, until } = tiesAt(ties, now);
      for (const one of people)
        for (const other of people) {
          expect(tied(one, other)).toBe(isReached(ties, one, other, now));
          expect(tied(one, other)).toBe(tied(other, one));
          // Nothing changes before the time that is promised.
          if (Number.isFinite(until)) expect(isReached(ties, one, other, until - 1)).toBe(tied(one, other));
        }
    }),
    { numRuns: 300 },
  );
});

it('tie: a chain of 2,000 people is computed in a few steps for each of them', () => {
  const chain = Array.from({ length: 2000 }, (_, n): Tie => [`m${n}`, `m${n + 1}`, n]);
  for (const ties of [chain, [...chain].reverse()]) {
    const steps = vi.spyOn(Map.prototype, 'get');
    const isTied = tiesAt(ties, 2000).tied('m0', 'm2000');
    const count = steps.mock.calls.length;
    steps.mockRestore();
    expect(isTied).toBe(true);
    expect(count).toBeLessThan(20 * 2000);
  }
});
