// Passkeys of members.

import type { Domain } from '../domain';
import { actions } from './actions';
import { passkeyOperations } from './gate/operations';
import { passkeyRoutes } from './routes';
import { passkey } from './rows';

export const passkeys = {
  tags: {
    Passkeys: 'Members sign in with passkeys. A member can have several.',
  },
  actions,
  rows: [passkey],
  operations: passkeyOperations,
  routes: passkeyRoutes,
  examples: {},
} satisfies Domain;
