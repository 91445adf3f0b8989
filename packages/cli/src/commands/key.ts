// svc key: API keys.
import { count, duration, type Group, member } from '../command.ts';
import type { CommonOptions } from '../context.ts';
import { BOUNDS, type Bounds, columns, scopesOf, showToken } from '../credentials.ts';
import { pages } from '../secrets.ts';
import { clean } from '../text.ts';

const group: Group = {
  commands: {
    list: member<CommonOptions & { limit?: number }>('List API keys', {
      needs: 'vault',
      options: { '-n, --limit <n>': { description: 'at most so many', parse: count } },
      examples: { 'key list': 'List API keys' },
      async run(context, { options }) {
        const { vault, org_id } = await context.vault();
        const rows = await pages(options.limit ?? Number.POSITIVE_INFINITY, async (limit, cursor) => {
          const { data } = await vault.api.GET('/orgs/{org_id}/api-keys', { params: { path: { org_id }, query: { limit, cursor } } });
          return data;
        });
        context.out.list(rows, columns, 'There are no API keys.');
        return 0;
      },
    }),
    create: member<CommonOptions & Bounds>('Create an API key', {
      needs: 'vault',
      args: { '<name>': 'what it is for' },
      options: BOUNDS,
      examples: { "key create 'web server' --scopes secrets:read --environments production": 'Create a key that reads production' },
      notes: ['The token is alone on stdout: pipe it to where it belongs.'],
      async run(context, { args: [name = ''], options }) {
        const { vault, org_id } = await context.vault();
        const { environments, secrets, ttl, addresses } = options;
        const { data } = await vault.api.POST('/orgs/{org_id}/api-keys', {
          params: { path: { org_id } },
          headers: context.approved(),
          body: { name, scopes: scopesOf(options), environments, secrets, ttlSeconds: ttl, allowed_addresses: addresses },
        });
        showToken(context, data, 'Created API key');
        return 0;
      },
    }),
    rotate: member<CommonOptions & { overlap?: number }>('Replace an API key by a successor', {
      needs: 'vault',
      confirms: true,
      args: { '<id>': 'its id, key_…' },
      options: { '--overlap <duration>': { description: 'how long the old key works: up to 1d, not at all by default', parse: duration } },
      examples: { 'key rotate key_0HrZKtC4bqXw2vJm8yNd1L --overlap 1h': 'Replace a key; both work for an hour' },
      async run(context, { args: [id = ''], options }) {
        const when = options.overlap ? `after ${options.overlap} s` : 'at once';
        await context.confirmDestruction(`The API key ${clean(id)} ends ${when}, and its session tokens with it.`);
        const { vault, org_id } = await context.vault();
        const { data } = await vault.api.POST('/orgs/{org_id}/api-keys/{id}/rotate', {
          params: { path: { org_id, id } },
          body: { overlap_seconds: options.overlap },
        });
        showToken(context, data, 'Created the successor');
        return 0;
      },
    }),
    revoke: member('Revoke an API key', {
      needs: 'vault',
      confirms: true,
      args: { '<id>': 'its id, key_…' },
      examples: { 'key revoke key_0HrZKtC4bqXw2vJm8yNd1L': 'End a key and its session tokens' },
      async run(context, { args: [id = ''] }) {
        await context.confirmDestruction(`The API key ${clean(id)} ends for good, and its session tokens with it.`);
        const { vault, org_id } = await context.vault();
        await vault.api.DELETE('/orgs/{org_id}/api-keys/{id}', { params: { path: { org_id, id } } });
        context.out.result({ id, revoked: true }, () => context.out.success(`Revoked ${id}.`));
        return 0;
      },
    }),
  },
};

export default group;
