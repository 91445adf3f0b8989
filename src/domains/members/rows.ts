// The rows of members.
import { rowKind } from '../../db/rows';
import { type FormerMemberRow, formerMembers, type MemberRow, members } from '../../db/schema';
import { lasting } from '../../gate/limits/quotas';

declare module '../../db/rows' {
  interface RowTypes {
    member: MemberRow;
    former_member: FormerMemberRow;
  }
}

export const member = rowKind('member', {
  isReadFirst: ({ enrolment_hash }, before) =>
    enrolment_hash !== null && enrolment_hash !== before?.enrolment_hash,
  table: members,
  space: () => '',
  key: (row) => row.email.toLowerCase(),
  added: [
    'invited_by',
    'enrolled_at',
    'enrolment_hash',
    'enrolment_made_at',
    'enrolment_ends_at',
    'connections',
    'environments',
    'suspended_at',
    'suspended_by',
    'resumed_at',
    'provisioned',
  ],
  quota: lasting(2000, undefined, 'members'),
});

export const formerMember = rowKind('former_member', {
  table: formerMembers,
  space: () => '',
  key: (row) => row.email,
  quota: 'one for each address whose member a person removed; past formerQuota nobody is added',
});
