// Operations on connections in the gate. Invariants: credentials arrive encrypted and are never returned; the Worker sends a message and
// then reports the result to the gate, so the audit entry states the result.
import type { Verdict } from '../../../adapters/notify/adapter';
import { type Caller, mustReachAll } from '../../../auth/authorize';
import { idStart } from '../../../db/ids';
import type { IntegrationRow } from '../../../db/schema';
import { type Refusal, refuse } from '../../../errors';
import type { Core } from '../../../gate/core';
import { type ListInput, listed } from '../../../gate/listing';
import { environmentOf, slugOf } from '../../../gate/named';
import { fail, found, type Outcome, ok } from '../../../gate/outcome';
import { insertion, removal, revision } from '../../../gate/puts';
import { type Call, isRefusal, type Operation } from '../../../gate/types';
import { mayRead, reachOf } from '../../syncs/gate/select';
import { integrationOut } from '../wire';
import { deliver } from './deliver';

const MOST_INTEGRATIONS = 100;

const target = ({ ask }: Call<unknown>) => ask.named.integration as string;
const find = (call: Call<unknown>): IntegrationRow | null => call.core.rows.get('integration', target(call));
const shown = (core: Core, row: IntegrationRow) => integrationOut(row, row.environments?.map((id) => slugOf(core, id)) ?? null);

/**
 * 403 for a caller with limits, because a notify connection receives events beyond them. A sync connection needs no such check: it sends
 * only secrets within the reach of its creator.
 */
const mayStore = ({ need, caller }: Call<unknown>, kind: IntegrationRow['kind'] | undefined): Refusal | null =>
  // safety: connections-by-unlimited-callers
  kind === 'sync' ? null : mustReachAll(caller, need.scopes, 'change connections');

/** 404 for an environment outside the caller's reach. */
const reachesThem = (caller: Caller, ids: string[] | null): Refusal | null =>
  ids === null ? mayRead(caller, null) : (ids.map((id) => mayRead(caller, id)).find((refusal) => refusal !== null) ?? null);

/**
 * The environments that a connection can sync, by id; null for all within its creator's reach. Refuses those outside the caller's reach.
 */
function environmentsIn({ core, ask, caller }: Call<unknown>, given: string[] | null): string[] | null | Refusal {
  const ids = given?.map((ref) => environmentOf(core, ask.org, ref)?.id ?? '') ?? null;
  return reachesThem(caller, ids) ?? (ids && [...new Set(ids)]);
}

/** For a sync connection: its creator and their reach. Whoever sets its target becomes its creator. */
const madeBy = ({ core, ask, caller }: Call<unknown>): Pick<IntegrationRow, 'maker' | 'reach'> => ({
  // A session token lives at most a day, so its API key becomes the creator, with the token's own reach.
  maker: caller.root,
  reach: reachOf(caller, core.rows.get('org', ask.org)?.generation ?? 0),
});

/** The Worker renders them: they are the same for every caller. */
const platforms: Operation<Record<string, never>> = { read: () => ok(null) };

const list: Operation<ListInput> = {
  read: ({ core, input }) => listed(core, 'integration', idStart('integration'), input, (row) => shown(core, row)),
};

const read: Operation<Record<string, never>> = {
  read: (call) => found(find(call), (row) => shown(call.core, row)),
};

type NewInput = Pick<IntegrationRow, 'id' | 'kind' | 'platform' | 'name' | 'config' | 'credentials_sealed' | 'events' | 'environments'> & {
  auto: boolean;
  prune: boolean;
};

const create: Operation<NewInput> = {
  subject: ({ input }) => ({ resource: input.id }),
  authorize: (call) => mayStore(call, call.input.kind) ?? (call.input.kind === 'sync' ? mayRead(call.caller, null) : null),
  change: {
    locks: ({ input }) => ['integrations', input.id],
    plan(call, now) {
      const { core, ask, caller, input } = call;
      const isSync = input.kind === 'sync';
      const environments = isSync ? environmentsIn(call, input.environments) : null;
      if (environments !== null && isRefusal(environments)) return environments;
      if (core.rows.count('integration') >= MOST_INTEGRATIONS)
        return refuse('LIMIT_REACHED', {
          message: 'An organisation can have at most 100 connections. Remove some that you no longer need.',
        });
      const fields = {
        org_id: ask.org,
        ...input,
        ...{ environments, auto: input.auto ? 1 : 0, prune: input.prune ? 1 : 0 },
        ...(isSync && { ...madeBy(call), events: null }),
        ...{ created_by: caller.id, created_at: now, updated_at: now },
      };
      const put = insertion(call, 'integration', fields);
      return { status: 201, data: shown(call.core, put.row as IntegrationRow), puts: [put] };
    },
  },
};

