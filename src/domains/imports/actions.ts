// The action of imports, and what it needs. It needs `secrets:write` besides: see gate/operations.ts.
import type { Needs } from '../../auth/actions';

export const actions = {
  'integration.import': { scopes: ['integrations:import'], held: true },
} as const satisfies Needs;

declare module '../../auth/actions' {
  interface ActionNames {
    imports: keyof typeof actions;
  }
}
