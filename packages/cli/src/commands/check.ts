// svc check: compares the secrets that `.svc.json` lists with those of an environment. Invariant: no value is
// read.
import type { CommonOptions } from '../context.ts';
import { command } from '../definition/command.ts';
import { EXIT_CODES } from '../errors.ts';
import { namesIn, notListed, steeringOf } from '../secrets/expected.ts';
import { counted } from '../text.ts';

interface Options extends CommonOptions {
  exact?: boolean;
}

type Finding = 'missing' | 'reserved' | 'steering' | 'unlisted';

const WORDS: Record<Finding, string> = {
  missing: 'missing: no active secret of this name',
  reserved: 'listed, but svc run needs --allow-reserved',
  steering: 'not listed, and left out by svc run: can steer programs',
  unlisted: 'not listed',
};

export default command<Options>({
  needs: 'environment',
  options: {
    '--exact': `exit with ${EXIT_CODES.findings[0]} also if a secret is not listed that cannot steer programs`,
  },
  examples: {
    check: 'See whether the environment has the secrets that the project expects',
    'check --env production --json': 'Print the differences as JSON',
  },
  notes: [
    `The exit code is ${EXIT_CODES.findings[0]} if a listed secret is missing, or if there is one that svc run leaves out because it can steer programs and is not listed. No value is read.`,
    'What the credential cannot list looks missing.',
  ],
  async run(context, { options }) {
    const { project } = context;
    if (!project?.secrets) throw notListed(context);
    const { secrets, prefixes } = project;
    const environment = await context.environment();
    const names = await namesIn(context, environment, prefixes);
    const missing = secrets
      .filter((name) => !names.includes(name))
      .map((name) => ({ name, finding: 'missing' as Finding }));
    const others = names.flatMap((name): { name: string; finding: Finding }[] => {
      const steering = steeringOf(name, prefixes);
      if (secrets.includes(name)) return steering === 'reserved' ? [{ name, finding: 'reserved' }] : [];
      return [{ name, finding: steering ? 'steering' : 'unlisted' }];
    });
    const findings = [...missing, ...others];
    const matches = `${environment} has the ${counted(secrets.length, 'secret')} that .svc.json lists, and no others.`;
    context.out.list(findings, { name: (row) => row.name, finding: (row) => WORDS[row.finding] }, matches, {
      environment,
    });
    const fails = findings.some(({ finding }) => options.exact || finding !== 'unlisted');
    return fails ? EXIT_CODES.findings[0] : 0;
  },
});
