// svc grant: access of members and teams to secrets, beyond their role.
import type { CommonOptions } from '../context.ts';
import { time } from '../credentials/created.ts';
import { duration, type Group, list, member } from '../definition/command.ts';
import { usage } from '../errors.ts';
import { everything } from '../secrets/lookup.ts';
import { clean } from '../text.ts';

const PERMISSIONS = ['read', 'write', 'use'] as const;

interface CreateOptions extends CommonOptions {
  permission?: (typeof PERMISSIONS)[number];
  environments?: string[];
  secrets?: string[];
  upstreams?: string[];
  ttl?: number;
}

const group: Group = {
  commands: {
    list: member<CommonOptions & { to?: string }>('List grants', {
      needs: 'vault',
      options: { '--to <id>': 'only those of this member, team or agent' },
      examples: { 'grant list': 'List grants' },
      async run(context, { options: { to: grantee } }) {
        const { vault, org_id } = await context.vault();
        const rows = await everything(async (query) => {
          const { data } = await vault.api.GET('/orgs/{org_id}/grants', {
            params: { path: { org_id }, query: { ...query, grantee } },
          });
          return data;
        });
        context.out.list(
          rows,
          {
            id: (row) => row.id,
            to: (row) => row.grantee.id,
            permission: (row) => row.permission,
            environments: (row) => row.environments?.join(' ') ?? 'all',
            secrets: (row) => row.secrets?.join(' ') ?? 'all',
            expires: (row) => time(row.expires_at),
          },
          'There are no grants.',
        );
        return 0;
      },
    }),
    create: member<CreateOptions>('Give a member or a team access to secrets', {
      needs: 'vault',
      args: { '<id>': 'id of the member or team, mem_… or team_…' },
      options: {
        '--permission <permission>': {
          description:
            'read: list and read; write: also change and rotate; use: call upstreams, without reading',
          choices: PERMISSIONS,
        },
        '--environments <slugs>': {
          description: 'in these environments, separated by commas; default: all that you can use',
          parse: list,
        },
        '--secrets <patterns>': {
          description: 'secret names, separated by commas, such as billing/*; default: all',
          parse: list,
        },
        '--upstreams <names>': {
          description: 'for use: upstreams, separated by commas, such as stripe; default: all',
          parse: list,
        },
        '--ttl <duration>': {
          description: 'lifetime, such as 12h or 30d; default: unlimited',
          parse: duration,
        },
      },
      examples: {
        "grant create team_0HrZKtC4bqXw2vJm8yNd1L --permission read --environments production --secrets 'billing/*'":
          'Let a team read billing/* in production',
      },
      async run(context, { args: [id = ''], options: { permission, ttl, ...area } }) {
        if (!permission) throw usage('--permission is required.');
        const type = id.startsWith('team_') ? ('team' as const) : ('member' as const);
        const expires_at = ttl === undefined ? undefined : new Date(Date.now() + ttl * 1000).toISOString();
        const { vault, org_id } = await context.vault();
        const { data } = await vault.api.POST('/orgs/{org_id}/grants', {
          params: { path: { org_id } },
          headers: context.approved(),
          body: {
            grantee: { type, id },
            permission,
            environments: area.environments,
            secrets: area.secrets,
            upstreams: area.upstreams,
            expires_at,
          },
        });
        context.out.result(data, () => context.out.success(`Created the grant ${data.id}.`));
        if (data.warning) context.out.warn(data.warning);
        return 0;
      },
    }),
    delete: member('Delete a grant', {
      needs: 'vault',
      confirms: true,
      args: { '<id>': 'id of the grant, grt_…' },
      examples: { 'grant delete grt_0HrZKtC4bqXw2vJm8yNd1L': 'Take the access away, from the next request' },
      async run(context, { args: [id = ''] }) {
        await context.confirmDestruction(`This deletes the grant ${clean(id)}. The access ends immediately.`);
        const { vault, org_id } = await context.vault();
        await vault.api.DELETE('/orgs/{org_id}/grants/{id}', { params: { path: { org_id, id } } });
        context.out.result({ id, deleted: true }, () => context.out.success(`Deleted ${id}.`));
        return 0;
      },
    }),
  },
};

export default group;
