// What the member who is signed in may do by their role, so that pages do not ask for what would be refused. The service decides.
import { covers } from '@secrets-vault/client';
import { me } from './session';

/** What each role holds. A test compares this with the roles of the service. */
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

/** Whether the role of the member who is signed in holds a scope. Grants add to it for secrets alone. */
export const may = (scope: string): boolean => covers(roleScopes[me.value?.role ?? ''] ?? [], scope);
