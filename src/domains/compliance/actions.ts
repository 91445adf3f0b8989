// Actions of the compliance report and the permissions they need.
import type { Needs } from '../../auth/actions';

export const actions = {
  'compliance.report': { scopes: ['compliance:read'] },
} as const satisfies Needs;

declare module '../../auth/actions' {
  interface ActionNames {
    compliance: keyof typeof actions;
  }
}
