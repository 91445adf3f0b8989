// The events of policies. Invariant: they follow from the rows that a change writes or removes, never from
// its route.
import type { Raise } from '../../../gate/core';

/** The event of a policy. */
export const raised: Raise<'policy'> = (before, after) => {
  const row = after ?? before;
  if (!row) return [];
  const type = !after ? 'POLICY_REMOVED' : before ? 'POLICY_CHANGED' : 'POLICY_CREATED';
  return [{ type, data: { policy_id: row.id, name: row.name, kind: row.kind, enabled: row.enabled === 1 } }];
};
