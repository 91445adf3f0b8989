// svc incident: what was contained, what it did, and which secrets still need a new value.
import type { components } from '@secrets-vault/client';
import type { CommonOptions, Context } from '../context.ts';
import { time } from '../credentials/created.ts';
import { deeds, type Row, warn } from '../credentials/incidents.ts';
import { type Group, member } from '../definition/command.ts';
import { pages } from '../secrets/lookup.ts';

type Incident = components['schemas']['Incident'];
type Report = components['schemas']['IncidentReport'];

const about = ({ kind, credential }: Incident): string =>
  credential ? `${kind} ${credential.name ?? credential.id}` : kind;

function show({ out }: Context, data: Report): void {
  out.fields({
    id: data.id,
    status: data.status,
    about: about(data),
    'opened by': data.opened_by.name ?? data.opened_by.id ?? data.opened_by.kind,
    opened: time(data.created_at),
    ...(data.reason && { reason: data.reason }),
    ...(data.note && { note: data.note }),
    ...(data.rotation && { rotated: `${data.rotation.rotated} of ${data.rotation.total}` }),
  });
  const rotation = (data.rotation?.secrets ?? []).map(
    ({ name, secret_id, status, version, rotated_at }): Row => [
      status === 'due' ? 'rotate' : 'rotated',
      name ?? secret_id,
      status === 'due' ? `it knows version ${version}` : String(time(rotated_at)),
    ],
  );
  const revoked = (data.report?.revoked ?? []).map(
    ({ kind, name, id }): Row => ['revoked', name ?? id, kind],
  );
  out.table(['what', 'name', 'which'], [...rotation, ...revoked, ...(data.report ? deeds(data.report) : [])]);
}

/** A command that changes the status of an incident. */
const changing = (status: Incident['status'], summary: string, example: string) =>
  member<CommonOptions & { note?: string }>(summary, {
    needs: 'vault',
    args: { '<id>': 'id of the incident, inc_…' },
    options: {
      '--note <text>': { description: 'replace the note of the incident; "" for none', empty: true },
    },
    examples: { [`incident ${status === 'closed' ? 'close' : 'open'} inc_0HrZKtC4bqXw2vJm8yNd1L`]: example },
    async run(context, { args: [id = ''], options: { note } }) {
      const { vault, org_id } = await context.vault();
      const { data } = await vault.api.PATCH('/orgs/{org_id}/incidents/{id}', {
        params: { path: { org_id, id } },
        body: { status, ...(note !== undefined && { note: note || null }) },
      });
      context.out.result(data, () => context.out.success(`Incident ${data.id} is ${data.status}.`));
      return 0;
    },
  });

const group: Group = {
  commands: {
    list: member<CommonOptions & { status?: Incident['status'] }>('List incidents', {
      needs: 'vault',
      options: {
        '--status <status>': { description: 'only incidents of this status', choices: ['open', 'closed'] },
      },
      examples: { 'incident list --status open': 'See what is not closed yet' },
      async run(context, { options: { status } }) {
        const { vault, org_id } = await context.vault();
        const rows = await pages(Number.POSITIVE_INFINITY, async (limit, cursor) => {
          const { data } = await vault.api.GET('/orgs/{org_id}/incidents', {
            params: { path: { org_id }, query: { limit, cursor, status } },
          });
          return data;
        });
        context.out.list(
          rows,
          {
            id: (row) => row.id,
            status: (row) => row.status,
            about,
            opened: (row) => time(row.created_at),
            note: (row) => row.note ?? '',
          },
          'There are no incidents.',
        );
        return 0;
      },
    }),
    show: member('Show an incident with its report', {
      needs: 'vault',
      args: { '<id>': 'id of the incident, inc_…' },
      examples: {
        'incident show inc_0HrZKtC4bqXw2vJm8yNd1L': 'See what was read, and what still needs a new value',
      },
      async run(context, { args: [id = ''] }) {
        const { vault, org_id } = await context.vault();
        const { data } = await vault.api.GET('/orgs/{org_id}/incidents/{id}', {
          params: { path: { org_id, id } },
        });
        context.out.result(data, () => {
          show(context, data);
          if (data.report) warn(context, data.report);
        });
        return 0;
      },
    }),
    close: changing('closed', 'Close an incident', 'Close an incident'),
    open: changing('open', 'Open an incident again', 'Open an incident again'),
  },
};

export default group;
