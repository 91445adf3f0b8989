// svc run: runs a command with secrets in its environment. Invariant: values are passed only to the child's
// environment and to the encrypted fallback copy that --fallback requests.
import type { Change } from '@secrets-vault/client';
import type { CommonOptions, Context } from '../context.ts';
import { command, duration, list } from '../definition/command.ts';
import { asCliError, CliError, isUnreachable, usage } from '../errors.ts';
import { withoutPrefix } from '../names.ts';
import { Child, forwardSignals, NotStarted } from '../run/child.ts';
import { callerMark, Fallback } from '../run/fallback.ts';
import { leftOut, type Variables, variablesOf, warningsOf } from '../run/variables.ts';
import { runWatched } from '../run/watch.ts';
import { notListed } from '../secrets/expected.ts';
import { clean } from '../text.ts';

interface Options extends CommonOptions {
  prefix?: string[];
  only?: string[];
  preserveEnv?: boolean;
  allowReserved?: string[];
  listed?: boolean;
  watch?: boolean;
  stopTimeout?: number;
  fallback?: string;
  fallbackMaxAge?: number;
}

const DAY = 86_400;
const UNREADABLE = 'the stored value was altered or is missing';

export default command<Options>({
  needs: 'environment',
  args: { '<command...>': 'command and its arguments' },
  passThrough: true,
  options: {
    '-p, --prefix <text>': {
      description:
        'only names that begin with this, which variable names leave out; may be repeated: later ones win',
      repeat: true,
      empty: true,
    },
    '--only <names>': { description: 'only these variables, separated by commas', parse: list },
    '--preserve-env': 'keep variables that are already set',
    '--listed': 'only secrets that .svc.json lists',
    '--allow-reserved <names>': {
      description: 'set these variables even if they can steer programs, separated by commas',
      parse: list,
    },
    '--watch': 'restart the command when a value changes',
    '--stop-timeout <duration>': {
      description: 'how long to wait for the command to stop before killing it; default: 10s',
      parse: duration,
    },
    '--fallback <file>': 'keep an encrypted copy of the values for when the vault is unreachable',
    '--fallback-max-age <duration>': { description: 'maximum age of the copy; default: 1d', parse: duration },
  },
  examples: {
    'run -- node app.js': 'Start a program with the secrets of the environment',
    'run --env staging --prefix billing/ -- ./deploy.sh':
      'Pass only the secrets billing/*, as STRIPE_KEY and so on',
    'run --watch --fallback .svc.fallback -- node app.js':
      'Restart when a value changes, and start even while the vault is unreachable',
  },
  notes: [
    'Signals are forwarded, and svc exits with the exit code of the command: 128 plus the signal number if a signal terminated it, 127 if the command does not exist.',
    'Characters that variables cannot have become _, as in svc export: WITH-DASH is WITH_DASH. The credentials of svc are not passed to the command.',
    'A secret whose variable can steer programs, such as PATH or NODE_OPTIONS, is left out until .svc.json lists it. LD_*, DYLD_* and SVC_* need --allow-reserved.',
    'If the vault refuses the credential, the fallback copy is deleted and not used. The encryption key of the copy is in the keychain or in the configuration directory of svc.',
  ],
  async run(context, { rest, options }) {
    if (options.fallbackMaxAge && !options.fallback) throw usage('--fallback-max-age requires --fallback.');
    if (options.stopTimeout && !options.watch) throw usage('--stop-timeout requires --watch.');
    if (options.listed && !context.project?.secrets) throw notListed(context);
    const fallback =
      options.fallback === undefined ? undefined : await fallbackOf(context, options.fallback, options);
    const prefixes = context.prefixes(options.prefix);
    /** The slug of the environment, once values have been read. */
    let slug: string | undefined;
    const read = async () => {
      const { environment, values } = await currentValues(context, prefixes, fallback);
      slug = environment;
      return childOf(context, options, values);
    };
    const concerns = ({ environment, names }: Change) =>
      slug === undefined ||
      (environment === slug && names.some((name) => withoutPrefix(name, prefixes ?? [''])));
    const { first, isStale } = await firstValues(context, options, read, fallback);
    for (const warning of warningsOf(first)) context.out.warn(warning);
    if (first.missing.length > 0) throw await notThere(context, first.missing);
    try {
      if (!options.watch) return await runOnce(context, rest, first.env);
      const { vault } = await context.vault();
      const subscribe = (onChange: () => void, onRefused: (error: unknown) => void) =>
        vault.onChange((change) => concerns(change) && onChange(), {
          onError: (error) => {
            // First the copy: nothing that the warning causes can leave it behind.
            destroyIfRefused(context, fallback, error);
            onRefused(error);
          },
        });
      return await runWatched(context, {
        line: rest,
        first,
        isStale,
        read,
        subscribe,
        grace: (options.stopTimeout ?? 10) * 1000,
      });
    } catch (error) {
      if (!(error instanceof NotStarted)) throw error;
      context.out.fail(error);
      return error.exitCode;
    }
  },
});

