// svc run --watch: restarts the child when its values change. Invariants: there is one child at a time; a change that does not affect
// the child does not restart it; if the vault is unreachable, the child keeps running.
import type { Context } from '../context.ts';
import { asCliError } from '../errors.ts';
import { Child, forwardSignals } from './child.ts';
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
  /** Calls `onChange` when a value may have changed. Returns a function that unsubscribes. */
  subscribe(onChange: () => void): () => void;
  /** How long a child may take to exit, in milliseconds. */
  grace: number;
}

/** Runs the child until it exits on its own. */
export async function runWatched(context: Context, { line, first, isStale, read, subscribe, grace }: Watched): Promise<number> {
  let current = first;
  let child = new Child(line, first.env, context.host.cwd);
  let stale = isStale;
  let wake: () => void = () => {};
  const stopForwarding = forwardSignals(Boolean(context.host.stdin.isTTY), () => child);
  const unsubscribe = subscribe(() => wake());
  const retry = setInterval(() => stale && wake(), RETRY);
  try {
    for (;;) {
      const changed = new Promise<'changed'>((done) => {
        wake = () => setTimeout(() => done('changed'), SETTLE);
      });
      const outcome = await Promise.race([child.ended, changed]);
      if (outcome !== 'changed') return outcome;
      const next = await read().catch((error: unknown) => {
        context.out.warn(`The values could not be refreshed: ${asCliError(error).message} The command keeps its current values.`);
        return undefined;
      });
      if (!next) continue;
      stale = false;
      const differing = differences(current, next);
      if (differing.length === 0) continue;
      context.out.note(`${differing.join(', ')} changed. Restarting the command.`);
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

/** The names whose values differ. */
function differences(before: Variables, after: Variables): string[] {
  const names = new Set([...before.names, ...after.names]);
  return [...names].filter((name) => before.env[name] !== after.env[name]).sort();
}
