// svc run: a command with secrets in its environment. Invariant: values go into the child's environment, and nowhere else.
import { command, list } from '../command.ts';
import type { CommonOptions, Context } from '../context.ts';
import { Child, forwardSignals, NotStarted } from '../run/child.ts';
import { reservedNames, type Variables, variablesOf, warningsOf } from '../run/variables.ts';
import { clean } from '../text.ts';

interface Options extends CommonOptions {
  prefix?: string;
  only?: string[];
  preserveEnv?: boolean;
  allowReserved?: string[];
}

export default command<Options>({
  needs: 'environment',
  args: { '<command...>': 'the command and its arguments' },
  passThrough: true,
  options: {
    '-p, --prefix <text>': 'only names that begin with this, which is left off',
    '--only <names>': { description: 'only these variables, separated by commas', parse: list },
    '--preserve-env': 'keep variables that are set already',
    '--allow-reserved <names>': { description: 'let these reserved names be set, separated by commas', parse: list },
  },
  examples: {
    'run -- node app.js': 'Start a program with the secrets of the environment',
    'run --env staging --prefix billing/ -- ./deploy.sh': 'Only the secrets billing/*, as STRIPE_KEY and so on',
  },
  notes: [
    'Signals are passed on, and svc ends with the exit code of the command: 128 and the number of the signal if one ended it, 127 if there is no such command.',
    'Secrets whose names are no variable names are left out, and so are reserved names such as PATH, LD_PRELOAD and NODE_OPTIONS, which change how programs run.',
    'SVC_TOKEN and other credentials of svc are not passed on.',
  ],
  async run(context, { rest, options }) {
    const variables = variablesOf(await currentValues(context, options.prefix), context.host.env, choiceOf(options));
    for (const warning of warningsOf(variables)) context.out.warn(warning);
    return runOnce(context, rest, variables);
  },
});

const choiceOf = ({ prefix, only, allowReserved, preserveEnv }: Options) => ({
  prefix,
  only,
  allowed: allowReserved,
  preserve: preserveEnv,
});

/** The values of the environment, by name. */
async function currentValues(context: Context, prefix: string | undefined): Promise<Map<string, string>> {
  const { vault, org_id } = await context.vault();
  const environment = await context.environment();
  const { data } = await vault.api.GET('/orgs/{org_id}/environments/{environment}/values', {
    params: { path: { org_id, environment }, query: { prefix } },
  });
  for (const name of data.withheld ?? [])
    context.out.warn(`${clean(name)} is left out: reading it needs an approval. Ask for it with svc get.`);
  return new Map(Object.entries(data.values as Record<string, string>));
}

async function runOnce(context: Context, line: string[], { env }: Variables): Promise<number> {
  const child = new Child(line, env, context.host.cwd);
  const stop = forwardSignals(Boolean(context.host.stdin.isTTY), () => child);
  try {
    return await child.ended;
  } catch (error) {
    if (!(error instanceof NotStarted)) throw error;
    context.out.fail(error);
    return error.exitCode;
  } finally {
    stop();
  }
}

export { reservedNames };
