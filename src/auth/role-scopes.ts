// The scopes of each role. Pure and without imports. Invariant: the console shows what this very text says;
// `npm run openapi` copies it to packages/console/src/session/role-scopes.ts.

export const roleScopes = {
  owner: ['*'],
  admin: ['*'],
  developer: [
    ...[
      'secrets:*',
      'upstreams:read',
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
} as const;
