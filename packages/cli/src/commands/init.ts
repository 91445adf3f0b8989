// svc init: writes .svc.json, which sets the vault, organisation and environment of a directory. It contains no credential.
import fs from 'node:fs';
import path from 'node:path';
import { command } from '../command.ts';
import { PROJECT_FILE } from '../config.ts';
import type { CommonOptions, Context } from '../context.ts';
import { CliError } from '../errors.ts';
import { canAsk, choose } from '../prompts.ts';

interface Options extends CommonOptions {
  force?: boolean;
}

export default command<Options>({
  needs: 'environment',
  options: { '--force': 'replace an existing file' },
  examples: { init: 'Configure this directory and its subdirectories', 'init --env staging': 'Set the environment without a prompt' },
  notes: ['You can commit the file: it contains the vault address, the organisation and the environment, but no credential.'],
  async run(context, { options }) {
    const file = path.join(context.host.cwd, PROJECT_FILE);
    if (options.force) context.ignoreProject();
    const { vault, org_id } = await context.vault();
    const { data } = await vault.api.GET('/orgs/{org_id}/environments', { params: { path: { org_id }, query: { limit: 100 } } });
    const environment = await chosen(
      context,
      data.data.map(({ slug }) => slug),
    );
    const settings = { url: context.origin, org: org_id, environment };
    try {
      fs.writeFileSync(file, `${JSON.stringify(settings, null, 2)}\n`, { flag: options.force ? 'w' : 'wx' });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
      throw new CliError(`${PROJECT_FILE} already exists.`, {
        exit: 'conflict',
        code: 'FILE_EXISTS',
        next: 'Replace it with svc init --force',
      });
    }
    context.out.result({ file, ...settings }, () =>
      context.out.success(`Wrote ${PROJECT_FILE}: environment ${environment} of ${org_id}. You can commit it.`),
    );
    return 0;
  },
});

/** The environment given by --env, or chosen at a prompt. */
async function chosen(context: Context, slugs: string[]): Promise<string> {
  const set = context.setting('environment');
  if (set?.source === 'flag' || !canAsk(context.host)) {
    const slug = set?.value ?? (await context.environment());
    if (slugs.includes(slug) || slug.startsWith('env_')) return slug;
    throw new CliError(`There is no environment ${slug}.`, { exit: 'notFound', code: 'NOT_FOUND', next: `Use one of ${slugs.join(', ')}` });
  }
  return choose(context.host, 'Environment:', slugs, set?.value);
}
