// Scopes: `resource:action`, `resource:*` and `*`. Pure: which exist, which include which, and which each role holds.
import type { Role } from '../db/schema';

const actions = {
  org: ['read', 'write'],
  environments: ['read', 'write'],
  secrets: ['list', 'read', 'write', 'rotate', 'delete', 'share'],
  tokens: ['read', 'write'],
  members: ['read', 'write'],
  teams: ['read', 'write'],
  devices: ['read', 'write'],
  policies: ['read', 'write'],
  approvals: ['read', 'decide'],
  audit: ['read'],
  compliance: ['read'],
  events: ['read'],
  webhooks: ['read', 'write'],
  integrations: ['read', 'sync', 'generate', 'import', 'notify', 'write'],
  scans: ['read', 'write'],
} as const;

type Actions = typeof actions;
export type Scope = { [R in keyof Actions]: `${R}:${Actions[R][number]}` }[keyof Actions];

/** The scopes of provider tokens, and the scope that the creator of a token must hold for each. */
export const providerScopes = { issue: 'secrets:write', rotate: 'secrets:rotate', revoke: 'secrets:delete' } as const satisfies Record<
  string,
  Scope
>;
export type ProviderScope = keyof typeof providerScopes;

/** Every scope that a credential can have, including wildcards. */
export const allScopes: readonly string[] = [
  '*',
  ...Object.entries(actions).flatMap(([resource, verbs]) => [`${resource}:*`, ...verbs.map((verb) => `${resource}:${verb}`)]),
];

/** Whether `held` includes `wanted`; a wildcard is included only in itself and in `*`. */
export const covers = (held: readonly string[], wanted: string): boolean =>
  held.includes('*') || held.includes(wanted) || (!wanted.endsWith(':*') && held.includes(`${wanted.split(':')[0]}:*`));

/** The scopes of each role. */
export const roleScopes = {
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
} as const satisfies Record<Role, readonly string[]>;
