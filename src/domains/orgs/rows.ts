// The rows of organisations and their environments.
import { rowKind } from '../../db/rows';
import { type EnvironmentRow, environments, type OrgRow, orgs } from '../../db/schema';
import { lasting } from '../../gate/limits/quotas';
import { MOST_ENVIRONMENTS } from '../../gate/request/target';

declare module '../../db/rows' {
  interface RowTypes {
    org: OrgRow;
    environment: EnvironmentRow;
  }
}

export const org = rowKind('org', {
  isReadFirst: (_, before) => before === null,
  table: orgs,
  space: () => '',
  key: (row) => row.id,
  added: [
    'member_addresses',
    'generation',
    'keys_generation',
    'spared',
    'panicked_at',
    'audit_retention_days',
    'regions',
    'location_hint',
    'passkeys_ended',
  ],
  quota: 'an organisation has one row',
});

export const environment = rowKind('environment', {
  table: environments,
  space: () => '',
  key: (row) => row.slug,
  added: ['lease_seconds'],
  quota: lasting(MOST_ENVIRONMENTS, undefined, 'environments'),
});
