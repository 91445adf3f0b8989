// Who may decide an approval. Invariants: a decider is a member who holds approvals:decide, is among the policy's approvers, is not
// accountable for the request, and was not made an approver in the last seven days by someone who is. Checked again every time it matters.
import { decides } from '../auth/effects';
import type { ApprovalConfig, ApprovalRow, MemberRow, PolicyRow } from '../db/schema';
import { CONNECTED_FOR } from './accountable';
import type { Core } from './core';

/** Whether a member is an approver of a policy. */
function isApprover({ rows }: Pick<Core, 'rows'>, { config }: Pick<PolicyRow, 'config'>, member: MemberRow): boolean {
  const { approvers } = config as ApprovalConfig;
  if (!decides(member.role)) return false;
  return 'role' in approvers ? member.role === approvers.role : rows.get('team_member', `${approvers.team_id}.${member.id}`) !== null;
}

/** How many members could approve for a policy, including those who have not enrolled yet. */
export const countApprovers = (core: Pick<Core, 'rows'>, policy: Pick<PolicyRow, 'config'>): number =>
  core.rows.within('member', '').filter((member) => isApprover(core, policy, member)).length;

/** Why a member may not decide a request for a policy; null if they may. */
export function ineligible(
  core: Pick<Core, 'rows'>,
  approval: ApprovalRow,
  policy: PolicyRow,
  member: MemberRow,
  now: number,
): string | null {
  // safety: requester-decides-nothing
  if (approval.accountable.includes(member.id)) return 'You made this request or are accountable for the credential that did.';
  // safety: approver-of-policy
  if (!isApprover(core, policy, member)) return `You are not an approver of the policy "${policy.name}".`;
  const { approvers } = policy.config as ApprovalConfig;
  const membership = 'team_id' in approvers ? core.rows.get('team_member', `${approvers.team_id}.${member.id}`) : null;
  const added = (membership?.accountable ?? []).map((by) => [by, membership?.created_at as number] as const);
  const isConnected = [...(member.connections ?? []), ...added].some(
    ([by, at]) => approval.accountable.includes(by) && at + CONNECTED_FOR > now,
  );
  // safety: connected-member-decides-nothing
  return isConnected
    ? 'The requester invited, re-enrolled or promoted you, or added you to the approving team, within the last seven days.'
    : null;
}

/** The members whose approvals of a request currently count for a policy. */
export const approvalsFor = (core: Pick<Core, 'rows'>, approval: ApprovalRow, policy: PolicyRow, now: number): string[] => [
  ...new Set(
    approval.decisions.flatMap(({ member: id, decision }) => {
      const member = decision === 'approve' ? core.rows.get('member', id) : null;
      // safety: deciders-judged-again
      return member && ineligible(core, approval, policy, member, now) === null ? [id] : [];
    }),
  ),
];
