// The rules of members, without I/O.
import type { MemberRow } from '../../db/schema';

export const statuses = ['invited', 'active', 'lapsed'] as const;
export type Status = (typeof statuses)[number];

/** The status of a member at a time. An invitation lapses by time alone. */
export function statusOf({ enrolled_at, enrolment_ends_at }: MemberRow, now: number): Status {
  if (enrolled_at !== null) return 'active';
  return enrolment_ends_at !== null && enrolment_ends_at > now ? 'invited' : 'lapsed';
}
