// Whether an approval can still be decided and used. Invariant: it is void from the turn in which its
// requester ends or is widened by somebody else, or one of its policies or targets changes; nothing makes a
// void approval valid again.
import type { ApprovalRow, ApprovalStatus } from '../../db/schema';
import type { Core } from '../core';
import { accountableForRoot } from '../identity/accountable';
import { isAlive, isBlocked } from '../identity/lifetime';
import { hasMemberEnded } from '../identity/members';
import { approvalDetails } from './details';
import { policiesOf } from './policies';
import { askedBy } from './repeats';
import { haveTargetsChanged } from './targets';
import { isTakenOverSince } from './ties';

export const statuses = [
  'pending',
  'approved',
  'rejected',
  'cancelled',
  'used',
  'expired',
  'void',
] as const satisfies readonly (ApprovalStatus | 'expired' | 'void')[];
export type Status = (typeof statuses)[number];

/** The status of an approval now. An open one expires, and becomes void, without being written. */
export function statusNow(core: Core, row: ApprovalRow): Status {
  const { status, expires_at } = row;
  if (status !== 'pending' && status !== 'approved') return status;
  if (expires_at <= core.now()) return 'expired';
  return isVoid(core, row) ? 'void' : status;
}

/** Whether an open approval is void. */
export const isVoid = (core: Core, row: ApprovalRow): boolean =>
  approvalDetails(core).isVoid(row.id) ||
  isRequesterGone(core, row) ||
  havePoliciesChanged(core, row) ||
  haveTargetsChanged(core, row);

/** Whether the root that asked has ended, or others answer for it too since. */
export const isRequesterGone = (core: Core, row: ApprovalRow): boolean =>
  hasRequesterEnded(core, row) || isTakenOver(core, row);

/**
 * Whether somebody has repointed or widened the root since, or may act as a member who answers for it: its
 * sessions and its access key may be theirs, and they must not decide or use what it asked.
 */
function isTakenOver(core: Core, { root, accountable, created_at }: ApprovalRow): boolean {
  // safety: approval-ends-with-takeover
  if (accountableForRoot(core, root).some((one) => !accountable.includes(one))) return true;
  // safety: approval-ends-with-takeover-of-member
  return accountable.some((id) => {
    const member = core.rows.get('member', id);
    return member !== null && isTakenOverSince(core, member, created_at);
  });
}

/**
 * Whether the root that asked has ended: a member who was removed or suspended, or a credential that can no
 * longer be used. A panic ends sessions and leaves members: it ends what was asked in sessions before it. So
 * do a blocked device and a removed passkey.
 */
function hasRequesterEnded(core: Core, row: ApprovalRow): boolean {
  const { org_id, requester, created_at } = row;
  const org = core.rows.get('org', org_id);
  if (!org || org.deleted_at !== null) return true;
  // safety: panic-ends-approvals
  if (['session', 'member'].includes(requester.kind) && created_at <= (org.panicked_at ?? 0)) return true;
  const { device_id, passkey_id } = requester;
  // safety: blocked-device-ends-approvals
  if (device_id && isBlocked(core, core.rows.get('device', device_id))) return true;
  // safety: removed-passkey-ends-approvals
  if (passkey_id && !core.rows.get('passkey', passkey_id)) return true;
  const asker = askedBy(row);
  // safety: approval-ends-with-suspension
  if (core.rows.get('member', asker)) return hasMemberEnded(core, asker, created_at);
  const credential = core.rows.get('credential', asker);
  // safety: approval-ends-with-requester
  return credential === null || !isAlive(core, credential);
}

/** Whether a policy that held the request has changed or is no longer in force. */
function havePoliciesChanged(core: Core, { policies }: ApprovalRow): boolean {
  const now = new Map(policiesOf(core, 'approval').map(({ row }) => [row.id, row.revision]));
  return policies.some(({ id, revision }) => now.get(id) !== revision);
}

/** How many open approvals one run of the task judges. */
const PER_RUN = 200;

/**
 * The task: erases what deciders were shown of approvals that have become void or have expired. Also keeps
 * that they are void, since a session that has ended is forgotten before its approvals expire.
 */
export function endApprovals(core: Core, now: number): number | null {
  const next = core.storage.transactionSync(() => approvalDetails(core).sweep(now));
  const after = core.meta.get('approvals_after') ?? '';
  const ids = approvalDetails(core).after(after, PER_RUN);
  const ended = ids.filter((id) => {
    const row = core.rows.get('approval', id);
    return row === null || isVoid(core, row);
  });
  core.storage.transactionSync(() => {
    for (const id of ended) approvalDetails(core).void(id);
    core.meta.set('approvals_after', ids.length === PER_RUN ? (ids.at(-1) as string) : '');
  });
  return ids.length === PER_RUN ? now : next;
}
