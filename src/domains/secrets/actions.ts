// Actions on secrets and the permissions they need.
import { emergency, type Needs } from '../../auth/actions';

export const actions = {
  'secret.create': { scopes: ['secrets:write'], kinds: emergency },
  'secret.list': { scopes: ['secrets:list', 'secrets:read'], kinds: emergency },
  'secret.compare': { scopes: ['secrets:list', 'secrets:read'], kinds: emergency },
  'secret.read': { scopes: ['secrets:read'], kinds: emergency, reveals: true, held: true },
  'secret.read_all': { scopes: ['secrets:read'], kinds: emergency, reveals: true },
  'secret.versions': { scopes: ['secrets:list', 'secrets:read'], kinds: emergency },
  'secret.update': { scopes: ['secrets:write'], kinds: emergency, held: true },
  'secret.rotate': { scopes: ['secrets:rotate'], kinds: emergency, held: true },
  'secret.rollback': { scopes: ['secrets:write'], kinds: emergency, held: true },
  'secret.delete': { scopes: ['secrets:delete'], kinds: emergency, held: true },
  'secret.write_folder': { scopes: ['secrets:write'], kinds: emergency, held: true },
  'secret.delete_folder': { scopes: ['secrets:delete'], kinds: emergency, held: true },
  'secret.restore': { scopes: ['secrets:delete'], kinds: emergency, held: true },
} as const satisfies Needs;

declare module '../../auth/actions' {
  interface ActionNames {
    secrets: keyof typeof actions;
  }
}
