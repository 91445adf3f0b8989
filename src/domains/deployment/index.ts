// The deployment: operations of the bootstrap token.
import { exampleId } from '../../db/ids';
import type { Domain } from '../domain';
import { actions } from './actions';
import { deploymentOperations } from './gate/operations';
import { deploymentRoutes } from './routes';

export const deployment = {
  tags: {
    Deployment: 'For operators, with the bootstrap token.',
  },
  actions,
  rows: [],
  operations: deploymentOperations,
  routes: deploymentRoutes,
  examples: {
    'ListedOrg.id': exampleId('org'),
    'ListedOrg.name': 'Acme',
  },
} satisfies Domain;
