// The status of an approval at a given time. Pure.
import type { ApprovalRow, ApprovalStatus } from '../../db/schema';

export const statuses = ['pending', 'approved', 'rejected', 'cancelled', 'used', 'expired'] as const satisfies readonly (
  | ApprovalStatus
  | 'expired'
)[];
export type Status = (typeof statuses)[number];

/** The status of an approval at a given time. A pending or approved request expires without being written. */
export const statusOf = ({ status, expires_at }: ApprovalRow, now: number): Status =>
  (status === 'pending' || status === 'approved') && expires_at <= now ? 'expired' : status;
