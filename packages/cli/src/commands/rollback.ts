// svc rollback: gives a secret the value of an earlier version.
import { command, count } from '../command.ts';
import { findSecret } from '../secrets.ts';

export default command({
  needs: 'environment',
  confirms: true,
  args: { '<name>': 'the name of the secret', '<version>': 'the version whose value it gets' },
  examples: { 'rollback DATABASE_URL 3': 'Make a new version with the value of version 3' },
  notes: ['A rollback is a new version. The history stays.'],
  async run(context, { args: [name = '', version = ''] }) {
    const wanted = count(version, 'VERSION');
    const { vault, org_id } = await context.vault();
    const found = await findSecret(context, name);
    await context.confirmProduction(
      `${name} in ${found.environment} goes from version ${found.version} back to the value of version ${wanted}.`,
      found.environment,
    );
    const { data } = await vault.api.POST('/orgs/{org_id}/secrets/{id}/rollback', {
      params: { path: { org_id, id: found.id } },
      headers: context.approved(),
      body: { version: wanted },
    });
    context.out.result(data, () =>
      context.out.success(`${data.name} in ${data.environment} has the value of version ${wanted} again, as version ${data.version}.`),
    );
    return 0;
  },
});
