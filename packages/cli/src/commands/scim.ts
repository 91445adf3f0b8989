// svc scim: tokens with which an identity provider adds, changes and suspends members.
import type { CommonOptions } from '../context.ts';
import { showToken, time } from '../credentials/created.ts';
import { duration, type Group, member } from '../definition/command.ts';
import { everything } from '../secrets/lookup.ts';
import { clean } from '../text.ts';

const ID = 'id of the SCIM token, scm_…';

const group: Group = {
  commands: {
    list: member('List SCIM tokens', {
      needs: 'vault',
      examples: { 'scim list': 'List SCIM tokens' },
      async run(context) {
        const { vault, org_id } = await context.vault();
        const rows = await everything(async (query) => {
          const { data } = await vault.api.GET('/orgs/{org_id}/scim-tokens', {
            params: { path: { org_id }, query },
          });
          return data;
        });
        context.out.list(
          rows,
          {
            id: (row) => row.id,
            name: (row) => row.name,
            connection: (row) => row.connection_id ?? 'none',
            'ends credentials': (row) => (row.end_credentials ? 'yes' : 'no'),
            'last used': (row) => time(row.last_used_at),
            expires: (row) => time(row.expires_at),
          },
          'There are no SCIM tokens.',
        );
        return 0;
      },
    }),
    create: member<CommonOptions & { connection?: string; endCredentials?: boolean; ttl?: number }>(
      'Create a SCIM token for an identity provider',
      {
        needs: 'vault',
        args: { '<name>': 'name of the token' },
        options: {
          '--connection <id>': 'manage the people of this connection, sso_…',
          '--end-credentials': 'suspending or deleting somebody ends the credentials that they created',
          '--ttl <duration>': { description: 'lifetime, such as 90d; default: none', parse: duration },
        },
        examples: {
          'scim create Okta': 'Create a token for Okta',
          'scim create Okta --connection sso_0HrZKtC4bqXw2vJm8yNd1L':
            'Create a token for the people who sign in with a connection',
        },
        notes: [
          'This requires an API key that acts as an owner. Owners without one create tokens in the console. Only the token is written to stdout.',
        ],
        async run(context, { args: [name = ''], options: { connection, endCredentials, ttl } }) {
          const { vault, org_id } = await context.vault();
          const { data } = await vault.api.POST('/orgs/{org_id}/scim-tokens', {
            params: { path: { org_id } },
            headers: context.approved(),
            body: {
              name,
              connection_id: connection,
              end_credentials: endCredentials,
              expires_at: ttl === undefined ? undefined : new Date(Date.now() + ttl * 1000).toISOString(),
            },
          });
          context.out.note(`The tenant URL is ${clean(data.base_url ?? '')}.`);
          showToken(context, data, 'Created the SCIM token');
          return 0;
        },
      },
    ),
    revoke: member('Revoke a SCIM token', {
      needs: 'vault',
      confirms: true,
      args: { '<id>': ID },
      examples: { 'scim revoke scm_0HrZKtC4bqXw2vJm8yNd1L': 'Revoke a SCIM token' },
      async run(context, { args: [id = ''] }) {
        await context.confirmDestruction(
          `This permanently revokes the SCIM token ${clean(id)}. Members and teams that it made stay.`,
        );
        const { vault, org_id } = await context.vault();
        await vault.api.DELETE('/orgs/{org_id}/scim-tokens/{id}', { params: { path: { org_id, id } } });
        context.out.result({ id, revoked: true }, () => context.out.success(`Revoked ${id}.`));
        return 0;
      },
    }),
  },
};

export default group;
