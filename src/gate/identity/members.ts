// Members as they count now. Invariant: a member who is suspended counts as little as one who was removed,
// and what they began before the suspension does not come back with them. Every decision that asks whether a
// member is there asks here.
import { isSuspended, type MemberRow } from '../../db/schema';
import type { Core } from '../core';

type Rows = Pick<Core, 'rows'>;

/** A member who may act; null for one who was removed or is suspended. */
export function actingMember({ rows }: { rows: Pick<Core['rows'], 'get'> }, id: string): MemberRow | null {
  const row = rows.get('member', id);
  // safety: suspended-member-does-not-act
  return row && !isSuspended(row) ? row : null;
}

/** All members who may act. */
export const actingMembers = ({ rows }: Rows): MemberRow[] =>
  // safety: suspended-member-does-not-count
  rows.within('member', '').filter((row) => !isSuspended(row));

/** Whether what a member began at a time has ended: by their removal, or by a suspension since. */
export function hasMemberEnded(
  core: { rows: Pick<Core['rows'], 'get'> },
  id: string,
  since: number,
): boolean {
  const member = actingMember(core, id);
  // safety: resumed-member-begins-anew
  return member === null || since <= (member.resumed_at ?? 0);
}
