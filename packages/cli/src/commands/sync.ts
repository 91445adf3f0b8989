// svc sync: writes secrets to other platforms through stored connections. Invariant: a config, which contains
// credentials, comes from stdin.
import { setTimeout as sleep } from 'node:timers/promises';
import type { components } from '@secrets-vault/client';
import type { CommonOptions, Context } from '../context.ts';
import { time } from '../credentials/created.ts';
import { type Group, list, member } from '../definition/command.ts';
import { EXIT_CODES, usage } from '../errors.ts';
import { pages } from '../secrets/lookup.ts';
import { readObject } from '../terminal/prompts.ts';
import { clean } from '../text.ts';

type Results = { name: string; targetName: string | null; action: string; code?: string; message?: string }[];
type Sync = components['schemas']['Sync'];

const resultColumns = {
  name: (row: Results[number]) => row.name,
  there: (row: Results[number]) => row.targetName,
  outcome: (row: Results[number]) => row.action,
  why: (row: Results[number]) => [row.code, row.message].filter(Boolean).join(': '),
};

async function read(context: Context, id: string): Promise<Sync> {
  const { vault, org_id } = await context.vault();
  const { data } = await vault.api.GET('/orgs/{org_id}/integrations/syncs/{id}', {
    params: { path: { org_id, id } },
  });
  return data as Sync;
}

const isOver = ({ status }: Sync) => status !== 'queued' && status !== 'running';

function show({ out }: Context, sync: Sync): number {
  out.result(sync, () => {
    out.table(
      Object.keys(resultColumns),
      (sync.results as Results).map((row) => Object.values(resultColumns).map((of) => of(row))),
    );
    out.note(
      `${sync.id} to ${sync.platform}: ${sync.status}.${sync.redeployRequired ? ' Redeploy there for the change to take effect.' : ''}`,
    );
  });
  return isOver(sync) && sync.status !== 'completed' ? EXIT_CODES.failure[0] : 0;
}

interface RunOptions extends CommonOptions {
  dryRun?: boolean;
  only?: string[];
  detach?: boolean;
}

