// Secrets and their versions.

import type { Domain } from '../domain';
import { actions } from './actions';
import { secretOperations } from './gate/operations';
import { raised } from './gate/raised';
import { secretRoutes } from './routes';
import { reservedSecret, secret } from './rows';

export const secrets = {
  tags: {
    Secrets: 'Encrypted values with versions, lifetimes and rotation. Only reads return values.',
  },
  actions,
  rows: [secret, reservedSecret],
  raises: { secret: raised },
  operations: secretOperations,
  routes: secretRoutes,
  examples: {
    'NewSecret.value': undefined,
    'RotatedSecret.value': undefined,
    'Version.current': true,
  },
} satisfies Domain;
