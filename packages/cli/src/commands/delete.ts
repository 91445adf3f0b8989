// svc delete: deletes secrets. They can be restored for seven days, or not at all with --permanent.
import type { CommonOptions } from '../context.ts';
import { command } from '../definition/command.ts';
import { findSecret } from '../secrets/lookup.ts';

interface Options extends CommonOptions {
  permanent?: boolean;
}

export default command<Options>({
  needs: 'environment',
  confirms: true,
  completes: 'secrets',
  args: { '<names...>': 'names of the secrets' },
  options: { '--permanent': 'destroy every version immediately; cannot be undone' },
  examples: {
    'delete OLD_KEY': 'Delete a secret; svc restore can restore it within 7 days',
    'delete OLD_KEY --permanent --yes': 'Destroy every version immediately, without confirmation',
  },
  async run(context, { rest: names, options }) {
    const { vault, org_id } = await context.vault();
    const found = [];
    for (const name of names) found.push(await findSecret(context, name));
    const listed = found
      .map(({ name, environment, version }) => `${name} in ${environment} (version ${version})`)
      .join(', ');
    await context.confirmDestruction(
      options.permanent
        ? `This destroys every version of ${listed}. It cannot be undone.`
        : `This deletes ${listed}. svc restore can undo it within 7 days.`,
    );
    const permanent = options.permanent ? ('true' as const) : undefined;
    for (const { id, name, environment } of found) {
      await vault.api.DELETE('/orgs/{org_id}/secrets/{id}', {
        params: { path: { org_id, id }, query: { permanent } },
        headers: context.approved(),
      });
      if (!context.out.json) context.out.success(`Deleted ${name} in ${environment}.`);
    }
    context.out.result(
      {
        data: found.map(({ id, name, environment }) => ({
          id,
          name,
          environment,
          permanent: Boolean(permanent),
        })),
      },
      () => {},
    );
    return 0;
  },
});
