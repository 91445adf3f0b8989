// Kinds of rows that sign-in reads and that are declared by domains of their own.
import { rowKind } from '../../db/rows';
import {
  type DomainRow,
  domains,
  type FormerMemberRow,
  formerMembers,
  type SsoConnectionRow,
  ssoConnections,
} from '../../db/schema';

declare module '../../db/rows' {
  interface RowTypes {
    domain: DomainRow;
    sso_connection: SsoConnectionRow;
    former_member: FormerMemberRow;
  }
}

export const provisional = [
  rowKind('domain', { table: domains, space: () => '', key: (row) => row.id, quota: 'provisional' }),
  rowKind('sso_connection', {
    table: ssoConnections,
    space: () => '',
    key: (row) => row.id,
    quota: 'provisional',
  }),
  rowKind('former_member', {
    table: formerMembers,
    space: () => '',
    key: (row) => row.email,
    quota: 'provisional',
  }),
];
