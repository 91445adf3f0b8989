// What the member who is signed in may do by their role, so that pages do not ask for what would be refused. The service decides.

import { signal } from '@preact/signals';
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

/** The scopes that grants add for some secrets. Read for roles that do not hold them anyway. */
export const granted = signal<readonly string[]>([]);

me.subscribe((member) => {
  if (!member) granted.value = [];
});

/** Whether the role of the member who is signed in holds a scope, grants apart. */
export const mayByRole = (scope: string): boolean => covers(roleScopes[me.value?.role ?? ''] ?? [], scope);

/** Whether the member who is signed in holds a scope: by their role, or for some secrets by a grant. */
export const may = (scope: string): boolean => mayByRole(scope) || (scope.startsWith('secrets:') && covers(granted.value, scope));
