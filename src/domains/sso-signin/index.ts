// Sign-in by single sign-on: identities of a provider, and the members that they are.
import type { Domain } from '../domain';
import { actions } from './actions';
import { ssoSigninOperations } from './gate/operations';
import { provisional } from './provisional';
import { ssoSigninRoutes } from './routes';
import { ssoLink } from './rows';

export const ssoSignin = {
  tags: {
    'Single sign-on':
      'Members sign in at the identity provider of their organisation (OpenID Connect). The page /sign-in uses these routes.',
  },
  actions,
  rows: [ssoLink, ...provisional],
  operations: ssoSigninOperations,
  routes: ssoSigninRoutes,
  examples: {},
} satisfies Domain;
