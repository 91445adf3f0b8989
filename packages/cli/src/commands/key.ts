// svc key: API keys.
import type { CommonOptions } from '../context.ts';
import { BOUNDS, type Bounds, columns, scopesOf, showToken } from '../credentials/created.ts';
import { count, duration, type Group, member } from '../definition/command.ts';
import { pages } from '../secrets/lookup.ts';
import { clean } from '../text.ts';

const group: Group = {
  commands: {
    list: member<CommonOptions & { limit?: number }>('List API keys', {
      needs: 'vault',
      options: { '-n, --limit <n>': { description: 'maximum number of keys', parse: count } },
      examples: { 'key list': 'List API keys' },
      async run(context, { options }) {
        const { vault, org_id } = await context.vault();
        const rows = await pages(options.limit ?? Number.POSITIVE_INFINITY, async (limit, cursor) => {
          const { data } = await vault.api.GET('/orgs/{org_id}/api-keys', {
            params: { path: { org_id }, query: { limit, cursor } },
          });
          return data;
        });
        context.out.list(rows, columns, 'There are no API keys.');
        return 0;
      },
    }),
    create: member<CommonOptions & Bounds>('Create an API key', {
      needs: 'vault',
      args: { '<name>': 'a name that says what it is for' },
      options: BOUNDS,
      examples: {
        "key create 'web server' --scopes secrets:read --environments production":
          'Create a key that can read production',
      },
      notes: ['Only the token is written to stdout, so you can pipe it to its destination.'],
      async run(context, { args: [name = ''], options }) {
        const { vault, org_id } = await context.vault();
        const { environments, secrets, upstreams, ttl, addresses } = options;
        const { data } = await vault.api.POST('/orgs/{org_id}/api-keys', {
          params: { path: { org_id } },
          headers: context.approved(),
          body: {
            name,
            scopes: scopesOf(options),
            environments,
            secrets,
            upstreams,
            ttlSeconds: ttl,
            allowed_addresses: addresses,
          },
        });
        showToken(context, data, 'Created API key');
        return 0;
      },
    }),
    rotate: member<CommonOptions & { overlap?: number }>('Replace an API key with a new one', {
      needs: 'vault',
      confirms: true,
      args: { '<id>': 'id of the API key, key_…' },
      options: {
        '--overlap <duration>': {
          description: 'how long the old key stays valid, up to 1d; default: it is revoked immediately',
          parse: duration,
        },
      },
      examples: {
        'key rotate key_0HrZKtC4bqXw2vJm8yNd1L --overlap 1h': 'Replace a key; both are valid for an hour',
      },
      async run(context, { args: [id = ''], options }) {
        const when = options.overlap ? `after ${options.overlap} s` : 'immediately';
        await context.confirmDestruction(`The API key ${clean(id)} and its session tokens expire ${when}.`, [
          'api-keys',
          id,
        ]);
        const { vault, org_id } = await context.vault();
        const { data } = await vault.api.POST('/orgs/{org_id}/api-keys/{id}/rotate', {
          params: { path: { org_id, id } },
          body: { overlap_seconds: options.overlap },
        });
        showToken(context, data, 'Created the new key');
        return 0;
      },
    }),
    revoke: member('Revoke an API key', {
      needs: 'vault',
      confirms: true,
      args: { '<id>': 'id of the API key, key_…' },
      examples: { 'key revoke key_0HrZKtC4bqXw2vJm8yNd1L': 'Revoke a key and its session tokens' },
      async run(context, { args: [id = ''] }) {
        await context.confirmDestruction(
          `This permanently revokes the API key ${clean(id)} and its session tokens.`,
          ['api-keys', id],
        );
        const { vault, org_id } = await context.vault();
        await vault.api.DELETE('/orgs/{org_id}/api-keys/{id}', { params: { path: { org_id, id } } });
        context.out.result({ id, revoked: true }, () => context.out.success(`Revoked ${id}.`));
        return 0;
      },
    }),
  },
};

export default group;
