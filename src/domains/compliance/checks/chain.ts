// Checks on the audit log itself: its hash chain, checkpoints and retention. Pure.
import { DAY } from '../../../db/rows';
import { iso } from '../../../http/wire';
import { counted, findingOf, newTally, said, statusBy } from '../finding';
import type { Finding, Inventory } from '../wire';

/** How many days entries are kept by default. */
const DEFAULT_RETENTION = 400;
/** Days: the shortest retention that covers an audit year, and the highest age of the last checkpoint. */
const YEAR = 365;
const FRESH = 1;

/** What is known about the chain. */
export interface ChainFacts {
  head: { sequence: number; hash: string };
  from: number;
  to: number;
  /** The first entry that does not match, or null. */
  broken: { sequence: number; id: string | null; reason?: string } | null;
  missing: { from: number; to: number; reason: string }[];
  /** Segments that could not be read for the report. */
  unreadable: { from: number; to: number }[];
  checkpoint: { sequence: number; time: number } | null;
  retention_days: number | null;
}

export function chainFinding(facts: ChainFacts, now: number): Finding {
  const { head, from, to, broken, missing, unreadable, checkpoint } = facts;
  const retention = facts.retention_days ?? DEFAULT_RETENTION;
  const tally = newTally();
  const at = (sequence: number, detail: string, values: Record<string, string | number | null> = {}) => ({
    id: `sequence ${sequence}`,
    name: null,
    environment: null,
    time: null,
    detail,
    facts: { sequence, ...values },
  });
  if (broken)
    tally.add(() =>
      at(broken.sequence, 'The first sequence at which the chain or a checkpoint does not match.', {
        entry_id: broken.id,
        reason: broken.reason ?? null,
      }),
    );
  for (const gap of unreadable)
    tally.add(() => at(gap.from, `Entries ${gap.from} to ${gap.to} cannot be read.`, { to: gap.to }));
  for (const gap of missing)
    tally.add(() =>
      at(gap.from, `Entries ${gap.from} to ${gap.to} are lost (${gap.reason}).`, {
        to: gap.to,
        reason: gap.reason,
      }),
    );
  const isStale = checkpoint === null || checkpoint.time < now - FRESH * DAY;
  const last = checkpoint
    ? `The last checkpoint was signed at ${said(checkpoint.time)}, sequence ${checkpoint.sequence}.`
    : 'There is no checkpoint yet.';
  if (isStale) tally.add(() => at(checkpoint?.sequence ?? 0, last, { head: head.sequence }));
  if (retention < YEAR)
    tally.add(() =>
      at(head.sequence, `Entries are kept for ${retention} days.`, { retention_days: retention }),
    );
  return findingOf('audit-chain', {
    status: statusBy({
      fail: broken !== null || unreadable.length > 0,
      warn: missing.length > 0 || isStale || retention < YEAR,
    }),
    tested: `The hash chain of the newest ${counted(Math.max(0, to - from + 1), 'entry', 'entries')}, sequences ${from} to ${to} of ${head.sequence}, was recalculated; GET /audit-log/verify does so for all entries. ${last} Entries are kept for ${retention} days. Warn: entries are lost, the last checkpoint is older than ${FRESH * 24} hours, or the retention is below ${YEAR} days. Fail: an entry does not match or cannot be read.`,
    examined: Math.max(0, to - from + 1),
    tally,
  });
}

export const chainInventory = ({
  head,
  from,
  to,
  checkpoint,
  retention_days,
}: ChainFacts): Inventory['audit_log'] => ({
  head,
  verified_from: from,
  verified_to: to,
  last_checkpoint: checkpoint && { sequence: checkpoint.sequence, time: iso(checkpoint.time) },
  retention_days: retention_days ?? DEFAULT_RETENTION,
});
