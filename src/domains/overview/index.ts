// For people who look: what needs somebody now, and search.
import type { Domain } from '../domain';
import { actions } from './actions';
import { overviewOperations } from './gate/operations';
import { overviewRoutes } from './routes';

export const overview = {
  tags: { Overview: 'What needs somebody now, and search by name.' },
  actions,
  rows: [],
  operations: overviewOperations,
  routes: overviewRoutes,
  examples: {},
} satisfies Domain;
