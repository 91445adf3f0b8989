// Operations on syncs in the gate: list, show, cancel, and start automatic syncs after changes.
import { failed } from '../../../adapters/sync/plan';
import { idPrefixes, newId } from '../../../db/ids';
import type { SyncRow } from '../../../db/schema';
import { refuse } from '../../../errors';
import type { Core } from '../../../gate/core';
import type { ListInput } from '../../../gate/listing';
import { fail, type Outcome, ok } from '../../../gate/outcome';
import { insertion, revision } from '../../../gate/puts';
import { cancelled } from '../../../gate/sync-task';
import type { Call, Operation } from '../../../gate/types';
import { placeOf } from '../place';
import { syncOut } from '../wire';
import { end, names, next, plan, take, values } from './run';
import { MOST_SECRETS } from './select';
import { sync } from './start';

const target = ({ ask }: Call<unknown>) => ask.named.sync as string;

const shown = (core: Core, row: SyncRow) => syncOut(row, core.syncs.results(row.id), core.syncs.startedAt(row.id));

/** The most results on one page of the list; a page may be shorter for it. */
const MOST_SHOWN = 5000;

/** Newest first. */
const list: Operation<ListInput> = {
  read({ core, input: { limit, after } }): Outcome {
    const items: unknown[] = [];
    let [last, results] = [after, 0];
    for (const row of core.rows.newest('sync', idPrefixes.sync, limit + 1, after)) {
      results += core.syncs.count(row.id);
      if (items.length === limit || (items.length > 0 && results > MOST_SHOWN)) return ok({ items, next: last });
      items.push(shown(core, row));
      last = row.id;
    }
    return ok({ items, next: null });
  },
};

const status: Operation<Record<string, never>> = {
  read(call): Outcome {
    const row = call.core.rows.get('sync', target(call));
    return row ? ok(shown(call.core, row)) : fail(refuse('NOT_FOUND'));
  },
};

const cancel: Operation<Record<string, never>> = {
  change: {
    locks: (call) => [target(call)],
    plan(call, now) {
      const { core } = call;
      const row = core.rows.get('sync', target(call));
      if (!row) return refuse('NOT_FOUND');
      if (row.finished_at !== null) return refuse('SYNC_ENDED');
      const about = { cancelled_at: row.cancelled_at ?? now };
      // The job that has the lease ends the sync; names being written are finished.
      const put = revision(call, 'sync', row, about);
      const open = core.syncs.steps(row.id, MOST_SECRETS).filter(({ begun }) => !begun);
      const results = [...core.syncs.results(row.id), ...open.map(({ name, target }) => failed(name, target, cancelled))];
      return { status: 200, data: syncOut(put.row as SyncRow, results, core.syncs.startedAt(row.id)), puts: [put] };
    },
  },
};

/** Starts the automatic syncs that changed secrets ask for. */
const auto: Operation<Record<string, never>> = {
  change: {
    locks: () => ['syncs'],
    plan(call, now) {
      const { core, ask } = call;
      // A sync that has not started yet will send the newer values.
      const waiting = core.rows.within('sync', 'open').filter(({ id }) => core.syncs.startedAt(id) === null);
      const puts = core.syncs.dueBy(now).flatMap(({ integration, environment }) => {
        const row = core.rows.get('integration', integration);
        const isThere = row?.auto && core.rows.get('environment', environment) !== null;
        const isWaiting = waiting.some(
          (one) => one.credential === null && one.integration_id === integration && one.environment_id === environment,
        );
        if (!isThere || isWaiting) {
          core.syncs.undue(integration, environment, now);
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
            requester: { kind: 'system', id: 'system', parent_id: null, name: row.name },
            status: 'queued',
            created_at: now,
          }),
        ];
      });
      return { status: 200, data: { begun: puts.length }, puts };
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
  'integration.sync_plan': plan,
  'integration.sync_next': next,
  'integration.sync_end': end,
};
