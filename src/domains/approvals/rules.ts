// The rules of approvals, without I/O: which status one has at a time.
import type { ApprovalRow, ApprovalStatus } from '../../db/schema';

export const statuses = ['pending', 'approved', 'rejected', 'cancelled', 'used', 'expired'] as const satisfies readonly (
  | ApprovalStatus
  | 'expired'
)[];
export type Status = (typeof statuses)[number];

/** The status of an approval at a time: what waits, to be decided or to be used, expires by time alone. */
export const statusOf = ({ status, expires_at }: ApprovalRow, now: number): Status =>
  (status === 'pending' || status === 'approved') && expires_at <= now ? 'expired' : status;
