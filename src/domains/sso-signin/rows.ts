// The links of members to identities of a provider. A member has one, besides those of deleted connections,
// which stay so that nobody links anew without the member's passkey or an owner.
import { rowKind } from '../../db/rows';
import { type SsoLinkRow, ssoLinks } from '../../db/schema';

declare module '../../db/rows' {
  interface RowTypes {
    sso_link: SsoLinkRow;
  }
}

export const ssoLink = rowKind('sso_link', {
  table: ssoLinks,
  space: (row) => row.member_id,
  key: (row) => row.id,
  quota: 'one for each member, and one for each deleted connection that they signed in by',
});
