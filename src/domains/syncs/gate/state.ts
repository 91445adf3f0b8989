// How a sync is shown and how it ends. Invariant: a sync ends once, with one event, and the credentials of
// its request are erased.
import type { Result } from '../../../adapters/sync/steps';
import type { SyncRow } from '../../../db/schema';
import type { Core } from '../../../gate/core';
import type { Call } from '../../../gate/request/call';
import type { Plan } from '../../../gate/request/plan';
import { slugOf } from '../../../gate/request/target';
import { revision } from '../../../gate/request/writes';
import { syncs } from './store';

/**
 * How a sync ended, from the results of its names. `isStopped`: something ended it early, perhaps before its
 * names were known.
 */
export function statusOf(results: readonly Result[], isStopped = false): 'completed' | 'partial' | 'failed' {
  if (!results.some(({ action }) => action === 'failed'))
    // safety: stopped-sync-not-completed
    return isStopped && results.length === 0 ? 'failed' : 'completed';
  return results.some(({ action }) => action !== 'failed' && action !== 'skipped') ? 'partial' : 'failed';
}

/** The plan that ends a sync, from the recorded results. */
export function ending(
  call: Call<unknown>,
  row: SyncRow,
  { retryAfter, isStopped }: { retryAfter: number | null; isStopped: boolean },
  now: number,
): Required<Pick<Plan, 'writes' | 'events'>> {
  const { core } = call;
  const results = syncs(core).results(row.id);
  const status = statusOf(results, isStopped);
  const started_at = syncs(core).startedAt(row.id);
  const ended = { status, started_at, finished_at: now };
  // The names are kept once, with their results.
  // safety: sync-credentials-forgotten
  const put = revision(call, 'sync', row, {
    ...ended,
    retry_after: retryAfter,
    credentials_sealed: null,
    names: row.names && [],
  });
  return {
    writes: [put],
    events: [
      {
        type: status === 'completed' ? 'SYNC_COMPLETED' : 'SYNC_FAILED',
        data: dataOf(core, row, status, results),
      },
    ],
  };
}

const ACTIONS = ['created', 'updated', 'unchanged', 'deleted', 'skipped', 'failed'] as const;

/** A sync in events: with counts but without names of secrets. */
function dataOf(
  core: Core,
  { id, platform, integration_id, environment_id }: SyncRow,
  status: string,
  results: readonly Result[],
) {
  const counts = ACTIONS.map((action) => [
    action,
    results.filter((result) => result.action === action).length,
  ]);
  return {
    sync_id: id,
    platform,
    integration_id,
    status,
    ...(integration_id !== null && { name: core.rows.get('integration', integration_id)?.name ?? null }),
    environment: slugOf(core, environment_id),
    environment_id,
    counts: Object.fromEntries(counts),
  };
}
