// Running a sync, in the gate: leases it to a job, selects its secrets again, returns ciphertexts and records
// the result of each name. Invariants: nothing is returned once a caller or the sync itself has ended;
// results and the names that the sync then owns are recorded in the turn in which they are reported; each run
// that reads values has one audit entry, attributed to the requester.
import type { Owned, Plan, Result } from '../../../adapters/sync/steps';
import type { Caller } from '../../../auth/authorize';
import type { IntegrationRow, SecretRow, SyncRow } from '../../../db/schema';
import type { Draft } from '../../../gate/audit/entry';
import { namesNoted } from '../../../gate/audit/entry';
import type { Core } from '../../../gate/core';
import { environmentRevision } from '../../../gate/journal/apply';
import { type Call, isRefusal, type Operation, type OperationOutcome } from '../../../gate/request/call';
import { ok } from '../../../gate/request/outcome';
import { permitLasts, permits } from '../../../gate/request/permits';
import { slugOf } from '../../../gate/request/target';
import { type Delivered, readable } from '../../secrets/rules';
import { recordedAt } from '../place';
import { makeAgain } from './again';
import { areThere, handedOut, handOut, takeBack } from './handed';
import {
  actingFor,
  doersOf,
  formerly,
  heldBack,
  isRepointed,
  notThere,
  ownedBy,
  prunable,
  reachOfAll,
  select,
} from './select';
import { deliveredOf, fitting } from './sent-ciphertexts';
import { ending } from './state';
import { type OpenStep, syncs } from './store';
import { cancelled, current } from './task';

/** Secrets per page, and per chunk of writes. */
const PAGE = { secrets: 1000, bytes: 8 * 1024 ** 2 };
const MOST_CHUNK = 1000;

/** Why a sync cannot continue. */
export type Stop = { code: 'CALLER_REVOKED' | 'NOT_ATTEMPTED'; message: string };

const revoked: Stop = {
  code: 'CALLER_REVOKED',
  message: 'The credential that started this sync is no longer valid.',
};
const repointed: Stop = {
  code: 'NOT_ATTEMPTED',
  message: 'The connection was changed or removed after this sync was requested.',
};
const notReached: Stop = { code: 'NOT_ATTEMPTED', message: 'The sync ended before this one was written.' };
const held: Stop = { code: 'NOT_ATTEMPTED', message: 'Reading this secret requires approval.' };

const unaudited = (data: unknown): OperationOutcome => ({ ...ok(data), audited: true });
const open = ({ core }: Call<unknown>, id: string): SyncRow | null => {
  const row = core.rows.get('sync', id);
  return row && row.finished_at === null ? row : null;
};

export interface Taken {
  row: SyncRow;
  integration: IntegrationRow | null;
  lease: number;
  planned: boolean;
}

/**
 * Leases a sync to a job, unless it has ended, another job has it, or it waits for another sync to the same
 * target.
 */
export const take: Operation<{ sync: string }> = {
  read(call) {
    const { core, input } = call;
    const row = open(call, input.sync);
    if (!row) return unaudited(null);
    const isCurrent = current(core).some(({ id }) => id === row.id);
    const lease = isCurrent ? core.storage.transactionSync(() => syncs(core).take(row.id, core.now())) : null;
    if (!lease) return unaudited(null);
    const integration = row.integration_id === null ? null : core.rows.get('integration', row.integration_id);
    return unaudited({ row, integration, lease: lease.lease, planned: lease.planned } satisfies Taken);
  },
};

interface Working {
  sync: string;
  lease: number;
}

/**
 * The leased sync and the callers whose reach counts, or why it cannot continue. Null if another job has it
 * now or it has ended.
 */
function working(call: Call<Working>) {
  const { core, input } = call;
  const row = open(call, input.sync);
  if (!row || !core.storage.transactionSync(() => syncs(core).renew(input.sync, input.lease, core.now())))
    return null;
  return { row, ...standing(core, row) };
}

/** The callers whose reach counts for a sync, or why it cannot continue. */
function standing(core: Core, row: SyncRow) {
  const callers = actingFor(core, row);
  const stop =
    row.cancelled_at !== null ? cancelled : isRepointed(core, row) ? repointed : callers ? null : revoked;
  return { callers: callers ?? [], stop };
}

export interface PermitInput extends Working {
  /** `whole`: for calls that belong together. `none`: they have ended. */
  for?: 'whole' | 'none';
  /** How many permits have run out on their way. */
  tries: number;
}

/** Whether the job may begin calls to the target, for so many milliseconds since it asked. */
export interface Permission {
  stop: Stop | null;
  lasts: number;
  /** What callers may read may have changed since the job got its chunk: another job asks for a new one. */
  again?: true;
}

