// svc member: people of the organisation.
import { type Group, member } from '../command.ts';
import type { CommonOptions } from '../context.ts';
import { time } from '../credentials.ts';
import { usage } from '../errors.ts';
import { pages } from '../secrets.ts';
import { clean } from '../text.ts';

const ROLES = ['owner', 'admin', 'developer', 'viewer', 'auditor'] as const;
type Role = (typeof ROLES)[number];
const ROLE = { '--role <role>': { description: 'what they may do', choices: ROLES } };

const group: Group = {
  commands: {
    list: member('List members', {
      needs: 'vault',
      examples: { 'member list': 'List members' },
      async run(context) {
        const { vault, org_id } = await context.vault();
        const rows = await pages(Number.POSITIVE_INFINITY, async (limit, cursor) => {
          const { data } = await vault.api.GET('/orgs/{org_id}/members', { params: { path: { org_id }, query: { limit, cursor } } });
          return data;
        });
        context.out.list(rows, {
          id: (row) => row.id,
          name: (row) => row.name,
          email: (row) => row.email,
          role: (row) => row.role,
          status: (row) => row.status,
          passkeys: (row) => row.passkeys,
          enrolled: (row) => time(row.enrolled_at),
        });
        return 0;
      },
    }),
    invite: member<CommonOptions & { role?: Role; name?: string }>('Invite somebody', {
      needs: 'vault',
      args: { '<email>': 'their address' },
      options: { '--name <name>': 'their name', ...ROLE },
      examples: { 'member invite bea@example.com --name Bea --role viewer': 'Invite a viewer' },
      notes: ['The enrolment link is alone on stdout. It works once, within 24 hours. Give it to that person yourself.'],
      async run(context, { args: [email = ''], options }) {
        if (!options.role || !options.name) throw usage('--name and --role are needed.');
        const { vault, org_id } = await context.vault();
        const { data } = await vault.api.POST('/orgs/{org_id}/members', {
          params: { path: { org_id } },
          headers: context.approved(),
          body: { email, name: options.name, role: options.role },
        });
        context.out.result(data, () => {
          context.out.success(`Invited ${data.name} as ${data.role} (${data.id}). The link is shown only this once:`);
          context.out.line(data.enrolment_url ?? '');
        });
        return 0;
      },
    }),
    role: member<CommonOptions>('Give a member another role', {
      needs: 'vault',
      args: { '<id>': 'their id, mem_…', '<role>': ROLES.join(', ') },
      examples: { 'member role mem_0HrZKtC4bqXw2vJm8yNd1L developer': 'Make a member a developer' },
      async run(context, { args: [id = '', role = ''] }) {
        if (!ROLES.includes(role as Role)) throw usage(`A role is one of ${ROLES.join(', ')}.`);
        const { vault, org_id } = await context.vault();
        const { data } = await vault.api.PATCH('/orgs/{org_id}/members/{id}', {
          params: { path: { org_id, id } },
          headers: context.approved(),
          body: { role: role as Role },
        });
        context.out.result(data, () => context.out.success(`${data.name} has the role ${data.role}.`));
        return 0;
      },
    }),
    access: member<CommonOptions & { environment?: string; secret?: string }>('Explain what a member may do', {
      needs: 'vault',
      args: { '<id>': 'their id, mem_…', '<scope>': 'such as secrets:read' },
      options: { '--environment <slug>': 'in this environment', '--secret <name>': 'for this name' },
      examples: {
        'member access mem_0HrZKtC4bqXw2vJm8yNd1L secrets:read --environment production --secret DATABASE_URL': 'See whether, and why',
      },
      async run(context, { args: [id = '', action = ''], options: { environment, secret } }) {
        const { vault, org_id } = await context.vault();
        const query = { action, environment, secret };
        const { data } = await vault.api.GET('/orgs/{org_id}/members/{id}/access', { params: { path: { org_id, id }, query } });
        context.out.result(data, () => {
          context.out.line(data.allowed ? 'allowed' : 'not allowed');
          for (const { source, role, grant_id } of data.reasons) context.out.line(`  by ${source} ${clean(String(role ?? grant_id))}`);
        });
        return 0;
      },
    }),
    remove: member<CommonOptions & { revokeCredentials?: boolean }>('Remove a member', {
      needs: 'vault',
      confirms: true,
      args: { '<id>': 'their id, mem_…' },
      options: { '--revoke-credentials': 'end the credentials that they made, too' },
      examples: { 'member remove mem_0HrZKtC4bqXw2vJm8yNd1L --revoke-credentials': 'Remove a member and end what they made' },
      async run(context, { args: [id = ''], options }) {
        const { vault, org_id } = await context.vault();
        const { data: known } = await vault.api.GET('/orgs/{org_id}/members/{id}', { params: { path: { org_id, id } } });
        const also = options.revokeCredentials ? 'The credentials that they made end too.' : 'The credentials that they made live on.';
        await context.confirmDestruction(`${known.name} (${known.email}) is removed, and their sessions end. ${also}`);
        const query = { revoke_credentials: options.revokeCredentials ? ('true' as const) : undefined };
        const { data } = await vault.api.DELETE('/orgs/{org_id}/members/{id}', {
          params: { path: { org_id, id }, query },
          headers: context.approved(),
        });
        context.out.result(data, () => {
          context.out.success(`Removed ${known.name}.`);
          context.out.table(
            ['kind', 'id', 'name'],
            data.credentials.map((row) => [row.kind, row.id, row.name]),
          );
          if (data.remaining) context.out.warn(`${data.remaining} credentials are left: repeat the command.`);
        });
        return 0;
      },
    }),
  },
};

export default group;
