// svc log-stream: where the audit log is sent as it grows. A config is JSON from stdin, because it contains
// credentials. Invariant: only a signing secret is written to stdout, so it can be piped to its destination.
import type { components } from '@secrets-vault/client';
import type { CommonOptions, Context } from '../context.ts';
import { time } from '../credentials/created.ts';
import { count, type Group, member } from '../definition/command.ts';
import { usage } from '../errors.ts';
import { everything } from '../secrets/lookup.ts';
import { readObject } from '../terminal/prompts.ts';
import { clean } from '../text.ts';

type LogStream = components['schemas']['LogStream'];

const STREAM = { '<id>': 'id of the log stream, log_…' };
const ID = 'log_0HrZKtC4bqXw2vJm8yNd1L';
const FIELDS =
  'The JSON has the fields name, kind, config and, if you like, format, from and enabled. See docs/guides/log-streams.md.';

const statusOf = ({ status, disabled_reason }: LogStream): string =>
  disabled_reason === null ? status : `${status} (${disabled_reason})`;

/** A change, with the signing secret that a new config of kind https has. */
function tell({ out }: Context, data: LogStream & { secret?: string | null }, what: string): void {
  out.result(data, () => {
    out.success(
      `${what} ${clean(data.name)} (${clean(data.id)}).${data.secret ? ' Its signing secret is shown only once:' : ''}`,
    );
    if (data.secret) out.line(data.secret);
  });
}

async function change(context: Context, id: string, { revision, ...body }: Record<string, unknown>) {
  if (revision !== undefined) context.seen.note(id, { revision, ...body });
  const { vault, org_id } = await context.vault();
  const { data } = await vault.api.PATCH('/orgs/{org_id}/log-streams/{id}', {
    params: { path: { org_id, id } },
    body: body as never,
  });
  return data;
}

const group: Group = {
  commands: {
    list: member('List log streams', {
      needs: 'vault',
      examples: { 'log-stream list': 'List log streams' },
      async run(context) {
        const { vault, org_id } = await context.vault();
        const rows = await everything(async (query) => {
          const { data } = await vault.api.GET('/orgs/{org_id}/log-streams', {
            params: { path: { org_id }, query },
          });
          return data;
        });
        context.out.list(
          rows,
          {
            id: (row) => row.id,
            name: (row) => row.name,
            kind: (row) => row.kind,
            status: statusOf,
            position: (row) => row.position.sequence,
            'last error': (row) => row.last_error?.message ?? '',
          },
          'There are no log streams.',
        );
        return 0;
      },
    }),
    show: member('Show a log stream', {
      needs: 'vault',
      args: STREAM,
      examples: { [`log-stream show ${ID}`]: 'Show how far a stream has come, and its last error' },
      async run(context, { args: [id = ''] }) {
        const { vault, org_id } = await context.vault();
        const { data } = await vault.api.GET('/orgs/{org_id}/log-streams/{id}', {
          params: { path: { org_id, id } },
        });
        context.out.result(data, () =>
          context.out.fields({
            name: data.name,
            kind: data.kind,
            format: data.format,
            config: JSON.stringify(data.config),
            status: statusOf(data),
            position: data.position.sequence,
            'time of the position': data.position.time === null ? null : time(data.position.time),
            'last error': data.last_error?.message ?? null,
          }),
        );
        return 0;
      },
    }),
    create: member('Create a log stream', {
      needs: 'vault',
      examples: { 'log-stream create < stream.json': 'Create a stream; its content is read from stdin' },
      notes: [FIELDS, 'For kind https, only the signing secret is written to stdout.'],
      async run(context) {
        const body = await readObject(
          context.host,
          'The log stream',
          'Pass the log stream: svc log-stream create < stream.json',
        );
        const { vault, org_id } = await context.vault();
        const { data } = await vault.api.POST('/orgs/{org_id}/log-streams', {
          params: { path: { org_id } },
          body: body as never,
        });
        tell(context, data, 'Created the log stream');
        return 0;
      },
    }),
    update: member('Change a log stream', {
      needs: 'vault',
      args: STREAM,
      examples: { [`log-stream update ${ID} < change.json`]: 'Replace the fields that the file contains' },
      notes: [
        'The JSON has one or more of the fields name, config, format and enabled. A config replaces the stored one whole, with its credentials.',
      ],
      async run(context, { args: [id = ''] }) {
        const body = await readObject(
          context.host,
          'The change',
          `Pass the change: svc log-stream update ${clean(id)} < change.json`,
        );
        tell(context, await change(context, id, body), 'Changed');
        return 0;
      },
    }),
    test: member('Send a test message', {
      needs: 'vault',
      args: STREAM,
      examples: { [`log-stream test ${ID}`]: 'See whether the target takes a message' },
      async run(context, { args: [id = ''] }) {
        const { vault, org_id } = await context.vault();
        const { data } = await vault.api.POST('/orgs/{org_id}/log-streams/{id}/test', {
          params: { path: { org_id, id } },
        });
        context.out.result(data, () =>
          context.out.success(`The target took the message, with status ${data.status}.`),
        );
        return 0;
      },
    }),
    seek: member<CommonOptions & { from?: number }>('Send entries again', {
      needs: 'vault',
      args: STREAM,
      options: {
        '--from <sequence>': { description: 'the first entry to send again', parse: count },
      },
      examples: { [`log-stream seek ${ID} --from 1042`]: 'Send the entries from 1042 on again' },
      async run(context, { args: [id = ''], options: { from } }) {
        if (from === undefined) throw usage('--from is required.', 'For example: --from 1042');
        const { vault, org_id } = await context.vault();
        const { data } = await vault.api.POST('/orgs/{org_id}/log-streams/{id}/seek', {
          params: { path: { org_id, id } },
          body: { sequence: from },
        });
        context.out.result(data, () => context.out.success(`Entries from ${from} on are sent again.`));
        return 0;
      },
    }),
    enable: member('Enable a log stream', {
      needs: 'vault',
      args: STREAM,
      examples: { [`log-stream enable ${ID}`]: 'Enable a stream, which sends on from its position' },
      async run(context, { args: [id = ''] }) {
        tell(context, await change(context, id, { enabled: true }), 'Enabled');
        return 0;
      },
    }),
    disable: member('Disable a log stream', {
      needs: 'vault',
      confirms: true,
      args: STREAM,
      examples: { [`log-stream disable ${ID}`]: 'Stop sending until it is enabled again' },
      async run(context, { args: [id = ''] }) {
        await context.confirmDestruction(`The log stream ${clean(id)} sends no more entries.`, [
          'log-streams',
          id,
        ]);
        tell(context, await change(context, id, { enabled: false }), 'Disabled');
        return 0;
      },
    }),
    delete: member('Delete a log stream', {
      needs: 'vault',
      confirms: true,
      args: STREAM,
      examples: { [`log-stream delete ${ID}`]: 'Delete a stream' },
      async run(context, { args: [id = ''] }) {
        await context.confirmDestruction(`This deletes the log stream ${clean(id)}.`, ['log-streams', id]);
        const { vault, org_id } = await context.vault();
        await vault.api.DELETE('/orgs/{org_id}/log-streams/{id}', { params: { path: { org_id, id } } });
        context.out.result({ id, deleted: true }, () => context.out.success(`Deleted ${id}.`));
        return 0;
      },
    }),
  },
};

export default group;
