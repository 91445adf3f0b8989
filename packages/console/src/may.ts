// The permissions of the signed-in member's role, so that pages do not offer what would be refused. The service decides.
import { covers } from '@secrets-vault/client';
import { me } from './session';

/** The scopes of each role. A test compares them with the service. */
export const roleScopes: Record<string, readonly string[]> = {
  owner: ['*'],
  admin: ['*'],
  developer: [
    ...[
      'secrets:*',
      'tokens:read',
      'tokens:write',
      'environments:read',
      'org:read',
      'events:read',
      'webhooks:*',
      'integrations:*',
      'scans:*',
    ],
    ...['approvals:read', 'devices:read'],
  ],
  viewer: ['secrets:list', 'environments:read', 'org:read'],
  auditor: ['audit:read', 'compliance:read', 'members:read', 'org:read'],
};

/** Whether the signed-in member's role has a scope. Grants add permissions only for secrets. */
export const may = (scope: string): boolean => covers(roleScopes[me.value?.role ?? ''] ?? [], scope);
