// Rules of an organisation: for names, for rotation, and for what needs approval.
import type { Domain } from '../domain';
import { actions } from './actions';
import { policyOperations } from './gate/operations';
import { rotate } from './rotate';
import { policyRoutes } from './routes';

export const policies = {
  tags: {
    Policies: 'Rules that hold on every path: for names of secrets, for their rotation, and for what needs approval.',
  },
  actions,
  rows: ['policy'],
  operations: policyOperations,
  routes: policyRoutes,
  jobs: { rotate },
  examples: {
    'Policy.kind': 'naming',
    'Policy.name': 'Upper case',
    'Policy.next_times': undefined,
    'PolicyViolation.name': 'db_password',
  },
} satisfies Domain;
