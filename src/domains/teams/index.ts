// Teams and their members.

import type { Domain } from '../domain';
import { actions } from './actions';
import { teamOperations } from './gate/operations';
import { teamRoutes } from './routes';
import { team, teamMember } from './rows';

export const teams = {
  tags: {
    Teams: 'A team is a group of members that share grants.',
  },
  actions,
  rows: [team, teamMember],
  operations: teamOperations,
  routes: teamRoutes,
  examples: {
    'TeamMember.name': 'Ann',
    'Team.name': 'Payments',
  },
} satisfies Domain;
