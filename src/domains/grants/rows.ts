// The rows of grants.
import { rowKind } from '../../db/rows';
import { type GrantRow, grants } from '../../db/schema';
import { lasting, REMOVE } from '../../gate/limits/quotas';

declare module '../../db/rows' {
  interface RowTypes {
    grant: GrantRow;
  }
}

export const grant = rowKind('grant', {
  table: grants,
  space: (row) => row.grantee_id,
  key: (row) => row.id,
  added: ['accountable', 'upstreams'],
  sweepAt: (row) => row.expires_at,
  maker: ({ created_by, dies_with }) => dies_with ?? created_by,
  quota: lasting(10_000, 2500, 'grants', REMOVE),
});
