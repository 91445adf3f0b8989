// When an automatic sync is made again: its platform did not answer, so the change that it was for has not
// arrived. Invariants: only an automatic sync is made again; tries of one connection and environment are
// bounded, and counted anew after the last one or a success; nothing is kept of what is gone.
import { isAway } from '../../../adapters/sync/judge';
import type { SyncRow } from '../../../db/schema';
import type { Core } from '../../../gate/core';
import { syncs } from './store';

/**
 * The first pause, each twice as long as the one before; the longest; and how many tries there are: about two
 * days in all.
 */
const FIRST = 5 * 60_000;
const LONGEST = 6 * 3_600_000;
const TRIES = 13;

const prefixOf = (integration: string) => `sync_tries:${integration}:`;

/** A sync ends with these results. `wait`: for how many seconds the platform wants no calls. */
export function makeAgain(core: Core, row: SyncRow, wait: number | null, now: number): void {
  if (row.credential !== null || row.integration_id === null) return;
  const { rows } = core;
  // safety: tries-end-with-connection
  if (!rows.get('integration', row.integration_id) || !rows.get('environment', row.environment_id)) return;
  const key = prefixOf(row.integration_id) + row.environment_id;
  const tries = Number(core.meta.get(key) ?? 0);
  const mayArrive = syncs(core)
    .results(row.id)
    .some((result) => result.action === 'failed' && isAway(result));
  if (!mayArrive || tries >= TRIES) {
    if (tries > 0) core.meta.forget(key);
    return;
  }
  core.meta.set(key, String(tries + 1));
  syncs(core).due(
    row.integration_id,
    row.environment_id,
    now + Math.max(Math.min(FIRST * 2 ** tries, LONGEST), (wait ?? 0) * 1000),
  );
}

/** A connection is gone. */
export const forgetTries = (core: Core, integration: string): void => core.meta.drop(prefixOf(integration));

/** An environment is gone. */
export const forgetTriesIn = (core: Core, environment: string): void => {
  for (const { id } of core.rows.within('integration', 'sync')) core.meta.forget(prefixOf(id) + environment);
};
