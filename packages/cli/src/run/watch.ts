// svc run --watch: the child is started again when its values change. Invariants: there is one child at a time; a change that alters nothing
// for the child restarts nothing; a vault that cannot be reached leaves the child as it is.
import type { Context } from '../context.ts';
import { asCliError } from '../errors.ts';
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
  /** Calls back when something may have changed. */
  subscribe(onChange: () => void): () => void;
  /** How long a child has to end, in milliseconds. */
  grace: number;
}

/** Runs the child until it ends by itself. */
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
        context.out.warn(`The values could not be read anew: ${asCliError(error).message} The command goes on with those that it has.`);
        return undefined;
      });
      if (!next) continue;
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

/** The names whose values differ. */
function differences(before: Variables, after: Variables): string[] {
  const names = new Set([...before.names, ...after.names]);
  return [...names].filter((name) => before.env[name] !== after.env[name]).sort();
}
