// When checkpoints are wanted: at the end of each segment, and of the head of the log every ten minutes. Invariant: what is wanted is asked for until
// it is stored, and an idle log asks for nothing.
import { CHECKPOINT_EVERY, type SegmentEnd } from './checkpoints';
import type { Core } from './core';

/** A segment has moved: its end is to be signed. */
export function closeSegment(core: Core, end: SegmentEnd, now: number): void {
  core.checkpoints.closed(end);
  core.checkpoints.want({ sequence: end.sequence, hash: end.hash, time: now });
  core.schedule.at('checkpoint', now);
}

/** Has the Worker sign the head of the log, at most every ten minutes, and the ends of segments. An idle log needs nothing. */
export async function requestCheckpoint(core: Core, org: string, now: number): Promise<number | null> {
  // An organisation that has ended has no key.
  if (core.rows.get('org', org)?.deleted_at !== null) return null;
  const head = core.auditLog.head();
  const due = (core.checkpoints.newest()?.time ?? 0) + CHECKPOINT_EVERY;
  if (head.sequence > (core.checkpoints.newest()?.sequence ?? 0) && now >= due) core.checkpoints.want({ ...head, time: now });
  if (core.checkpoints.waiting(1).length) {
    await core.enqueue('checkpoint');
    // A message can be lost: whether the job was done is looked at again.
    return now + CHECKPOINT_EVERY;
  }
  return head.sequence > (core.checkpoints.newest()?.sequence ?? 0) ? due : null;
}
