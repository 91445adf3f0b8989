// Scopes: `resource:action`, `resource:*` and `*`. Pure: which exist, and with its neighbours which include
// which and which each role holds.
export { covers } from './covers';
export { roleScopes } from './role-scopes';

const actions = {
  org: ['read', 'write'],
  environments: ['read', 'write'],
  secrets: ['list', 'read', 'use', 'write', 'rotate', 'delete', 'share'],
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
  sso: ['read', 'write'],
  upstreams: ['read', 'write'],
} as const;

type Actions = typeof actions;
export type Scope = { [R in keyof Actions]: `${R}:${Actions[R][number]}` }[keyof Actions];

/** The scopes of provider tokens, and the scope that the creator of a token must hold for each. */
export const providerScopes = {
  issue: 'secrets:write',
  rotate: 'secrets:rotate',
  revoke: 'secrets:delete',
} as const satisfies Record<string, Scope>;
export type ProviderScope = keyof typeof providerScopes;

/** Every scope that a credential can have, including wildcards. */
export const allScopes: readonly string[] = [
  '*',
  ...Object.entries(actions).flatMap(([resource, verbs]) => [
    `${resource}:*`,
    ...verbs.map((verb) => `${resource}:${verb}`),
  ]),
];
