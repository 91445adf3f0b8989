// Actions on events and the permissions they need. Scheduled tasks of the service perform the last three.
import type { Needs } from '../../auth/actions';

export const actions = {
  'event.read': { scopes: ['events:read', 'secrets:list', 'secrets:read'] },
  'event.stream': { scopes: ['events:read', 'secrets:list', 'secrets:read'] },
  'secret.expiring': { scopes: [], kinds: ['system'] },
  'secret.expired': { scopes: [], kinds: ['system'] },
  'credential.expiring': { scopes: [], kinds: ['system'] },
} as const satisfies Needs;

declare module '../../auth/actions' {
  interface ActionNames {
    events: keyof typeof actions;
  }
}
