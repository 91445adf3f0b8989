// svc approval: requests that wait for other people. A terminal decides nothing: that is done in a browser, with a passkey.
import { duration, type Group, member } from '../command.ts';
import type { CommonOptions, Context } from '../context.ts';
import { time } from '../credentials.ts';
import { CliError } from '../errors.ts';
import { pages } from '../secrets.ts';

async function read(context: Context, id: string, wait?: number) {
  const { vault, org_id } = await context.vault();
  const { data } = await vault.api.GET('/orgs/{org_id}/approvals/{id}', {
    params: { path: { org_id, id }, query: { wait: wait === undefined ? undefined : String(wait) } },
  });
  return data;
}

type Approval = Awaited<ReturnType<typeof read>>;

const show = (context: Context, data: Approval) =>
  context.out.result(data, () =>
    context.out.fields({
      id: data.id,
      status: data.status,
      operation: data.operation,
      summary: data.summary,
      approvals: `${data.approvals.length} of ${data.required}`,
      ends: time(data.expires_at),
      'decided at': `${context.origin}/approvals`,
    }),
  );

const group: Group = {
  commands: {
    list: member('List requests', {
      needs: 'vault',
      examples: { 'approval list': 'See what waits for a decision' },
      async run(context) {
        const { vault, org_id } = await context.vault();
        const rows = await pages(Number.POSITIVE_INFINITY, async (limit, cursor) => {
          const { data } = await vault.api.GET('/orgs/{org_id}/approvals', { params: { path: { org_id }, query: { limit, cursor } } });
          return data;
        });
        context.out.list(
          rows,
          {
            id: (row) => row.id,
            status: (row) => row.status,
            operation: (row) => row.operation,
            summary: (row) => row.summary,
            approvals: (row) => `${row.approvals.length} of ${row.required}`,
            created: (row) => time(row.created_at),
          },
          'There are no requests.',
        );
        return 0;
      },
    }),
    show: member('Show a request', {
      needs: 'vault',
      args: { '<id>': 'its id, apr_…' },
      examples: { 'approval show apr_0HrZKtC4bqXw2vJm8yNd1L': 'See who has approved' },
      async run(context, { args: [id = ''] }) {
        show(context, await read(context, id));
        return 0;
      },
    }),
    wait: member<CommonOptions & { timeout?: number }>('Wait for the decision', {
      needs: 'vault',
      args: { '<id>': 'its id, apr_…' },
      options: { '--timeout <duration>': { description: 'give up after this; never by default', parse: duration } },
      examples: {
        'approval wait apr_0HrZKtC4bqXw2vJm8yNd1L && svc get DATABASE_URL --approval apr_0HrZKtC4bqXw2vJm8yNd1L':
          'Read a value once that is approved',
      },
      notes: ['The exit code is 0 once it is approved, 4 if it was rejected or cancelled, and 8 if the time is over.'],
      async run(context, { args: [id = ''], options }) {
        const until = Date.now() + (options.timeout ?? Number.POSITIVE_INFINITY) * 1000;
        for (;;) {
          const left = Math.ceil((until - Date.now()) / 1000);
          const data = await read(context, id, Math.max(1, Math.min(20, left)));
          if (data.status === 'approved') {
            show(context, data);
            return 0;
          }
          if (data.status !== 'pending')
            throw new CliError(`The request is ${data.status}.`, { exit: 'refused', code: 'APPROVAL_NOT_GIVEN', approval: id });
          if (Date.now() >= until)
            throw new CliError('Nobody has decided yet.', { exit: 'approval', code: 'APPROVAL_PENDING', approval: id });
        }
      },
    }),
    cancel: member('Withdraw a request', {
      needs: 'vault',
      args: { '<id>': 'its id, apr_…' },
      examples: { 'approval cancel apr_0HrZKtC4bqXw2vJm8yNd1L': 'Withdraw what you asked for' },
      async run(context, { args: [id = ''] }) {
        const { vault, org_id } = await context.vault();
        const { data } = await vault.api.POST('/orgs/{org_id}/approvals/{id}/cancel', { params: { path: { org_id, id } } });
        context.out.result(data, () => context.out.success(`Cancelled ${id}.`));
        return 0;
      },
    }),
  },
};

export default group;
