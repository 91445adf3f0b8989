// svc rollback: restores the value of an earlier version.
import { command, count } from '../definition/command.ts';
import { findSecret } from '../secrets/lookup.ts';

export default command({
  needs: 'environment',
  confirms: true,
  completes: 'secrets',
  args: { '<name>': 'name of the secret', '<version>': 'version whose value to restore' },
  examples: { 'rollback DATABASE_URL 3': 'Create a new version with the value of version 3' },
  notes: ['A rollback creates a new version and keeps the history.'],
  async run(context, { args: [name = '', version = ''] }) {
    const wanted = count(version, 'VERSION');
    const { vault, org_id } = await context.vault();
    const found = await findSecret(context, name);
    await context.confirmProduction(
      `This replaces version ${found.version} of ${name} in ${found.environment} with the value of version ${wanted}.`,
      found.environment,
    );
    const { data } = await vault.api.POST('/orgs/{org_id}/secrets/{id}/rollback', {
      params: { path: { org_id, id: found.id } },
      headers: context.approved(),
      body: { version: wanted },
    });
    context.out.result(data, () =>
      context.out.success(
        `${data.name} in ${data.environment} now has the value of version ${wanted}, as version ${data.version}.`,
      ),
    );
    return 0;
  },
});
