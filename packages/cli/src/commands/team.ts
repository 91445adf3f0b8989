// svc team: teams and their members.
import { time } from '../credentials/created.ts';
import { type Group, member } from '../definition/command.ts';
import { everything } from '../secrets/lookup.ts';
import { clean } from '../text.ts';

const TEAM = 'id of the team, team_…';
const MEMBER = 'id of the member, mem_…';
const TEAM_ID = 'team_0HrZKtC4bqXw2vJm8yNd1L';
const MEMBER_ID = 'mem_0HrZKtC4bqXw2vJm8yNd1L';

const group: Group = {
  commands: {
    list: member('List teams', {
      needs: 'vault',
      examples: { 'team list': 'List teams' },
      async run(context) {
        const { vault, org_id } = await context.vault();
        const rows = await everything(async (query) => {
          const { data } = await vault.api.GET('/orgs/{org_id}/teams', {
            params: { path: { org_id }, query },
          });
          return data;
        });
        context.out.list(
          rows,
          { id: (row) => row.id, name: (row) => row.name, created: (row) => time(row.created_at) },
          'There are no teams.',
        );
        return 0;
      },
    }),
    create: member('Create a team', {
      needs: 'vault',
      args: { '<name>': 'its name' },
      examples: { 'team create Payments': 'Create a team' },
      async run(context, { args: [name = ''] }) {
        const { vault, org_id } = await context.vault();
        const { data } = await vault.api.POST('/orgs/{org_id}/teams', {
          params: { path: { org_id } },
          body: { name },
        });
        context.out.result(data, () => context.out.success(`Created the team ${data.name} (${data.id}).`));
        return 0;
      },
    }),
    rename: member('Rename a team', {
      needs: 'vault',
      args: { '<id>': TEAM, '<name>': 'its new name' },
      examples: { [`team rename ${TEAM_ID} Billing`]: 'Rename a team' },
      async run(context, { args: [id = '', name = ''] }) {
        const { vault, org_id } = await context.vault();
        const { data } = await vault.api.PATCH('/orgs/{org_id}/teams/{id}', {
          params: { path: { org_id, id } },
          body: { name },
        });
        context.out.result(data, () => context.out.success(`${data.id} is now named ${data.name}.`));
        return 0;
      },
    }),
    members: member('List the members of a team', {
      needs: 'vault',
      args: { '<id>': TEAM },
      examples: { [`team members ${TEAM_ID}`]: 'See who is in a team' },
      async run(context, { args: [id = ''] }) {
        const { vault, org_id } = await context.vault();
        const rows = await everything(async (query) => {
          const { data } = await vault.api.GET('/orgs/{org_id}/teams/{id}/members', {
            params: { path: { org_id, id }, query },
          });
          return data;
        });
        context.out.list(
          rows,
          { id: (row) => row.member_id, name: (row) => row.name, added: (row) => time(row.created_at) },
          'The team has no members.',
        );
        return 0;
      },
    }),
    add: member('Add a member to a team', {
      needs: 'vault',
      args: { '<id>': TEAM, '<member>': MEMBER },
      examples: { [`team add ${TEAM_ID} ${MEMBER_ID}`]: 'Give a member the grants of a team' },
      async run(context, { args: [id = '', member_id = ''] }) {
        const { vault, org_id } = await context.vault();
        const { data } = await vault.api.POST('/orgs/{org_id}/teams/{id}/members', {
          params: { path: { org_id, id } },
          headers: context.approved(),
          body: { member_id },
        });
        context.out.result(data, () => context.out.success(`Added ${data.name}.`));
        return 0;
      },
    }),
    remove: member('Remove a member from a team', {
      needs: 'vault',
      confirms: true,
      args: { '<id>': TEAM, '<member>': MEMBER },
      examples: { [`team remove ${TEAM_ID} ${MEMBER_ID}`]: 'Take the grants of a team from a member' },
      async run(context, { args: [id = '', member_id = ''] }) {
        await context.confirmDestruction(
          `This takes the grants of the team ${clean(id)} from the member ${clean(member_id)}.`,
        );
        const { vault, org_id } = await context.vault();
        await vault.api.DELETE('/orgs/{org_id}/teams/{id}/members/{member_id}', {
          params: { path: { org_id, id, member_id } },
          headers: context.approved(),
        });
        context.out.result({ id, member_id, removed: true }, () =>
          context.out.success(`Removed ${member_id} from ${id}.`),
        );
        return 0;
      },
    }),
    delete: member('Delete a team', {
      needs: 'vault',
      confirms: true,
      args: { '<id>': TEAM },
      examples: { [`team delete ${TEAM_ID}`]: 'Delete a team and its grants' },
      async run(context, { args: [id = ''] }) {
        await context.confirmDestruction(
          `This deletes the team ${clean(id)} and its grants. Its members stay in the organisation.`,
          ['teams', id],
        );
        const { vault, org_id } = await context.vault();
        await vault.api.DELETE('/orgs/{org_id}/teams/{id}', {
          params: { path: { org_id, id } },
          headers: context.approved(),
        });
        context.out.result({ id, deleted: true }, () => context.out.success(`Deleted ${id}.`));
        return 0;
      },
    }),
  },
};

export default group;
