// The deployment: what its operator does with the bootstrap token.
import type { Domain } from '../domain';
import { actions } from './actions';
import { deploymentOperations } from './gate/operations';
import { deploymentRoutes } from './routes';

const ID = '01M9xQeKcX3vTz6nWJfQ4b';

export const deployment = {
  tags: {
    Deployment: 'For operators, with the bootstrap token.',
  },
  actions,
  rows: [],
  operations: deploymentOperations,
  routes: deploymentRoutes,
  examples: {
    'ListedOrg.id': `org_${ID}`,
    'ListedOrg.name': 'Acme',
  },
} satisfies Domain;
