// What approvals follow: their own rows, ended sessions, and every commit. Invariant: what deciders were
// shown is erased soon after the approval cannot be used any more.
import { isBrief } from '../../db/credential-kinds';
import type { PolicyRow } from '../../db/schema';
import type { Core, Declared } from '../core';
import { approvalDetails } from './details';
import { endApprovals } from './state';
import { approvalWaiters } from './waiters';

/** How long changes wait for others before the approvals that they make void are looked for. */
const GATHERED = 5000;

/** Whether an approval policy comes into force, or holds something else than before. */
function holdsMore(before: PolicyRow | null, after: PolicyRow): boolean {
  if (after.kind !== 'approval' || after.enabled === 0) return false;
  const heldBy = ({ enabled, environments, types, names, config }: PolicyRow) =>
    JSON.stringify([enabled, environments, types, names, config]);
  // safety: new-policy-voids-approvals
  return before === null || heldBy(before) !== heldBy(after);
}

/** How many approvals are looked at in one go. */
const AT_ONCE = 500;

/** Makes open approvals void that concern one of these environments; null for all. */
function voidWithin(core: Core, environments: readonly string[] | null): void {
  const details = approvalDetails(core);
  for (
    let ids = details.after('', AT_ONCE);
    ids.length > 0;
    ids = details.after(ids.at(-1) as string, AT_ONCE)
  )
    for (const id of ids) {
      const concerned = core.rows.get('approval', id)?.environments ?? null;
      if (!environments || !concerned || concerned.some((one) => environments.includes(one)))
        details.void(id);
    }
}

export const approvals: Declared = {
  follows: {
    approval(core, { id, after }) {
      // An approval that has ended leaves no details; one that was approved keeps them until it expires.
      // safety: approval-details-end-with-it
      if (!after || after.ended_at !== null) approvalDetails(core).forget(id);
      else approvalDetails(core).extend(id, after.expires_at);
    },
    /**
     * What a session asked for ends with it if it was revoked. Its member or API key stays, so this is not
     * seen from the rows. After signing out, a member can still use what they asked for.
     */
    credential(core, { id, after, action }) {
      if (!after || !isBrief(after.kind) || after.revoked_at === null || action?.startsWith('auth.')) return;
      // safety: revoked-session-ends-approvals
      approvalDetails(core).voidOf(id);
    },
    /**
     * What a policy might hold that was not in force when it was asked for is void for good, even if the
     * policy is gone before the use.
     */
    policy(core, { before, after }) {
      if (after && holdsMore(before, after)) voidWithin(core, after.environments);
    },
  },
  /**
   * Any change may make approvals void: whoever waits for one is told, and what deciders were shown is erased
   * soon.
   */
  followCommit(core, now) {
    approvalWaiters(core).check();
    if (approvalDetails(core).isAny()) core.schedule.at('approvals', now + GATHERED);
  },
  tasks: { approvals: (core, now) => endApprovals(core, now) },
  clear: (core) => approvalDetails(core).clear(),
};
