// The actions of webhooks, and what each needs.
import type { Needs } from '../../auth/actions';

export const actions = {} as const satisfies Needs;

declare module '../../auth/actions' {
  interface ActionNames {
    webhooks: keyof typeof actions;
  }
}