/** The Worker's result for a stored row and the new fields: the next config, or the problems. */
export type Made = { revision: number } & (
  | Pick<IntegrationRow, 'config' | 'credentials_sealed'>
  | { details: NonNullable<Refusal['details']> }
);

interface UpdateInput {
  name?: string;
  events?: IntegrationRow['events'];
  environments?: string[];
  auto?: boolean;
  prune?: boolean;
  configures: boolean;
  made?: Made;
}

const FIELDS = { sync: ['environments', 'auto', 'prune'], notify: ['events'] } as const;

/** 400 for a field of the other kind of connection. */
function foreignField(kind: IntegrationRow['kind'], input: UpdateInput): Refusal | null {
  const details = FIELDS[kind === 'sync' ? 'notify' : 'sync']
    .filter((field) => input[field] !== undefined)
    .map((path) => ({ path, message: `is not a field of a connection of kind ${kind}` }));
  return details.length ? refuse('VALIDATION_FAILED', { details }) : null;
}

const update: Operation<UpdateInput> = {
  reach: (call) => mayStore(call, find(call)?.kind),
  change: {
    locks: (call) => [target(call)],
    plan(call, now) {
      const { configures, made, ...input } = call.input;
      const row = find(call);
      if (!row) return refuse('NOT_FOUND');
      const foreign = foreignField(row.kind, call.input);
      if (foreign) return foreign;
      // safety: connection-changed-within-reach
      const outside = row.kind === 'sync' ? reachesThem(call.caller, row.environments) : null;
      if (outside) return outside;
      const environments = row.kind === 'sync' ? environmentsIn(call, input.environments ?? row.environments) : null;
      if (environments !== null && isRefusal(environments)) return environments;
      if (configures && !made) return { more: row };
      if (made && 'details' in made) return refuse('VALIDATION_FAILED', { details: made.details });
      // safety: connection-unchanged-meanwhile
      if (made && made.revision !== row.revision)
        return refuse('CONFLICT', { message: 'Another request changed the connection in the meantime. Repeat the request.' });
      const { config, credentials_sealed } = made ?? row;
      const put = revision(call, 'integration', row, {
        ...(input.name !== undefined && { name: input.name }),
        ...(input.events !== undefined && { events: input.events }),
        ...(input.auto !== undefined && { auto: input.auto ? 1 : 0 }),
        ...(input.prune !== undefined && { prune: input.prune ? 1 : 0 }),
        ...(row.kind === 'sync' && { environments, ...(made && madeBy(call)) }),
        ...{ config, credentials_sealed, updated_at: now },
      });
      return { status: 200, data: shown(call.core, put.row as IntegrationRow), puts: [put] };
    },
  },
};

const remove: Operation<Record<string, never>> = {
  change: {
    locks: (call) => [target(call)],
    plan(call) {
      const row = find(call);
      if (!row) return refuse('NOT_FOUND');
      return { status: 204, data: null, ...removal(call.ask.org, [{ kind: 'integration', id: row.id }]) };
    },
  },
};

interface NotifyInput {
  platform: string | null;
  integration: string | null;
  /** The result; absent before the message is sent. */
  sent?: { verdict: Verdict | null };
}

/** The outcome of a message that the Worker sent. */
function ended(verdict: Verdict | null): Outcome {
  if (verdict === null) return fail(refuse('TARGET_UNREACHABLE'));
  const { delivered, status, retry_after } = verdict;
  if (delivered) return ok({ delivered, status });
  const message = `The target answered with status ${status}.`;
  return fail(refuse('TARGET_REJECTED', { message, ...(retry_after !== null && { retry_after }) }));
}

const notify: Operation<NotifyInput> = {
  subject: ({ core, input: { platform, integration } }) => ({
    resource: integration === null ? platform : (core.rows.get('integration', integration)?.id ?? null),
  }),
  read({ core, input: { integration, sent } }): Outcome {
    if (sent) return ended(sent.verdict);
    const row = integration === null ? null : core.rows.get('integration', integration);
    if (integration !== null && !row) return fail(refuse('NOT_FOUND', { message: 'The connection in integrationId does not exist.' }));
    if (row && row.kind !== 'notify')
      return fail(refuse('VALIDATION_FAILED', { details: [{ path: 'integrationId', message: 'must be a connection of kind notify' }] }));
    return { kind: 'more', data: { row } };
  },
};

export const integrationOperations = {
  'integration.platforms': platforms,
  'integration.list': list,
  'integration.read': read,
  'integration.create': create,
  'integration.update': update,
  'integration.delete': remove,
  'integration.notify': notify,
  'integration.deliver': deliver,
};
