// What approvals follow: their own rows, ended sessions, and every commit. Invariant: what deciders were shown is erased soon after the approval
// cannot be used any more.
import { isBrief } from '../../db/rows';
import type { Declared } from '../core';
import { approvalDetails } from './details';
import { endApprovals } from './state';
import { approvalWaiters } from './waiters';

/** How long changes wait for others before the approvals that they make void are looked for. */
const GATHERED = 5000;

export const approvals: Declared = {
  follows: {
    approval(core, { id, after }) {
      // An approval that has ended leaves no details; one that was approved keeps them until it expires.
      // safety: approval-details-end-with-it
      if (!after || after.ended_at !== null) approvalDetails(core).forget(id);
      else approvalDetails(core).extend(id, after.expires_at);
    },
    /**
     * What a session asked for ends with it if it was revoked. Its member or API key stays, so this is not seen from the rows. After signing
     * out, a member can still use what they asked for.
     */
    credential(core, { id, after, action }) {
      if (!after || !isBrief(after.kind) || after.revoked_at === null || action?.startsWith('auth.')) return;
      // safety: revoked-session-ends-approvals
      approvalDetails(core).voidOf(id);
    },
  },
  /** Any change may make approvals void: whoever waits for one is told, and what deciders were shown is erased soon. */
  followCommit(core, now) {
    approvalWaiters(core).check();
    if (approvalDetails(core).isAny()) core.schedule.at('approvals', now + GATHERED);
  },
  tasks: { approvals: (core, now) => endApprovals(core, now) },
  clear: (core) => approvalDetails(core).clear(),
};
