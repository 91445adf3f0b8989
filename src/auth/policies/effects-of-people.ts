// The effects of changes of members, teams and connections to identity providers, which decide who may do
// what, and who decides approvals. Pure.
import {
  type ApprovalConfig,
  isSuspended,
  type MemberRow,
  type SsoConnectionRow,
  type SsoLinkRow,
} from '../../db/schema';
import { givenAnew } from '../connections';
import { covers, roleScopes } from '../scopes';
import { type Applying, type Effect, either, type Find } from './effect';

/** Whether a role can decide approvals. */
export const decides = (role: MemberRow['role']): boolean => covers(roleScopes[role], 'approvals:decide');

/** Whether the environments of a member now include some in which the member did not hold the role before. */
const isWidened = (before: MemberRow, after: MemberRow): boolean =>
  before.environments !== null &&
  (after.environments?.some((id) => !before.environments?.includes(id)) ?? true);

/** Whether a suspended member acts again: whatever the role gives, it gives anew. */
const isResumed = (before: MemberRow | null, after: MemberRow | null): boolean =>
  // safety: resumption-held
  before !== null && after !== null && isSuspended(before) && !isSuspended(after);

/** Whether a member decides approvals who did not before, or decides them in more environments. */
const becomesDecider = (before: MemberRow | null, after: MemberRow): boolean =>
  // safety: wider-decider-made-by-approval
  decides(after.role) &&
  (!before || !decides(before.role) || isWidened(before, after) || isResumed(before, after));

/**
 * Whether a member has another address. By single sign-on, a member without a passkey or a link is whoever
 * has it.
 */
export const isReaddressed = (before: MemberRow | null, after: MemberRow | null): boolean =>
  before !== null && after !== null && before.email.toLowerCase() !== after.email.toLowerCase();

/**
 * The effect of inviting a member, changing a role or its environments, creating an enrolment link or setting
 * the address for someone else, or removing, suspending or resuming a member.
 */
export function ofMember(before: MemberRow | null, after: MemberRow | null, by: string): Effect[] {
  const isRole = before?.role !== after?.role || hasMoved(before, after) || isResumed(before, after);
  const isEnrolment =
    before &&
    after &&
    after.enrolment_hash !== null &&
    after.enrolment_hash !== before.enrolment_hash &&
    by !== after.id;
  // Whoever makes a suspension theirs decides who may lift it.
  const isSuspension = before && after && isSuspended(after) && before.suspended_by !== after.suspended_by;
  // safety: address-by-another-held
  const isAddress = by !== after?.id && isReaddressed(before, after);
  if (!isRole && !isEnrolment && !isSuspension && !isAddress) return [];
  const targets = before ? [before] : [];
  const environments = either(before, after);
  // Removing or suspending a member gives no access and may be urgent: it needs approval only if a policy
  // requires it.
  if (!after || !isRole) return [{ operations: ['member.change'], reach: 'all', environments, targets }];
  return [
    {
      operations: ['member.change'],
      reach: 'all',
      environments,
      targets,
      adds:
        decides(after.role) &&
        (!before || before.role !== after.role || isWidened(before, after) || isResumed(before, after)),
      // safety: approver-made-by-approval
      isGuarded: (policy) => becomesDecider(before, after) || isApproving(policy, after.role, before?.role),
    },
  ];
}

/** The effect of freeing a link: the member is then whoever signs in with the address. */
export const ofFreedLink = (before: SsoLinkRow): Effect => ({
  // safety: freed-link-held
  operations: ['member.change'],
  reach: 'all',
  targets: [{ id: before.id, revision: before.revision }],
});

/** Whether the environments of a member's role are others than before. */
export const hasMoved = (before: MemberRow | null, after: MemberRow | null): boolean =>
  JSON.stringify(before?.environments ?? null) !== JSON.stringify(after?.environments ?? null);

const isApproving = ({ row: { config } }: Applying, ...roles: (string | undefined)[]): boolean => {
  const { approvers } = config as ApprovalConfig;
  return 'role' in approvers && roles.includes(approvers.role);
};

/** The effect of changing a team's membership or deleting the team. */
export const ofTeam = (team: string, targets: Effect['targets']): Effect => ({
  operations: ['team.change'],
  reach: 'all',
  targets,
  // safety: approving-team-guarded
  isGuarded: (policy) => isApprovingTeam(policy, team),
});

const isApprovingTeam = ({ row: { config } }: Applying, team: string): boolean => {
  const { approvers } = config as ApprovalConfig;
  return 'team_id' in approvers && approvers.team_id === team;
};

/**
 * The effect of a connection to an identity provider, whose sign-ins make members and give roles and teams.
 */
export function ofSsoConnection(before: SsoConnectionRow | null, after: SsoConnectionRow): Effect[] {
  const { roles, teams } = givenAnew(before, after);
  if (roles.length === 0 && teams.length === 0) return [];
  return [
    {
      operations: teams.length > 0 ? ['member.change', 'team.change'] : ['member.change'],
      reach: 'all',
      targets: before ? [before] : [],
      // safety: approver-by-connection-held
      isGuarded: (policy) =>
        roles.some(decides) ||
        isApproving(policy, ...roles) ||
        teams.some((team) => isApprovingTeam(policy, team)),
    },
  ];
}

/**
 * The effect of a token that adds, suspends and removes members and fills teams, none of which waits for
 * approval.
 */
export const ofScimToken = (find: Find): Effect => ({
  // safety: scim-token-held
  operations: ['member.change', 'team.change'],
  reach: 'all',
  targets: [],
  // safety: scim-team-of-approvers-guarded
  isGuarded({ row: { config } }) {
    const { approvers } = config as ApprovalConfig;
    return 'team_id' in approvers && (find('team', approvers.team_id)?.provisioned ?? null) !== null;
  },
});

/** Whoever has a token of a connection decides who gets what the connection gives. */
export function ofTokenOf(id: string | null, find: Find): Effect[] {
  const connection = id === null ? null : find('sso_connection', id);
  // safety: scim-token-held-as-connection
  return connection
    ? ofSsoConnection(null, connection).map((one) => ({ ...one, targets: [connection] }))
    : [];
}
