// Actions of sign-in and browser sessions and the permissions they need.
import { type Needs, publicCall } from '../../auth/actions';

export const actions = {
  'auth.enrol': { ...publicCall, makes: true },
  'auth.login': { ...publicCall, makes: true },
  'auth.refresh': publicCall,
  'auth.logout': publicCall,
  'auth.confirm': { scopes: [], kinds: ['member'], inBrowser: true },
  'auth.session_list': { scopes: [], kinds: ['member'] },
  'auth.session_end': { scopes: [], kinds: ['member'] },
} as const satisfies Needs;

declare module '../../auth/actions' {
  interface ActionNames {
    signin: keyof typeof actions;
  }
}
