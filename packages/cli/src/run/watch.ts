// svc run --watch: the child is started again when its values change. Invariants: there is one child at a time; a change that alters nothing
// for the child restarts nothing; a vault that cannot be reached, or that refuses, leaves the child as it is and is told of once.
import type { Context } from '../context.ts';
import { asCliError, type CliError } from '../errors.ts';
import { Child, forwardSignals } from './child.ts';
import type { Variables } from './variables.ts';

/** Changes within this time are one restart, in milliseconds. */
const SETTLE = 150;
/** How often values are asked for while the child runs on a fallback copy. */
const RETRY = 5_000;

export interface Watched {
  line: string[];
  /** What the child is started with at first. */
  first: Variables;
  /** Whether that is from a fallback copy. */
  isStale: boolean;
  /** Reads the values anew. */
  read(): Promise<Variables>;
  /** Calls back when something may have changed, and when no change can be told any more. */
  subscribe(onChange: () => void, onRefused: (error: unknown) => void): () => void;
  /** How long a child has to end, in milliseconds. */
  grace: number;
}

/** Runs the child until it ends by itself. */
export async function runWatched(context: Context, { line, first, isStale, read, subscribe, grace }: Watched): Promise<number> {
  let current = first;
  let child = new Child(line, first.env, context.host.cwd);
  let stale = isStale;
  let wake: () => void = () => {};
  const tell = teller(context);
  const stopForwarding = forwardSignals(Boolean(context.host.stdin.isTTY), () => child);
  const unsubscribe = subscribe(
    () => wake(),
    (error) => tell.warn(error, 'Changes are no longer watched'),
  );
  const retry = setInterval(() => stale && wake(), RETRY);
  try {
    for (;;) {
      const changed = new Promise<'changed'>((done) => {
        wake = () => setTimeout(() => done('changed'), SETTLE);
      });
      const outcome = await Promise.race([child.ended, changed]);
      if (outcome !== 'changed') return outcome;
      const next = await read().catch((error: unknown) => {
        tell.warn(error, 'The values could not be read anew');
        return undefined;
      });
      if (!next) continue;
      tell.over();
      stale = false;
      const differing = differences(current, next);
      if (differing.length === 0) continue;
      context.out.note(`${differing.join(', ')} changed: the command is started again.`);
      await child.stop(grace);
      current = next;
      child = new Child(line, next.env, context.host.cwd);
    }
  } finally {
    clearInterval(retry);
    unsubscribe();
    stopForwarding();
  }
}

/** Says why the command goes on with the values that it has, and what to do: once for each reason, until values can be read again. */
function teller(context: Context) {
  const told = new Set<string>();
  return {
    warn(error: unknown, what: string): void {
      const failure = asCliError(error);
      const reason = `${what} ${failure.problem.code}`;
      if (told.has(reason)) return;
      told.add(reason);
      const next = nextStep(context, failure);
      context.out.warn(`${what}: ${failure.message} The command goes on with the values that it has.${next ? `\n  next: ${next}` : ''}`);
    },
    over: () => told.clear(),
  };
}

/** What makes changes heard of again. A vault that cannot be reached is asked again without anybody. */
function nextStep(context: Context, { problem: { exit, next } }: CliError): string | undefined {
  if (exit === 'unreachable') return undefined;
  const kind = context.identity()?.kind;
  const renewed = {
    variable: 'Set SVC_TOKEN to a valid credential',
    ci: 'Check the trust that SVC_TRUST_ID names',
    stored: 'Sign in again: svc login',
  };
  return exit === 'signedOut' && kind ? `${renewed[kind]}, then start the command again` : next;
}

/** The names whose values differ. */
function differences(before: Variables, after: Variables): string[] {
  const names = new Set([...before.names, ...after.names]);
  return [...names].filter((name) => before.env[name] !== after.env[name]).sort();
}
