// Shares: links that show one version of a secret, and grants of one secret.

import type { Domain } from '../domain';
import { actions } from './actions';
import { shareOperations } from './gate/operations';
import { shareRoutes } from './routes';
import { share } from './rows';

export const shares = {
  tags: {
    Shares:
      'A share gives access to one secret: by a link, which shows the value on a page a limited number of times, or by a grant to a member, team or agent.',
  },
  actions,
  rows: [share],
  operations: shareOperations,
  routes: shareRoutes,
  examples: { 'ShareIn.kind': 'link' },
} satisfies Domain;
