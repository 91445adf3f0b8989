// Turns of streams that have much to send. The runtime reads from no connection while promises can continue,
// so many streams with many pages would block everything else. Invariants: an isolate asks for few pages at a
// time, and each page begins with a timer, which lets other requests in; a stream that ends within its turn
// blocks the others for a second at most.

/** Pages at a time. */
const AT_A_TIME = 2;
/** Milliseconds between the beginnings of pages. */
const APART = 5;
/** For how long a page counts: a client that leaves may end a request within its turn. */
const LASTS = 1000;
/** A time further ahead than this comes from a clock that was set back. */
const FURTHEST = 10_000;

const until = new Map<object, number>();
let next = 0;

/** Resolves at the next free time; times are given out in order. */
async function nextTime(): Promise<void> {
  const now = Date.now();
  if (next > now + FURTHEST) next = now;
  next = Math.max(now, next) + APART;
  const wait = next - now;
  await new Promise((resolve) => setTimeout(resolve, wait));
}

function isFull(): boolean {
  const now = Date.now();
  // safety: turn-of-gone-stream-ends
  for (const [turn, end] of until) if (end <= now || end > now + LASTS) until.delete(turn);
  return until.size >= AT_A_TIME;
}

/** Resolves when there is room for a page. */
async function free(): Promise<void> {
  do await nextTime();
  while (isFull());
}

/** Runs `work` when it is this stream's turn. */
export async function inTurn<T>(work: () => Promise<T>): Promise<T> {
  // safety: pages-in-turn
  await free();
  const turn = {};
  until.set(turn, Date.now() + LASTS);
  try {
    return await work();
  } finally {
    until.delete(turn);
  }
}
