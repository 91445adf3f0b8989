// The hash chain of the audit log, checked entry by entry. Pure. Invariant: an entry counts only if it follows the one before it, by its
// sequence and by hash, and its own hash is that of its contents; behind a stretch that is known to be lost the chain begins anew.
import { type Entry, genesis, hashOf } from '../../gate/audit-entry';
import type { Missing } from '../../gate/missing-entries';

/** Where a check of the chain stands: from which sequence on, and which hash comes before it (null where it is not known yet). */
export interface Position {
  from: number;
  hash: string | null;
}

export interface Chain {
  /** The sequence that comes next, and the hash before it. */
  position(): Position;
  /** Takes the next entry; false where it does not follow. */
  take(entry: Entry): boolean;
  /** Goes on behind a lost stretch, if one begins here. */
  skip(): void;
  /** Lost stretches that were passed. */
  missing: Missing[];
  /** The hashes of the entries that were taken. */
  hashes: Map<number, string>;
}

/** `begins`: the first entry is where the log begins, whatever its sequence. */
export function chainFrom(org: string, { from, hash: before }: Position, lost: readonly Missing[], begins = false): Chain {
  let [expected, hash, isBegun] = [from, before, !begins];
  const missing: Missing[] = [];
  const hashes = new Map<number, string>();
  const skip = () => {
    const stretch = lost.find((one) => one.from <= expected && expected <= one.to);
    if (!stretch) return;
    missing.push({ ...stretch, from: expected });
    expected = stretch.to + 1;
    hash = null;
    isBegun = true;
  };
  return {
    position: () => ({ from: expected, hash }),
    take(entry) {
      if (entry.sequence !== expected) skip();
      if (!isBegun && entry.sequence > expected) expected = entry.sequence;
      isBegun = true;
      const prev = hash ?? (entry.sequence === 1 ? genesis(org) : entry.prev_hash);
      // safety: audit-prev-hash-checked, audit-hash-checked
      if (entry.sequence !== expected || entry.prev_hash !== prev || entry.hash !== hashOf(entry)) return false;
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
