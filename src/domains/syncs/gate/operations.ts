// Operations on syncs in the gate: list, show, cancel, and start automatic syncs after changes.

import { failed, type Result } from '../../../adapters/sync/steps';
import { namesHeld, reaches, reachesEnvironment, type Steps, stepsFor } from '../../../auth/authorize';
import { idPrefixes, newId } from '../../../db/ids';
import type { SyncRow } from '../../../db/schema';
import { type Refusal, refuse } from '../../../errors';
import type { Draft } from '../../../gate/audit/entry';
import type { Call, Operation } from '../../../gate/request/call';
import type { ListInput } from '../../../gate/request/listing';
import { found, type Outcome, ok } from '../../../gate/request/outcome';
import { namedId } from '../../../gate/request/target';
import { insertion, revision } from '../../../gate/request/writes';
import { placeOf } from '../place';
import { syncOut } from '../wire';
import { end, names, next, permit, plan, take, values } from './run';
import { MOST_SECRETS, pinned } from './select';
import { sync } from './start';
import { syncs } from './store';
import { cancelled } from './task';

const target = ({ ask }: Call<unknown>) => namedId(ask, 'sync');

/** The most matching steps of one request. */
const MOST_STEPS = 20_000_000;

/** Whether the caller asked for a sync, or a credential that ends with it. */
function isOwn({ caller }: Call<unknown>, { requester }: SyncRow): boolean {
  const { id, parent_id } = requester as Draft['actor'];
  return caller.id !== '' && [id, parent_id].includes(caller.id);
}

/** Whether a sync is shown to the caller: one outside its environments looks non-existent. */
export const isListed = ({ caller, need }: Call<unknown>, { environment_id }: SyncRow): boolean =>
  // safety: syncs-outside-limits-hidden
  reachesEnvironment(caller, need.scopes, environment_id);

/** A sync that the caller may know. */
function find(call: Call<unknown>): SyncRow | null {
  const row = call.core.rows.get('sync', target(call));
  return row && isListed(call, row) ? row : null;
}

/** The results that the caller may know: of names within its limits, and of those that it named itself. */
function resultsFor(
  call: Call<unknown>,
  row: SyncRow,
  results: Result[],
  steps = stepsFor(call.caller, call.need.scopes, MOST_STEPS),
) {
  const { caller, need } = call;
  // A sync of names has results of no others.
  const isNamed = isOwn(call, row) && row.names !== null;
  // safety: sync-results-within-limits
  return results.filter(
    ({ name }) =>
      isNamed ||
      (steps.take(row.environment_id, name) && reaches(caller, need.scopes, row.environment_id, name)),
  );
}

const shown = (call: Call<unknown>, row: SyncRow, steps?: Steps) =>
  syncOut(
    row,
    resultsFor(call, row, syncs(call.core).results(row.id), steps),
    syncs(call.core).startedAt(row.id),
  );

/** The most results on one page of the list; a page may be shorter for it. */
const MOST_SHOWN = 5000;

/** Newest first. */
const list: Operation<ListInput> = {
  read(call): Outcome {
    const { core, caller, need, input } = call;
    const steps = stepsFor(caller, need.scopes, MOST_STEPS);
    const rows = core.rows.newest('sync', idPrefixes.sync, input.limit + 1, input.after);
    const items: unknown[] = [];
    let last = input.after;
    let results = 0;
    for (const row of rows.slice(0, input.limit)) {
      results += syncs(core).count(row.id);
      if (items.length > 0 && results > MOST_SHOWN) return ok({ items, next: last });
      const item = isListed(call, row) ? shown(call, row, steps) : null;
      // The next page has steps of its own.
      if (items.length > 0 && !steps.take(row.environment_id, '')) return ok({ items, next: last });
      if (item) items.push(item);
      last = row.id;
    }
    return ok({ items, next: rows.length > input.limit ? last : null });
  },
};

const status: Operation<Record<string, never>> = {
  read: (call) => found(find(call), (row) => shown(call, row)),
};

/** 403 for a sync of others that goes beyond the caller's names. */
function mayCancel(call: Call<unknown>): Refusal | null {
  const { caller, need } = call;
  const row = find(call);
  if (!row || isOwn(call, row) || namesHeld(caller, need.scopes, row.environment_id) === null) return null;
  const steps = stepsFor(caller, need.scopes, MOST_STEPS);
  const within = (name: string) =>
    steps.take(row.environment_id, name) && reaches(caller, need.scopes, row.environment_id, name);
  // safety: sync-cancelled-within-limits
  return row.names?.length && row.names.every(within)
    ? null
    : refuse('INSUFFICIENT_SCOPE', {
        message: 'This sync sends secrets outside the names of this credential, so it cannot cancel it.',
      });
}

const cancel: Operation<Record<string, never>> = {
  reach: mayCancel,
  change: {
    plan(call, now) {
      const { core } = call;
      const row = find(call);
      if (!row) return refuse('NOT_FOUND');
      if (row.finished_at !== null) return refuse('SYNC_ENDED');
      const about = { cancelled_at: row.cancelled_at ?? now };
      // The job that has the lease ends the sync; calls under way are finished.
      const put = revision(call, 'sync', row, about);
      const open = syncs(core)
        .steps(row.id, MOST_SECRETS)
        .filter(({ begun }) => !begun);
      const results = [
        ...syncs(core).results(row.id),
        ...open.map(({ name, target }) => failed(name, target, cancelled)),
      ];
      return {
        status: 200,
        data: syncOut(put.row as SyncRow, resultsFor(call, row, results), syncs(core).startedAt(row.id)),
        writes: [put],
      };
    },
  },
};

/** Starts the automatic syncs that changed secrets ask for. */
const auto: Operation<Record<string, never>> = {
  change: {
    plan(call, now) {
      const { core, ask } = call;
      // A sync that has not started yet will send the newer values.
      const waiting = core.rows
        .within('sync', 'open')
        // safety: cancelled-sync-sends-no-change
        .filter(({ id, cancelled_at }) => cancelled_at === null && syncs(core).startedAt(id) === null);
      const writes = syncs(core)
        .dueBy(now)
        .flatMap(({ integration, environment }) => {
          const row = core.rows.get('integration', integration);
          const isThere = row?.auto && core.rows.get('environment', environment) !== null;
          const isWaiting = waiting.some(
            (one) =>
              one.credential === null &&
              one.integration_id === integration &&
              one.environment_id === environment,
          );
          if (!isThere || isWaiting) {
            syncs(core).undue(integration, environment, now);
            return [];
          }
          return [
            insertion(call, 'sync', {
              org_id: ask.org,
              id: newId('syn', now),
              platform: row.platform,
              integration_id: integration,
              environment_id: environment,
              place: placeOf(row.platform, row.config, environment),
              prune: row.prune,
              pins: pinned(row),
              requester: { kind: 'system', id: 'system', parent_id: null, name: row.name },
              status: 'queued',
              created_at: now,
            }),
          ];
        });
      return { status: 200, data: { begun: writes.length }, writes };
    },
  },
};

export const syncOperations = {
  'integration.sync': sync,
  'integration.syncs': list,
  'integration.sync_status': status,
  'integration.sync_cancel': cancel,
  'integration.sync_auto': auto,
  'integration.sync_run': values,
  'integration.sync_take': take,
  'integration.sync_names': names,
  'integration.sync_permit': permit,
  'integration.sync_plan': plan,
  'integration.sync_next': next,
  'integration.sync_end': end,
};
