// Work of the Worker in slices: a report compares many names with many patterns, and other requests are
// served in between. Invariants: a slice has a budget of matching steps, and so has the work; a root has few
// of these at a time that need more than one slice, and work that must not be refused waits until it is one
// of them.
import { ApiError, refuse } from '../errors';
import { MOST_LONG, pause, TURN } from '../gate/request/yielding';

/** The matching steps of one slice: 20 to 50 ms. */
export const SLICE = TURN;

export interface Slices {
  /** Takes matching steps; false once the work has taken all that it may. */
  take(steps: number): boolean;
  /**
   * Where the slice is spent: waits until others were served. If the root has too much long work, 429, or
   * waits for it to end. `steps`: of other work done since.
   */
  rest(steps?: number): Promise<void> | null;
  /** The work has ended. */
  end(): void;
}

/** How many pieces of long work each root has at present in this isolate. */
const long = new Map<string, number>();

/** How often waiting work looks whether other work has ended, in milliseconds. */
const EVERY = 50;

// safety: long-reports-of-root-bounded
const isFull = (root: string): boolean => (long.get(root) ?? 0) >= MOST_LONG;

const tooMany = () =>
  new ApiError(
    refuse('RATE_LIMITED', {
      message:
        'Three other reports of this member or API key compare many names. Wait until one has finished, then repeat this request.',
      retry_after: 2,
    }),
  );

function enterLong(root: string): () => void {
  long.set(root, (long.get(root) ?? 0) + 1);
  return () => {
    const left = (long.get(root) ?? 1) - 1;
    if (left > 0) long.set(root, left);
    else long.delete(root);
  };
}

/**
 * Work of a root that takes at most so many matching steps. `root` includes the organisation. `waits`: it
 * waits instead of being refused, because its request has taken effect.
 */
export function newSlices(root: string, most: number, { waits = false } = {}): Slices {
  let left = most;
  let spent = 0;
  let leave: (() => void) | null = null;
  const begin = async () => {
    // safety: contained-report-not-refused
    if (isFull(root) && !waits) throw tooMany();
    while (isFull(root)) await new Promise((done) => setTimeout(done, EVERY));
    leave = enterLong(root);
    return pause();
  };
  return {
    take(steps) {
      // safety: report-steps-bounded
      if (left <= 0) return false;
      left -= steps;
      spent += steps;
      return true;
    },
    rest(steps = 0) {
      spent += steps;
      // safety: report-works-in-slices
      if (spent < SLICE) return null;
      spent = 0;
      return leave ? pause() : begin();
    },
    end() {
      leave?.();
      leave = null;
    },
  };
}
