// svc policy: naming, rotation and approval policies. Their content is JSON, from stdin.
import type { components } from '@secrets-vault/client';
import type { Context } from '../context.ts';
import { type Group, member } from '../definition/command.ts';
import type { OpenVault } from '../requests/approvals.ts';
import { everything } from '../secrets/lookup.ts';
import { readObject } from '../terminal/prompts.ts';
import { clean, counted } from '../text.ts';

type Policy = components['schemas']['Policy'];

const POLICY = { '<id>': 'id of the policy, pol_…' };
const ID = 'pol_0HrZKtC4bqXw2vJm8yNd1L';

/**
 * Who can decide, as far as this credential sees the members: enrolled, in the role or team, and allowed to
 * decide.
 */
async function approversOf({ vault, org_id }: OpenVault, approvers: object): Promise<string[]> {
  const path = { org_id };
  const [members, { data: roles }] = await Promise.all([
    everything(
      async (query) => (await vault.api.GET('/orgs/{org_id}/members', { params: { path, query } })).data,
    ),
    vault.api.GET('/orgs/{org_id}/roles', { params: { path } }),
  ]);
  const deciding = roles.data.filter(({ scopes }) =>
    scopes.some((scope) => ['*', 'approvals:*', 'approvals:decide'].includes(scope)),
  );
  const able = members.filter(
    ({ role, status, passkeys }) =>
      status === 'active' && passkeys > 0 && deciding.some((one) => one.role === role),
  );
  if ('role' in approvers) return able.filter(({ role }) => role === approvers.role).map(({ name }) => name);
  const id = 'team_id' in approvers ? String(approvers.team_id) : '';
  const team = await everything(
    async (query) =>
      (await vault.api.GET('/orgs/{org_id}/teams/{id}/members', { params: { path: { org_id, id }, query } }))
        .data,
  );
  return able
    .filter((member) => team.some(({ member_id }) => member_id === member.id))
    .map(({ name }) => name);
}

/** Warns if nobody can decide, or nobody the requests of an approver: people do not decide their own. */
async function warnOfDeadlock(context: Context, { kind, config }: Policy): Promise<void> {
  if (kind !== 'approval' || !('approvers' in config) || 'accountable' in config.approvers) return;
  const { required, approvers } = config;
  // The policy is in force: a credential that may not list members gets no warning, and no error.
  const names = await context
    .vault()
    .then((open) => approversOf(open, approvers))
    .catch(() => undefined);
  if (!names || names.length > required) return;
  const [only = ''] = names;
  const why =
    names.length < required
      ? `This policy needs ${counted(required, 'approver')}, and ${names.length} ${names.length === 1 ? 'has' : 'have'} set up their sign-in. Until then nobody can approve anything that it holds.`
      : names.length === 1
        ? `${clean(only)} is the only approver. Nobody can approve their requests, or a change of this policy by them.`
        : `There are only ${names.length} approvers. Nobody can approve the requests of one of them, or a change of this policy by them.`;
  context.out.warn(why, '  next: Add another approver');
}

/** Changes a policy. A body with the revision of svc policy show changes only that one. */
async function change(context: Context, id: string, { revision, ...body }: Record<string, unknown>) {
  if (revision !== undefined) context.seen.note(id, { revision, ...body });
  const { vault, org_id } = await context.vault();
  const { data } = await vault.api.PATCH('/orgs/{org_id}/policies/{id}', {
    params: { path: { org_id, id } },
    headers: context.approved(),
    body: body as never,
  });
  return data;
}

