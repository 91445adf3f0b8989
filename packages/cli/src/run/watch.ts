// svc run --watch: restarts the child when its values change. Invariants: there is one child at a time; no
// change is missed, also not during a restart; a change that does not affect the child does not restart it;
// if the vault is unreachable or refuses, the child keeps running and a warning is shown once.
import type { Context } from '../context.ts';
import { asCliError, type CliError } from '../errors.ts';
import { Child, exitCodeOf, forwardSignals } from './child.ts';
import type { Variables } from './variables.ts';

/** Changes within this time cause one restart, in milliseconds. */
const SETTLE = 150;
/** How often values are requested while the child runs with a fallback copy, in milliseconds. */
const RETRY = 5_000;

export interface Watched {
  line: string[];
  /** The variables the child starts with. */
  first: Variables;
  /** Whether they are from a fallback copy. */
  isStale: boolean;
  /** Reads the values again. */
  read(): Promise<Variables>;
  /**
   * Calls `onChange` when a value may have changed, and `onRefused` when changes can no longer be watched.
   * Returns a function that unsubscribes.
   */
  subscribe(onChange: () => void, onRefused: (error: unknown) => void): () => void;
  /** How long a child may take to exit, in milliseconds. */
  grace: number;
}

/** Runs the child until it exits on its own. */
export async function runWatched(
  context: Context,
  { line, first, isStale, read, subscribe, grace }: Watched,
): Promise<number> {
  let current = first;
  let child = new Child(line, first.env, context.host.cwd);
  let stale = isStale;
  let ended: NodeJS.Signals | undefined;
  const changes = new Changes();
  const tell = teller(context);
  const stopForwarding = forwardSignals(
    Boolean(context.host.stdin.isTTY),
    () => child,
    (signal) => {
      ended = signal;
    },
  );
  const unsubscribe = subscribe(
    () => changes.report(),
    (error) => tell.warn(error, 'Changes are no longer watched'),
  );
  const retry = setInterval(() => stale && changes.report(), RETRY);
  try {
    for (;;) {
      const outcome = await Promise.race([child.ended, changes.next()]);
      if (outcome !== 'changed') return outcome;
      changes.taken();
      const next = await read().catch((error: unknown) => {
        tell.warn(error, 'The values could not be refreshed');
        return undefined;
      });
      if (!next) continue;
      tell.over();
      stale = false;
      const differing = differences(current, next);
      if (differing.length === 0) continue;
      // It ended by itself, or by a signal, while the values were read.
      if (child.hasEnded) return await child.ended;
      context.out.note(`${differing.join(', ')} changed. Restarting the command.`);
      ended = undefined;
      await child.stop(grace);
      // Someone ended svc during the restart: there is no child that could get the signal.
      if (ended) return exitCodeOf(null, ended);
      current = next;
      child = new Child(line, next.env, context.host.cwd);
    }
  } finally {
    clearInterval(retry);
    changes.stop();
    unsubscribe();
    stopForwarding();
  }
}

/** Reported changes. One that is reported while an earlier one is being handled stays pending. */
class Changes {
  private isPending = false;
  private timer: NodeJS.Timeout | undefined;
  private notify: () => void = () => {};

  report(): void {
    this.timer ??= setTimeout(() => {
      this.timer = undefined;
      this.isPending = true;
      this.notify();
    }, SETTLE);
  }

  /** Resolves when a change is pending. */
  next(): Promise<'changed'> {
    return new Promise((done) => {
      this.notify = () => done('changed');
      if (this.isPending) this.notify();
    });
  }

  /** The values are about to be read: only changes that are reported from now on are pending. */
  taken(): void {
    this.isPending = false;
  }

  stop(): void {
    clearTimeout(this.timer);
  }
}

/**
 * Warns why the command keeps its current values, and what to do: once per reason, until values can be read
 * again.
 */
function teller(context: Context) {
  const told = new Set<string>();
  return {
    warn(error: unknown, what: string): void {
      const failure = asCliError(error);
      const reason = `${what} ${failure.problem.code}`;
      if (told.has(reason)) return;
      told.add(reason);
      const next = nextStep(context, failure);
      context.out.warn(
        `${what}: ${failure.message} The command keeps its current values.`,
        ...(next ? [`  next: ${next}`] : []),
      );
    },
    over: () => told.clear(),
  };
}

/** The step that restores watching. None if the vault is unreachable: svc retries automatically. */
function nextStep(context: Context, { problem: { exit, next } }: CliError): string | undefined {
  if (exit === 'unreachable') return undefined;
  const kind = context.identity()?.kind;
  const renewed = {
    variable: 'Set SVC_TOKEN to a valid credential',
    ci: 'Check the trust in SVC_TRUST_ID',
    stored: 'Sign in again: svc login',
  };
  return exit === 'signedOut' && kind ? `${renewed[kind]}, then restart the command` : next;
}

/** The names whose values differ. */
function differences(before: Variables, after: Variables): string[] {
  const names = new Set([...before.names, ...after.names]);
  return [...names].filter((name) => before.env[name] !== after.env[name]).sort();
}
