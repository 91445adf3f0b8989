// Actions for people who look, and the permissions they need: none of their own. Each part of the answer
// needs the scope of its list.
import type { Needs } from '../../auth/actions';

export const actions = {
  'org.overview': { scopes: [] },
  'org.search': { scopes: [] },
} as const satisfies Needs;

declare module '../../auth/actions' {
  interface ActionNames {
    overview: keyof typeof actions;
  }
}
