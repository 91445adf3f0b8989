// Files of secrets that other programs read.
import type { Domain } from '../domain';
import { actions } from './actions';
import { generateOperations } from './gate/operations';
import { generateRoutes } from './routes';

export const generate = {
  // Its routes stand under the tag of connections.
  tags: {},
  actions,
  rows: [],
  operations: generateOperations,
  routes: generateRoutes,
  examples: {},
} satisfies Domain;
