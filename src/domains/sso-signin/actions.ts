// Actions of sign-in by single sign-on and the permissions they need.
import { type Needs, publicCall } from '../../auth/actions';

export const actions = {
  'auth.sso': { ...publicCall, makes: true },
  'auth.sso_logout': { ...publicCall, urgent: true },
  'sso_connection.test': { scopes: [], kinds: ['member'], owner: true, fresh: true },
  'member.links': { scopes: ['members:read'] },
  'member.unlink': { scopes: [], kinds: ['member'], owner: true, fresh: true },
} as const satisfies Needs;

declare module '../../auth/actions' {
  interface ActionNames {
    'sso-signin': keyof typeof actions;
  }
}
