// Actions of scans and the permissions they need.
import type { Needs } from '../../auth/actions';

export const actions = {
  'scan.create': { scopes: ['scans:write'] },
} as const satisfies Needs;

declare module '../../auth/actions' {
  interface ActionNames {
    scans: keyof typeof actions;
  }
}
