// Actions on passkeys and the permissions they need.
import type { Needs } from '../../auth/actions';

export const actions = {
  'passkey.list': { scopes: ['members:read'] },
  'passkey.create': { scopes: [], kinds: ['member'], fresh: true },
  'passkey.update': { scopes: ['members:write'], kinds: ['api_key', 'member'], fresh: true },
  'passkey.delete': { scopes: ['members:write'], kinds: ['api_key', 'member'], fresh: true },
} as const satisfies Needs;

declare module '../../auth/actions' {
  interface ActionNames {
    passkeys: keyof typeof actions;
  }
}
