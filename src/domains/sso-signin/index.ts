// Sign-in by single sign-on: identities of a provider, and the members that they are.
import type { Domain } from '../domain';
import { actions } from './actions';
import { ssoSigninOperations } from './gate/operations';
import { ssoSigninRoutes } from './routes';
import { ssoLink } from './rows';

export const ssoSignin = {
  tags: {},
  actions,
  rows: [ssoLink],
  operations: ssoSigninOperations,
  routes: ssoSigninRoutes,
  examples: {},
} satisfies Domain;