/** What callers may read: their permissions, and how often a policy, which may hold reads, has changed. */
const reachIn = (core: Core, callers: readonly Caller[]): string =>
  // safety: permit-within-policies
  JSON.stringify([core.rows.edits('policy'), callers.map(({ permissions }) => permissions)]);

/**
 * Whether the chunk that a job has may contain what its callers may no longer read, or what is gone. While
 * there is no plan, nothing is handed out.
 */
function isStale(core: Core, row: SyncRow, reach: string): boolean {
  if (syncs(core).steps(row.id, 1).length === 0) return false;
  const chunk = handedOut(core, row.id);
  // safety: permit-within-reach
  if (chunk?.reach !== reach) return true;
  // safety: permit-while-secrets-last
  return !areThere(core, chunk, core.now());
}

/** How long calls that belong together may take before a stop no longer waits for them. */
const WHOLE_LASTS = 20_000;

/** Permits the job to begin calls to the target for a moment, unless the sync has to stop. */
export const permit: Operation<PermitInput> = {
  read(call) {
    const { core, input } = call;
    const found = working(call);
    if (!found) return unaudited(null);
    const { row, callers, stop } = found;
    if (input.for === 'none') permits(core).giveBack(row.id);
    if (stop || input.for === 'none') return unaudited({ stop, lasts: 0 } satisfies Permission);
    const reach = reachIn(core, callers);
    if (isStale(core, row, reach)) return unaudited({ stop, lasts: 0, again: true } satisfies Permission);
    // safety: permit-ends-with-caller
    const left = Math.min(
      ...callers.map(({ expires_at }) => (expires_at ?? Number.POSITIVE_INFINITY) - core.now()),
    );
    const lasts = Math.min(left, input.for === 'whole' ? WHOLE_LASTS : permitLasts(input.tries));
    permits(core).give(row.id, lasts, () => {
      const now = open(call, row.id);
      if (now === null) return true;
      const { stop, callers } = standing(core, now);
      // A permit that was given for the listing is used for the first chunk too.
      // safety: permit-ends-with-reach
      return stop !== null || reachIn(core, callers) !== reach || handedOut(core, row.id)?.isOver === true;
    });
    return unaudited({ stop, lasts } satisfies Permission);
  },
};

export interface ValuesInput extends Working {
  after: string | null;
}

export interface ValuesPage {
  stop: Stop | null;
  items: Delivered[];
  next: string | null;
  /** Of the names on this page. */
  results: Result[];
  /** Only with the first page. */
  owned: Owned[];
  ownedElsewhere: string[];
  prunable: Owned[];
}

/** The secrets to sync, page by page. */
export const values: Operation<ValuesInput> = {
  async read(call) {
    const { core, input } = call;
    const found = working(call);
    if (!found) return unaudited(null);
    const { row, callers, stop } = found;
    const now = core.now();
    const none = { items: [], next: null, results: [], owned: [], ownedElsewhere: [], prunable: [] };
    if (stop) return unaudited({ ...none, stop } satisfies ValuesPage);
    const selected = select(core, callers, row, now);
    if (isRefusal(selected))
      return unaudited({
        ...none,
        stop: { code: 'NOT_ATTEMPTED', message: selected.message ?? '' },
      } satisfies ValuesPage);
    const back = new Set(
      heldBack(core, selected.rows, doersIn(core, row, callers), row.approval).map(({ id }) => id),
    );
    const rows = selected.rows.filter(({ id }) => !back.has(id)).sort((a, b) => (a.name < b.name ? -1 : 1));
    const rest = input.after === null ? rows : rows.filter(({ name }) => name > (input.after as string));
    const page = fitting(rest, PAGE);
    const items = await deliveredOf(call, page);
    const again = working(call);
    if (again?.stop !== null)
      return unaudited({ ...none, stop: again?.stop ?? revoked } satisfies ValuesPage);
    if (input.after === null) core.auditLog.append(entryOf(call, row, rows), 200, now);
    const isFirst = input.after === null;
    const recorded = { ...row, selected: selected.rows };
    const next = page.length < rest.length ? (page.at(-1)?.name ?? null) : null;
    const withheld = [...selected.skipped, ...selected.rows.filter(({ id }) => back.has(id)).map(heldResult)];
    return unaudited({
      stop: null,
      items,
      next,
      // What is selected and what is held may change from page to page, so that each page is a report of its
      // own part of the names.
      // safety: each-page-reports-its-names
      results: withheld.filter(
        ({ name }) => (input.after === null || name > input.after) && (next === null || name <= next),
      ),
      owned: isFirst ? ownedBy(core, callers, recorded, now) : [],
      ownedElsewhere: isFirst ? syncs(core).ownedElsewhere(recordedAt(row)) : [],
      prunable: isFirst && row.prune ? prunable(core, callers, recorded, now) : [],
    } satisfies ValuesPage);
  },
};

