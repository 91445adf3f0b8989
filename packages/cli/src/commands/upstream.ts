// svc upstream: HTTP APIs that callers use through the vault, which places the secrets. What is made by hand
// is JSON from stdin; `add` makes one of the catalogue.
import type { components } from '@secrets-vault/client';
import type { CommonOptions, Context } from '../context.ts';
import { type Group, member } from '../definition/command.ts';
import { CliError, usage } from '../errors.ts';
import { CATALOGUE } from '../proxy/upstream-catalogue.ts';
import { everything } from '../secrets/lookup.ts';
import { readObject } from '../terminal/prompts.ts';
import { clean } from '../text.ts';

type Upstream = components['schemas']['Upstream'];

const UPSTREAM = { '<name>': 'name of the upstream, or its id, ups_…' };
const FIELDS =
  'The JSON has the fields name, base_url, environment, auth and allow, and, if you like, bounds. See docs/guides/upstreams.md.';

async function all(context: Context) {
  const { vault, org_id } = await context.vault();
  return everything(async (query) => {
    const { data } = await vault.api.GET('/orgs/{org_id}/upstreams', { params: { path: { org_id }, query } });
    return data;
  });
}

/** The upstream that an argument names. */
async function named(context: Context, given: string) {
  const row = (await all(context)).find(({ id, name }) => id === given || name === given);
  if (!row)
    throw new CliError(`There is no upstream ${clean(given)} that this credential may see.`, {
      exit: 'notFound',
      next: 'svc upstream list',
    });
  return row;
}

/** `POST, GET /v1/charges`, a line for each entry. */
const allowed = ({ allow }: Pick<Upstream, 'allow'>): string =>
  allow.map(({ methods, paths }) => `${methods.join(', ')} ${paths.join(' ')}`).join('\n');

async function create(context: Context, body: unknown): Promise<void> {
  const { vault, org_id } = await context.vault();
  const { data } = await vault.api.POST('/orgs/{org_id}/upstreams', {
    params: { path: { org_id } },
    headers: context.approved(),
    body: body as never,
  });
  context.out.result(data, () => context.out.success(`Created the upstream ${data.name} (${data.id}).`));
}

const group: Group = {
  commands: {
    list: member('List upstreams', {
      needs: 'vault',
      examples: { 'upstream list': 'List the upstreams that you may see or use' },
      async run(context) {
        context.out.list(
          await all(context),
          {
            name: (row) => row.name,
            url: (row) => row.base_url,
            environment: (row) => row.environment ?? '',
            secrets: (row) => row.secrets?.join(', ') ?? '',
            status: (row) => row.status ?? '',
          },
          'There are no upstreams.',
        );
        return 0;
      },
    }),
    show: member('Show an upstream', {
      needs: 'vault',
      args: UPSTREAM,
      examples: { 'upstream show stripe': 'Show where it sends, and what it lets through' },
      async run(context, { args: [name = ''] }) {
        const row = await named(context, name);
        context.out.result(row, () =>
          context.out.fields({
            name: row.name,
            id: row.id,
            'base URL': row.base_url,
            environment: row.environment ?? null,
            secrets: row.secrets?.join(', ') ?? null,
            allows: allowed(row),
            status: row.status ?? null,
          }),
        );
        return 0;
      },
    }),
    catalogue: member('List upstreams that svc upstream add makes', {
      needs: 'nothing',
      examples: { 'upstream catalogue': 'List the APIs that need no JSON' },
      async run({ out }) {
        out.list(
          Object.entries(CATALOGUE).map(([name, { what, secret, also = [], source }]) => ({
            name,
            what,
            secret: [secret, ...also].join(', '),
            source,
          })),
          {
            name: (row) => row.name,
            'calls may': (row) => row.what,
            secret: (row) => row.secret,
            'how to get it': (row) => row.source,
          },
          'There are none.',
        );
        return 0;
      },
    }),
    add: member<CommonOptions & { secret?: string; name?: string; baseUrl?: string }>(
      'Make an upstream of the catalogue',
      {
        needs: 'environment',
        args: { '<api>': 'an API of svc upstream catalogue, such as stripe' },
        options: {
          '--secret <name>': { description: 'the secret with its credential; by default the usual name' },
          '--name <name>': { description: 'the name of the upstream; by default that of the API' },
          '--base-url <url>': { description: 'where the API is, if not at the address of the catalogue' },
        },
        examples: {
          'upstream add stripe': 'Let callers use Stripe with the secret STRIPE_SECRET_KEY',
          'upstream add openai --secret OPENAI_TEAM_KEY': 'The same with a secret of another name',
        },
        notes: ['It lets through what the catalogue names. Change that with svc upstream update.'],
        async run(context, { args: [api = ''], options: { secret, name, baseUrl } }) {
          const ready = Object.hasOwn(CATALOGUE, api) ? CATALOGUE[api] : undefined;
          if (!ready) throw usage(`The catalogue has no ${clean(api)}.`, 'svc upstream catalogue');
          if (ready.isOwnAddress && baseUrl === undefined)
            throw usage(
              `${clean(api)} has no address of its own.`,
              `svc upstream add ${clean(api)} --base-url URL`,
            );
          await create(context, {
            name: name ?? api,
            environment: await context.environment(),
            ...ready.fields(secret ?? ready.secret),
            ...(baseUrl !== undefined && { base_url: baseUrl }),
          });
          return 0;
        },
      },
    ),
    create: member('Create an upstream', {
      needs: 'vault',
      examples: { 'upstream create < upstream.json': 'Create an upstream; its content is read from stdin' },
      notes: [FIELDS],
      async run(context) {
        await create(
          context,
          await readObject(
            context.host,
            'The upstream',
            'Pass the upstream: svc upstream create < upstream.json',
          ),
        );
        return 0;
      },
    }),
    update: member('Change an upstream', {
      needs: 'vault',
      args: UPSTREAM,
      examples: { 'upstream update stripe < change.json': 'Replace the fields that the file contains' },
      notes: ['Whoever changes where it sends is its maker from then on.'],
      async run(context, { args: [name = ''] }) {
        const { revision, ...body } = await readObject(
          context.host,
          'The change',
          `Pass the change: svc upstream update ${clean(name)} < change.json`,
        );
        const { id } = await named(context, name);
        if (revision !== undefined) context.seen.note(id, { revision, ...body });
        const { vault, org_id } = await context.vault();
        const { data } = await vault.api.PATCH('/orgs/{org_id}/upstreams/{id}', {
          params: { path: { org_id, id } },
          headers: context.approved(),
          body: body as never,
        });
        context.out.result(data, () => context.out.success(`Changed the upstream ${data.name}.`));
        return 0;
      },
    }),
    delete: member('Delete an upstream', {
      needs: 'vault',
      confirms: true,
      args: UPSTREAM,
      examples: { 'upstream delete stripe': 'End it: no call begins any more' },
      async run(context, { args: [name = ''] }) {
        const { id, name: own } = await named(context, name);
        await context.confirmDestruction(
          `This deletes the upstream ${clean(own)}: no call begins any more.`,
          ['upstreams', id],
        );
        const { vault, org_id } = await context.vault();
        await vault.api.DELETE('/orgs/{org_id}/upstreams/{id}', { params: { path: { org_id, id } } });
        context.out.result({ id, deleted: true }, () => context.out.success(`Deleted ${own}.`));
        return 0;
      },
    }),
  },
};

export default group;
