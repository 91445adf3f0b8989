// What a gate that starts asks D1: is one of the two older, because storage was put back from a copy? And was
// the gate left by an earlier release? Invariants: a gate with older storage than D1 finds that out before
// its first answer, if D1 responds; if D1 does not, only storage that was written lately is served from.

import type { Core } from '../core';
import { withinTime } from '../d1';
import { ADOPTING, compared, noteBehind, noteStopped, standing } from './position';
import { journal } from './records';
import { isInDoubt, takeOver } from './take-over';

/**
 * How long the first request of a gate that starts waits for D1, and how often D1 is asked again; in
 * milliseconds.
 */
const PATIENCE = 1500;
const AGAIN = 5000;

/** Asks D1 whether this gate is behind it. Null if D1 does not respond. */
async function ask(core: Core): Promise<boolean | null> {
  if (journal(core).term() === null && (await takeOver(core)) === null) return null;
  const is = await compared(core);
  if (is === null) return null;
  if (is === 'diverged' && core.meta.get(ADOPTING) === null) noteStopped(core, is, journal(core).position());
  if (is === 'behind') noteBehind(core);
  else standing(core).isBehind ??= false;
  return standing(core).isBehind;
}

/**
 * Whether this gate is behind D1, as after a copy of its storage was put back. Asked once; without an answer,
 * again later. `again`: at once, for a change; so it is while a change of an earlier release is in doubt.
 */
export async function isBehind(core: Core, again = false): Promise<boolean | null> {
  const known = standing(core);
  if (known.isBehind !== null) return known.isBehind;
  if (!known.asking && !again && !isInDoubt(core) && Date.now() - known.askedAt < AGAIN) return null;
  known.askedAt = Date.now();
  known.asking ??= ask(core).finally(() => {
    known.asking = null;
  });
  return withinTime(known.asking, PATIENCE);
}

/** Whether nothing may be answered before D1 was asked where it stands. */
export const needsComparison = (core: Core): boolean =>
  // safety: no-answer-in-doubt
  standing(core).isStale() || isInDoubt(core);
