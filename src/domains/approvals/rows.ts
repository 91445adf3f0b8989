// The rows of approvals.
import { DAY, rowKind } from '../../db/rows';
import { type ApprovalRow, approvals } from '../../db/schema';
import { isOfOneCredential, repeatedBy } from '../../gate/approvals/repeats';
import { MIB } from '../../gate/limits/quotas';

declare module '../../db/rows' {
  interface RowTypes {
    approval: ApprovalRow;
  }
}

/** How long an approval is kept after it ends: a compliance report looks back a year. */
const KEPT = 400 * DAY;

export const approval = rowKind('approval', {
  table: approvals,
  // A request is held once: a repeat finds the approval that has not ended. One of a single
  // credential does not stand in the way of others.
  space: (row) => row.root,
  // safety: repeatable-found-by-its-credential
  key: (row) =>
    row.ended_at !== null
      ? null
      : isOfOneCredential(row)
        ? repeatedBy(row.digest, row.requester.credential)
        : row.digest,
  added: ['environments'],
  sweepAt: (row) => row.expires_at + KEPT,
  maker: ({ root }) => root,
  ends: ({ ended_at, expires_at }) => ended_at ?? expires_at,
  quota: {
    org: { count: 20_000, bytes: 256 * MIB },
    root: { count: 2000, bytes: 16 * MIB },
    message: 'There are too many requests that wait for approval. Cancel some.',
  },
});
