// Operations on connections in the gate. Invariants: credentials arrive encrypted and are never returned; the
// Worker sends a message and then reports the result to the gate, so the audit entry states the result.
import type { Verdict } from '../../../adapters/notify/adapter';
import { type Caller, mustReachAll } from '../../../auth/authorize';
import { idStart } from '../../../db/ids';
import type { IntegrationRow } from '../../../db/schema';
import { type Refusal, refuse } from '../../../errors';
import { bringers, withTies } from '../../../gate/approvals/ties';
import { markOfAgent } from '../../../gate/identity/accountable';
import { type Call, isRefusal, type Operation } from '../../../gate/request/call';
import { type ListInput, listed } from '../../../gate/request/listing';
import { fail, found, type Outcome, ok, wants } from '../../../gate/request/outcome';
import { environmentOf, namedId, slugOf } from '../../../gate/request/target';
import { insertion, revision } from '../../../gate/request/writes';
import { mayRead, reachOf, storerOf } from '../../syncs/gate/select';
import { integrationOut } from '../wire';
import { deliver } from './deliver';
import { environmentsSeen, mayChange, sees } from './reach';

const target = ({ ask }: Call<unknown>) => namedId(ask, 'integration');

/** A connection that the caller may know. */
const known = ({ core, caller, need }: Call<unknown>, id: string): IntegrationRow | null => {
  const row = core.rows.get('integration', id);
  return row && sees(caller, need.scopes, row) ? row : null;
};
const find = (call: Call<unknown>): IntegrationRow | null => known(call, target(call));
const shown = ({ core, caller, need }: Call<unknown>, row: IntegrationRow) =>
  integrationOut(row, environmentsSeen(caller, need.scopes, row)?.map((id) => slugOf(core, id)) ?? null);

/** 403 for a caller who may not change the connection in the path; one that it may not know is 404 later. */
const reachesWhole = (call: Call<unknown>): Refusal | null => {
  const row = find(call);
  return row && mayChange(call.caller, call.need.scopes, row);
};

/** 403 for a caller with limits who stores a notify connection: it receives events beyond them. */
const mayStore = ({ need, caller }: Call<unknown>, kind: IntegrationRow['kind']): Refusal | null =>
  // safety: connections-stored-by-unlimited-callers
  kind === 'sync' ? mayRead(caller, null) : mustReachAll(caller, need.scopes, 'change connections');

/** 404 for an environment outside the caller's reach. */
function reachesThem(caller: Caller, ids: string[] | null): Refusal | null {
  const lacking = mayRead(caller, null);
  if (lacking || ids === null) return lacking;
  const storer = storerOf(caller);
  return ids.map((id) => mayRead(storer, id)).find((refusal) => refusal !== null) ?? null;
}

/**
 * The environments that a connection can sync, by id; null for all within its creator's reach. Refuses those
 * outside the caller's reach.
 */
function environmentsIn({ core, caller }: Call<unknown>, given: string[] | null): string[] | null | Refusal {
  const ids = given?.map((ref) => environmentOf(core, ref)?.id ?? '') ?? null;
  return reachesThem(caller, ids) ?? (ids && [...new Set(ids)]);
}

/** For a sync connection: its creator and their reach. Whoever sets its target becomes its creator. */
const madeBy = ({ core, ask, caller }: Call<unknown>): Pick<IntegrationRow, 'maker' | 'reach'> => ({
  // A session token lives at most a day, so its API key becomes the creator, with the token's own reach.
  maker: caller.root,
  reach: reachOf(caller, core.rows.get('org', ask.org)?.generation ?? 0),
});

/** What decides where a sync connection sends, what and when. */
type Sending = Pick<IntegrationRow, 'environments' | 'auto' | 'prune'>;

/** Whether a changed connection sends more, or without a request. */
const isWidened = (before: Sending, after: Sending): boolean =>
  after.auto > before.auto ||
  after.prune > before.prune ||
  (before.environments !== null &&
    (after.environments?.some((id) => !before.environments?.includes(id)) ?? true));

/** The Worker renders them: they are the same for every caller. */
const platforms: Operation<Record<string, never>> = { read: () => ok(null) };

