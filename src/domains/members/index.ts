// Members and their roles.

import type { Domain } from '../domain';
import { actions } from './actions';
import { memberOperations } from './gate/operations';
import { raised } from './gate/raised';
import { memberRoutes } from './routes';
import { formerMember, member } from './rows';

export const members = {
  tags: {
    Members:
      'Members are people. Each has a role, which is a set of scopes. A new member registers a passkey with an enrolment link and signs in with the passkey.',
  },
  actions,
  rows: [member, formerMember],
  raises: { member: raised },
  operations: memberOperations,
  routes: memberRoutes,
  examples: {
    'Member.enrolment': { created_at: '2026-11-21T12:00:00.000Z', expires_at: '2026-11-22T12:00:00.000Z' },
    'Member.enrolled_at': null,
    'Member.name': 'Ann',
    'Member.status': 'invited',
    'Member.passkeys': 0,
    'NewMember.enrolment': { created_at: '2026-11-21T12:00:00.000Z', expires_at: '2026-11-22T12:00:00.000Z' },
    'NewMember.enrolled_at': null,
    'NewMember.name': 'Ann',
    'NewMember.status': 'invited',
    'NewMember.passkeys': 0,
    'SuspendedMember.name': 'Ann',
    'SuspendedMember.enrolment': null,
    'SuspendedMember.status': 'suspended',
    'SuspendedMember.suspended_at': '2026-11-21T12:00:00.000Z',
    'SuspendedMember.remaining': undefined,
    'Removed.remaining': undefined,
  },
} satisfies Domain;
