// svc restore: restores a deleted secret.
import { command } from '../definition/command.ts';
import { findSecret } from '../secrets/lookup.ts';

export default command({
  needs: 'environment',
  completes: 'deleted',
  args: { '<name>': 'name of the deleted secret' },
  examples: { 'restore OLD_KEY': 'Restore a secret within 7 days of svc delete' },
  async run(context, { args: [name = ''] }) {
    const { vault, org_id } = await context.vault();
    const { id } = await findSecret(context, name, 'deleted');
    const { data } = await vault.api.POST('/orgs/{org_id}/secrets/{id}/restore', {
      params: { path: { org_id, id } },
      headers: context.approved(),
    });
    context.out.result(data, () =>
      context.out.success(`Restored ${data.name} in ${data.environment}, version ${data.version}.`),
    );
    return 0;
  },
});
