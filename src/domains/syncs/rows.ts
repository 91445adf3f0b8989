// The rows of syncs.
import { DAY, rowKind } from '../../db/rows';
import { type SyncRow, syncs } from '../../db/schema';
import { MIB } from '../../gate/limits/quotas';

declare module '../../db/rows' {
  interface RowTypes {
    sync: SyncRow;
  }
}

/** How long a sync is kept. */
const KEPT = 30 * DAY;

export const sync = rowKind('sync', {
  table: syncs,
  space: (row) => (row.finished_at === null ? 'open' : 'ended'),
  key: (row) => row.id,
  added: ['pins'],
  sweepAt: (row) => (row.finished_at === null ? null : row.created_at + KEPT),
  // An automatic sync counts for its connection.
  maker: ({ requester, integration_id }) =>
    (requester.kind === 'system'
      ? integration_id
      : requester.kind === 'session'
        ? requester.parent_id
        : requester.id) ?? 'system',
  ends: ({ finished_at }) => finished_at,
  quota: {
    org: { count: 10_000, bytes: 256 * MIB, open: 100 },
    root: { count: 1000, bytes: 32 * MIB, open: 25 },
    message:
      'An organisation can have at most 100 unfinished syncs, a member or an API key 25. Wait until some have ended, or cancel some.',
  },
});
