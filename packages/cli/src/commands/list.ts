// svc list: lists names and metadata, never values.
import { secretTypes } from '@secrets-vault/client';
import type { CommonOptions } from '../context.ts';
import { command, count } from '../definition/command.ts';
import { usage } from '../errors.ts';
import { listSecrets, type SecretInfo } from '../secrets/lookup.ts';
import { relative } from '../text.ts';

interface Options extends CommonOptions {
  prefix?: string;
  type?: SecretInfo['type'];
  tag?: string;
  status?: SecretInfo['status'];
  allEnvironments?: boolean;
  limit?: number;
}

export default command<Options>({
  needs: 'environment',
  options: {
    '-p, --prefix <text>': { description: 'only names that begin with this', empty: true },
    '--type <type>': { description: 'only secrets of this type', choices: secretTypes },
    '--tag <key[:value]>': 'only secrets with this tag',
    '--status <status>': {
      description: 'only secrets with this status',
      choices: ['active', 'expired', 'revoked', 'deleted'],
    },
    '--all-environments': 'list the secrets of all environments',
    '-n, --limit <n>': { description: 'maximum number of secrets', parse: count },
  },
  examples: {
    list: 'List the secrets of the environment',
    'list --prefix billing/ --json': 'List names that begin with billing/ as JSON',
    'list --all-environments --prefix DATABASE_URL': 'See which environments have a secret',
    'list --status deleted': 'List the secrets that svc restore can restore',
  },
  async run(context, { options }) {
    const { vault } = await context.vault();
    const { prefix, type, tag, status, limit, allEnvironments } = options;
    if (allEnvironments && options.env) throw usage('--env and --all-environments cannot be combined.');
    const environment = allEnvironments ? undefined : await context.environment();
    // Deleted secrets may share a name: the vault lists them in the order of their ids.
    const sort = status === 'deleted' ? undefined : 'name';
    const rows = await listSecrets(vault, environment, { prefix, type, tag, status, sort }, limit);
    context.out.list(
      rows,
      {
        name: (row) => row.name,
        ...(allEnvironments && { environment: (row: SecretInfo) => row.environment }),
        type: (row) => row.type,
        version: (row) => row.version,
        status: (row) => row.status,
        updated: (row) => relative(row.updated_at, Date.now()),
        description: (row) => row.description,
      },
      'There are no secrets.',
    );
    return 0;
  },
});
