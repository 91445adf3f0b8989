// Actions on trusts and the permissions they need.
import type { Needs } from '../../auth/actions';

export const actions = {
  'trust.list': { scopes: ['tokens:read'] },
  'trust.read': { scopes: ['tokens:read'] },
  'trust.create': { scopes: ['tokens:write'], makes: true },
  'trust.update': { scopes: ['tokens:write'] },
  'trust.delete': { scopes: ['tokens:write'], urgent: true },
  'auth.exchange': { scopes: [], kinds: ['trust'], makes: true },
} as const satisfies Needs;

declare module '../../auth/actions' {
  interface ActionNames {
    trusts: keyof typeof actions;
  }
}
