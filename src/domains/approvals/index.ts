// Requests that an approval policy holds until members approve them.

import { exampleId } from '../../db/ids';
import type { Domain } from '../domain';
import { actions } from './actions';
import { approvalOperations } from './gate/operations';
import { approvalRoutes } from './routes';
import { approval } from './rows';

export const approvals = {
  tags: { Approvals: 'Requests that an approval policy holds until enough members approve them.' },
  actions,
  rows: [approval],
  operations: approvalOperations,
  routes: approvalRoutes,
  examples: {
    'Approval.summary': 'The agent credential "assistant" asks to read the secret DATABASE_URL.',
    'Approval.required': 1,
    'Approval.approvals': [],
    'Approval.decisions': [],
    'Approval.policies': [{ id: exampleId('policy'), name: 'Production reads', required: 1 }],
    'Approval.requester': {
      kind: 'agent',
      id: exampleId('agent'),
      parent_id: null,
      name: 'assistant',
      accountable: [{ member_id: exampleId('member'), name: 'Ann' }],
    },
    'Approval.target': { id: exampleId('secret'), name: 'DATABASE_URL', environment: 'production' },
    'Approval.max_valid_seconds': 0,
    'Approval.valid_for_seconds': 0,
    'Approval.may_decide': true,
    'Approval.expires_at': '2026-11-22T12:00:00.000Z',
    'Approval.ended_at': null,
  },
} satisfies Domain;
