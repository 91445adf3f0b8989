// Long reads in steps: a walk yields what each step cost, and continues in a further turn of the gate where
// it stopped. Invariant: a walk that took several turns ends only for a caller who still has the permissions
// that it began with.
import { ApiError } from '../../errors';
import type { Call } from './call';
import { spend, TurnSpent } from './yielding';

/** The cost of a step, in matching steps; or `turn`, where the step itself needs another turn. */
export type Cost = number | 'turn';
export type Walk<T> = Generator<Cost, T>;

interface Begun {
  walk: Walk<unknown>;
  permissions: string;
}

const begun = new WeakMap<Call<unknown>, Begun>();

/** Continues the walk of a call, or begins it. Throws `TurnSpent` while it is not at its end. */
export function walked<T>(call: Call<unknown>, make: () => Walk<T>): T {
  const { walk } = continued(call) ?? start(call, make);
  for (;;) {
    const step = walk.next();
    if (step.done) {
      begun.delete(call);
      return step.value as T;
    }
    if (step.value === 'turn') throw new TurnSpent();
    // safety: walk-steps-bounded
    spend(call.core.rows, step.value);
  }
}

function start<T>(call: Call<unknown>, make: () => Walk<T>): Begun {
  const made = { walk: make(), permissions: JSON.stringify(call.caller.permissions) };
  begun.set(call, made);
  return made;
}

/** The walk that a call began in an earlier turn; null if there is none, or if it has to begin again. */
function continued(call: Call<unknown>): Begun | null {
  const before = begun.get(call);
  if (!before) return null;
  const refusal = call.recheck();
  // safety: walk-judged-again
  if (refusal) throw new ApiError(refusal);
  return before.permissions === JSON.stringify(call.caller.permissions) ? before : null;
}

/** What a step makes, again in another turn where it compares more names than one turn allows. */
export function* again<T>(make: () => T): Walk<T> {
  for (;;) {
    try {
      return make();
    } catch (error) {
      if (!(error instanceof TurnSpent)) throw error;
    }
    yield 'turn';
  }
}
