// Builds a finding: a count, the first pieces of evidence and a status by thresholds. Pure.
import { iso } from '../../http/wire';
import { catalogue, type FindingId } from './catalogue';
import type { Evidence, Finding, Status } from './wire';

/** The most pieces of evidence in a finding. */
const MOST_EVIDENCE = 100;

/** Counts what is found and keeps the first pieces of evidence. */
export interface Tally {
  readonly count: number;
  readonly evidence: Evidence[];
  add(make: () => Evidence): void;
}

export function newTally(): Tally {
  const evidence: Evidence[] = [];
  let count = 0;
  return {
    get count() {
      return count;
    },
    evidence,
    add(make) {
      count++;
      // safety: report-evidence-bounded
      if (evidence.length < MOST_EVIDENCE) evidence.push(make());
    },
  };
}

/** What was tested, and the result. */
export interface Outcome {
  status: Status;
  tested: string;
  examined: number;
  tally: Pick<Tally, 'count' | 'evidence'>;
  complete?: boolean;
}

export function findingOf(
  id: FindingId,
  { status, tested, examined, tally, complete = true }: Outcome,
): Finding {
  const { title, area, remedy, soc2, iso27001 } = catalogue[id];
  return {
    id,
    title,
    area,
    status,
    tested,
    examined,
    count: tally.count,
    complete,
    evidence: tally.evidence,
    remedy,
    controls: { soc2: [...soc2], iso27001: [...iso27001] },
  };
}

/** The most severe status that applies. */
export const statusBy = ({ fail = false, warn = false }: { fail?: boolean; warn?: boolean }): Status =>
  fail ? 'fail' : warn ? 'warn' : 'pass';

/** A number with its noun: `1 secret`, `12 secrets`. */
export const counted = (n: number, noun: string, plural = `${noun}s`): string =>
  `${n.toLocaleString('en')} ${n === 1 ? noun : plural}`;

/** A time in a sentence: to the minute, in UTC. The facts contain the exact time. */
export const said = (time: number | string): string => {
  const text = typeof time === 'number' ? iso(time) : time;
  return `${text.slice(0, 10)} ${text.slice(11, 16)} UTC`;
};
