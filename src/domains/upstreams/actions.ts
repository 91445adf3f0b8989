// Actions on upstreams and the permissions they need. What a caller may see or change of one follows from the
// secrets that it places: see `gate/permission.ts`.
import type { Needs } from '../../auth/actions';

export const actions = {
  'upstream.list': { scopes: ['upstreams:read', 'secrets:use', 'secrets:read'] },
  'upstream.read': { scopes: ['upstreams:read', 'secrets:use', 'secrets:read'] },
  'upstream.create': { scopes: ['upstreams:write'], held: true },
  'upstream.update': { scopes: ['upstreams:write'], held: true },
  'upstream.delete': { scopes: ['upstreams:write'] },
  'secret.use': { scopes: ['secrets:use', 'secrets:read'], held: true },
  // What the Worker tells of a call. The entries are of the call's own actor.
  'secret.use_end': { scopes: [], kinds: ['system'] },
} as const satisfies Needs;

declare module '../../auth/actions' {
  interface ActionNames {
    upstreams: keyof typeof actions;
  }
}
