// The action of promotions and the permissions it needs. It also needs `secrets:read` in the source and, to
// prune, `secrets:delete`: see gate/select.ts.
import { fullNeed, type Needs } from '../../auth/actions';

export const actions = {
  'secret.promote': { scopes: ['secrets:write'], held: true },
} as const satisfies Needs;

/** The permissions needed in the source. */
export const READ = fullNeed({ scopes: ['secrets:read'], reveals: true });
/** And to delete what the source does not have. */
export const DELETE = fullNeed({ scopes: ['secrets:delete'] });

declare module '../../auth/actions' {
  interface ActionNames {
    promotions: keyof typeof actions;
  }
}