const group: Group = {
  commands: {
    run: member<RunOptions>('Write the secrets of an environment to a platform', {
      needs: 'environment',
      args: { '<connection>': 'id of a stored connection, int_…' },
      options: {
        '--dry-run': 'show the outcome without writing anything',
        '--only <names>': { description: 'write only these secrets, separated by commas', parse: list },
        '--detach': 'do not wait for the sync to finish',
      },
      examples: { 'sync run int_0HrZKtC4bqXw2vJm8yNd1L --env production --dry-run': 'Preview a sync' },
      async run(context, { args: [integrationId = ''], options }) {
        const { vault, org_id } = await context.vault();
        const { data } = await vault.api.POST('/orgs/{org_id}/integrations/sync', {
          params: { path: { org_id } },
          headers: context.approved(),
          body: {
            integrationId,
            environmentId: await context.environment(),
            names: options.only,
            dryRun: options.dryRun,
          },
        });
        if (!('syncId' in data)) {
          context.out.list(data.results as Results, resultColumns, 'There is nothing to do.');
          return 0;
        }
        let sync = await read(context, data.syncId);
        while (!options.detach && !isOver(sync)) {
          await sleep(1_000);
          sync = await read(context, data.syncId);
        }
        return show(context, sync);
      },
    }),
    status: member('Show a sync', {
      needs: 'vault',
      args: { '<id>': 'id of the sync, syn_…' },
      examples: { 'sync status syn_0HrZKtC4bqXw2vJm8yNd1L': 'See which secrets were written' },
      async run(context, { args: [id = ''] }) {
        return show(context, await read(context, id));
      },
    }),
    list: member('List syncs, newest first', {
      needs: 'vault',
      examples: { 'sync list': 'List syncs' },
      async run(context) {
        const { vault, org_id } = await context.vault();
        const { data } = await vault.api.GET('/orgs/{org_id}/integrations/syncs', {
          params: { path: { org_id }, query: { limit: 50 } },
        });
        context.out.list(
          data.data,
          {
            id: (row) => row.id,
            platform: (row) => row.platform,
            environment: (row) => row.environmentId,
            status: (row) => row.status,
            started: (row) => time(row.createdAt),
          },
          'There are no syncs.',
        );
        return 0;
      },
    }),
    cancel: member('Cancel a sync', {
      needs: 'vault',
      args: { '<id>': 'id of the sync, syn_…' },
      examples: { 'sync cancel syn_0HrZKtC4bqXw2vJm8yNd1L': 'Stop a sync; secrets already written stay' },
      async run(context, { args: [id = ''] }) {
        const { vault, org_id } = await context.vault();
        const { data } = await vault.api.POST('/orgs/{org_id}/integrations/syncs/{id}/cancel', {
          params: { path: { org_id, id } },
        });
        context.out.result(data, () => context.out.success(`Cancelled ${id}.`));
        return 0;
      },
    }),
    connections: member('List stored connections', {
      needs: 'vault',
      examples: { 'sync connections': 'List stored connections' },
      async run(context) {
        const { vault, org_id } = await context.vault();
        const rows = await pages(Number.POSITIVE_INFINITY, async (limit, cursor) => {
          const { data } = await vault.api.GET('/orgs/{org_id}/integrations', {
            params: { path: { org_id }, query: { limit, cursor } },
          });
          return data;
        });
        context.out.list(
          rows.filter(({ kind }) => kind === 'sync'),
          {
            id: (row) => row.id,
            name: (row) => row.name,
            platform: (row) => row.platform,
            environments: (row) => row.environments?.join(' '),
            auto: (row) => (row.auto ? 'yes' : 'no'),
            prune: (row) => (row.prune ? 'yes' : 'no'),
          },
          'There are no connections.',
        );
        return 0;
      },
    }),
    connect: member<
      CommonOptions & { name?: string; environments?: string[]; auto?: boolean; prune?: boolean }
    >('Store a connection', {
      needs: 'vault',
      args: { '<platform>': 'platform, such as github-actions, vercel or aws-ssm' },
      options: {
        '--name <name>': 'name of the connection',
        '--environments <slugs>': {
          description: 'environments that it may send, separated by commas',
          parse: list,
        },
        '--auto': 'sync whenever a secret changes',
        '--prune': 'delete secrets there that were deleted here, if this vault wrote them',
      },
      examples: {
        "sync connect heroku --name 'Demo app' --environments production < config.json":
          'Store a connection; its config is read from stdin',
      },
      notes: [
        'The config is JSON and contains the credentials for the platform. The pages in docs/sync list the fields for each platform.',
      ],
      async run(context, { args: [platform = ''], options: { name, environments, auto, prune } }) {
        if (!name) throw usage('--name is required.');
        const next = 'Pass the config: svc sync connect PLATFORM --name NAME < config.json';
        const config = await readObject(context.host, 'The config', next);
        const { vault, org_id } = await context.vault();
        const { data } = await vault.api.POST('/orgs/{org_id}/integrations', {
          params: { path: { org_id } },
          body: {
            kind: 'sync',
            platform: platform as Sync['platform'],
            name,
            config: config as never,
            environments,
            auto,
            prune,
          },
        });
        context.out.result(data, () =>
          context.out.success(`Stored ${data.id}. To preview a sync: svc sync run ${data.id} --dry-run`),
        );
        return 0;
      },
    }),
    disconnect: member('Remove a stored connection', {
      needs: 'vault',
      confirms: true,
      args: { '<id>': 'id of the connection, int_…' },
      examples: {
        'sync disconnect int_0HrZKtC4bqXw2vJm8yNd1L':
          'Remove a connection; secrets already written stay there',
      },
      async run(context, { args: [id = ''] }) {
        await context.confirmDestruction(
          `This removes the connection ${clean(id)} and the credentials stored with it.`,
          ['integrations', id],
        );
        const { vault, org_id } = await context.vault();
        await vault.api.DELETE('/orgs/{org_id}/integrations/{id}', { params: { path: { org_id, id } } });
        context.out.result({ id, removed: true }, () => context.out.success(`Removed ${id}.`));
        return 0;
      },
    }),
  },
};

export default group;
