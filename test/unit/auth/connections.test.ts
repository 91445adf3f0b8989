import { describe, expect, it } from 'vitest';
import { givenAnew } from '../../../src/auth/connections';
import type { SsoConnectionRow } from '../../../src/db/schema';

const connection = (config: object = {}) =>
  ({
    config: { issuer: 'https://idp.example.com', groups_claim: 'groups', signers: 'a', ...config },
    default_role: 'viewer',
    default_environments: null,
    role_mappings: [{ group: 'ops', role: 'admin' }],
    team_mappings: [{ group: 'ops', team_id: 'tea_1' }],
    domains: ['dom_1'],
    jit: 0,
  }) as unknown as SsoConnectionRow;

describe('sso connection: what a change gives', () => {
  it('is nothing if neither the source nor what it gives changes', () => {
    expect(givenAnew(connection(), connection())).toEqual({ roles: [], teams: [] });
  });

  it.each([
    ['issuer', 'https://other.example.com'],
    ['client_id', 'other'],
    ['groups_claim', 'roles'],
    ['subject_attribute', 'email'],
    ['signers', 'b'],
  ])('give all of it to others by another source: %s', (name, value) => {
    expect(givenAnew(connection(), connection({ [name]: value }))).toEqual({
      roles: ['viewer', 'admin'],
      teams: ['tea_1'],
    });
  });
});
