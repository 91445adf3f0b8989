// svc agent: credentials for AI agents.
import type { CommonOptions } from '../context.ts';
import { BOUNDS, type Bounds, columns, scopesOf, showToken } from '../credentials/created.ts';
import { count, type Group, member } from '../definition/command.ts';
import { usage } from '../errors.ts';
import { limitsOf, MCP_OPTIONS, type McpOptions } from '../mcp/limits.ts';
import { pages } from '../secrets/lookup.ts';
import { clean } from '../text.ts';

const RATE = { '--rate-limit <n>': { description: 'requests per minute', parse: count } };

const group: Group = {
  commands: {
    list: member('List agent credentials', {
      needs: 'vault',
      examples: { 'agent list': 'List agent credentials' },
      async run(context) {
        const { vault, org_id } = await context.vault();
        const rows = await pages(Number.POSITIVE_INFINITY, async (limit, cursor) => {
          const { data } = await vault.api.GET('/orgs/{org_id}/agent-credentials', {
            params: { path: { org_id }, query: { limit, cursor } },
          });
          return data;
        });
        context.out.list(rows, columns, 'There are no agent credentials.');
        return 0;
      },
    }),
    create: member<CommonOptions & Bounds & McpOptions & { rateLimit?: number }>(
      'Create an agent credential',
      {
        needs: 'vault',
        args: { '<name>': 'a name that says what it is for' },
        options: { ...BOUNDS, ...RATE, ...MCP_OPTIONS },
        examples: {
          "agent create triage --scopes secrets:read --environments staging --secrets 'app/*' --ttl 1d":
            'Create a credential that reads app/* in staging for a day',
          'agent create biller --scopes secrets:use --upstreams stripe':
            'Create an agent that calls Stripe through the vault, and reads no value',
          'agent create payments --scopes secrets:read --secrets STRIPE_KEY --bind STRIPE_KEY=api.stripe.com/v1,header=Authorization':
            'Create a credential with which svc mcp can call Stripe and do nothing else',
        },
        notes: [
          'It expires after 30 days unless --ttl is shorter, and never outlives your own credential. Only the token is written to stdout.',
          'With options of svc mcp, such as --bind, svc mcp can do no more with this credential than they allow, whatever options it is started with.',
        ],
        async run(context, { args: [name = ''], options }) {
          const { vault, org_id } = await context.vault();
          const { environments, secrets, upstreams, ttl, addresses, rateLimit } = options;
          const { data } = await vault.api.POST('/orgs/{org_id}/agent-credentials', {
            params: { path: { org_id } },
            body: {
              name,
              scopes: scopesOf(options),
              environments,
              secrets,
              upstreams,
              ttlSeconds: ttl,
              allowed_addresses: addresses,
              rate_limit: rateLimit,
              mcp_limits: limitsOf(options),
            },
          });
          showToken(context, data, 'Created agent credential');
          return 0;
        },
      },
    ),
    update: member<CommonOptions & Bounds & McpOptions & { rateLimit?: number }>(
      'Change the permissions of an agent',
      {
        needs: 'vault',
        args: { '<id>': 'id of the agent credential, agt_…' },
        options: { ...BOUNDS, ...RATE, ...MCP_OPTIONS },
        examples: {
          'agent update agt_0HrZKtC4bqXw2vJm8yNd1L --secrets app/config': 'Restrict an agent to one secret',
        },
        notes: [
          'The change applies from the next request of the agent.',
          'Options of svc mcp, such as --bind, replace its limits as a whole. They apply from the next start of svc mcp.',
        ],
        async run(context, { args: [id = ''], options }) {
          const { scopes, environments, secrets, upstreams, ttl, addresses, rateLimit } = options;
          const mcp_limits = limitsOf(options);
          const body = {
            scopes,
            environments,
            secrets,
            upstreams,
            ttlSeconds: ttl,
            allowed_addresses: addresses,
            rate_limit: rateLimit,
            mcp_limits,
          };
          if (Object.values(body).every((value) => value === undefined))
            throw usage('No change was given.', 'See svc agent update --help');
          const { vault, org_id } = await context.vault();
          const { data } = await vault.api.PATCH('/orgs/{org_id}/agent-credentials/{id}', {
            params: { path: { org_id, id } },
            body,
          });
          context.out.result(data, () => context.out.success(`Changed ${id}.`));
          return 0;
        },
      },
    ),
    revoke: member('Revoke an agent credential', {
      needs: 'vault',
      confirms: true,
      args: { '<id>': 'id of the agent credential, agt_…' },
      examples: { 'agent revoke agt_0HrZKtC4bqXw2vJm8yNd1L': 'Revoke an agent credential' },
      async run(context, { args: [id = ''] }) {
        await context.confirmDestruction(
          `This permanently revokes the agent credential ${clean(id)} and the credentials that it created.`,
          ['agent-credentials', id],
        );
        const { vault, org_id } = await context.vault();
        await vault.api.DELETE('/orgs/{org_id}/agent-credentials/{id}', { params: { path: { org_id, id } } });
        context.out.result({ id, revoked: true }, () => context.out.success(`Revoked ${id}.`));
        return 0;
      },
    }),
  },
};

export default group;
