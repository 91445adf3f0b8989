// svc diff: shows how two environments differ. Invariant: values are compared locally and never shown.
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
  args: { '<left>': 'an environment', '<right>': 'the environment to compare it with' },
  options: {
    '-p, --prefix <text>': 'only names that begin with this',
    '--exit-code': `exit with ${EXIT_CODES.findings[0]} if there are differences`,
  },
  examples: {
    'diff staging production': 'See which secrets are missing from production, and which differ',
    'diff staging production --exit-code': 'Fail a job if there are differences',
  },
  notes: ['Only names are shown, never values. You need permission to read both environments.'],
  async run(context, { args: [left = '', right = ''], options }) {
    const [from, to] = [await valuesOf(context, left, options.prefix), await valuesOf(context, right, options.prefix)];
    const rows: Row[] = [];
    for (const name of [...new Set([...from.keys(), ...to.keys()])].sort()) {
      if (!to.has(name)) rows.push({ name, difference: 'missing' });
      else if (!from.has(name)) rows.push({ name, difference: 'extra' });
      else if (from.get(name) !== to.get(name)) rows.push({ name, difference: 'different' });
    }
    const words = { missing: `only in ${left}`, extra: `only in ${right}`, different: 'different values' };
    context.out.list(rows, { name: (row) => row.name, difference: (row) => words[row.difference] }, `${left} and ${right} are identical.`, {
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
    context.out.warn(`${clean(name)} in ${clean(environment)} was not compared: reading it requires approval.`);
  return new Map(Object.entries(data.values));
}
