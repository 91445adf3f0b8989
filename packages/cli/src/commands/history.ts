// svc history: lists the versions of a secret, without their values.
import type { CommonOptions } from '../context.ts';
import { command, count } from '../definition/command.ts';
import { findSecret, pages } from '../secrets/lookup.ts';
import { relative } from '../text.ts';

interface Options extends CommonOptions {
  limit?: number;
}

export default command<Options>({
  needs: 'environment',
  completes: 'secrets',
  args: { '<name>': 'name of the secret' },
  options: { '-n, --limit <n>': { description: 'maximum number of versions', parse: count } },
  examples: { 'history DATABASE_URL': 'See who changed a secret, and when' },
  async run(context, { args: [name = ''], options }) {
    const { vault, org_id } = await context.vault();
    const { id } = await findSecret(context, name);
    const rows = await pages(options.limit ?? Number.POSITIVE_INFINITY, async (limit, cursor) => {
      const { data } = await vault.api.GET('/orgs/{org_id}/secrets/{id}/versions', {
        params: { path: { org_id, id }, query: { limit, cursor } },
      });
      return data;
    });
    context.out.list(rows, {
      version: (row) => row.version,
      created: (row) => relative(row.created_at, Date.now()),
      time: (row) => row.created_at,
      by: (row) => row.created_by,
    });
    return 0;
  },
});
