// Actions of incident response and the permissions they need.
import type { Needs } from '../../auth/actions';

export const actions = {
  'credential.contain': { scopes: ['tokens:write'], urgent: true },
  'credential.graph': { scopes: ['tokens:read'] },
  'incident.list': { scopes: ['tokens:read'] },
  'incident.read': { scopes: ['tokens:read'] },
  'incident.update': { scopes: ['tokens:write'] },
  'org.panic': {
    scopes: [],
    kinds: ['api_key', 'member'],
    owner: true,
    fresh: true,
    urgent: true,
    makes: true,
  },
} as const satisfies Needs;

declare module '../../auth/actions' {
  interface ActionNames {
    incidents: keyof typeof actions;
  }
}
