// svc diff: shows how two environments differ. Invariant: the service compares them by digests, and no value
// is read.
import type { CommonOptions } from '../context.ts';
import { command } from '../definition/command.ts';
import { EXIT_CODES } from '../errors.ts';
import { everything } from '../secrets/lookup.ts';
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
  completes: 'environments',
  args: { '<left>': 'an environment', '<right>': 'the environment to compare it with' },
  options: {
    '-p, --prefix <text>': { description: 'only names that begin with this', empty: true },
    '--exit-code': `exit with ${EXIT_CODES.findings[0]} if there are differences`,
  },
  examples: {
    'diff staging production': 'See which secrets are missing from production, and which differ',
    'diff staging production --exit-code': 'Fail a job if there are differences',
  },
  notes: ['No value is read. Values are compared only where you may read them in both environments.'],
  async run(context, { args: [left = '', right = ''], options }) {
    const { vault, org_id } = await context.vault();
    const query = { environments: `${left},${right}`, prefix: options.prefix };
    const compared = await everything(async (page) => {
      const params = { path: { org_id }, query: { ...query, ...page } };
      return (await vault.api.GET('/orgs/{org_id}/environments/compare', { params })).data;
    });
    const rows: Row[] = [];
    for (const { name, environments } of compared) {
      const [from, to] = environments.map(({ status }) => status);
      if (to === 'absent') rows.push({ name, difference: 'missing' });
      else if (from === 'absent') rows.push({ name, difference: 'extra' });
      else if (from === 'different') rows.push({ name, difference: 'different' });
      else if (from !== 'same')
        context.out.warn(`${clean(name)} was not compared: you cannot read it now in both environments.`);
    }
    const words = { missing: `only in ${left}`, extra: `only in ${right}`, different: 'different values' };
    context.out.list(
      rows,
      { name: (row) => row.name, difference: (row) => words[row.difference] },
      `${left} and ${right} are identical.`,
      {
        left,
        right,
      },
    );
    return options.exitCode && rows.length > 0 ? EXIT_CODES.findings[0] : 0;
  },
});
