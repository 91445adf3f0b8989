// What of a resource is shown to a SCIM client.
import { expect, it } from 'vitest';
import { userOut } from '../../../src/compat/scim/answers';
import type { UserFacts } from '../../../src/domains/scim/gate/users';

it('SCIM: an attribute counts up to its first dot, whatever follows', () => {
  const user = {
    id: 'scu_1',
    user_name: 'ann',
    external_id: null,
    groups: [],
    created_at: 0,
    changed_at: 0,
  } as unknown as UserFacts;
  // A pattern that runs to the end of the line begins anew at each dot.
  const attributes = [`username${'.'.repeat(1000)}\n`];
  expect(userOut(user, { base: '', attributes, excluded: [] })).toMatchObject({ userName: 'ann' });
});
