// Actions on the deployment and the permissions they need.
import { bootstrap, type Needs } from '../../auth/actions';

export const actions = {
  'org.list': bootstrap,
  'deployment.rewrap': bootstrap,
} as const satisfies Needs;

declare module '../../auth/actions' {
  interface ActionNames {
    deployment: keyof typeof actions;
  }
}
