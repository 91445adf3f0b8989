// The actions of policies, and what each needs. The last two are the service's own: no route does them.
import type { Needs } from '../../auth/actions';

export const actions = {
  'policy.list': { scopes: ['policies:read'] },
  'policy.read': { scopes: ['policies:read'] },
  'policy.violations': { scopes: ['policies:read'] },
  'policy.create': { scopes: ['policies:write'], held: true, governs: true },
  'policy.update': { scopes: ['policies:write'], held: true, governs: true },
  'policy.delete': { scopes: ['policies:write'], held: true, governs: true },
  'secret.rotation_due': { scopes: [], kinds: ['system'] },
  'secret.auto_rotate': { scopes: [], kinds: ['system'] },
} as const satisfies Needs;

declare module '../../auth/actions' {
  interface ActionNames {
    policies: keyof typeof actions;
  }
}
