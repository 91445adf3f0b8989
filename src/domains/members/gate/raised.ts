// The events of members. Invariant: they follow from the rows that a change writes or removes, never from its
// route.
import { hasMoved } from '../../../auth/policies/effects-of-people';
import { isSuspended } from '../../../db/schema';
import type { Raise } from '../../../gate/core';
import type { EventType, Raised } from '../../../gate/outbox';
import { slugOf } from '../../../gate/request/target';
import { leftInEvent } from './left';

/** The event of a member. Enrolments have their own, and ties between members raise none. */
export const raised: Raise<'member'> = (before, after, { core }) => {
  const row = after ?? before;
  if (!row) return [];
  const environments = row.environments?.map((id) => slugOf(core, id)) ?? null;
  const raise = (type: EventType, further = {}): Raised[] => [
    { type, data: { member_id: row.id, name: row.name, role: row.role, environments, ...further } },
  ];
  if (!after) return raise('MEMBER_REMOVED');
  if (!before) return raise('MEMBER_ADDED');
  const isMoved = isSuspended(before) !== isSuspended(after);
  const isSame =
    !isMoved &&
    before.name === after.name &&
    before.role === after.role &&
    before.email === after.email &&
    !hasMoved(before, after);
  if (isSame) return [];
  const suspended = isSuspended(after);
  return raise('MEMBER_CHANGED', {
    former_role: before.role,
    suspended,
    ...(isMoved && suspended ? leftInEvent(core, after.id) : { credentials: [] }),
  });
};
