// Sign-in with passkeys and browser sessions.
import type { Domain } from '../domain';
import { actions } from './actions';
import { signinOperations } from './gate/operations';
import { signinRoutes } from './routes';

export const signin = {
  tags: {
    'Sign-in':
      'Members sign in with passkeys. A sign-in starts a browser session: a JWT that is valid for ten minutes and a cookie that refreshes it. The pages /enrol and /sign-in of this deployment use these routes.',
  },
  actions,
  rows: [],
  operations: signinOperations,
  routes: signinRoutes,
  examples: {
    'BrowserSession.expires_at': '2026-11-22T00:00:00.000Z',
  },
} satisfies Domain;
