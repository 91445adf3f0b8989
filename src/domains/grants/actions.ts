// Actions on grants and the permissions they need.
import type { Needs } from '../../auth/actions';

export const actions = {
  'grant.list': { scopes: ['members:read'] },
  'grant.create': { scopes: ['members:write'], held: true },
  'grant.delete': { scopes: ['members:write'] },
} as const satisfies Needs;

declare module '../../auth/actions' {
  interface ActionNames {
    grants: keyof typeof actions;
  }
}