const list: Operation<ListInput> = {
  read: (call) =>
    listed(call.core, 'integration', idStart('integration'), call.input, ({ id }) => {
      const row = known(call, id);
      return row && shown(call, row);
    }),
};

const read: Operation<Record<string, never>> = {
  read: (call) => found(find(call), (row) => shown(call, row)),
};

type NewInput = Pick<
  IntegrationRow,
  'id' | 'kind' | 'platform' | 'name' | 'config' | 'credentials_sealed' | 'events' | 'environments'
> & {
  auto: boolean;
  prune: boolean;
};

const create: Operation<NewInput> = {
  subject: ({ input }) => ({ resource: input.id }),
  authorize: (call) => mayStore(call, call.input.kind),
  change: {
    plan(call, now) {
      const { ask, caller, input } = call;
      const isSync = input.kind === 'sync';
      const environments = isSync ? environmentsIn(call, input.environments) : null;
      if (environments !== null && isRefusal(environments)) return environments;
      const fields = {
        org_id: ask.org,
        ...input,
        environments,
        auto: input.auto ? 1 : 0,
        prune: input.prune ? 1 : 0,
        ...(isSync && { ...madeBy(call), ...markOfAgent(call.core, caller), events: null }),
        created_by: caller.id,
        created_at: now,
        updated_at: now,
      };
      const put = insertion(call, 'integration', fields);
      return { status: 201, data: shown(call, put.row as IntegrationRow), writes: [put] };
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
  reach: reachesWhole,
  change: {
    revises: find,
    plan(call, now) {
      const { configures, made, ...input } = call.input;
      const row = find(call);
      if (!row) return refuse('NOT_FOUND');
      const foreign = foreignField(row.kind, call.input);
      if (foreign) return foreign;
      const environments =
        row.kind === 'sync' ? environmentsIn(call, input.environments ?? row.environments) : null;
      if (environments !== null && isRefusal(environments)) return environments;
      if (configures && !made) return wants('value', row);
      if (made && 'details' in made) return refuse('VALIDATION_FAILED', { details: made.details });
      // safety: connection-unchanged-meanwhile
      if (made && made.revision !== row.revision)
        return refuse('CONFLICT', {
          message: 'Another request changed the connection in the meantime. Repeat the request.',
        });
      const { config, credentials_sealed } = made ?? row;
      const sending = {
        environments,
        auto: input.auto === undefined ? row.auto : input.auto ? 1 : 0,
        prune: input.prune === undefined ? row.prune : input.prune ? 1 : 0,
      };
      const put = revision(call, 'integration', row, {
        ...(input.name !== undefined && { name: input.name }),
        ...(input.events !== undefined && { events: input.events }),
        // Whoever changes it later does not take back that an agent stored or widened it.
        ...(row.kind === 'sync' && {
          ...sending,
          ...(made && madeBy(call)),
          ...((made || isWidened(row, sending)) && {
            ...markOfAgent(call.core, call.caller, row.of_agent),
            // safety: connection-changed-by
            changed_by: withTies(row.changed_by, bringers(call), now),
          }),
        }),
        config,
        credentials_sealed,
        updated_at: now,
      });
      return { status: 200, data: shown(call, put.row as IntegrationRow), writes: [put] };
    },
  },
};

const remove: Operation<Record<string, never>> = {
  reach: reachesWhole,
  change: {
    revises: find,
    plan(call) {
      const row = find(call);
      if (!row) return refuse('NOT_FOUND');
      return { status: 204, data: null, deletes: [{ kind: 'integration', id: row.id }] };
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
  read(call): Outcome {
    const { integration, sent } = call.input;
    if (sent) return ended(sent.verdict);
    const row = integration === null ? null : known(call, integration);
    if (integration !== null && !row)
      return fail(refuse('NOT_FOUND', { message: 'The connection in integrationId does not exist.' }));
    if (row && row.kind !== 'notify')
      return fail(
        refuse('VALIDATION_FAILED', {
          details: [{ path: 'integrationId', message: 'must be a connection of kind notify' }],
        }),
      );
    return wants('value', { row });
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
