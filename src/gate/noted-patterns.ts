// The name patterns of bulk reads in the audit log: in full at least once in twelve hours for each caller and set of patterns, else as
// their digest, so that a caller with many patterns does not fill the log with them. Invariant: whoever reads the log from twelve hours
// before an entry finds the patterns that its digest stands for.

import QuickLRU from 'quick-lru';
import { sha256 } from '../crypto/digest';
import type { Draft } from './audit-log';

const AGAIN = 12 * 3_600_000;

export interface NotedPatterns {
  /** What an entry says of the patterns of a caller. */
  noted(caller: string, patterns: readonly string[], now: number): Pick<Draft, 'patterns' | 'patterns_digest'>;
}

export function createNotedPatterns(): NotedPatterns {
  const last = new QuickLRU<string, number>({ maxSize: 2500 });
  return {
    noted(caller, patterns, now) {
      const patterns_digest = sha256(JSON.stringify(patterns));
      const key = `${caller} ${patterns_digest}`;
      const isNoted = (last.get(key) ?? Number.NEGATIVE_INFINITY) > now - AGAIN;
      if (!isNoted) last.set(key, now);
      return { patterns: isNoted ? undefined : patterns, patterns_digest };
    },
  };
}
