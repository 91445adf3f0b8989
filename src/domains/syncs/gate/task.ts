// The sync task: requests a job for each sync whose turn it is, and starts automatic syncs after changes.
// Invariants: jobs are requested for an unfinished sync until it has ended; a change is recorded in its own
// turn, so no automatic sync is missed.

import type { SyncRow } from '../../../db/schema';
import type { Core, Declared } from '../../../gate/core';
import { forgetTries, forgetTriesIn } from './again';
import { followSecret, takeBack } from './handed';
import { syncs, targetIn } from './store';

/** How long changes of secrets wait for others, to be synced together. */
export const GATHERED = 3000;
/** How long a requested job may take to begin. */
const PATIENCE = 60_000;

export const follows: Declared['follows'] = {
  sync: (core, { id, after }, now) => (after ? followSync(core, after, now) : syncs(core).forget(id)),
  secret: followSecret,
  integration(core, { id, after }) {
    if (after !== null) return;
    syncs(core).forgetIntegration(id);
    forgetTries(core, id);
  },
  environment(core, { id, after }) {
    if (after !== null) return;
    syncs(core).forgetEnvironment(id);
    // safety: tries-end-with-environment
    forgetTriesIn(core, id);
  },
};

/** A sync is started, cancelled or ended. */
function followSync(core: Core, row: SyncRow, now: number): void {
  if (row.revision === 1 && row.credential === null && row.integration_id !== null)
    syncs(core).undue(row.integration_id, row.environment_id, row.created_at);
  if (row.cancelled_at !== null && row.finished_at === null) syncs(core).fail(row.id, cancelled, 'not begun');
  if (row.finished_at !== null) {
    syncs(core).release(row.id);
    takeBack(core, row.id);
  }
  core.schedule.at('syncs', now);
}

/** The error of names that were not begun when a sync is cancelled. */
export const cancelled = { code: 'NOT_ATTEMPTED', message: 'The sync was cancelled.' } as const;

/** Secrets of an environment change: automatic syncs are due a few seconds later. */
export function followEnvironment(core: Core, environment: string, now: number): void {
  for (const { id, auto, environments } of core.rows.within('integration', 'sync')) {
    if (!auto || (environments && !environments.includes(environment))) continue;
    syncs(core).due(id, environment, now + GATHERED);
    core.schedule.at('syncs', now + GATHERED);
  }
}

/**
 * The open syncs that are worked on now: of each target one that has begun, else the oldest. One that is
 * cancelled calls no target, so it waits for no other.
 */
export function current(core: Core): SyncRow[] {
  const turn = ({ id }: SyncRow) => `${syncs(core).startedAt(id) === null ? 1 : 0} ${id}`;
  const open = core.rows.within('sync', 'open').map((row) => ({ row, turn: turn(row) }));
  const targets = new Set<string>();
  return open
    .toSorted((a, b) => (a.turn < b.turn ? -1 : 1))
    .flatMap(({ row }) => {
      // safety: syncs-of-a-place-in-order
      const waits = targets.has(targetIn(row.place)) && row.cancelled_at === null;
      targets.add(targetIn(row.place));
      return waits ? [] : [row];
    });
}

/** One run. Returns when to look again. */
export async function runSyncs(core: Core, now: number): Promise<number | null> {
  if (core.rows.get('org', core.org)?.deleted_at !== null) return null;
  let next = Number.POSITIVE_INFINITY;
  const due = syncs(core).nextDue();
  if (due !== null && due <= now) {
    await core.enqueue('sync');
    next = now + PATIENCE;
  } else if (due !== null) next = due;
  for (const { id } of current(core)) {
    const at = syncs(core).askAt(id);
    if (at <= now) {
      syncs(core).asked(id, now + PATIENCE);
      await core.enqueue('sync', id);
    }
    next = Math.min(next, Math.max(at, now + PATIENCE));
  }
  return Number.isFinite(next) ? next : null;
}
