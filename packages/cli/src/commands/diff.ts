// svc diff: what differs between two environments. Invariant: values are compared here and never shown.
import { command } from '../command.ts';
import type { CommonOptions, Context } from '../context.ts';
import { EXIT_CODES } from '../errors.ts';
import { clean } from '../text.ts';

interface Options extends CommonOptions {
  prefix?: string;
  exitCode?: boolean;
}

interface Row {
  name: string;
  difference: 'missing' | 'extra' | 'different';
}

export default command<Options>({
  needs: 'vault',
  args: { '<left>': 'an environment', '<right>': 'the environment that it is compared with' },
  options: {
    '-p, --prefix <text>': 'only names that begin with this',
    '--exit-code': `end with ${EXIT_CODES.findings[0]} if something differs`,
  },
  examples: {
    'diff staging production': 'See which secrets production lacks, and which differ',
    'diff staging production --exit-code': 'Fail a job if something differs',
  },
  notes: ['Names are shown, values never. You need to be allowed to read both environments.'],
  async run(context, { args: [left = '', right = ''], options }) {
    const [from, to] = [await valuesOf(context, left, options.prefix), await valuesOf(context, right, options.prefix)];
    const rows: Row[] = [];
    for (const name of [...new Set([...from.keys(), ...to.keys()])].sort()) {
      if (!to.has(name)) rows.push({ name, difference: 'missing' });
      else if (!from.has(name)) rows.push({ name, difference: 'extra' });
      else if (from.get(name) !== to.get(name)) rows.push({ name, difference: 'different' });
    }
    const words = { missing: `only in ${left}`, extra: `only in ${right}`, different: 'different values' };
    context.out.list(rows, { name: (row) => row.name, difference: (row) => words[row.difference] }, `${left} and ${right} are equal.`, {
      left,
      right,
    });
    return options.exitCode && rows.length > 0 ? EXIT_CODES.findings[0] : 0;
  },
});

async function valuesOf(context: Context, environment: string, prefix: string | undefined): Promise<Map<string, string>> {
  const { vault, org_id } = await context.vault();
  const params = { path: { org_id, environment }, query: { prefix } };
  const { data } = await vault.api.GET('/orgs/{org_id}/environments/{environment}/values', { params });
  for (const name of data.withheld ?? [])
    context.out.warn(`${clean(name)} in ${clean(environment)} is not compared: reading it needs an approval.`);
  return new Map(Object.entries(data.values));
}
