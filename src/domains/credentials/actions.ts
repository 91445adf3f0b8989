// Actions on credentials and the permissions they need.
import type { Needs } from '../../auth/actions';

export const actions = {
  'caller.read': {
    scopes: [],
    kinds: ['api_key', 'session', 'agent', 'workload', 'member', 'provider', 'break_glass', 'scim'],
  },
  'api_key.list': { scopes: ['tokens:read'] },
  'api_key.read': { scopes: ['tokens:read'] },
  'api_key.create': { scopes: ['tokens:write'], makes: true },
  'api_key.update': { scopes: ['tokens:write'] },
  'api_key.rotate': { scopes: ['tokens:write'], makes: true },
  'api_key.revoke': { scopes: ['tokens:write'], urgent: true },
  'access_token.create': { scopes: [], kinds: ['api_key'], makes: true },
  'access_token.create_child': { scopes: [], kinds: ['api_key', 'session'], makes: true },
  'access_token.list': { scopes: ['tokens:read'] },
  'access_token.revoke': { scopes: ['tokens:write'], urgent: true },
  'agent.list': { scopes: ['tokens:read'] },
  'agent.read': { scopes: ['tokens:read'] },
  'agent.create': { scopes: ['tokens:write'], makes: true },
  'agent.update': { scopes: ['tokens:write'] },
  'agent.revoke': { scopes: ['tokens:write'], urgent: true },
  'provider_token.list': { scopes: ['tokens:read'] },
  'provider_token.create': { scopes: ['tokens:write'], makes: true, held: true },
  'provider_token.revoke': { scopes: ['tokens:write'], urgent: true },
  'break_glass.list': { scopes: ['tokens:read'] },
  'break_glass.create': { scopes: ['*'], kinds: ['api_key', 'member'], makes: true, held: true },
  'break_glass.revoke': { scopes: ['tokens:write'], urgent: true },
} as const satisfies Needs;

declare module '../../auth/actions' {
  interface ActionNames {
    credentials: keyof typeof actions;
  }
}
