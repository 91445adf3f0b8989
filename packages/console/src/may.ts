// The permissions of the signed-in member, so that pages do not offer what would be refused. The service decides.
import { signal } from '@preact/signals';
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

/** The scopes that grants add for some secrets. Read only for roles without them. */
export const granted = signal<readonly string[]>([]);

me.subscribe((member) => {
  if (!member) granted.value = [];
});

/** Whether the signed-in member's role has a scope, without grants. */
export const mayByRole = (scope: string): boolean => covers(roleScopes[me.value?.role ?? ''] ?? [], scope);

/** Whether the signed-in member has a scope: by their role, or for some secrets by a grant. */
export const may = (scope: string): boolean => mayByRole(scope) || (scope.startsWith('secrets:') && covers(granted.value, scope));
