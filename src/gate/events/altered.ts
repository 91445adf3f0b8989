// Events whose stored row was altered, so that it cannot be read. Invariants: readers skip them, so no other
// event waits for one; each is told of once, in the turn that deletes it.
import { newId } from '../../db/ids';
import { reportViolation } from '../audit/integrity';
import type { Core } from '../core';

const PER_RUN = 1000;
/** The most sequences that the line of the log names. */
const NAMED = 20;

/** Deletes them, and tells how many there were. Returns whether there are more. */
export function tellAltered(core: Core): boolean {
  return core.storage.transactionSync(() => {
    const dropped = core.outbox.dropAltered(PER_RUN);
    if (dropped.length === 0) return false;
    const found = { event: 'events_altered', resource: core.org } as const;
    const by = { request_id: newId('req', core.now()), ip: '', user_agent: null };
    // safety: altered-events-told
    reportViolation(core, found, by, { count: dropped.length, sequences: dropped.slice(0, NAMED) });
    return dropped.length === PER_RUN;
  });
}
