// What an adoption changed: counts, and the names of what was lost or stays ended. Invariants: it is kept
// with each step as the step takes effect here, so an adoption that was cut off and repeated reports all of
// it; the lists are bounded, and what does not fit is counted.
import type { Adoption } from '../audit/entry';
import type { Meta } from '../meta';

/** The report with when it was made, and by which request. */
interface Kept extends Adoption {
  done: boolean;
  at: number;
  request_id: string;
}

/** The most bytes of the lists: they are part of an audit entry. */
const MOST_BYTES = 100_000;

const none = (): Adoption => ({
  restored: 0,
  ended: 0,
  lost: 0,
  refused: 0,
  newer: 0,
  audit_entries_lost: 0,
  lost_secrets: [],
  lost_versions: [],
  kept_revocations: [],
  unnamed: 0,
});

const isNone = ({ lost_versions, kept_revocations, ...counts }: Adoption): boolean =>
  ![
    counts.restored,
    counts.ended,
    counts.lost,
    counts.refused,
    counts.newer,
    lost_versions.length,
    kept_revocations.length,
  ].some(Boolean);

/** What a report needs of the gate. */
interface Keeping {
  meta: Meta;
  now(): number;
}

const keptIn = ({ meta }: Keeping): Kept | null => JSON.parse(meta.get('adoption') ?? 'null');

export type Report = ReturnType<typeof reportOf>;

/** The report of this adoption, or of the one that was cut off before it. */
export function reportOf(core: Keeping, request_id: string) {
  const before = keptIn(core);
  const found: Adoption = before && !before.done ? { ...none(), ...before } : none();
  let bytes = JSON.stringify([found.lost_secrets, found.lost_versions, found.kept_revocations]).length;
  const keep = (done: boolean) => {
    const { done: _, at: __, request_id: ___, ...report } = found as Kept;
    if (!isNone(report))
      core.meta.set('adoption', JSON.stringify({ ...report, done, at: core.now(), request_id }));
  };
  const name = <T extends object>(list: T[], one: T) => {
    bytes += JSON.stringify(one).length;
    if (bytes > MOST_BYTES) found.unnamed++;
    else list.push(one);
  };
  return {
    found,
    name,
    /** Keeps what was found so far; within the transaction in which it takes effect. */
    keep: () => keep(false),
    /** Ends it. An adoption that found nothing tells what the last one found. */
    end(): Kept | null {
      keep(true);
      return keptIn(core);
    },
  };
}
