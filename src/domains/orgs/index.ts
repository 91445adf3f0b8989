// Organisations and their environments.

import { exampleId } from '../../db/ids';
import type { Domain } from '../domain';
import { actions } from './actions';
import { orgOperations } from './gate/operations';
import { orgRoutes } from './routes';
import { environment, org } from './rows';

export const orgs = {
  tags: {
    Organisations:
      'An organisation is a tenant with its own secrets, members and encryption key. Operators create organisations with the bootstrap token.',
    Environments:
      'Every secret belongs to an environment, such as staging or production. Requests without an environment use the default one.',
  },
  actions,
  rows: [org, environment],
  operations: orgOperations,
  routes: orgRoutes,
  examples: {
    'Environment.id': exampleId('environment'),
    'Environment.name': 'QA',
    'Environment.slug': 'qa',
    'EnvironmentPatch.name': 'Quality assurance',
    'Org.name': 'Acme',
    'OrgPatch.name': 'Acme',
  },
} satisfies Domain;
