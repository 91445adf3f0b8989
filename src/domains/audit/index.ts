// The audit log: who did what, when and from where.
import { exampleId } from '../../db/ids';
import type { Domain } from '../domain';
import { actions } from './actions';
import { signCheckpoints } from './checkpoints';
import { auditOperations } from './gate/operations';
import { auditRoutes } from './routes';

export const audit = {
  tags: {
    'Audit log': 'Who did what, when and from where. Entries form a hash chain and never change.',
  },
  actions,
  rows: [],
  operations: auditOperations,
  routes: auditRoutes,
  jobs: { checkpoint: signCheckpoints },
  examples: {
    'AuditEntry.actor': { kind: 'api_key', id: exampleId('api_key'), parent_id: null, name: 'deploy' },
    'AuditEntry.count': 1,
    'AuditEntry.id': exampleId('audit_entry'),
    'AuditEntry.status': 200,
    'AuditEntry.prefix': undefined,
    'AuditEntry.prefixes': undefined,
    'Verification.checked_from': 1,
    'Verification.checked_to': 42,
    'Verification.ok': true,
  },
} satisfies Domain;