/** A program that was to get a secret does not start without it. */
const notThere = async (context: Context, missing: string[]) =>
  new CliError(`No secret in ${clean(await whereOf(context))} becomes ${missing.map(clean).join(', ')}.`, {
    exit: 'notFound',
    code: 'NOT_FOUND',
    next: 'List the secrets: svc list',
  });

/** The environment, also while the vault is unreachable. */
const whereOf = async (context: Context) => context.setting('environment')?.value ?? context.environment();

const childOf = (context: Context, options: Options, values: ReadonlyMap<string, string>): Variables =>
  variablesOf(values, context.host.env, {
    prefixes: context.prefixes(options.prefix),
    only: options.only,
    allowed: options.allowReserved,
    listed: context.project?.secrets,
    onlyListed: options.listed,
    preserve: options.preserveEnv,
  });

/** The variables the child starts with: current values, or those of the copy if the vault is unreachable. */
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
    context.out.warn(`The vault cannot be reached. Using the values saved at ${copy.savedAt}.`);
    if (copy.expired.length > 0)
      context.out.warn(leftOut(copy.expired, 'it has expired', 'they have expired'));
    return { first: childOf(context, options, copy.values), isStale: true };
  }
}

/**
 * The values of the environment, by name, and its slug. Each read replaces the fallback copy, and a refusal
 * deletes it.
 */
async function currentValues(
  context: Context,
  prefixes: string[] | undefined,
  fallback: Fallback | undefined,
): Promise<{ environment: string; values: Map<string, string> }> {
  try {
    const { vault } = await context.vault();
    const environment = await context.environment();
    const found = await vault.values({ environment, prefix: prefixes });
    const values = new Map([...found].map(([name, secret]) => [name, secret.reveal()]));
    const { withheld, unreadable } = found;
    if (withheld.length > 0)
      context.out.warn(
        leftOut([...withheld], 'reading it requires approval', 'reading them requires approval'),
      );
    if (unreadable.length > 0) context.out.warn(leftOut([...unreadable], UNREADABLE, UNREADABLE));
    await fallback
      ?.save(values, found.expiresAt)
      .catch((error: unknown) =>
        context.out.warn(`The fallback copy could not be written: ${asCliError(error).message}`),
      );
    return { environment: found.environment, values };
  } catch (error) {
    destroyIfRefused(context, fallback, error);
    throw error;
  }
}

/** Deletes the copy if the vault refuses the credential, so that the credential cannot use it later. */
function destroyIfRefused(context: Context, fallback: Fallback | undefined, error: unknown): void {
  const { status } = asCliError(error).problem;
  if (fallback && (status === 401 || status === 403 || status === 410) && fallback.destroy())
    context.out.warn('The vault refuses this credential, so the fallback copy was deleted.');
}

/** The fallback copy. Its organisation and environment must be known without a request to the vault. */
async function fallbackOf(
  context: Context,
  file: string,
  { prefix, fallbackMaxAge = DAY }: Options,
): Promise<Fallback> {
  const org = context.setting('org');
  const environment = context.setting('environment');
  if (!org || !environment)
    throw usage(
      '--fallback requires an organisation and an environment that are set locally.',
      'Set them with svc init',
    );
  const { origin } = context;
  const caller = await callerMark(context, origin);
  const prefixes = context.prefixes(prefix) ?? [];
  return new Fallback(
    context,
    file,
    { origin, org: org.value, environment: environment.value, prefixes, caller },
    fallbackMaxAge,
  );
}

/** Runs a command to its end. Returns its exit code. */
export async function runOnce(context: Context, line: string[], env: NodeJS.ProcessEnv): Promise<number> {
  const child = new Child(line, env, context.host.cwd);
  const stop = forwardSignals(Boolean(context.host.stdin.isTTY), () => child);
  try {
    return await child.ended;
  } finally {
    stop();
  }
}
