// Checks the hash chain of the audit log entry by entry. Pure. Invariant: an entry is accepted only if its
// sequence and prev_hash follow the previous entry and its own hash matches its contents. After a known gap
// the chain starts again.

import type { Missing } from '../../gate/archive/gaps';
import { genesis, hashOf } from '../../gate/audit/chain';
import type { Entry } from '../../gate/audit/entry';

/** Where a check continues: the next sequence, and the hash before it (null if not known yet). */
export interface Position {
  from: number;
  hash: string | null;
}

export interface Chain {
  /** The next sequence and the hash before it. */
  position(): Position;
  /** Takes the next entry; returns false if it does not follow. */
  take(entry: Entry): boolean;
  /** Skips the known gaps that begin here, one after the other. */
  skip(): void;
  /** The gaps that were skipped. */
  missing: Missing[];
  /** The hashes of the accepted entries, by sequence. */
  hashes: Map<number, string>;
}

/** `begins`: the first entry is the start of the log, regardless of its sequence. */
export function chainFrom(
  org: string,
  { from, hash: before }: Position,
  lost: readonly Missing[],
  begins = false,
): Chain {
  let expected = from;
  let hash = before;
  let isBegun = !begins;
  const missing: Missing[] = [];
  const hashes = new Map<number, string>();
  const gapHere = () => lost.find((one) => one.from <= expected && expected <= one.to);
  const skip = () => {
    // Lost by a restore, with a gate, and by a restore again.
    for (let gap = gapHere(); gap; gap = gapHere()) {
      missing.push({ ...gap, from: expected });
      expected = gap.to + 1;
      hash = null;
      isBegun = true;
    }
  };
  return {
    position: () => ({ from: expected, hash }),
    take(entry) {
      if (entry.sequence !== expected) skip();
      if (!isBegun && entry.sequence > expected) expected = entry.sequence;
      isBegun = true;
      const prev = hash ?? (entry.sequence === 1 ? genesis(org) : entry.prev_hash);
      // safety: audit-prev-hash-checked, audit-hash-checked
      if (entry.sequence !== expected || entry.prev_hash !== prev || entry.hash !== hashOf(entry))
        return false;
      hash = entry.hash;
      hashes.set(entry.sequence, hash);
      expected++;
      return true;
    },
    skip,
    missing,
    hashes,
  };
}
