// Operations on policies in the gate. Invariants: the kind of a policy never changes; only callers without limits to environments or names
// write policies, because policies bind the whole organisation.
import { mustReachAll } from '../../../auth/authorize';
import { idStart } from '../../../db/ids';
import type { PolicyConfig, PolicyKind, PolicyRow } from '../../../db/schema';
import { invalid, type Refusal, refuse } from '../../../errors';
import { countApprovers } from '../../../gate/approvers';
import type { Core } from '../../../gate/core';
import { type ListInput, listed } from '../../../gate/listing';
import { environmentOf, slugOf } from '../../../gate/named';
import { found } from '../../../gate/outcome';
import { insertion, removal, revision } from '../../../gate/puts';
import { type Call, isRefusal, type Operation } from '../../../gate/types';
import { unknownEnvironment } from '../../credentials/gate/create';
import { type ConfigInput, kindOf, policyOut, type Selectors } from '../wire';
import { rotationOperations } from './rotation';
import { violations } from './violations';

const MOST_POLICIES = 100;

const target = ({ ask }: Call<unknown>) => ask.named.policy as string;
export const find = (call: Call<unknown>): PolicyRow | null => call.core.rows.get('policy', target(call));
const shown = (core: Core, row: PolicyRow) => policyOut(row, row.environments?.map((id) => slugOf(core, id)) ?? null, core.now());

/** 403 for a limited caller: a policy applies beyond those limits. */
// safety: policies-by-unlimited-callers
const whole = ({ need, caller }: Call<unknown>): Refusal | null => mustReachAll(caller, need.scopes, 'change policies');

/** What a policy would apply to, with environment ids; 404 for an environment that does not exist. */
function boundsOf({ core, ask }: Call<unknown>, asked: Selectors): Pick<PolicyRow, 'environments' | 'types' | 'names'> | Refusal {
  const { environments = null, types = null, names = null } = asked;
  const ids = environments?.map((ref) => environmentOf(core, ask.org, ref)?.id ?? '') ?? null;
  return unknownEnvironment(environments, ids) ?? { environments: ids && [...new Set(ids)], types, names };
}

/** The team in a config. */
const teamIn = (config: ConfigInput | null): string | null =>
  config && 'approvers' in config && 'team_id' in config.approvers ? config.approvers.team_id : null;

/** 422 for an approval policy that could never be satisfied. Members who have not enrolled yet count. */
function impossible(core: Core, config: PolicyConfig): Refusal | null {
  if (!('approvers' in config)) return null;
  const approvers = countApprovers(core, { config });
  // safety: impossible-policy-refused
  if (approvers >= config.required) return null;
  return refuse('APPROVAL_IMPOSSIBLE', {
    message: `The policy requires ${config.required} approvals, but has ${approvers} approvers. An approver holds approvals:decide and is in the team or role in config.approvers.`,
  });
}

/** Why a policy cannot have this config, or null. */
function configProblem({ core }: Call<unknown>, kind: PolicyKind, config: ConfigInput): Refusal | null {
  if (kindOf(config) !== kind) return invalid('config', `must be a config for a policy of kind ${kind}`);
  const team = teamIn(config);
  return team !== null && !core.rows.get('team', team)
    ? refuse('NOT_FOUND', { message: 'The team in config.approvers.team_id does not exist.' })
    : impossible(core, config as PolicyConfig);
}

const list: Operation<ListInput> = {
  read: ({ core, input }) => listed(core, 'policy', idStart('policy'), input, (row) => shown(core, row)),
};

const read: Operation<Record<string, never>> = {
  read: (call) => found(find(call), (row) => shown(call.core, row)),
};

interface CreateInput {
  id: string;
  name: string;
  kind: PolicyKind;
  enabled: boolean;
  applies_to: Selectors;
  config: ConfigInput;
}

const create: Operation<CreateInput> = {
  subject: ({ input }) => ({ resource: input.id }),
  reach: whole,
  change: {
    // The team must not be deleted in the meantime.
    locks: ({ input }) => ['policies', input.id, ...[teamIn(input.config)].filter((id) => id !== null)],
    plan(call, now) {
      const { core, ask, caller, input } = call;
      const { id, name, kind, config } = input;
      const bounds = boundsOf(call, input.applies_to);
      if (isRefusal(bounds)) return bounds;
      const problem = configProblem(call, kind, config);
      if (problem) return problem;
      if (core.rows.count('policy') >= MOST_POLICIES)
        return refuse('LIMIT_REACHED', {
          message: 'An organisation can have at most 100 policies. Combine some of them, or delete some that you no longer need.',
        });
      const row = { org_id: ask.org, id, name, kind, enabled: input.enabled ? 1 : 0, ...bounds, config: config as PolicyConfig };
      const put = insertion(call, 'policy', { ...row, created_by: caller.id, created_at: now, updated_at: now });
      return { status: 201, data: shown(core, put.row as PolicyRow), puts: [put], describes: `create the policy "${name}"` };
    },
  },
};

interface UpdateInput {
  name: string | null;
  enabled: boolean | null;
  applies_to: Selectors | null;
  config: ConfigInput | null;
}

const update: Operation<UpdateInput> = {
  reach: whole,
  change: {
    locks: (call) => [target(call), ...[teamIn(call.input.config)].filter((id) => id !== null)],
    plan(call, now) {
      const { name, enabled, applies_to, config } = call.input;
      const row = find(call);
      if (!row) return refuse('NOT_FOUND');
      const bounds = applies_to && boundsOf(call, applies_to);
      if (bounds && isRefusal(bounds)) return bounds;
      // safety: policy-kind-fixed
      const problem = config && configProblem(call, row.kind, config);
      if (problem) return problem;
      const put = revision(call, 'policy', row, {
        ...(name !== null && { name }),
        ...(enabled !== null && { enabled: enabled ? 1 : 0 }),
        ...bounds,
        ...(config && { config: config as PolicyConfig }),
        updated_at: now,
      });
      const describes = `change the policy "${row.name}": ${differences(row, put.row as PolicyRow)}`;
      return { status: 200, data: shown(call.core, put.row as PolicyRow), puts: [put], describes };
    },
  },
};

/** What changes in a policy, for its approvers. */
const differences = (before: PolicyRow, after: PolicyRow): string =>
  (['name', 'enabled', 'environments', 'types', 'names', 'config'] as const)
    .filter((field) => JSON.stringify(before[field]) !== JSON.stringify(after[field]))
    .map((field) => `${field} from ${JSON.stringify(before[field])} to ${JSON.stringify(after[field])}`)
    .join(', ')
    .slice(0, 1000);

const remove: Operation<Record<string, never>> = {
  reach: whole,
  change: {
    locks: (call) => [target(call)],
    plan(call) {
      const row = find(call);
      if (!row) return refuse('NOT_FOUND');
      const describes = `delete the policy "${row.name}"`;
      return { status: 204, data: null, ...removal(call.ask.org, [{ kind: 'policy', id: row.id }]), describes };
    },
  },
};

export const policyOperations = {
  'policy.list': list,
  'policy.read': read,
  'policy.violations': violations,
  'policy.create': create,
  'policy.update': update,
  'policy.delete': remove,
  ...rotationOperations,
};
