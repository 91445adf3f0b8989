// Work in turns: comparing names with policies takes as many turns of the gate as it needs, and other
// requests are served in between. Invariants: a turn has a budget of matching steps; what a turn found out is
// cached, so that running the work again continues it; a root has few requests at a time that need more than
// one turn, so that those of others wait for few.
import { ApiError, refuse } from '../../errors';
import type { Core } from '../core';

/** The matching steps of one turn: at most about 100 ms, measured with the most expensive patterns. */
export const TURN = 5_000_000;
/**
 * The most turns of one request: enough for every bulk read. A repeat of an import continues with what they
 * found out.
 */
const MOST_TURNS = 250;

/** The most requests of one root at a time that need more than one turn. */
export const MOST_LONG = 3;

/** Thrown where the steps of a turn are spent. */
export class TurnSpent extends Error {}

/** The steps that a gate has spent in the current turn. */
const spent = new WeakMap<Core['rows'], number>();

/**
 * Spends matching steps, or throws `TurnSpent` if the turn has too few left. At least one name is compared in
 * each turn.
 */
export function spend(rows: Core['rows'], steps: number): void {
  const before = spent.get(rows) ?? 0;
  // safety: policy-steps-bounded
  if (before > 0 && before + steps > TURN) throw new TurnSpent();
  spent.set(rows, before + steps);
}

/** How many requests of each root need more than one turn at present. */
const long = new WeakMap<Core['rows'], Map<string, number>>();

/**
 * Counts a further request of a root that needs more than one turn; answers how it is counted no more. 429
 * where there are too many.
 */
function enterLong(rows: Core['rows'], root: string): () => void {
  const counts = long.get(rows) ?? new Map<string, number>();
  long.set(rows, counts);
  const before = counts.get(root) ?? 0;
  // safety: long-work-of-root-bounded
  if (before >= MOST_LONG)
    throw new ApiError(
      refuse('RATE_LIMITED', {
        message:
          'Three other requests of this member or API key compare many names with many policies. Wait until one has finished.',
        retry_after: 2,
      }),
    );
  counts.set(root, before + 1);
  return () => {
    const left = (counts.get(root) ?? 1) - 1;
    if (left > 0) counts.set(root, left);
    else counts.delete(root);
  };
}

/** Lets other requests and events of this gate run. */
export const pause = () => new Promise<void>((done) => setTimeout(done, 0));

/** Begins a turn. */
export const beginTurn = ({ rows }: Pick<Core, 'rows'>): void => void spent.set(rows, 0);

/**
 * Judges names by policies, again in another turn whenever the steps of one are spent, and then acts on the
 * verdict in the same turn. 503 OVERLOADED if it needs too many turns, 429 RATE_LIMITED where too many
 * requests of its root do. `root`: null for work of the service itself.
 */
export async function inTurns<T, R = T>(
  core: Pick<Core, 'rows'>,
  root: string | null,
  judge: () => T | Promise<T>,
  act: (judged: T) => R | Promise<R> = (judged) => judged as unknown as R,
): Promise<R> {
  let leave: (() => void) | null = null;
  try {
    for (let turn = 1; turn <= MOST_TURNS; turn++) {
      beginTurn(core);
      let judged: T;
      try {
        const made = judge();
        judged = made instanceof Promise ? await made : made;
      } catch (error) {
        if (!(error instanceof TurnSpent)) throw error;
        if (root !== null) leave ??= enterLong(core.rows, root);
        await pause();
        continue;
      }
      // What follows takes no turns.
      leave?.();
      leave = null;
      return act(judged);
    }
  } finally {
    leave?.();
  }
  throw new ApiError(
    refuse('OVERLOADED', {
      message:
        'This request compares many names with many policies and has not finished. Repeat it: it continues where it stopped.',
      retry_after: 1,
    }),
  );
}
