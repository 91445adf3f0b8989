// The status of a member. Pure.
import { isSuspended, type MemberRow } from '../../db/schema';

export const statuses = ['invited', 'active', 'lapsed', 'suspended'] as const;
export type Status = (typeof statuses)[number];

/** The status of a member at a given time. An invitation lapses without being written. */
export function statusOf(row: MemberRow, now: number): Status {
  const { enrolled_at, enrolment_ends_at } = row;
  if (isSuspended(row)) return 'suspended';
  if (enrolled_at !== null) return 'active';
  return enrolment_ends_at !== null && enrolment_ends_at > now ? 'invited' : 'lapsed';
}
