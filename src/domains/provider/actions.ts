// Actions of the Provider API and the permissions they need.
import type { Needs } from '../../auth/actions';

export const actions = {
  'provider.issue': { scopes: ['issue'], kinds: ['provider'] },
  'provider.rotate': { scopes: ['rotate'], kinds: ['provider'] },
  'provider.revoke': { scopes: ['revoke'], kinds: ['provider'] },
} as const satisfies Needs;

declare module '../../auth/actions' {
  interface ActionNames {
    provider: keyof typeof actions;
  }
}
