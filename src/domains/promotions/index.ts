// Promotions of secrets from one environment to another.
import type { Domain } from '../domain';
import { actions } from './actions';
import { promotionOperations } from './gate/operations';
import { promotionRoutes } from './routes';

export const promotions = {
  tags: {},
  actions,
  rows: [],
  operations: promotionOperations,
  routes: promotionRoutes,
  examples: {},
} satisfies Domain;
