// Incident response: panic, containment, incidents, and the graph of a credential.

import type { Domain } from '../domain';
import { actions } from './actions';
import { announced } from './gate/announced';
import { incidentOperations } from './gate/operations';
import { incidentRoutes } from './routes';
import { incident } from './rows';

export const incidents = {
  tags: {
    'Incident response':
      'For leaked credentials: revoke one or all of them, and see what a credential did and what it could reach.',
  },
  actions,
  rows: [incident],
  follows: { credential: (core, { id, after }) => void (after === null && announced(core).forget(id)) },
  operations: incidentOperations,
  routes: incidentRoutes,
  examples: {
    'RecentEnrolment.expires_at': '2026-11-22T12:00:00.000Z',
  },
} satisfies Domain;
