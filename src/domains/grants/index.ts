// Grants: access to secrets in addition to roles.

import { exampleId } from '../../db/ids';
import type { Domain } from '../domain';
import { actions } from './actions';
import { grantOperations } from './gate/operations';
import { raised } from './gate/raised';
import { grantRoutes } from './routes';
import { grant } from './rows';

export const grants = {
  tags: {
    Grants:
      'A grant gives a member or a team access to secrets in addition to roles: read, write or use, and optionally limited to environments, names and a lifetime.',
  },
  actions,
  rows: [grant],
  raises: { grant: raised },
  operations: grantOperations,
  routes: grantRoutes,
  examples: {
    'Grant.grantee': { type: 'team', id: exampleId('team') },
    'GrantIn.grantee': { type: 'team', id: exampleId('team') },
  },
} satisfies Domain;
