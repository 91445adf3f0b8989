// The audit log: who did what, when and from where.
import type { Domain } from '../domain';
import { actions } from './actions';
import { auditOperations } from './gate/operations';
import { auditRoutes } from './routes';

const ID = '01M9xQeKcX3vTz6nWJfQ4b';

export const audit = {
  tags: {
    'Audit log': 'Who did what, when and from where. Entries form a hash chain and never change.',
  },
  actions,
  rows: [],
  operations: auditOperations,
  routes: auditRoutes,
  examples: {
    'AuditEntry.actor': { kind: 'api_key', id: `key_${ID}`, parent_id: null, name: 'deploy' },
    'AuditEntry.count': 1,
    'AuditEntry.id': `aud_${ID}`,
    'AuditEntry.status': 200,
    'AuditEntry.prefix': undefined,
    'Verification.checked_from': 1,
    'Verification.checked_to': 42,
    'Verification.ok': true,
  },
} satisfies Domain;
