// svc webhook: endpoints that receive events. Invariant: only a signing secret is written to stdout, so it
// can be piped to its destination.
import type { CommonOptions, Context } from '../context.ts';
import { time } from '../credentials/created.ts';
import { count, duration, type Group, list, member, moment } from '../definition/command.ts';
import { EXIT_CODES, usage } from '../errors.ts';
import { everything, pages } from '../secrets/lookup.ts';
import { readStdin, withoutEchoedBreak } from '../terminal/prompts.ts';
import { clean } from '../text.ts';

const WEBHOOK = { '<id>': 'id of the webhook, whk_…' };
const ID = 'whk_0HrZKtC4bqXw2vJm8yNd1L';
const STATUSES = ['pending', 'delivered', 'failed'] as const;

function showSecret({ out }: Context, data: { id: string; secret: string | null }, what: string): void {
  out.result(data, () => {
    out.success(`${what} ${clean(data.id)}. Its signing secret is shown only once:`);
    out.line(data.secret ?? '');
  });
}

async function setEnabled(context: Context, id: string, enabled: boolean): Promise<number> {
  const { vault, org_id } = await context.vault();
  const { data } = await vault.api.PATCH('/orgs/{org_id}/webhooks/{id}', {
    params: { path: { org_id, id } },
    body: { enabled },
  });
  context.out.result(data, () => context.out.success(`${enabled ? 'Enabled' : 'Disabled'} ${id}.`));
  return 0;
}

