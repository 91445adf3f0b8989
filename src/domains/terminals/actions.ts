// Actions of terminal login and the permissions they need. Terminals start a login and fetch its session
// without a credential; members confirm it in browsers.
import { type Needs, publicCall } from '../../auth/actions';

const confirming = { scopes: [], kinds: ['member'], inBrowser: true } as const;

export const actions = {
  'auth.device': publicCall,
  'auth.device_token': publicCall,
  'auth.device_lookup': confirming,
  'auth.device_confirm': { ...confirming, fresh: true, makes: true },
  'auth.device_deny': confirming,
} as const satisfies Needs;

declare module '../../auth/actions' {
  interface ActionNames {
    terminals: keyof typeof actions;
  }
}
