// The events of domains and connections. Invariant: they follow from the rows that a change writes or
// removes, never from its route.
import type { Raise } from '../../../gate/core';

const changeOf = (before: object | null, after: object | null) =>
  !before ? 'created' : after ? 'changed' : 'deleted';

export const domainRaised: Raise<'domain'> = (before, after) => {
  const row = after ?? before;
  if (!row) return [];
  const status = row.verified_at === null ? 'pending' : 'verified';
  const change = changeOf(before, after);
  return [{ type: 'SSO_CHANGED', data: { domain_id: row.id, domain: row.domain, change, status } }];
};

export const connectionRaised: Raise<'sso_connection'> = (before, after) => {
  const row = after ?? before;
  if (!row) return [];
  const { issuer } = row.config;
  return [
    {
      type: 'SSO_CHANGED',
      data: {
        connection_id: row.id,
        name: row.name,
        kind: row.kind,
        ...(typeof issuer === 'string' && { issuer }),
        change: changeOf(before, after),
      },
    },
  ];
};
