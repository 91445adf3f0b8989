// Workload identity: trusts, and session tokens in exchange for tokens of trusted issuers.
import { exampleId } from '../../db/ids';
import type { Domain } from '../domain';
import { actions } from './actions';
import { trustOperations } from './gate/operations';
import { trustRoutes } from './routes';

export const trusts = {
  tags: {
    'Workload identity':
      'CI jobs and workloads exchange the OIDC token of their platform for a session token, so they store no credential. A trust defines which tokens of which issuer are accepted, and what their session tokens hold.',
  },
  actions,
  rows: [],
  operations: trustOperations,
  routes: trustRoutes,
  examples: {
    'Trust.id': exampleId('trust'),
    'Trust.name': 'GitHub Actions: acme/app',
    'Trust.parent_id': null,
    'TrustIn.name': 'GitHub Actions: acme/app',
    'TrustPatch.name': 'GitHub Actions: acme/app',
    'Exchanged.id': exampleId('session'),
  },
} satisfies Domain;
