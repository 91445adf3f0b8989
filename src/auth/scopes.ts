// Scopes: `resource:action`, `resource:*` and `*`. Pure: what exists, what covers what.

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
  webhooks: ['read', 'write'],
  integrations: ['read', 'sync', 'generate', 'import', 'notify', 'write'],
  scans: ['read', 'write'],
} as const;

type Actions = typeof actions;
export type Scope = { [R in keyof Actions]: `${R}:${Actions[R][number]}` }[keyof Actions];

/** Every scope that a credential may be given, wildcards included. */
export const allScopes: readonly string[] = [
  '*',
  ...Object.entries(actions).flatMap(([resource, verbs]) => [`${resource}:*`, ...verbs.map((verb) => `${resource}:${verb}`)]),
];

/** Whether `held` gives `wanted`; a wildcard is covered by itself and by `*` alone. */
export const covers = (held: readonly string[], wanted: string): boolean =>
  held.includes('*') || held.includes(wanted) || (!wanted.endsWith(':*') && held.includes(`${wanted.split(':')[0]}:*`));

/** The first of `wanted` that `held` does not give, or null if it gives them all. */
export const exceeding = (held: readonly string[], wanted: readonly string[]): string | null =>
  wanted.find((scope) => !covers(held, scope)) ?? null;
