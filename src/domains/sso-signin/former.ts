// The rows of members whom a person removed.
import { rowKind } from '../../db/rows';
import { type FormerMemberRow, formerMembers } from '../../db/schema';

declare module '../../db/rows' {
  interface RowTypes {
    former_member: FormerMemberRow;
  }
}

export const formerMember = rowKind('former_member', {
  table: formerMembers,
  space: () => '',
  key: (row) => row.email,
  quota: 'one for each removed member',
});
