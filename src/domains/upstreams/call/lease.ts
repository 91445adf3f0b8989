// The lease of a call, as its Worker keeps it: it goes on only while the gate says so. Times are in
// milliseconds. Invariant: a call ends by itself once the gate may take its lease to have run out.

/** A lease lasts so long for its Worker: longer than a round, so that the next answer is in time. */
export const LEASE = 7000;
/**
 * For how long the gate holds a question before it says that the call may go on: the questions of an hour
 * stay under the calls that a request may make.
 */
export const ROUND = 5000;
/** When the gate is first asked: most calls have ended by then. */
const FIRST_ASKED = 1000;
/** Between a question that got no answer and the next. */
const AGAIN = 500;
/** No call lasts longer. */
const MOST = 3_600_000;

/**
 * Ends a call with its lease, by its time, or as soon as the gate says so: `may` asks it, and the gate holds
 * the question. The first lease counts from when the Worker asked to begin. The gate gives each further one
 * as it answers, at least a round after the question, so that one counts from the end of the round. Returns
 * what stops all that.
 */
export function leased(
  may: () => Promise<boolean>,
  { asked, ends_at }: { asked: number; ends_at: number | null },
  end: () => void,
): () => void {
  let isOver = false;
  const timers: Partial<Record<'lease' | 'question' | 'last', ReturnType<typeof setTimeout>>> = {};
  const set = (which: keyof typeof timers, act: () => void, ms: number) => {
    clearTimeout(timers[which]);
    if (!isOver) timers[which] = setTimeout(act, Math.min(MOST, Math.max(0, ms)));
  };
  const stop = () => {
    isOver = true;
    for (const timer of Object.values(timers)) clearTimeout(timer);
  };
  const over = () => {
    if (isOver) return;
    stop();
    end();
  };
  // safety: use-ends-without-gate
  const renewed = (from: number) => set('lease', over, from + LEASE - Date.now());
  const question = () => {
    const from = Date.now();
    may().then(
      (isGood) => {
        if (!isGood) return over();
        renewed(from + ROUND);
        set('question', question, 0);
      },
      () => set('question', question, AGAIN),
    );
  };
  renewed(asked);
  set('question', question, FIRST_ASKED);
  // safety: use-ends-by-time
  if (ends_at !== null) set('last', over, ends_at - Date.now());
  return stop;
}
