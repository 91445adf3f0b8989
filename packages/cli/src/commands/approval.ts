// svc approval: requests that need the approval of other members. Decisions are made in a browser, with a
// passkey, never in a terminal.
import type { CommonOptions, Context } from '../context.ts';
import { time } from '../credentials/created.ts';
import { duration, type Group, member } from '../definition/command.ts';
import { CliError } from '../errors.ts';
import { type Approval, awaitDecision, readApproval } from '../requests/approvals.ts';
import { pages } from '../secrets/lookup.ts';

const show = (context: Context, data: Approval) =>
  context.out.result(data, () =>
    context.out.fields({
      id: data.id,
      status: data.status,
      operation: data.operation,
      summary: data.summary,
      approvals: `${data.approvals.length} of ${data.required}`,
      ends: time(data.expires_at),
      'decided at': `${context.origin}/console/approvals/${data.id}`,
    }),
  );

const group: Group = {
  commands: {
    list: member('List approval requests', {
      needs: 'vault',
      examples: { 'approval list': 'See which requests await a decision' },
      async run(context) {
        const { vault, org_id } = await context.vault();
        const rows = await pages(Number.POSITIVE_INFINITY, async (limit, cursor) => {
          const { data } = await vault.api.GET('/orgs/{org_id}/approvals', {
            params: { path: { org_id }, query: { limit, cursor } },
          });
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
          'There are no approval requests.',
        );
        return 0;
      },
    }),
    show: member('Show an approval request', {
      needs: 'vault',
      args: { '<id>': 'id of the request, apr_…' },
      examples: { 'approval show apr_0HrZKtC4bqXw2vJm8yNd1L': 'See who has approved' },
      async run(context, { args: [id = ''] }) {
        show(context, await readApproval(context, id));
        return 0;
      },
    }),
    wait: member<CommonOptions & { timeout?: number }>('Wait for a decision', {
      needs: 'vault',
      args: { '<id>': 'id of the request, apr_…' },
      options: {
        '--timeout <duration>': {
          description: 'stop waiting after this time; default: never',
          parse: duration,
        },
      },
      examples: {
        'approval wait apr_0HrZKtC4bqXw2vJm8yNd1L && svc get DATABASE_URL --approval apr_0HrZKtC4bqXw2vJm8yNd1L':
          'Read a value once the request is approved',
      },
      notes: [
        'The exit code is 0 if the request is approved, 4 if it is rejected or cancelled, and 8 if it is still pending at the timeout.',
      ],
      async run(context, { args: [id = ''], options }) {
        const until = Date.now() + (options.timeout ?? Number.POSITIVE_INFINITY) * 1000;
        const data = await awaitDecision(context, id, until);
        if (data.status === 'pending')
          throw new CliError('The request is still pending.', {
            exit: 'approval',
            code: 'APPROVAL_PENDING',
            approval: id,
          });
        if (data.status !== 'approved')
          throw new CliError(`The request is ${data.status}.`, {
            exit: 'refused',
            code: 'APPROVAL_NOT_GIVEN',
            approval: id,
          });
        show(context, data);
        return 0;
      },
    }),
    cancel: member('Cancel an approval request', {
      needs: 'vault',
      args: { '<id>': 'id of the request, apr_…' },
      examples: { 'approval cancel apr_0HrZKtC4bqXw2vJm8yNd1L': 'Cancel your own request' },
      async run(context, { args: [id = ''] }) {
        const { vault, org_id } = await context.vault();
        const { data } = await vault.api.POST('/orgs/{org_id}/approvals/{id}/cancel', {
          params: { path: { org_id, id } },
        });
        context.out.result(data, () => context.out.success(`Cancelled ${id}.`));
        return 0;
      },
    }),
  },
};

export default group;
