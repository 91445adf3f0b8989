// Where the chain of the audit log has gaps: where retention has cut it, and which sequences are missing.
// Invariants: a cut is at the end of a segment that this gate moved itself, or took over once from a release
// that recorded none, and D1 cannot move it; a missing sequence is never given to another entry.

import { genesis } from '../audit/chain';
import type { Missing } from '../audit/entry';
import { systemEntry } from '../audit/entry';
import type { Core } from '../core';
import { checkpoints } from './checkpoints';

export interface Cut {
  sequence: number;
  hash: string;
}

/** Where the log is cut; null if never recorded. */
export const cutOf = ({ meta }: Pick<Core, 'meta'>): Cut | null =>
  JSON.parse(meta.get('cut') ?? 'null') as Cut | null;

export const noteCut = ({ meta }: Pick<Core, 'meta'>, { sequence, hash }: Cut): void =>
  meta.set('cut', JSON.stringify({ sequence, hash }));

/**
 * Takes over, once, the segments that an earlier release or a lost gate left in D1: where the log begins, and
 * where segments end. `tell`: missing sequences become an audit entry.
 */
export async function takeUpSegments(core: Core, { tell }: { tell: boolean }): Promise<void> {
  if (cutOf(core)) return;
  const segments = await core.database.all<{
    first: number;
    prev: string;
    sequence: number;
    hash: string;
    at: number;
  }>({
    sql: `select first_sequence "first", prev_hash prev, last_sequence sequence, last_hash hash, last_at at from audit_segments
      where org_id = ? order by first_sequence`,
    params: [core.org],
  });
  core.storage.transactionSync(() => {
    for (const { sequence, hash, at } of segments) checkpoints(core).closed({ sequence, hash, at });
    const [first] = segments;
    // safety: audit-cut-noted
    noteCut(
      core,
      first && first.first > 1
        ? { sequence: first.first - 1, hash: first.prev }
        : { sequence: 0, hash: genesis(core.org) },
    );
    if (tell) tellMissing(core);
  });
}

/**
 * Writes missing sequences into the log itself: an earlier release recorded them only in the gate, where an
 * offline check cannot see them.
 */
function tellMissing(core: Core): void {
  const missing = missingEntries(core);
  if (missing.length === 0) return;
  core.auditLog.append(
    systemEntry({
      action: 'audit.missing',
      resource: core.org,
      missing,
    }),
    200,
    core.now(),
  );
}

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
export const noteMissing = ({ meta }: Pick<Core, 'meta'>, missing: Missing[]): void =>
  meta.set('lost', JSON.stringify(missing));
