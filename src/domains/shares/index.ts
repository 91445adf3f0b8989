// Shares: links that show one version of a secret, and grants of one secret.
import { exampleId } from '../../db/ids';
import type { Domain } from '../domain';
import { actions } from './actions';
import { shareOperations } from './gate/operations';
import { shareRoutes } from './routes';

export const shares = {
  tags: {
    Shares:
      'A share gives one secret to somebody: by a link, which shows the value on a page so many times, or by a grant to a member or team.',
  },
  actions,
  rows: ['share'],
  operations: shareOperations,
  routes: shareRoutes,
  examples: {
    'ShareIn.kind': 'link',
    'Share.kind': 'link',
    'NewShare.expires_at': '2026-11-21T13:00:00.000Z',
    'Share.expires_at': '2026-11-21T13:00:00.000Z',
  },
} satisfies Domain;
