// svc list: names and metadata, never a value.
import { secretTypes } from '@secrets-vault/client';
import { command, count } from '../command.ts';
import type { CommonOptions } from '../context.ts';
import { listSecrets, type SecretInfo } from '../secrets.ts';
import { relative } from '../text.ts';

interface Options extends CommonOptions {
  prefix?: string;
  type?: SecretInfo['type'];
  tag?: string;
  status?: SecretInfo['status'];
  limit?: number;
}

export default command<Options>({
  needs: 'environment',
  options: {
    '-p, --prefix <text>': 'names that begin with this',
    '--type <type>': { description: 'secrets of this type', choices: secretTypes },
    '--tag <key[:value]>': 'secrets with this tag',
    '--status <status>': { description: 'secrets in this state', choices: ['active', 'expired', 'revoked', 'deleted'] },
    '-n, --limit <n>': { description: 'at most so many', parse: count },
  },
  examples: {
    list: 'List the secrets of the environment',
    'list --prefix billing/ --json': 'The same for names that begin with billing/, for programs',
    'list --status deleted': 'See what svc restore can bring back',
  },
  async run(context, { options }) {
    const { vault } = await context.vault();
    const { prefix, type, tag, status, limit } = options;
    const rows = await listSecrets(vault, context.setting('environment')?.value, { prefix, type, tag, status }, limit);
    context.out.list(
      rows,
      {
        name: (row) => row.name,
        type: (row) => row.type,
        version: (row) => row.version,
        status: (row) => row.status,
        updated: (row) => relative(row.updated_at, Date.now()),
        description: (row) => row.description,
      },
      'There are no secrets here.',
    );
    return 0;
  },
});
