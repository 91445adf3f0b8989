// The action of imports and the permissions it needs. It also needs `secrets:write`: see gate/operations.ts.
import type { Needs } from '../../auth/actions';

export const actions = {
  'integration.import': { scopes: ['integrations:import'], held: true },
} as const satisfies Needs;

declare module '../../auth/actions' {
  interface ActionNames {
    imports: keyof typeof actions;
  }
}
