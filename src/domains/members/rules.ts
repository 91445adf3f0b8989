// The status of a member. Pure.
import type { MemberRow } from '../../db/schema';

export const statuses = ['invited', 'active', 'lapsed'] as const;
export type Status = (typeof statuses)[number];

/** The status of a member at a given time. An invitation lapses without being written. */
export function statusOf({ enrolled_at, enrolment_ends_at }: MemberRow, now: number): Status {
  if (enrolled_at !== null) return 'active';
  return enrolment_ends_at !== null && enrolment_ends_at > now ? 'invited' : 'lapsed';
}
