// Actions on domains and on connections to identity providers, and the permissions they need.
import type { Needs } from '../../auth/actions';

/** Only an owner in a browser session that a passkey confirmed decides who else signs in. */
const byOwner = { scopes: [], kinds: ['member'], owner: true, fresh: true } as const;

export const actions = {
  'domain.list': { scopes: ['sso:read'] },
  'domain.read': { scopes: ['sso:read'] },
  'domain.create': { scopes: ['sso:write'] },
  'domain.verify': { scopes: ['sso:write'] },
  'domain.delete': { scopes: ['sso:write'] },
  // Performed by the service; it has no route.
  'domain.check': { scopes: [], kinds: ['system'] },
  'sso_connection.list': { scopes: ['sso:read'] },
  'sso_connection.read': { scopes: ['sso:read'] },
  'sso_connection.create': { ...byOwner, held: true },
  'sso_connection.update': { ...byOwner, held: true },
  'sso_connection.delete': byOwner,
} as const satisfies Needs;

declare module '../../auth/actions' {
  interface ActionNames {
    sso: keyof typeof actions;
  }
}
