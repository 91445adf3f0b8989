// svc environment: the environments of the organisation.
import type { CommonOptions } from '../context.ts';
import { type Group, member } from '../definition/command.ts';
import { everything } from '../secrets/lookup.ts';
import { clean } from '../text.ts';

const SLUG = 'slug or id of the environment';

const group: Group = {
  commands: {
    list: member('List environments', {
      needs: 'vault',
      examples: { 'environment list': 'List environments' },
      async run(context) {
        const { vault, org_id } = await context.vault();
        const rows = await everything(async (query) => {
          const { data } = await vault.api.GET('/orgs/{org_id}/environments', {
            params: { path: { org_id }, query },
          });
          return data;
        });
        context.out.list(rows, { slug: (row) => row.slug, name: (row) => row.name, id: (row) => row.id });
        return 0;
      },
    }),
    create: member<CommonOptions & { slug?: string }>('Create an environment', {
      needs: 'vault',
      args: { '<name>': 'its name' },
      options: { '--slug <slug>': 'its slug, which cannot change; default: derived from the name' },
      examples: { 'environment create QA': 'Create the environment qa' },
      async run(context, { args: [name = ''], options: { slug } }) {
        const { vault, org_id } = await context.vault();
        const { data } = await vault.api.POST('/orgs/{org_id}/environments', {
          params: { path: { org_id } },
          body: { name, slug },
        });
        context.out.result(data, () => context.out.success(`Created the environment ${data.slug}.`));
        return 0;
      },
    }),
    rename: member('Rename an environment', {
      needs: 'vault',
      completes: 'environments',
      args: { '<environment>': SLUG, '<name>': 'its new name' },
      examples: { "environment rename qa 'Quality assurance'": 'Rename an environment; its slug stays' },
      async run(context, { args: [id = '', name = ''] }) {
        const { vault, org_id } = await context.vault();
        const { data } = await vault.api.PATCH('/orgs/{org_id}/environments/{id}', {
          params: { path: { org_id, id } },
          body: { name },
        });
        context.out.result(data, () => context.out.success(`${data.slug} is now named ${data.name}.`));
        return 0;
      },
    }),
    delete: member('Delete an environment', {
      needs: 'vault',
      confirms: true,
      completes: 'environments',
      args: { '<environment>': SLUG },
      examples: { 'environment delete qa': 'Delete an environment without secrets' },
      notes: ['The environment must be empty, and cannot be the default environment.'],
      async run(context, { args: [id = ''] }) {
        await context.confirmDestruction(`This deletes the environment ${clean(id)}.`, ['environments', id]);
        const { vault, org_id } = await context.vault();
        await vault.api.DELETE('/orgs/{org_id}/environments/{id}', { params: { path: { org_id, id } } });
        context.out.result({ id, deleted: true }, () => context.out.success(`Deleted ${id}.`));
        return 0;
      },
    }),
  },
};

export default group;
