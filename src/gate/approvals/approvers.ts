// Who may decide an approval. Invariants: a decider is a member who holds approvals:decide, is among the
// policy's approvers, is not accountable for the request, reaches every environment that it concerns, and is
// tied to nobody who is accountable: not by bringing in (see auth/policies/ties.ts), nor by a grant of one to
// the other. Deciders who are tied to each other count as one, since one may act as the other. For a policy
// on agents whose approvers are the accountable members, only these decide. Where nobody is accountable,
// nobody decides. Judged again every time it matters.

import { enters } from '../../auth/authorize';
import { isOfSecrets } from '../../auth/policies/effect';
import { decides } from '../../auth/policies/effects-of-people';
import { TIED_FOR } from '../../auth/policies/ties';
import type { ApprovalConfig, ApprovalRow, MemberRow, PolicyRow } from '../../db/schema';
import type { Core } from '../core';
import { grantRows, memberOf } from '../identity/caller';
import { isGrantAlive } from '../identity/lifetime';
import { actingMember, actingMembers, hasMemberEnded } from '../identity/members';
import { MOST_ENVIRONMENTS } from '../request/target';
import { lineageOf } from '../rows/ends-with-parent';
import { granters, isBroughtByProvider, tiesOf } from './ties';

/** Whether a member is an approver of a policy. */
function isApprover(
  { rows }: Pick<Core, 'rows'>,
  { config }: Pick<PolicyRow, 'config'>,
  member: MemberRow,
): boolean {
  const { approvers } = config as ApprovalConfig;
  if ('accountable' in approvers) return true;
  if (!decides(member.role)) return false;
  return 'role' in approvers
    ? member.role === approvers.role
    : rows.get('team_member', `${approvers.team_id}.${member.id}`) !== null;
}

/**
 * Whether the members accountable for an agent decide for a policy: their check on a program, which counts
 * for no other policy.
 */
export const isAccountablePolicy = ({ config }: Pick<PolicyRow, 'config'>): boolean =>
  'accountable' in (config as ApprovalConfig).approvers;

/**
 * Whether limits to environments include all of some others; null for no limit, and for the whole
 * organisation.
 */
const includes = (held: readonly string[] | null, wanted: readonly string[] | null): boolean =>
  held === null || (wanted?.every((id) => held.includes(id)) ?? false);

const approversOf = (core: Pick<Core, 'rows'>, policy: Pick<PolicyRow, 'config'>): MemberRow[] =>
  actingMembers(core).filter((member) => isApprover(core, policy, member));

/**
 * How many members could approve for a policy what concerns these environments, including those who have not
 * enrolled yet.
 */
export const countApprovers = (
  core: Pick<Core, 'rows'>,
  policy: Pick<PolicyRow, 'config'>,
  environments: readonly string[] | null,
): number => approversOf(core, policy).filter((member) => includes(member.environments, environments)).length;

/**
 * How many approvers a policy has in each environment that it applies to; of the whole organisation, if it
 * holds more than secrets.
 */
function approverCounts(
  core: Core,
  config: ApprovalConfig,
  environments: readonly string[] | null,
): number[] {
  const counts = new Map<string, number>();
  let everywhere = 0;
  for (const { environments: held } of approversOf(core, { config })) {
    if (held === null) everywhere++;
    for (const id of held ?? []) counts.set(id, (counts.get(id) ?? 0) + 1);
  }
  // safety: approvers-counted-by-environment
  if (!config.operations.every(isOfSecrets)) return [everywhere];
  const ids = environments ?? core.rows.after('environment', '', MOST_ENVIRONMENTS).map(({ id }) => id);
  return ids.map((id) => everywhere + (counts.get(id) ?? 0));
}

/** The fewest approvers of any environment that a policy applies to. */
export const fewestApprovers = (
  core: Core,
  config: ApprovalConfig,
  environments: readonly string[] | null,
): number => Math.min(...approverCounts(core, config, environments));

/**
 * Whether a policy has too few approvers wherever a new one would decide. `reached`: the environments of the
 * new one, null for all. One who would also decide where there are enough approvers is no remedy.
 */
export function lacksApprovers(
  core: Core,
  { config, environments }: PolicyRow,
  reached: readonly string[] | null,
): boolean {
  const { required } = config as ApprovalConfig;
  const both =
    environments && reached ? environments.filter((id) => reached.includes(id)) : (environments ?? reached);
  const counts = approverCounts(core, config as ApprovalConfig, both);
  // One who decides nothing for the policy changes nothing for it.
  return counts.every((count) => count < required);
}

/**
 * Whether a member may decide what concerns these environments: by the role, or, if accountable for the agent
 * that asks, by anything that they hold there.
 */
function reachesAllOf(
  core: Core,
  { environments }: ApprovalRow,
  policy: PolicyRow,
  member: MemberRow,
): boolean {
  if (!isAccountablePolicy(policy)) return includes(member.environments, environments);
  const { permissions } = memberOf(core, member.id, member);
  return environments === null
    ? permissions.some((one) => one.environments === null)
    : environments.every((id) => permissions.some((one) => enters(one, id)));
}

/** Why nobody may decide a request for which nobody is accountable. */
const UNACCOUNTABLE =
  'No member is accountable for the credential that made this request, so nobody may decide it. Use a credential that a member made.';

/** Whether a person asked, or a credential without an agent behind it. */
export const isOfPerson = ({ requester }: Pick<ApprovalRow, 'requester'>): boolean =>
  requester.for_agent === undefined;

/**
 * Why nobody may decide for a policy on agents what a person asked: the members accountable for the agents
 * are among those who ask.
 */
export const ofPerson = ({ name }: Pick<PolicyRow, 'name'>): string =>
  `The policy "${name}" holds what this connection sends, because an agent stored or widened it. Nobody can approve a request of a member or of a member's API key for it. Store a new connection, or let an agent make the request.`;

