// The mutants of approvers: who may decide, and who may change that. index.mjs says what a mutant is.

import { checks } from './checks.mjs';

/** @type {import('./index.mjs').Mutant[]} */
export const mutants = [
  ...checks({
    'approvers-counted-by-environment':
      'api/approvals/environments: approvers count in each environment that the policy applies to',
    'approving-team-guarded':
      'api/approvals/guards: cannot be changed, and no one can become an approver, without an approval',
    'tied-member-decides-nothing':
      'api/approvals/ties: bars the inviter from deciding for the invited member',
  }),
  {
    name: 'an approval policy does not guard itself',
    tag: 'policy-guards-itself',
    change: { from: 'weakens(before, after)', to: 'false' },
    notice: 'api/approvals/guards: that weaken it are held by the policy itself',
  },
  {
    name: 'any credential may decide approvals',
    tag: 'approver-made-by-approval',
    change: {
      from: 'becomesDecider(before, after) || isApproving(policy, after.role, before?.role)',
      to: 'false',
    },
    notice: 'api/approvals/guards: cannot be changed, and no one can become an approver, without an approval',
  },
  {
    name: 'a decider gets more environments without an approval',
    tag: 'wider-decider-made-by-approval',
    change: { from: ' || isWidened(before, after)', to: '' },
    notice: 'api/members/environments: more environments for a decider are held by every approval policy',
  },
  {
    name: 'a member decides for environments in which they have no role',
    tag: 'decider-within-environments',
    notice: 'api/approvals/environments: decides for those, and is shown no others',
  },
  {
    name: 'two deciders who are tied to each other count as two',
    tag: 'tied-deciders-count-once',
    change: { from: 'if (!apart.some((one) => ties.tied(one, id))) ', to: '' },
    notice: 'api/approvals/ties: count as one if they are tied, also once the second approval was given',
  },
  {
    name: 'what was approved for a member serves whoever enrols them again',
    tag: 'approval-ends-with-takeover-of-member',
    change: { from: 'isTakenOverSince(core, member, created_at)', to: 'false' },
    notice: 'api/approvals/ties: attack: whoever enrols them again spends nothing that was approved for them',
  },
  {
    name: 'what was approved for a member serves whoever uses an earlier link',
    tag: 'used-link-takes-over',
    change: { from: 'at >= enrolment_made_at ? now : at', to: 'at' },
    notice: 'api/approvals/ties: attack: whoever made an enrolment link before the request spends nothing',
  },
  {
    name: 'what was approved for a credential serves whoever enrols its maker again',
    tag: 'approval-ends-with-takeover-of-member',
    change: {
      from: 'accountable.some((id) => {',
      to: 'accountable.some((id) => { if (id !== root) return false;',
    },
    notice: 'api/aws/approvals: attack: whoever acts as the maker of a key spends nothing that was approved',
  },
  {
    name: 'what was approved for a member serves whoever changes the keys of their provider',
    tag: 'changed-connection-takes-over',
    change: { from: '...own, ...changes', to: '...own' },
    notice: 'api/sso/saml: attack: whoever changes the keys that sign spends nothing that was approved',
  },
  {
    name: 'a tie never ends',
    tag: 'tie-ends',
    notice: 'api/approvals/ties: ends after seven days',
  },
  {
    name: 'ties are computed once',
    tag: 'ties-computed-again',
    change: {
      from: 'known?.edits === edits && known.ties.since <= now && now < known.ties.until',
      to: 'known',
    },
    notice: 'api/approvals/ties: is judged again when the approval is used',
  },
  {
    name: 'a grant of one to the other does not matter',
    tag: 'granter-decides-nothing',
    change: { from: 'isGranted(core, approval, member.id)', to: 'false' },
    notice: 'api/approvals/ties: of one to the other bars both',
  },
  {
    name: 'removing a member ends their ties',
    tag: 'removal-cuts-no-tie',
    change: { from: 'ties.length === 0', to: 'true' },
    notice: 'api/approvals/ties: still ties those whom they brought in',
  },
  {
    name: 'leaving an approving team ends the tie',
    tag: 'leaving-a-team-cuts-no-tie',
    change: { from: 'isApprovingTeam(call.core, target(call))', to: 'false' },
    notice: 'api/approvals/ties: counts in both directions, and leaving the team does not end it',
  },
  {
    name: 'the ties of removed members grow without a bound',
    tag: 'kept-ties-bounded',
    change: { from: '>= MOST_KEPT', to: '>= Number.POSITIVE_INFINITY' },
    notice: 'api/approvals/ties: are bounded',
  },
  {
    name: 'a SCIM token adds and removes users until the row of an owner is full',
    tag: 'scim-kept-ties-bounded',
    change: { from: 'mayAdd(call.core, now)', to: 'null' },
    notice: 'api/approvals/ties: are bounded',
  },
  {
    name: 'any approver decides for a credential for which nobody is accountable',
    tag: 'nobody-decides-the-unaccountable',
    notice: 'api/approvals/ties: nobody decides for a key of an earlier release',
  },
  {
    name: 'whom such a credential brings in is tied to nobody',
    tag: 'unaccountable-ties-owners',
    change: { from: 'accountable.length > 0', to: 'true' },
    notice: 'api/approvals/ties: nobody decides for a key of an earlier release',
  },
  {
    name: 'nobody is accountable for a recovery key',
    tag: 'owners-accountable-for-recovery',
    change: { from: 'ownersOf(core).map(({ id }) => id)', to: '[]' },
    notice: 'api/approvals/ties: the owners are accountable for a recovery key',
  },
  {
    name: 'a break-glass token passes every policy',
    tag: 'break-glass-passes-only-if-allowed',
    change: { from: 'allow_break_glass === true && ', to: '' },
    notice:
      'api/approvals/guards: bypasses approvals for secrets only if the policy allows it, and is marked',
  },
  {
    name: 'a policy of accountable members lets agents pass',
    tag: 'accountable-holds-agents',
    change: { from: 'callers.some((caller) => isOfAgent(core, caller))', to: 'false' },
    notice: 'api/approvals/accountable: holds agents and what they created, and lets everybody else pass',
  },
  {
    name: 'anybody decides for a policy of accountable members',
    tag: 'accountable-decide-alone',
    change: { from: 'requester.for_agent?.includes(member.id)', to: 'true' },
    notice: 'api/approvals/accountable: the member accountable for the agent approves alone',
  },
  {
    name: 'a policy that cannot be satisfied is created',
    tag: 'impossible-policy-refused',
    change: 'always',
    notice: 'api/approvals/guards: a policy that can never have enough approvers is refused',
  },
  {
    name: 'any caller changes a policy with too few approvers',
    tag: 'only-owners-mend',
    change: { from: 'caller.isOwner && ', to: '' },
    notice: 'api/approvals/guards: fails closed with too few approvers, and says who can fix it',
  },
  {
    name: 'a decision outlives the passkey behind it',
    tag: 'decision-ends-with-passkey-and-panic',
    notice: 'api/approvals/ends: approval: a decision counts no more once the passkey behind it is removed',
  },
  {
    name: 'a decider of one environment lifts a policy of the whole organisation',
    tag: 'org-wide-policy-changed-by-all',
    change: { from: 'isOrgWide(before) || isOrgWide(after) ? null : ', to: '' },
    notice:
      'api/approvals/environments: a decider with environments lifts no policy that guards the whole organisation',
  },
];