const doersIn = (core: Core, { integration_id }: SyncRow, callers: Parameters<typeof doersOf>[0]) =>
  doersOf(callers, integration_id === null ? null : core.rows.get('integration', integration_id));

const heldResult = ({ name }: SecretRow): Result => ({ name, targetName: null, action: 'failed', ...held });

/** The audit entry for reading these secrets, attributed to the requester. */
function entryOf({ core, ask }: Call<unknown>, row: SyncRow, rows: readonly SecretRow[]): Draft {
  return {
    actor: row.requester as Draft['actor'],
    action: 'integration.sync_run',
    resource: row.environment_id,
    resource_name: row.id,
    environment: slugOf(core, row.environment_id),
    version: environmentRevision(core, row.environment_id),
    ...namesNoted(
      rows.map(({ name }) => name),
      null,
    ),
    sent: { integration_id: row.integration_id, platform: row.platform, secrets: rows.length },
    reason: null,
    request_id: ask.request.id,
    ip: '',
    user_agent: null,
  };
}

/** The names of the requested secrets, for a sync that cannot begin. The requester knew them. */
export const names: Operation<Working> = {
  read(call) {
    const { core } = call;
    const found = working(call);
    if (!found) return unaudited(null);
    const { row } = found;
    if (row.names) return unaudited(row.names);
    const callers = formerly(core, row);
    const selected = callers.length ? select(core, callers, row, core.now()) : null;
    return unaudited(selected && !isRefusal(selected) ? selected.rows.map(({ name }) => name) : []);
  },
};

/** Stores the plan. */
export const plan: Operation<Working & Plan> = {
  read(call) {
    const { core, input } = call;
    const found = working(call);
    if (found) core.storage.transactionSync(() => syncs(core).plan(input.sync, recordedAt(found.row), input));
    return unaudited(found && { stop: found.stop });
  },
};

export interface NextInput extends Working {
  /** The results of earlier steps. */
  report: (Result & { digest: string })[];
  /** Names that were not deleted, because somebody else has written them since. */
  foreign: string[];
  /** How many steps to return; 0 if the job ends here and another continues. */
  most: number;
}

export interface Chunk {
  stop: Stop | null;
  work: { step: OpenStep; delivered: Delivered | null }[];
  /** Nothing of this chunk is sent, and there are other steps. */
  more?: true;
}

/** Records the results of earlier steps and returns the next ones with their values. */
export const next: Operation<NextInput> = {
  async read(call) {
    const { core, input } = call;
    const row = core.rows.get('sync', input.sync);
    // Written names count even if the sync has ended in the meantime.
    if (row)
      core.storage.transactionSync(() => {
        syncs(core).report(row.id, recordedAt(row), input.report);
        for (const target of input.foreign) drop(core, row, { kind: 'remove', target });
        syncs(core).disown(recordedAt(row), input.foreign);
      });
    const found = working(call);
    if (!found) return unaudited(null);
    if (found.stop || input.most === 0) {
      if (!found.stop) {
        core.storage.transactionSync(() => syncs(core).release(input.sync));
        takeBack(core, input.sync);
        permits(core).giveBack(input.sync);
        core.schedule.at('syncs', core.now());
      }
      return unaudited({ stop: found.stop, work: [] } satisfies Chunk);
    }
    return unaudited(await chunk(call, found.row, found.callers));
  },
};

/** Drops a step. What was asked for by name has a result. */
function drop(core: Core, { id, names }: SyncRow, step: Pick<OpenStep, 'kind' | 'target'>): void {
  const name = syncs(core).drop(id, step);
  if (name !== null && names?.includes(name)) syncs(core).add(id, notThere(name));
}

/** Whether a secret is still gone, so that its name is deleted, and the callers still reach the name. */
const isStillGone = (
  core: Core,
  { environment_id }: SyncRow,
  { name }: OpenStep,
  reached: ReturnType<typeof reachOfAll>,
  now: number,
): boolean =>
  // safety: removal-within-reach
  readable(core.rows.find('secret', environment_id, name), now) !== null && reached(name);

