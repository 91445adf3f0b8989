// Actions on shares and the permissions they need.
import type { Needs } from '../../auth/actions';

export const actions = {
  // The caller must also be able to read the secret: see the operation.
  'secret.share': { scopes: ['secrets:share'], reveals: true, held: true },
  'secret.share_list': { scopes: ['secrets:share'] },
  'secret.share_revoke': { scopes: ['secrets:share'] },
  // Only the link is needed.
  'secret.share_view': { scopes: [], kinds: ['system'] },
} as const satisfies Needs;

declare module '../../auth/actions' {
  interface ActionNames {
    shares: keyof typeof actions;
  }
}