/** Why a member may not decide a request for a policy; null if they may. */
export function ineligible(
  core: Core,
  approval: ApprovalRow,
  policy: PolicyRow,
  member: MemberRow,
  now: number,
): string | null {
  const { accountable, requester } = approval;
  // safety: nobody-decides-the-unaccountable
  if (accountable.length === 0) return UNACCOUNTABLE;
  // safety: decider-within-environments
  if (!reachesAllOf(core, approval, policy, member))
    return 'Your role is limited to environments, and this request concerns others too.';
  // safety: provisioned-decides-nothing
  if (isBroughtByProvider(member, now) || isHeldByScim(core, policy, member, now))
    return 'Within the last seven days an identity provider brought you in or resumed you, or gave you a role or a place in an approving team. Another approver can decide, or you once seven days have passed.';
  if (isAccountablePolicy(policy)) {
    if (isOfPerson(approval)) return ofPerson(policy);
    // safety: accountable-decide-alone
    return requester.for_agent?.includes(member.id)
      ? null
      : `Only members accountable for the agent decide for the policy "${policy.name}".`;
  }
  // safety: requester-decides-nothing
  if (accountable.includes(member.id))
    return 'You made this request or are accountable for the credential that did.';
  // safety: approver-of-policy
  if (!isApprover(core, policy, member)) return `You are not an approver of the policy "${policy.name}".`;
  const ties = tiesOf(core, now);
  // safety: tied-member-decides-nothing
  if (accountable.some((one) => ties.tied(one, member.id)))
    return 'Within the last seven days you or the requester invited, re-enrolled or promoted the other, changed their address, freed their links, or added them to an approving team, directly or through other members. Another approver can decide, or you once seven days have passed.';
  // safety: granter-decides-nothing
  return isGranted(core, approval, member.id)
    ? 'A grant of yours reaches the requester, or one of theirs reaches you. Another approver can decide, or you once the grant has ended.'
    : null;
}

/** Whether SCIM lately put a member into the approving team, which perhaps was none then. */
function isHeldByScim(core: Core, { config }: PolicyRow, { id }: MemberRow, now: number): boolean {
  const { approvers } = config as ApprovalConfig;
  if (!('team_id' in approvers)) return false;
  const row = core.rows.get('team_member', `${approvers.team_id}.${id}`);
  return (row?.held_by?.length ?? 0) > 0 && (row?.created_at ?? 0) + TIED_FOR > now;
}

/**
 * Whether a grant that is in force was given by a member to those who are accountable for a request, or by
 * one of these to the member.
 */
function isGranted(core: Core, approval: ApprovalRow, member: string): boolean {
  const { accountable, requester } = approval;
  const given = (to: readonly string[], by: readonly string[]) =>
    to.some((id) =>
      grantRows(core, id).some(
        (grant) => granters(core, grant).some((one) => by.includes(one)) && isGrantAlive(core, grant),
      ),
    );
  return given([...accountable, ...lineageIds(core, requester)], [member]) || given([member], accountable);
}

/** The ids of the requesting credential and of its ancestors: an agent may have grants of its own. */
function lineageIds(core: Core, { credential, id }: ApprovalRow['requester']): string[] {
  const row = core.rows.get('credential', credential ?? id ?? '');
  return row ? lineageOf(core, row).map((one) => one.id) : [];
}

/** Whether a member has joined the approving team, again perhaps, since a time. */
const hasJoinedSince = (
  { rows }: Pick<Core, 'rows'>,
  { config }: PolicyRow,
  member: string,
  at: number,
): boolean => {
  const { approvers } = config as ApprovalConfig;
  return (
    'team_id' in approvers &&
    (rows.get('team_member', `${approvers.team_id}.${member}`)?.created_at ?? 0) > at
  );
};

/** The members whose approvals of a request currently count for a policy. */
export const approvalsFor = (core: Core, approval: ApprovalRow, policy: PolicyRow, now: number): string[] => [
  ...new Set(
    approval.decisions.flatMap(({ member: id, decision, at, passkey }) => {
      // safety: decision-ends-with-passkey-and-panic
      if (
        (passkey && !core.rows.get('passkey', passkey)) ||
        at <= (core.rows.get('org', approval.org_id)?.panicked_at ?? 0)
      )
        return [];
      // safety: decision-ends-with-membership
      if (hasJoinedSince(core, policy, id, at)) return [];
      // safety: decision-ends-with-suspension
      if (decision !== 'approve' || hasMemberEnded(core, id, at)) return [];
      const member = actingMember(core, id);
      // safety: deciders-judged-again
      return member && ineligible(core, approval, policy, member, now) === null ? [id] : [];
    }),
  ),
];

/** Some of these people, of whom no two are tied to each other. */
function untied(core: Core, members: readonly string[], now: number): string[] {
  const ties = tiesOf(core, now);
  const apart: string[] = [];
  // safety: tied-deciders-count-once
  for (const id of members) if (!apart.some((one) => ties.tied(one, id))) apart.push(id);
  return apart;
}

/** Whether enough people approved a request for a policy. */
export const isEnough = (
  core: Core,
  approval: ApprovalRow,
  policy: PolicyRow,
  required: number,
  now: number,
): boolean => untied(core, approvalsFor(core, approval, policy, now), now).length >= required;

/** Whether a member is tied to one of those who approved a request for a policy, and so adds nothing. */
export function isTiedToApprover(
  core: Core,
  approval: ApprovalRow,
  policy: PolicyRow,
  member: string,
  now: number,
): boolean {
  const ties = tiesOf(core, now);
  return approvalsFor(core, approval, policy, now).some((id) => id !== member && ties.tied(id, member));
}
