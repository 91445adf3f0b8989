// The compliance report.
import type { Domain } from '../domain';
import { actions } from './actions';
import { complianceOperations } from './gate/operations';
import { complianceRoutes } from './routes';

export const compliance = {
  tags: {
    Compliance:
      'One report on the state of an organisation, for auditors: findings with evidence, mapped to controls.',
  },
  actions,
  rows: [],
  operations: complianceOperations,
  routes: complianceRoutes,
  examples: {},
} satisfies Domain;
