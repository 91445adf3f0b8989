// svc run: a command with secrets in its environment. Invariant: values go into the child's environment, and nowhere else but the encrypted
// fallback copy that --fallback asks for.
import { command, duration, list } from '../command.ts';
import type { CommonOptions, Context } from '../context.ts';
import { asCliError, isUnreachable, usage } from '../errors.ts';
import { Child, forwardSignals, NotStarted } from '../run/child.ts';
import { callerMark, Fallback } from '../run/fallback.ts';
import { type Variables, variablesOf, warningsOf } from '../run/variables.ts';
import { runWatched } from '../run/watch.ts';

interface Options extends CommonOptions {
  prefix?: string;
  only?: string[];
  preserveEnv?: boolean;
  allowReserved?: string[];
  watch?: boolean;
  stopTimeout?: number;
  fallback?: string;
  fallbackMaxAge?: number;
}

const DAY = 86_400;

export default command<Options>({
  needs: 'environment',
  args: { '<command...>': 'the command and its arguments' },
  passThrough: true,
  options: {
    '-p, --prefix <text>': 'only names that begin with this, which is left off',
    '--only <names>': { description: 'only these variables, separated by commas', parse: list },
    '--preserve-env': 'keep variables that are set already',
    '--allow-reserved <names>': { description: 'let these reserved names be set, separated by commas', parse: list },
    '--watch': 'start the command again when a value changes',
    '--stop-timeout <duration>': { description: 'how long it may take to end before it is killed; 10s by default', parse: duration },
    '--fallback <file>': 'keep an encrypted copy for when the vault cannot be reached',
    '--fallback-max-age <duration>': { description: 'how old the copy may be; 1d by default', parse: duration },
  },
  examples: {
    'run -- node app.js': 'Start a program with the secrets of the environment',
    'run --env staging --prefix billing/ -- ./deploy.sh': 'Only the secrets billing/*, as STRIPE_KEY and so on',
    'run --watch --fallback .svc.fallback -- node app.js': 'Restart it when a value changes, and start it also while the vault is away',
  },
  notes: [
    'Signals are passed on, and svc ends with the exit code of the command: 128 and the number of the signal if one ended it, 127 if there is no such command.',
    'Secrets whose names are no variable names are left out, and so are reserved names such as PATH, LD_PRELOAD and NODE_OPTIONS, which change how programs run. The credentials of svc are not passed on.',
    'A fallback copy is never used after the vault has refused the credential: then it is deleted. Its key is in the keychain or in the directory of svc.',
  ],
  async run(context, { rest, options }) {
    if (options.fallbackMaxAge && !options.fallback) throw usage('--fallback-max-age goes with --fallback.');
    if (options.stopTimeout && !options.watch) throw usage('--stop-timeout goes with --watch.');
    const fallback = options.fallback === undefined ? undefined : await fallbackOf(context, options.fallback, options);
    const read = async () => childOf(context, options, await currentValues(context, options.prefix, fallback));
    const { first, isStale } = await firstValues(context, options, read, fallback);
    for (const warning of warningsOf(first)) context.out.warn(warning);
    try {
      if (!options.watch) return await runOnce(context, rest, first);
      const { vault } = await context.vault();
      const subscribe = (onChange: () => void, onRefused: (error: unknown) => void) =>
        vault.onChange(onChange, {
          onError: (error) => {
            onRefused(error);
            destroyIfRefused(context, fallback, error);
          },
        });
      return await runWatched(context, { line: rest, first, isStale, read, subscribe, grace: (options.stopTimeout ?? 10) * 1000 });
    } catch (error) {
      if (!(error instanceof NotStarted)) throw error;
      context.out.fail(error);
      return error.exitCode;
    }
  },
});

const childOf = (context: Context, { prefix, only, allowReserved, preserveEnv }: Options, values: ReadonlyMap<string, string>): Variables =>
  variablesOf(values, context.host.env, { prefix, only, allowed: allowReserved, preserve: preserveEnv });

/** What the child starts with: current values, or a copy where there is no answer. */
async function firstValues(
  context: Context,
  options: Options,
  read: () => Promise<Variables>,
  fallback: Fallback | undefined,
): Promise<{ first: Variables; isStale: boolean }> {
  try {
    return { first: await read(), isStale: false };
  } catch (error) {
    // safety: cli-fallback-refused
    if (!fallback || !isUnreachable(error)) throw error;
    const copy = await fallback.load();
    if ('why' in copy) {
      context.out.warn(`The vault cannot be reached, and ${copy.why}.`);
      throw error;
    }
    context.out.warn(`The vault cannot be reached. The values are those of ${copy.savedAt}.`);
    return { first: childOf(context, options, copy.values), isStale: true };
  }
}

/** The values of the environment, by name. Each read makes the fallback copy anew, and a refusal destroys it. */
async function currentValues(context: Context, prefix: string | undefined, fallback: Fallback | undefined): Promise<Map<string, string>> {
  try {
    const { vault } = await context.vault();
    const found = await vault.values({ environment: await context.environment(), prefix });
    for (const name of found.withheld) context.out.warn(`${name} is left out: reading it needs an approval.`);
    const values = new Map([...found].map(([name, secret]) => [name, secret.reveal()]));
    await fallback
      ?.save(values)
      .catch((error: unknown) => context.out.warn(`The fallback copy could not be written: ${asCliError(error).message}`));
    return values;
  } catch (error) {
    destroyIfRefused(context, fallback, error);
    throw error;
  }
}

/** A credential that the vault refuses starts nothing from a copy later. */
function destroyIfRefused(context: Context, fallback: Fallback | undefined, error: unknown): void {
  const { status } = asCliError(error).problem;
  if (fallback && (status === 401 || status === 403 || status === 410) && fallback.destroy())
    context.out.warn('The vault refuses this credential, so the fallback copy was deleted.');
}

/** The fallback copy. What it is for has to be known without asking the vault. */
async function fallbackOf(context: Context, file: string, { prefix = '', fallbackMaxAge = DAY }: Options): Promise<Fallback> {
  const org = context.setting('org');
  const environment = context.setting('environment');
  if (!org || !environment)
    throw usage('--fallback needs an organisation and an environment that are known without the vault.', 'Write them down: svc init');
  const { origin } = context;
  const caller = await callerMark(context, origin);
  return new Fallback(context, file, { origin, org: org.value, environment: environment.value, prefix, caller }, fallbackMaxAge);
}

async function runOnce(context: Context, line: string[], { env }: Variables): Promise<number> {
  const child = new Child(line, env, context.host.cwd);
  const stop = forwardSignals(Boolean(context.host.stdin.isTTY), () => child);
  try {
    return await child.ended;
  } finally {
    stop();
  }
}
