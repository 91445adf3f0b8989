// svc token: session tokens of an API key.
import type { CommonOptions } from '../context.ts';
import { BOUNDS, type Bounds, showToken, time } from '../credentials/created.ts';
import { type Group, member } from '../definition/command.ts';
import { pages } from '../secrets/lookup.ts';
import { clean } from '../text.ts';

const { '--ttl <duration>': TTL, ...WITHOUT_TTL } = BOUNDS;

const group: Group = {
  commands: {
    list: member('List live session tokens', {
      needs: 'vault',
      examples: { 'token list': 'List live session tokens' },
      async run(context) {
        const { vault, org_id } = await context.vault();
        const rows = await pages(Number.POSITIVE_INFINITY, async (limit, cursor) => {
          const { data } = await vault.api.GET('/orgs/{org_id}/access-tokens', {
            params: { path: { org_id }, query: { limit, cursor } },
          });
          return data;
        });
        context.out.list(
          rows,
          {
            id: (row) => row.id,
            hint: (row) => row.hint,
            parent: (row) => row.parentId,
            scopes: (row) => row.scopes.join(' '),
            'last used': (row) => time(row.lastUsedAt),
            expires: (row) => time(row.expiresAt),
          },
          'There are no live session tokens.',
        );
        return 0;
      },
    }),
    create: member<CommonOptions & Bounds>('Create a session token from your API key', {
      needs: 'vault',
      options: {
        ...WITHOUT_TTL,
        '--ttl <duration>': { ...TTL, description: 'lifetime, 1m to 1d; default: 15m' },
      },
      examples: {
        'token create --ttl 10m --scopes secrets:read':
          'Create a token that can read secrets for ten minutes',
      },
      notes: [
        'This requires an API key, from svc login --key-stdin or SVC_TOKEN. Only the token is written to stdout.',
      ],
      async run(context, { options }) {
        const { vault, org_id } = await context.vault();
        const { scopes, environments, secrets, upstreams, addresses } = options;
        const { data } = await vault.api.POST('/orgs/{org_id}/access-tokens', {
          params: { path: { org_id } },
          body: {
            ttlSeconds: options.ttl ?? 900,
            scopes,
            environments,
            secrets,
            upstreams,
            allowedAddresses: addresses,
          },
        });
        showToken(context, data, 'Created session token');
        return 0;
      },
    }),
    revoke: member('Revoke a session token', {
      needs: 'vault',
      confirms: true,
      args: { '<id>': 'id of the session token, tok_…' },
      examples: { 'token revoke tok_0HrZKtC4bqXw2vJm8yNd1L': 'Revoke a session token' },
      async run(context, { args: [id = ''] }) {
        await context.confirmDestruction(`This permanently revokes the session token ${clean(id)}.`);
        const { vault, org_id } = await context.vault();
        await vault.api.DELETE('/orgs/{org_id}/access-tokens/{id}', { params: { path: { org_id, id } } });
        context.out.result({ id, revoked: true }, () => context.out.success(`Revoked ${id}.`));
        return 0;
      },
    }),
  },
};

export default group;
