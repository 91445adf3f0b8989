// The rows of upstreams.
import { rowKind } from '../../db/rows';
import { type UpstreamRow, upstreams } from '../../db/schema';
import { lasting, REMOVE } from '../../gate/limits/quotas';

declare module '../../db/rows' {
  interface RowTypes {
    upstream: UpstreamRow;
  }
}

export const upstream = rowKind('upstream', {
  table: upstreams,
  space: () => '',
  key: (row) => row.name,
  quota: lasting(200, undefined, 'upstreams', REMOVE),
});
