// The Provider API: platforms issue, rotate and revoke secrets by name.
import type { Domain } from '../domain';
import { actions } from './actions';
import { providerOperations } from './gate/operations';
import { providerRoutes } from './routes';

export const provider = {
  tags: {
    Provider:
      'For platforms that issue credentials, such as a database provisioner or a certificate authority. With a provider token, they issue, rotate and revoke secrets by name.',
  },
  actions,
  rows: [],
  operations: providerOperations,
  routes: providerRoutes,
  examples: {},
} satisfies Domain;
