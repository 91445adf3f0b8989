// svc domain: domains of the organisation, which a DNS record proves. An argument is a domain or its id.
import type { Context } from '../context.ts';
import { time } from '../credentials/created.ts';
import { type Group, member } from '../definition/command.ts';
import { CliError } from '../errors.ts';
import { everything } from '../secrets/lookup.ts';
import { clean } from '../text.ts';

const DOMAIN = { '<domain>': 'the domain, or its id, dom_…' };

async function all(context: Context) {
  const { vault, org_id } = await context.vault();
  return everything(async (query) => {
    const { data } = await vault.api.GET('/orgs/{org_id}/domains', { params: { path: { org_id }, query } });
    return data;
  });
}
type Row = Awaited<ReturnType<typeof all>>[number];

/** The domain that an argument names. */
async function named(context: Context, given: string): Promise<Row> {
  const name = given.toLowerCase().replace(/\.$/, '');
  const row = (await all(context)).find(({ id, domain }) => id === given || domain === name);
  if (!row)
    throw new CliError(`There is no domain ${clean(given)}.`, { exit: 'notFound', next: 'svc domain list' });
  return row;
}

/** The record to create, one field a line, so that it can be copied. */
function showRecord({ out }: Context, { record }: Row): void {
  out.line(`type:  ${record.type}`);
  out.line(`name:  ${record.name}`);
  out.line(`value: ${record.value}`);
}

const group: Group = {
  commands: {
    list: member('List domains', {
      needs: 'vault',
      examples: { 'domain list': 'List domains' },
      async run(context) {
        context.out.list(
          await all(context),
          {
            id: (row) => row.id,
            domain: (row) => row.domain,
            status: (row) => row.status,
            'record missing since': (row) => time(row.missing_since),
          },
          'There are no domains.',
        );
        return 0;
      },
    }),
    add: member('Add a domain', {
      needs: 'vault',
      args: { '<domain>': 'the domain, such as example.com' },
      examples: { 'domain add example.com': 'Add a domain, and print the DNS record that proves it' },
      async run(context, { args: [domain = ''] }) {
        const { vault, org_id } = await context.vault();
        const { data } = await vault.api.POST('/orgs/{org_id}/domains', {
          params: { path: { org_id } },
          body: { domain },
        });
        context.out.result(data, () => {
          context.out.success(
            `Added ${data.domain}. Create this DNS record, then run svc domain verify ${data.domain}:`,
          );
          showRecord(context, data);
        });
        return 0;
      },
    }),
    show: member('Show a domain and its DNS record', {
      needs: 'vault',
      args: DOMAIN,
      examples: { 'domain show example.com': 'Print the DNS record again' },
      async run(context, { args: [domain = ''] }) {
        const row = await named(context, domain);
        context.out.result(row, () => {
          context.out.line(`${row.domain} is ${row.status}.`);
          showRecord(context, row);
        });
        return 0;
      },
    }),
    verify: member('Look the DNS record of a domain up', {
      needs: 'vault',
      args: DOMAIN,
      examples: { 'domain verify example.com': 'Verify a domain once its record is in DNS' },
      async run(context, { args: [domain = ''] }) {
        const { id } = await named(context, domain);
        const { vault, org_id } = await context.vault();
        const { data } = await vault.api.POST('/orgs/{org_id}/domains/{id}/verify', {
          params: { path: { org_id, id } },
        });
        context.out.result(data, () => context.out.success(`Verified ${data.domain}. Keep the record.`));
        return 0;
      },
    }),
    delete: member('Delete a domain', {
      needs: 'vault',
      confirms: true,
      args: DOMAIN,
      examples: { 'domain delete example.com': 'Let nobody sign in with addresses of a domain' },
      async run(context, { args: [given = ''] }) {
        const { id, domain } = await named(context, given);
        await context.confirmDestruction(
          `Nobody signs in with addresses of ${domain} any more, and another organisation can verify it.`,
          ['domains', id],
        );
        const { vault, org_id } = await context.vault();
        await vault.api.DELETE('/orgs/{org_id}/domains/{id}', { params: { path: { org_id, id } } });
        context.out.result({ id, deleted: true }, () => context.out.success(`Deleted ${domain}.`));
        return 0;
      },
    }),
  },
};

export default group;
