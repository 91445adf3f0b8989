// The rows of domains and of connections to identity providers.
import { rowKind } from '../../db/rows';
import { type DomainRow, domains, type SsoConnectionRow, ssoConnections } from '../../db/schema';
import { lasting, REMOVE } from '../../gate/limits/quotas';

declare module '../../db/rows' {
  interface RowTypes {
    domain: DomainRow;
    sso_connection: SsoConnectionRow;
  }
}

export const domain = rowKind('domain', {
  table: domains,
  space: () => '',
  key: (row) => row.domain,
  quota: lasting(100, undefined, 'domains', REMOVE),
});

export const connection = rowKind('sso_connection', {
  table: ssoConnections,
  space: () => '',
  key: (row) => row.id,
  // Sign-in looks for the connection of an address.
  isReadFirst: (_, before) => before === null,
  quota: lasting(20, undefined, 'connections to identity providers', REMOVE),
});
