// Actions on organisations and environments and the permissions they need.
import { bootstrap, emergency, type Needs } from '../../auth/actions';

export const actions = {
  'org.create': { scopes: [], kinds: ['system'], makes: true },
  'org.recover': { ...bootstrap, makes: true },
  'org.adopt': bootstrap,
  'org.reset_gate': bootstrap,
  'org.accept_clock': bootstrap,
  'database.late': { scopes: [], kinds: ['system'] },
  'region.late': { scopes: [], kinds: ['system'] },
  'replica.begin': { scopes: [], kinds: ['system'] },
  'org.read': { scopes: ['org:read'] },
  'org.update': { scopes: ['org:write'], held: true },
  'org.delete': { scopes: [], kinds: ['api_key', 'member'], owner: true, fresh: true, held: true },
  'environment.mounts': { scopes: [], kinds: emergency },
  'environment.list': { scopes: ['environments:read'] },
  'environment.read': { scopes: ['environments:read'] },
  'environment.create': { scopes: ['environments:write'] },
  'environment.update': { scopes: ['environments:write'] },
  'environment.delete': { scopes: ['environments:write'] },
} as const satisfies Needs;

declare module '../../auth/actions' {
  interface ActionNames {
    orgs: keyof typeof actions;
  }
}
