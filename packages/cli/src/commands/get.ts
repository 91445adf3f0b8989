// svc get: prints one value, byte for byte. Invariant: stdout holds only the value, and a terminal never gets
// control characters.
import type { CommonOptions } from '../context.ts';
import { command, count } from '../definition/command.ts';
import { secretNamed } from '../secrets/lookup.ts';

interface Options extends CommonOptions {
  version?: number;
}

export default command<Options>({
  needs: 'environment',
  completes: 'secrets',
  args: { '<name>': 'name of the secret' },
  options: { '--version <n>': { description: 'read an earlier version', parse: count } },
  examples: {
    'get DATABASE_URL': 'Print a value',
    'get TLS_KEY --env production > key.pem': 'Write it to a file, byte for byte',
    'get billing/STRIPE_KEY --version 2': 'Print an earlier version',
  },
  notes: ['A terminal gets the value and a line break. A file or pipe gets only the value.'],
  async run(context, { args: [name = ''], options }) {
    const { vault, org_id } = await context.vault();
    const environment = context.setting('environment')?.value;
    const { data } = await vault.api.GET('/orgs/{org_id}/secrets/by-name/{name}', {
      params: { path: { org_id, name: secretNamed(name) }, query: { environment, version: options.version } },
      headers: context.approved(),
    });
    const { value } = data;
    context.out.result(data, () => context.out.value(value));
    return 0;
  },
});
