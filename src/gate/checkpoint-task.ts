// When checkpoints are signed: at the end of each segment, and for the head of the log every ten minutes. Invariant: a wanted signature is
// requested until it is stored; an idle log requests none.
import { CHECKPOINT_EVERY, checkpoints, type SegmentEnd } from './checkpoints';
import type { Core } from './core';

/** A segment has moved: its end needs a signature. */
export function closeSegment(core: Core, end: SegmentEnd, now: number): void {
  checkpoints(core).closed(end);
  checkpoints(core).want({ sequence: end.sequence, hash: end.hash, time: now });
  core.schedule.at('checkpoint', now);
}

/** Requests signatures for the head of the log, at most every ten minutes, and for the ends of segments. An idle log needs none. */
export async function requestCheckpoint(core: Core, org: string, now: number): Promise<number | null> {
  // A deleted organisation has no key.
  if (core.rows.get('org', org)?.deleted_at !== null) return null;
  const head = core.auditLog.head();
  const due = (checkpoints(core).newest()?.time ?? 0) + CHECKPOINT_EVERY;
  if (head.sequence > (checkpoints(core).newest()?.sequence ?? 0) && now >= due) checkpoints(core).want({ ...head, time: now });
  if (checkpoints(core).waiting(1).length) {
    await core.enqueue('checkpoint');
    // Messages can be lost: check again later.
    return now + CHECKPOINT_EVERY;
  }
  return head.sequence > (checkpoints(core).newest()?.sequence ?? 0) ? due : null;
}
