// The rows of policies.
import { rowKind } from '../../db/rows';
import { type PolicyRow, policies } from '../../db/schema';
import { lasting } from '../../gate/limits/quotas';

declare module '../../db/rows' {
  interface RowTypes {
    policy: PolicyRow;
  }
}

export const policy = rowKind('policy', {
  table: policies,
  space: () => '',
  key: (row) => row.id,
  added: ['of_agent'],
  quota: lasting(100, undefined, 'policies', 'Combine some of them, or delete some that you no longer need.'),
});
