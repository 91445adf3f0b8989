// The syncs that fail now: of each connection and environment, the last sync that ended, if something failed.
// Invariant: it tells only of syncs that the list shows.
import { idPrefixes } from '../../../db/ids';
import { DAY } from '../../../db/rows';
import type { SyncRow } from '../../../db/schema';
import type { Call } from '../../../gate/request/call';
import type { Walk } from '../../../gate/request/progress';
import { isListed } from './operations';

/** Rows that one step reads, and the cost of each in matching steps, more for each name. */
const PAGE = 50;
const COST = 3000;
const COST_OF_NAME = 100;
/** For how long a failed sync without a stored connection counts. */
const RECENT = 7 * DAY;

export interface Failing {
  /** The last sync that ended. */
  last: SyncRow;
  /** When the first of the failures in a row ended, and how many there are. */
  since: number;
  failures: number;
}

/** Of one connection and environment, from the newest sync on. */
interface Streak extends Failing {
  isOver: boolean;
}

const targetOf = ({ integration_id, environment_id, place, platform }: SyncRow) =>
  `${integration_id ?? `${platform} ${place}`} ${environment_id}`;

const isFailure = ({ status }: SyncRow) => status === 'failed' || status === 'partial';

/** Those of a caller, the last failed first. */
export function* failing(call: Call<unknown>): Walk<Failing[]> {
  const { rows } = call.core;
  const since = call.core.now() - RECENT;
  const streaks = new Map<string, Streak>();
  for (let before: string | null = null; ; ) {
    const page: SyncRow[] = rows.newest('sync', idPrefixes.sync, PAGE, before);
    for (const row of page) {
      const isEnded = row.finished_at !== null && row.cancelled_at === null;
      const isCurrent = row.integration_id !== null || row.created_at > since;
      if (isEnded && isCurrent && isListed(call, row)) note(streaks, row);
      yield COST + COST_OF_NAME * (row.names?.length ?? 0);
    }
    before = page.at(-1)?.id ?? null;
    if (page.length < PAGE) break;
  }
  return [...streaks.values()].filter(({ failures }) => failures > 0);
}

function note(streaks: Map<string, Streak>, row: SyncRow): void {
  const target = targetOf(row);
  const ended = row.finished_at as number;
  const known = streaks.get(target) ?? { last: row, since: ended, failures: 0, isOver: false };
  streaks.set(target, known);
  if (known.isOver) return;
  known.isOver = !isFailure(row);
  if (known.isOver) return;
  known.failures++;
  known.since = ended;
}
