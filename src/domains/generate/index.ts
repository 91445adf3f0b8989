// Files of secrets for other programs.
import type { Domain } from '../domain';
import { actions } from './actions';
import { generateOperations } from './gate/operations';
import { generateRoutes } from './routes';

export const generate = {
  // Its routes are listed under the tag of connections.
  tags: {},
  actions,
  rows: [],
  operations: generateOperations,
  routes: generateRoutes,
  examples: {},
} satisfies Domain;
