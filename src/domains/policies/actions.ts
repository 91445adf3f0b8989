// Actions on policies and the permissions they need. The service itself performs the last two; they have no
// route.
import type { Needs } from '../../auth/actions';

export const actions = {
  'policy.list': { scopes: ['policies:read'] },
  'policy.read': { scopes: ['policies:read'] },
  'policy.violations': { scopes: ['policies:read'] },
  'policy.create': { scopes: ['policies:write'], held: true },
  'policy.update': { scopes: ['policies:write'], held: true },
  'policy.delete': { scopes: ['policies:write'], held: true },
  'secret.rotation_due': { scopes: [], kinds: ['system'] },
  'secret.auto_rotate': { scopes: [], kinds: ['system'] },
} as const satisfies Needs;

declare module '../../auth/actions' {
  interface ActionNames {
    policies: keyof typeof actions;
  }
}