const group: Group = {
  commands: {
    list: member('List webhooks', {
      needs: 'vault',
      examples: { 'webhook list': 'List webhooks' },
      async run(context) {
        const { vault, org_id } = await context.vault();
        const rows = await everything(async (query) => {
          const { data } = await vault.api.GET('/orgs/{org_id}/webhooks', {
            params: { path: { org_id }, query },
          });
          return data;
        });
        context.out.list(
          rows,
          {
            id: (row) => row.id,
            url: (row) => row.url ?? 'does not open',
            events: (row) => [row.events].flat().join(' '),
            enabled: (row) => (row.enabled ? 'yes' : `no (${row.disabled_reason})`),
          },
          'There are no webhooks.',
        );
        return 0;
      },
    }),
    create: member<CommonOptions & { events?: string[]; description?: string }>('Create a webhook', {
      needs: 'vault',
      args: { '<url>': 'https address of the receiver, or - to read it from stdin' },
      options: {
        '--events <kinds>': {
          description: "kinds of events, separated by commas, or '*' for all",
          parse: list,
        },
        '--description <text>': 'what it is for',
      },
      examples: {
        'webhook create https://hooks.example.com/vault --events SECRET_ROTATED,SECRET_DELETED':
          'Send two kinds of events',
        "webhook create - --events '*' < url.txt":
          'Keep an address that contains a token out of the shell history',
      },
      notes: ['Only the signing secret is written to stdout, so you can pipe it to its destination.'],
      async run(context, { args: [given = ''], options: { events, description } }) {
        if (!events?.length)
          throw usage('--events is required.', "For example: --events SECRET_ROTATED, or --events '*'");
        const url = given === '-' ? withoutEchoedBreak(await readStdin(context.host, 'The address')) : given;
        const { vault, org_id } = await context.vault();
        const { data } = await vault.api.POST('/orgs/{org_id}/webhooks', {
          params: { path: { org_id } },
          body: { url, events: (events.includes('*') ? '*' : events) as never, description },
        });
        showSecret(context, data, 'Created webhook');
        return 0;
      },
    }),
    test: member('Send a test event to a webhook', {
      needs: 'vault',
      args: WEBHOOK,
      examples: { [`webhook test ${ID}`]: 'See what a receiver answers' },
      async run(context, { args: [id = ''] }) {
        const { vault, org_id } = await context.vault();
        const { data } = await vault.api.POST('/orgs/{org_id}/webhooks/{id}/test', {
          params: { path: { org_id, id } },
        });
        context.out.result(data, () =>
          context.out.fields({
            status: data.status,
            response: data.response_status,
            error: data.error,
            'duration (ms)': data.duration_ms,
          }),
        );
        return data.status === 'delivered' ? 0 : EXIT_CODES.failure[0];
      },
    }),
    rotate: member<CommonOptions & { overlap?: number }>('Replace the signing secret of a webhook', {
      needs: 'vault',
      confirms: true,
      args: WEBHOOK,
      options: {
        '--overlap <duration>': {
          description: 'how long the old secret also signs, up to 1d; default: 1d',
          parse: duration,
        },
      },
      examples: {
        [`webhook rotate ${ID} --overlap 1h`]: 'Replace a signing secret; both are valid for an hour',
      },
      async run(context, { args: [id = ''], options }) {
        await context.confirmDestruction(
          `The signing secret of ${clean(id)} ends after ${options.overlap ?? 86_400} s.`,
          ['webhooks', id],
        );
        const { vault, org_id } = await context.vault();
        const { data } = await vault.api.POST('/orgs/{org_id}/webhooks/{id}/rotate-secret', {
          params: { path: { org_id, id } },
          body: { overlap_seconds: options.overlap },
        });
        showSecret(context, data, 'Rotated the secret of webhook');
        return 0;
      },
    }),
    deliveries: member<CommonOptions & { limit?: number; status?: (typeof STATUSES)[number] }>(
      'List the deliveries of a webhook',
      {
        needs: 'vault',
        args: WEBHOOK,
        options: {
          '-n, --limit <n>': { description: 'maximum number of deliveries; default: 50', parse: count },
          '--status <status>': { description: 'only these', choices: STATUSES },
        },
        examples: { [`webhook deliveries ${ID} --status failed`]: 'See why deliveries failed' },
        async run(context, { args: [id = ''], options: { limit: most = 50, status } }) {
          const { vault, org_id } = await context.vault();
          const rows = await pages(most, async (limit, cursor) => {
            const { data } = await vault.api.GET('/orgs/{org_id}/webhooks/{id}/deliveries', {
              params: { path: { org_id, id }, query: { status, limit, cursor } },
            });
            return data;
          });
          context.out.list(
            rows,
            {
              id: (row) => row.id,
              event: (row) => row.event_type,
              status: (row) => row.status,
              attempts: (row) => row.attempts,
              response: (row) => row.response_status,
              error: (row) => row.error,
              created: (row) => time(row.created_at),
            },
            'There are no deliveries.',
          );
          return 0;
        },
      },
    ),
    redeliver: member<CommonOptions & { delivery?: string; since?: string }>('Send deliveries again', {
      needs: 'vault',
      args: WEBHOOK,
      options: {
        '--delivery <id>': 'this delivery, dlv_…',
        '--since <time>': {
          description: 'failed deliveries of events since this time or duration ago, such as 2h',
          parse: moment,
        },
      },
      examples: { [`webhook redeliver ${ID} --since 2h`]: 'Resend what failed in the last two hours' },
      async run(context, { args: [id = ''], options: { delivery: delivery_id, since } }) {
        if (!delivery_id === !since) throw usage('Pass either --delivery or --since.');
        const { vault, org_id } = await context.vault();
        const { data } = delivery_id
          ? await vault.api.POST('/orgs/{org_id}/webhooks/{id}/deliveries/{delivery_id}/redeliver', {
              params: { path: { org_id, id, delivery_id } },
            })
          : await vault.api.POST('/orgs/{org_id}/webhooks/{id}/redeliver', {
              params: { path: { org_id, id } },
              body: { since: since as string },
            });
        context.out.result(data, () =>
          context.out.success(`${'redelivered' in data ? data.redelivered : 1} to be sent again.`),
        );
        return 0;
      },
    }),
    enable: member('Enable a webhook', {
      needs: 'vault',
      args: WEBHOOK,
      examples: { [`webhook enable ${ID}`]: 'Enable a webhook' },
      run: (context, { args: [id = ''] }) => setEnabled(context, id, true),
    }),
    disable: member('Disable a webhook', {
      needs: 'vault',
      args: WEBHOOK,
      examples: { [`webhook disable ${ID}`]: 'Stop deliveries until it is enabled again' },
      run: (context, { args: [id = ''] }) => setEnabled(context, id, false),
    }),
    delete: member('Delete a webhook', {
      needs: 'vault',
      confirms: true,
      args: WEBHOOK,
      examples: { [`webhook delete ${ID}`]: 'Delete a webhook and its deliveries' },
      async run(context, { args: [id = ''] }) {
        await context.confirmDestruction(`This deletes the webhook ${clean(id)} and its deliveries.`, [
          'webhooks',
          id,
        ]);
        const { vault, org_id } = await context.vault();
        await vault.api.DELETE('/orgs/{org_id}/webhooks/{id}', { params: { path: { org_id, id } } });
        context.out.result({ id, deleted: true }, () => context.out.success(`Deleted ${id}.`));
        return 0;
      },
    }),
  },
};

export default group;
