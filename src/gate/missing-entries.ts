// Missing sequences of the audit log, so a check of the chain can name and skip them. Invariant: a sequence recorded here is never given to
// another entry.
import type { Missing } from './audit-entry';
import type { Core } from './core';

export type { Missing };

/** The missing ranges, oldest first. A release before 0.4.0 recorded those of restores as pairs. */
export function missingEntries({ meta }: Pick<Core, 'meta'>): Missing[] {
  const noted = JSON.parse(meta.get('lost') ?? '[]') as ([number, number] | Missing)[];
  return noted.map((one) => (Array.isArray(one) ? { from: one[0], to: one[1], reason: 'restore' } : one));
}

/** The gaps between sorted ranges, as missing. */
export function gapsBetween(stretches: { from: number; to: number }[], reason: Missing['reason']): Missing[] {
  const gaps: Missing[] = [];
  let expected = stretches[0]?.from ?? 1;
  for (const { from, to } of stretches) {
    if (from > expected) gaps.push({ from: expected, to: from - 1, reason });
    expected = Math.max(expected, to + 1);
  }
  return gaps;
}

/** Replaces the recorded ranges. */
export const noteMissing = ({ meta }: Pick<Core, 'meta'>, missing: Missing[]): void => meta.set('lost', JSON.stringify(missing));
