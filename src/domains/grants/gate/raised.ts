// The events of grants. Invariant: they follow from the rows that a change writes or removes, never from its
// route.
import type { Raise } from '../../../gate/core';

/** The event of a grant. It never changes, and one that expires raises none. */
export const raised: Raise<'grant'> = (before, after) => {
  const row = after ?? before;
  if (!row || (before && after)) return [];
  const { id, grantee_type, grantee_id, permission } = row;
  return [
    {
      type: after ? 'GRANT_CREATED' : 'GRANT_REMOVED',
      data: { grant_id: id, grantee_type, grantee_id, permission },
    },
  ];
};
