// The task of syncs: asks the Worker to work on each sync whose turn it is, and begins those that changed secrets ask for. Invariants: a sync that nobody
// works on is asked for again until it has ended; what changed is noted in the turn of its change, so that no automatic sync is forgotten.
import type { SyncRow } from '../db/schema';
import type { Core } from './core';

/** How long changes of secrets wait for others, to be synced together. */
export const GATHERED = 3000;
/** How long a job that was asked for may take to begin. */
const PATIENCE = 60_000;

/** A sync is asked for, cancelled or ended, just before its row says so. */
export function followSync(core: Core, row: SyncRow, now: number): void {
  if (row.revision === 1 && row.credential === null && row.integration_id !== null)
    core.syncs.undue(row.integration_id, row.environment_id, row.created_at);
  if (row.cancelled_at !== null && row.finished_at === null) core.syncs.fail(row.id, cancelled, 'not begun');
  if (row.finished_at !== null) core.syncs.release(row.id);
  core.schedule.at('syncs', now);
}

/** What the names that were not begun fail with once a sync is cancelled. */
export const cancelled = { code: 'NOT_ATTEMPTED', message: 'The sync was cancelled.' } as const;

/** Secrets of an environment change: what is synced automatically is due a few seconds later. */
export function followEnvironment(core: Core, environment: string, now: number): void {
  for (const { id, auto, environments } of core.rows.within('integration', 'sync')) {
    if (!auto || (environments && !environments.includes(environment))) continue;
    core.syncs.due(id, environment, now + GATHERED);
    core.schedule.at('syncs', now + GATHERED);
  }
}

/** One run. Answers when to look again. */
export async function runSyncs(core: Core, org: string, now: number): Promise<number | null> {
  if (core.rows.get('org', org)?.deleted_at !== null) return null;
  let next = Number.POSITIVE_INFINITY;
  const due = core.syncs.nextDue();
  if (due !== null && due <= now) {
    await core.enqueue('sync');
    next = now + PATIENCE;
  } else if (due !== null) next = due;
  const places = new Set<string>();
  for (const { id, place } of core.rows.within('sync', 'open').sort((a, b) => (a.id < b.id ? -1 : 1))) {
    // Those of one place wait for the first.
    if (places.has(place)) continue;
    places.add(place);
    const at = core.syncs.askAt(id);
    if (at <= now) {
      core.syncs.asked(id, now + PATIENCE);
      await core.enqueue('sync', id);
    }
    next = Math.min(next, Math.max(at, now + PATIENCE));
  }
  return Number.isFinite(next) ? next : null;
}
