// The rows of links.
import { rowKind } from '../../db/rows';
import { type ShareRow, shares } from '../../db/schema';
import { MIB } from '../../gate/limits/quotas';

declare module '../../db/rows' {
  interface RowTypes {
    share: ShareRow;
  }
}

export const share = rowKind('share', {
  table: shares,
  space: (row) => row.secret_id,
  key: (row) => (row.revoked_at === null ? row.id : null),
  sweepAt: (row) => row.expires_at,
  maker: ({ created_by, dies_with }) => dies_with ?? created_by,
  ends: ({ expires_at }) => expires_at,
  quota: {
    org: { count: 1000, bytes: 16 * MIB },
    root: { count: 250, bytes: 4 * MIB },
    message:
      'An organisation can have at most 1,000 links, and 16 MiB of encrypted values in them; a member or an API key 250, and 4 MiB. Revoke some that you no longer need.',
  },
});