async function chunk(
  call: Call<NextInput>,
  row: SyncRow,
  callers: Parameters<typeof select>[1],
): Promise<Chunk> {
  const { core, input } = call;
  const { environment_id } = row;
  const now = core.now();
  const reach = reachIn(core, callers);
  const steps = syncs(core).steps(row.id, Math.min(input.most, MOST_CHUNK));
  const puts = steps.filter(({ kind }) => kind === 'put');
  const judged = puts.length
    ? select(core, callers, { environment_id, names: puts.map(({ name }) => name) }, now)
    : null;
  const selected = judged && !isRefusal(judged) ? judged : { rows: [], skipped: [] };
  const back = heldBack(core, selected.rows, doersIn(core, row, callers), row.approval);
  const sendable = fitting(
    selected.rows.filter((one) => !back.includes(one)),
    PAGE,
  );
  const delivered = new Map(
    (await deliveredOf(call, sendable)).map((one) => ['row' in one ? one.row.name : '', one]),
  );
  const again = working(call);
  // safety: sync-rechecked-after-fetch
  if (again?.stop !== null) return { stop: again?.stop ?? revoked, work: [] };
  // As it was when the secrets were selected: a change since then is seen at the first call.
  handOut(core, row, reach, sendable);
  return core.storage.transactionSync((): Chunk => {
    // A secret that is gone or now held is not written.
    const ended = [...selected.skipped, ...back.map(heldResult)];
    for (const result of ended) {
      const step = puts.find(({ name }) => name === result.name);
      if (step)
        syncs(core).report(row.id, recordedAt(row), [{ ...result, targetName: step.target, digest: '' }]);
    }
    const gone = new Set(ended.map(({ name }) => name));
    const reached = reachOfAll(callers, environment_id);
    const work = steps.flatMap((step): Chunk['work'] => {
      if (step.kind === 'remove') {
        if (isStillGone(core, row, step, reached, now)) return [{ step, delivered: null }];
        drop(core, row, step);
        return [];
      }
      const value = gone.has(step.name) ? undefined : delivered.get(step.name);
      return value ? [{ step, delivered: value }] : [];
    });
    syncs(core).begin(
      row.id,
      recordedAt(row),
      work.map(({ step }) => step),
    );
    const [next] = syncs(core).steps(row.id, 1);
    // Of a chunk of which nothing is sent any more, others may follow.
    // safety: skipped-chunk-ends-no-sync
    const isMore = next !== undefined && !steps.some(({ target }) => target === next.target);
    return { stop: null, work, ...(work.length === 0 && isMore && { more: true as const }) };
  });
}

export interface EndInput extends Working {
  /** The error for the remaining names. */
  problem: { code: string; message: string } | null;
  /** For a sync that ends before it has a plan. */
  results: Result[];
  retryAfter: number | null;
}

/** What a sync did that a target allowed: whoever cannot get that far has nothing to record there. */
const DONE: Result['action'][] = ['created', 'updated', 'unchanged', 'deleted'];

/**
 * Records whose quota the names at a target count for: that of the connection's creator, so that whoever runs
 * it cannot push the record out with targets of their own. Nor can who names the target without its
 * credential.
 */
function settle(core: Core, row: SyncRow, now: number): void {
  const { rows } = core;
  const { id, integration_id } = row;
  // safety: record-only-by-those-let-in
  if (
    !syncs(core)
      .results(id)
      .some(({ action }) => DONE.includes(action))
  )
    return;
  // safety: record-of-connection-kept
  const owner = integration_id === null ? null : rows.rootOf('integration', integration_id);
  const by = { root: owner ?? rows.rootOf('sync', id) ?? '', integration: integration_id };
  syncs(core).settle(recordedAt(row), by, now);
}

/** Ends a sync. */
export const end: Operation<EndInput> = {
  subject: ({ core, input }) => {
    const row = core.rows.get('sync', input.sync);
    return row ? { resource: row.id, environment: slugOf(core, row.environment_id) } : {};
  },
  change: {
    plan(call, now) {
      const { core, input } = call;
      const row = open(call, input.sync);
      if (!row || !syncs(core).renew(input.sync, input.lease, now)) return { status: 200, data: null };
      permits(core).giveBack(row.id);
      core.storage.transactionSync(() => {
        // The results of a sync that had begun are kept.
        const isNew = syncs(core).count(row.id) === 0 && syncs(core).steps(row.id, 1).length === 0;
        if (isNew)
          syncs(core).plan(row.id, recordedAt(row), { steps: [], results: input.results, missing: [] });
        syncs(core).fail(row.id, input.problem ?? notReached, 'all');
        settle(core, row, now);
        // An automatic sync starts again, to where the connection leads now.
        if (row.credential === null && row.integration_id !== null && isRepointed(core, row))
          syncs(core).due(row.integration_id, row.environment_id, now);
        makeAgain(core, row, input.retryAfter, now);
      });
      const how = { retryAfter: input.retryAfter, isStopped: input.problem !== null };
      return { status: 200, data: null, ...ending(call, row, how, now) };
    },
  },
};
