// The event feed of an organisation, and streams of it.
import { exampleId } from '../../db/ids';
import type { Domain } from '../domain';
import { actions } from './actions';
import { eventOperations } from './gate/operations';
import { eventRoutes } from './routes';

export const events = {
  tags: {
    Events:
      'What happened in an organisation, in order. Events contain ids, names and versions, never a value.',
  },
  actions,
  rows: [],
  operations: eventOperations,
  routes: eventRoutes,
  examples: {
    'Event.sequence': 42,
    'Event.id': exampleId('event'),
    'Event.type': 'SECRET_ROTATED',
    'Event.data': {
      secret_id: exampleId('secret'),
      name: 'DATABASE_URL',
      environment: 'production',
      environment_id: exampleId('environment'),
      version: 2,
    },
    'EventPage.next_after': 42,
    'EventPage.has_more': false,
  },
} satisfies Domain;
