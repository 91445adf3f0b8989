// Every action that a route may name, and what it needs. Deny by default: what is not in this table cannot be done, and a route
// cannot be declared without an action of it.

import type { Scope } from './scopes';
import type { Kind } from './token';

interface Need {
  /** Any one of these; none means that every live credential may. */
  scopes: Scope[];
  /** The kinds of credential that may, where not the usual ones. `system` is the bootstrap token. */
  kinds?: (Kind | 'system')[];
}

const bootstrap: Need = { scopes: [], kinds: ['system'] };

export const actions = {
  'caller.read': { scopes: [] },
  'org.create': bootstrap,
  'org.list': bootstrap,
  'org.recover': bootstrap,
  'org.adopt': bootstrap,
  'deployment.rewrap': bootstrap,
  'org.read': { scopes: ['org:read'] },
  'org.update': { scopes: ['org:write'] },
  'org.delete': { scopes: ['org:write'] },
  'environment.list': { scopes: ['environments:read'] },
  'environment.read': { scopes: ['environments:read'] },
  'environment.create': { scopes: ['environments:write'] },
  'environment.update': { scopes: ['environments:write'] },
  'environment.delete': { scopes: ['environments:write'] },
  'api_key.list': { scopes: ['tokens:read'] },
  'api_key.read': { scopes: ['tokens:read'] },
  'api_key.create': { scopes: ['tokens:write'] },
  'api_key.update': { scopes: ['tokens:write'] },
  'api_key.rotate': { scopes: ['tokens:write'] },
  'api_key.revoke': { scopes: ['tokens:write'] },
  'access_token.create': { scopes: [], kinds: ['api_key'] },
  'access_token.list': { scopes: ['tokens:read'] },
  'access_token.revoke': { scopes: ['tokens:write'] },
  'secret.create': { scopes: ['secrets:write'] },
  'secret.list': { scopes: ['secrets:list', 'secrets:read'] },
  'secret.read': { scopes: ['secrets:read'] },
  'secret.read_all': { scopes: ['secrets:read'] },
  'secret.versions': { scopes: ['secrets:list', 'secrets:read'] },
  'secret.update': { scopes: ['secrets:write'] },
  'secret.rotate': { scopes: ['secrets:rotate'] },
  'secret.rollback': { scopes: ['secrets:write'] },
  'secret.delete': { scopes: ['secrets:delete'] },
  'secret.restore': { scopes: ['secrets:delete'] },
  'audit.read': { scopes: ['audit:read'] },
  'audit.verify': { scopes: ['audit:read'] },
} as const satisfies Record<string, Need>;

export type Action = keyof typeof actions;

/** What an action needs, with every field present. */
export const needOf = (action: Action): Required<Need> => ({ kinds: ['api_key', 'session'], ...(actions[action] as Need) });
