// Policies of an organisation for names, rotation and approvals.

import type { Domain } from '../domain';
import { actions } from './actions';
import { findDue, followPolicy, rescheduled } from './gate/due';
import { rotations } from './gate/due-rotations';
import { policyOperations } from './gate/operations';
import { raised } from './gate/raised';
import { rotate } from './rotate';
import { policyRoutes } from './routes';
import { policy } from './rows';

export const policies = {
  tags: {
    Policies:
      'Rules for the names of secrets, for rotation, and for operations that need approval. They apply to every route.',
  },
  actions,
  rows: [policy],
  raises: { policy: raised },
  follows: { policy: followPolicy },
  tasks: { rotation: findDue },
  sweep: rescheduled,
  clear: (core) => rotations(core).clear(),
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
