// Connections to other platforms. Notifications of events are sent there.

import { followEndpoint } from '../../delivery/gate/task';
import type { Domain } from '../domain';
import { actions } from './actions';
import { deliver } from './deliver';
import { integrationOperations } from './gate/operations';
import { integrationRoutes } from './routes';
import { integration } from './rows';

export const integrations = {
  tags: {
    Integrations:
      'Connections to other platforms: chat, paging, e-mail and webhooks that messages are sent to. Fields are in camelCase.',
  },
  actions,
  rows: [integration],
  follows: { integration: (core, _, now) => followEndpoint(core, now) },
  operations: integrationOperations,
  routes: integrationRoutes,
  jobs: { notify: deliver },
  examples: {},
} satisfies Domain;
