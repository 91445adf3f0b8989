// Imports of secrets from exports of other secrets managers.
import type { Domain } from '../domain';
import { actions } from './actions';
import { importOperations } from './gate/operations';
import { importRoutes } from './routes';

export const imports = {
  tags: {},
  actions,
  rows: [],
  operations: importOperations,
  routes: importRoutes,
  examples: {},
} satisfies Domain;