const group: Group = {
  commands: {
    list: member('List policies', {
      needs: 'vault',
      examples: { 'policy list': 'List policies' },
      async run(context) {
        const { vault, org_id } = await context.vault();
        const rows = await everything(async (query) => {
          const { data } = await vault.api.GET('/orgs/{org_id}/policies', {
            params: { path: { org_id }, query },
          });
          return data;
        });
        context.out.list(
          rows,
          {
            id: (row) => row.id,
            name: (row) => row.name,
            kind: (row) => row.kind,
            enabled: (row) => (row.enabled ? 'yes' : 'no'),
            environments: (row) => row.applies_to.environments?.join(' ') ?? 'all',
            secrets: (row) => row.applies_to.names?.join(' ') ?? 'all',
          },
          'There are no policies.',
        );
        return 0;
      },
    }),
    show: member('Show a policy', {
      needs: 'vault',
      args: POLICY,
      examples: { [`policy show ${ID} > policy.json`]: 'Print a policy as JSON' },
      async run(context, { args: [id = ''] }) {
        const { vault, org_id } = await context.vault();
        const { data } = await vault.api.GET('/orgs/{org_id}/policies/{id}', {
          params: { path: { org_id, id } },
        });
        context.out.asJson(data);
        return 0;
      },
    }),
    create: member('Create a policy', {
      needs: 'vault',
      examples: { 'policy create < policy.json': 'Create a policy; its content is read from stdin' },
      notes: [
        'The JSON has the fields name, kind, config and, to limit the policy, applies_to. See docs/guides/policies.md.',
      ],
      async run(context) {
        const body = await readObject(
          context.host,
          'The policy',
          'Pass the policy: svc policy create < policy.json',
        );
        const { vault, org_id } = await context.vault();
        const { data } = await vault.api.POST('/orgs/{org_id}/policies', {
          params: { path: { org_id } },
          headers: context.approved(),
          body: body as never,
        });
        context.out.result(data, () =>
          context.out.success(`Created the ${data.kind} policy ${data.name} (${data.id}).`),
        );
        if (data.warning) context.out.warn(data.warning);
        await warnOfDeadlock(context, data);
        return 0;
      },
    }),
    update: member('Change a policy', {
      needs: 'vault',
      args: POLICY,
      examples: { [`policy update ${ID} < change.json`]: 'Replace the fields that the file contains' },
      notes: [
        'The JSON has one or more of the fields name, enabled, applies_to and config. Each replaces the whole field. With revision, from svc policy show, only that revision is changed.',
      ],
      async run(context, { args: [id = ''] }) {
        const body = await readObject(
          context.host,
          'The change',
          `Pass the change: svc policy update ${clean(id)} < change.json`,
        );
        const data = await change(context, id, body);
        context.out.result(data, () => context.out.success(`Changed ${data.name}.`));
        if (data.warning) context.out.warn(data.warning);
        await warnOfDeadlock(context, data);
        return 0;
      },
    }),
    enable: member('Enable a policy', {
      needs: 'vault',
      args: POLICY,
      examples: { [`policy enable ${ID}`]: 'Enable a policy' },
      async run(context, { args: [id = ''] }) {
        const data = await change(context, id, { enabled: true });
        context.out.result(data, () => context.out.success(`${data.name} is enabled.`));
        return 0;
      },
    }),
    disable: member('Disable a policy', {
      needs: 'vault',
      confirms: true,
      args: POLICY,
      examples: { [`policy disable ${ID}`]: 'Stop applying a policy' },
      async run(context, { args: [id = ''] }) {
        await context.confirmDestruction(`The policy ${clean(id)} stops applying immediately.`, [
          'policies',
          id,
        ]);
        const data = await change(context, id, { enabled: false });
        context.out.result(data, () => context.out.success(`${data.name} is disabled.`));
        return 0;
      },
    }),
    violations: member('List the secrets that violate a naming policy', {
      needs: 'vault',
      args: POLICY,
      examples: { [`policy violations ${ID}`]: 'See which existing names a policy does not accept' },
      async run(context, { args: [id = ''] }) {
        const { vault, org_id } = await context.vault();
        const rows = await everything(async (query) => {
          const { data } = await vault.api.GET('/orgs/{org_id}/policies/{id}/violations', {
            params: { path: { org_id, id }, query },
          });
          return data;
        });
        context.out.list(
          rows,
          { name: (row) => row.name, environment: (row) => row.environment },
          'All names are accepted.',
        );
        return 0;
      },
    }),
    delete: member('Delete a policy', {
      needs: 'vault',
      confirms: true,
      args: POLICY,
      examples: { [`policy delete ${ID}`]: 'Delete a policy' },
      async run(context, { args: [id = ''] }) {
        await context.confirmDestruction(
          `This deletes the policy ${clean(id)}. It stops applying immediately.`,
          ['policies', id],
        );
        const { vault, org_id } = await context.vault();
        await vault.api.DELETE('/orgs/{org_id}/policies/{id}', {
          params: { path: { org_id, id } },
          headers: context.approved(),
        });
        context.out.result({ id, deleted: true }, () => context.out.success(`Deleted ${id}.`));
        return 0;
      },
    }),
  },
};

export default group;
