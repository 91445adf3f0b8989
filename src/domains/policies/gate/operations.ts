// Operations on policies in the gate. Invariants: the kind of a policy never changes; only callers without
// limits to environments or names write policies, because policies bind the whole organisation.
import { mustReachAll } from '../../../auth/authorize';
import { idStart } from '../../../db/ids';
import type { PolicyConfig, PolicyKind, PolicyRow } from '../../../db/schema';
import { invalid, type Refusal, refuse } from '../../../errors';
import { fewestApprovers, isAccountablePolicy } from '../../../gate/approvals/approvers';
import { stepsOf } from '../../../gate/approvals/policies';
import type { Core } from '../../../gate/core';
import { markOfAgent } from '../../../gate/identity/accountable';
import { limitsShown } from '../../../gate/identity/limits-shown';
import { providerWarning } from '../../../gate/identity/sso';
import { type Call, isRefusal, type Operation } from '../../../gate/request/call';
import { type ListInput, listed } from '../../../gate/request/listing';
import { found } from '../../../gate/request/outcome';
import { environmentOf, namedId } from '../../../gate/request/target';
import { insertion, revision } from '../../../gate/request/writes';
import { unknownEnvironment } from '../../credentials/gate/create';
import { type ConfigInput, kindOf, policyOut, type Selectors } from '../wire';
import { rotationOperations } from './rotation-operations';
import { violations } from './violations';

/**
 * The most steps that one character of a name may cost: patterns of names and of naming policies, of all
 * policies together.
 */
const MOST_WIDTH = 2000;

const target = ({ ask }: Call<unknown>) => namedId(ask, 'policy');
export const find = (call: Call<unknown>): PolicyRow | null => call.core.rows.get('policy', target(call));
function shown(call: Call<unknown>, row: PolicyRow) {
  const { environments, secrets } = limitsShown(call, { environments: row.environments, secrets: row.names });
  return policyOut({ ...row, names: secrets }, environments, call.core.now());
}

/** The answer to a change. It warns of approvers who are no second person, or whom a provider chooses. */
const changed = (call: Call<unknown>, row: PolicyRow) => ({
  ...shown(call, row),
  ...providerWarning(call.core, teamIn(row.config)),
  ...(row.kind === 'approval' && isAccountablePolicy(row) && { warning: AGENTS_ONLY }),
});

const AGENTS_ONLY =
  'This policy holds only agents and credentials that they created, and one accountable member approves. Other callers pass, unless another policy holds them.';

/** 403 for a limited caller: a policy applies beyond those limits. */
// safety: policies-by-unlimited-callers
const whole = ({ need, caller }: Call<unknown>): Refusal | null =>
  mustReachAll(caller, need.scopes, 'change policies');

/** What a policy would apply to, with environment ids; 404 for an environment that does not exist. */
function boundsOf(
  { core }: Call<unknown>,
  asked: Selectors,
): Pick<PolicyRow, 'environments' | 'types' | 'names'> | Refusal {
  const { environments = null, types = null, names = null } = asked;
  const ids = environments?.map((ref) => environmentOf(core, ref)?.id ?? '') ?? null;
  return unknownEnvironment(environments, ids) ?? { environments: ids && [...new Set(ids)], types, names };
}

/** The team in a config. */
const teamIn = (config: ConfigInput | PolicyConfig | null): string | null =>
  config && 'approvers' in config && 'team_id' in config.approvers ? config.approvers.team_id : null;

/** 422 for an approval policy that could never be satisfied. Members who have not enrolled yet count. */
function impossible(
  core: Core,
  config: PolicyConfig,
  environments: readonly string[] | null,
): Refusal | null {
  if (!('approvers' in config)) return null;
  const approvers = fewestApprovers(core, config, environments);
  // safety: impossible-policy-refused
  if (approvers >= config.required) return null;
  return refuse('APPROVAL_IMPOSSIBLE', {
    message: `The policy requires more approvals (${config.required}) than it has approvers (${approvers}). An approver holds approvals:decide everywhere that the policy applies, and is in the team or role in config.approvers.`,
  });
}

