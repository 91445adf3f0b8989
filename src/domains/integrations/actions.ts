// Actions on integrations and the permissions they need.
import type { Needs } from '../../auth/actions';

export const actions = {
  'integration.platforms': { scopes: ['integrations:read'] },
  'integration.list': { scopes: ['integrations:read'] },
  'integration.read': { scopes: ['integrations:read'] },
  'integration.create': { scopes: ['integrations:write'] },
  'integration.update': { scopes: ['integrations:write'] },
  'integration.delete': { scopes: ['integrations:write'] },
  'integration.notify': { scopes: ['integrations:notify'] },
  // Performed by the service; it has no route.
  'integration.deliver': { scopes: [], kinds: ['system'] },
} as const satisfies Needs;

declare module '../../auth/actions' {
  interface ActionNames {
    integrations: keyof typeof actions;
  }
}
