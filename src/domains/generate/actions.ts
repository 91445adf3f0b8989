// The action of generated files and the permissions it needs.
import { fullNeed, type Needs } from '../../auth/actions';

export const actions = {
  // The caller must also be able to read the secrets: see the operation.
  'integration.generate': { scopes: ['integrations:generate'], reveals: true, held: true },
} as const satisfies Needs;

/** The permissions needed to read the secrets. */
export const READ = fullNeed({ scopes: ['secrets:read'], reveals: true });

declare module '../../auth/actions' {
  interface ActionNames {
    generate: keyof typeof actions;
  }
}
