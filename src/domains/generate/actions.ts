// The action of generated files, and what it needs.
import { fullNeed, type Needs } from '../../auth/actions';

export const actions = {
  // Whoever generates a file must be able to read its secrets, too: see the operation.
  'integration.generate': { scopes: ['integrations:generate'], reveals: true, held: true },
} as const satisfies Needs;

/** What reading the secrets needs. */
export const READ = fullNeed({ scopes: ['secrets:read'], reveals: true });

declare module '../../auth/actions' {
  interface ActionNames {
    generate: keyof typeof actions;
  }
}