/** Why a policy cannot have this config, or null. */
function configProblem(
  { core }: Call<unknown>,
  kind: PolicyKind,
  config: ConfigInput,
  environments: readonly string[] | null,
): Refusal | null {
  if (kindOf(config) !== kind) return invalid('config', `must be a config for a policy of kind ${kind}`);
  const team = teamIn(config);
  return team !== null && !core.rows.get('team', team)
    ? refuse('NOT_FOUND', { message: 'The team in config.approvers.team_id does not exist.' })
    : impossible(core, config as PolicyConfig, environments);
}

/** 422 for a policy that has enough approvers until it applies to other environments. */
const movedAway = (
  { core }: Call<unknown>,
  row: PolicyRow,
  { environments }: Pick<PolicyRow, 'environments'>,
): Refusal | null =>
  impossible(core, row.config, row.environments) ? null : impossible(core, row.config, environments);

/** Why the organisation cannot have a policy with these patterns in place of another, or null. */
function tooWide(
  { core }: Call<unknown>,
  before: PolicyRow | null,
  after: Pick<PolicyRow, 'names' | 'config'>,
): Refusal | null {
  const others = core.rows.within('policy', '').filter(({ id }) => id !== before?.id);
  const was = before ? stepsOf([before]) : 0;
  const is = stepsOf([after]);
  // safety: policy-width-bounded
  if (is <= was || stepsOf(others) + is <= MOST_WIDTH) return null;
  return refuse('LIMIT_REACHED', {
    message:
      'The patterns of all policies of the organisation are too large together. Use fewer or shorter patterns of names, or simpler naming patterns.',
  });
}

const list: Operation<ListInput> = {
  read: (call) => listed(call.core, 'policy', idStart('policy'), call.input, (row) => shown(call, row)),
};

const read: Operation<Record<string, never>> = {
  read: (call) => found(find(call), (row) => shown(call, row)),
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
    plan(call, now) {
      const { ask, caller, input } = call;
      const { id, name, kind, config } = input;
      const bounds = boundsOf(call, input.applies_to);
      if (isRefusal(bounds)) return bounds;
      const problem = configProblem(call, kind, config, bounds.environments);
      if (problem) return problem;
      const row = {
        org_id: ask.org,
        id,
        name,
        kind,
        enabled: input.enabled ? 1 : 0,
        ...bounds,
        config: config as PolicyConfig,
      };
      const wide = tooWide(call, null, row);
      if (wide) return wide;
      const put = insertion(call, 'policy', {
        ...row,
        ...markOfAgent(call.core, caller),
        created_by: caller.id,
        created_at: now,
        updated_at: now,
      });
      return {
        status: 201,
        data: changed(call, put.row as PolicyRow),
        writes: [put],
        describes: `create the policy "${name}"`,
      };
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
    revises: find,
    plan(call, now) {
      const { name, enabled, applies_to, config } = call.input;
      const row = find(call);
      if (!row) return refuse('NOT_FOUND');
      const bounds = applies_to && boundsOf(call, applies_to);
      if (bounds && isRefusal(bounds)) return bounds;
      // safety: policy-kind-fixed
      const problem = config
        ? configProblem(call, row.kind, config, (bounds ?? row).environments)
        : bounds && movedAway(call, row, bounds);
      if (problem) return problem;
      const wide = tooWide(call, row, {
        ...row,
        ...bounds,
        ...(config && { config: config as PolicyConfig }),
      });
      if (wide) return wide;
      const put = revision(call, 'policy', row, {
        ...(name !== null && { name }),
        ...(enabled !== null && { enabled: enabled ? 1 : 0 }),
        ...bounds,
        ...(config && { config: config as PolicyConfig }),
        // Whoever changes it later does not take that back.
        ...((enabled || bounds || config) && markOfAgent(call.core, call.caller, row.of_agent)),
        updated_at: now,
      });
      const describes = `change the policy "${row.name}"`;
      return { status: 200, data: changed(call, put.row as PolicyRow), writes: [put], describes };
    },
  },
};

const remove: Operation<Record<string, never>> = {
  reach: whole,
  change: {
    revises: find,
    plan(call) {
      const row = find(call);
      if (!row) return refuse('NOT_FOUND');
      const describes = `delete the policy "${row.name}"`;
      return {
        status: 204,
        data: null,
        deletes: [{ kind: 'policy', id: row.id }],
        describes,
      };
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
