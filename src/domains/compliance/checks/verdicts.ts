// Names compared with policies: each name once in a report, wherever it occurs. Invariant: a name whose
// comparison the report can no longer afford has no verdict.
import QuickLRU from 'quick-lru';
import { isFound } from '../../../auth/policies/naming';
import { appliesTo, matchesName, type PolicyTarget } from '../../../auth/policies/policies';
import type { NamingConfig, PolicyRow } from '../../../db/schema';
import { stepsOf } from '../../../gate/approvals/policies';
import type { Slices } from '../../../http/slices';

/** What policies say of a name. */
export interface Verdict {
  applies(policy: PolicyRow, target: PolicyTarget): boolean;
  /** Whether the name violates a naming policy. */
  isBroken(policy: PolicyRow): boolean;
}

/** How many names are remembered at least, with one byte for each policy. */
const MOST_KEPT = 5000;
const APPLIES = 1;
const BROKEN = 2;

export function newVerdicts(
  policies: readonly PolicyRow[],
  slices: Slices,
): { of(name: string): Verdict | null } {
  const steps = stepsOf(policies) + policies.length;
  const places = new Map(policies.map((policy, place) => [policy, place]));
  const kept = new QuickLRU<string, Uint8Array>({ maxSize: MOST_KEPT });
  const compare = (name: string) =>
    Uint8Array.from(
      policies.map(({ names, kind, config }) => {
        if (!matchesName(names, name)) return 0;
        return kind === 'naming' && !isFound((config as NamingConfig).pattern, name)
          ? APPLIES | BROKEN
          : APPLIES;
      }),
    );
  return {
    of(name) {
      const known = kept.get(name);
      if (!known && !slices.take(steps * name.length)) return null;
      const bits = known ?? compare(name);
      if (!known) kept.set(name, bits);
      const has = (policy: PolicyRow, bit: number) =>
        ((bits[places.get(policy) as number] as number) & bit) !== 0;
      return {
        applies: (policy, target) => has(policy, APPLIES) && appliesTo({ ...policy, names: null }, target),
        isBroken: (policy) => has(policy, BROKEN),
      };
    },
  };
}
