// The actions of shares, and what each needs.
import type { Needs } from '../../auth/actions';

export const actions = {
  // Whoever shares a secret must be able to read it, too: see the operation.
  'secret.share': { scopes: ['secrets:share'], reveals: true, held: true },
  'secret.share_list': { scopes: ['secrets:share'] },
  'secret.share_revoke': { scopes: ['secrets:share'] },
  // The link is all that is needed.
  'secret.share_view': { scopes: [], kinds: ['system'] },
} as const satisfies Needs;

declare module '../../auth/actions' {
  interface ActionNames {
    shares: keyof typeof actions;
  }
}
