// svc sso: connections to identity providers. An owner makes and changes them in the console.
import { time } from '../credentials/created.ts';
import { type Group, member } from '../definition/command.ts';
import { everything } from '../secrets/lookup.ts';

const group: Group = {
  commands: {
    list: member('List connections to identity providers', {
      needs: 'vault',
      examples: { 'sso list': 'List connections' },
      async run(context) {
        const { vault, org_id } = await context.vault();
        const rows = await everything(async (query) => {
          const { data } = await vault.api.GET('/orgs/{org_id}/sso-connections', {
            params: { path: { org_id }, query },
          });
          return data;
        });
        context.out.list(
          rows,
          {
            id: (row) => row.id,
            name: (row) => row.name,
            issuer: (row) => row.issuer,
            'makes members': (row) => (row.jit ? 'yes' : 'no'),
            enforced: (row) => (row.enforce ? 'yes' : 'no'),
            stopped: (row) => time(row.stopped_at),
          },
          'There are no connections. An owner makes one in the console.',
        );
        return 0;
      },
    }),
    show: member('Show a connection to an identity provider', {
      needs: 'vault',
      args: { '<id>': 'id of the connection, sso_…' },
      examples: { 'sso show sso_0HrZKtC4bqXw2vJm8yNd1L': 'See what a connection gives' },
      async run(context, { args: [id = ''] }) {
        const { vault, org_id } = await context.vault();
        const { data } = await vault.api.GET('/orgs/{org_id}/sso-connections/{id}', {
          params: { path: { org_id, id } },
        });
        context.out.result(data, () =>
          context.out.fields({
            id: data.id,
            name: data.name,
            issuer: data.issuer,
            'client id': data.client_id,
            'redirect URI': data.redirect_uri,
            scopes: data.scopes.join(', '),
            domains: data.domains.join(', ') || 'none',
            'makes members': data.jit ? 'yes' : 'no',
            enforced: data.enforce ? 'yes' : 'no',
            stopped: data.stopped_at ?? 'no',
            'default role': data.default_role,
            roles: data.role_mappings.map(({ group, role }) => `${group}: ${role}`).join(', ') || 'none',
            teams:
              data.team_mappings.map(({ group, team_id }) => `${group}: ${team_id}`).join(', ') || 'none',
          }),
        );
        return 0;
      },
    }),
  },
};

export default group;
