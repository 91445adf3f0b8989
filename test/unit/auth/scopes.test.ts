// Scopes: what exists, and what covers what.
import { describe, expect, it } from 'vitest';
import { allScopes, covers, providerScopes, roleScopes } from '../../../src/auth/scopes';

const resources = [
  ...new Set(allScopes.filter((scope) => scope !== '*').map((scope) => scope.split(':')[0] as string)),
];

describe('scope: the scopes that exist', () => {
  it('are the star, and for each resource its star and its actions, each once', () => {
    expect(allScopes[0]).toBe('*');
    expect(new Set(allScopes).size).toBe(allScopes.length);
    for (const resource of resources) {
      expect(allScopes).toContain(`${resource}:*`);
      expect(allScopes.filter((scope) => scope.startsWith(`${resource}:`)).length).toBeGreaterThan(1);
    }
    for (const scope of allScopes) expect(scope).toMatch(/^(\*|[a-z]+:(\*|[a-z]+))$/);
  });
});

describe('scope: coverage', () => {
  it('of every pair is by itself, by the star, and of an action only by the star of its resource', () => {
    for (const held of allScopes)
      for (const wanted of allScopes) {
        const expected =
          held === wanted || held === '*' || (wanted !== '*' && held === `${wanted.split(':')[0]}:*`);
        expect([held, wanted, covers([held], wanted)]).toEqual([held, wanted, expected]);
      }
  });

  it('all actions of a resource do not cover its star', () => {
    for (const resource of resources) {
      const actions = allScopes.filter((scope) => scope.startsWith(`${resource}:`) && !scope.endsWith('*'));
      expect(covers(actions, `${resource}:*`)).toBe(false);
    }
    expect(
      covers(
        allScopes.filter((scope) => scope !== '*'),
        '*',
      ),
    ).toBe(false);
  });

  it('an empty list covers nothing', () => {
    for (const wanted of allScopes) expect(covers([], wanted)).toBe(false);
  });

  it('does not depend on the beginning of a name', () => {
    expect(covers(['org:*'], 'organisation:read')).toBe(false);
    expect(covers(['secrets:re'], 'secrets:read')).toBe(false);
    expect(covers(['secrets:read'], 'secrets:re')).toBe(false);
    expect(covers(['secrets'], 'secrets:read')).toBe(false);
  });
});

describe('role: scopes', () => {
  it('exist; the auditor has no secret, the viewer no value', () => {
    for (const [role, scopes] of Object.entries(roleScopes))
      for (const scope of scopes)
        expect([role, scope, allScopes.includes(scope)]).toEqual([role, scope, true]);
    expect(roleScopes.owner).toEqual(['*']);
    expect(roleScopes.admin).toEqual(['*']);
    for (const scope of allScopes.filter((scope) => scope.startsWith('secrets:'))) {
      expect([scope, covers(roleScopes.auditor, scope)]).toEqual([scope, false]);
      expect([scope, covers(roleScopes.viewer, scope)]).toEqual([scope, scope === 'secrets:list']);
    }
    for (const scope of ['members:write', 'policies:write', 'approvals:decide', 'org:write', 'audit:read'])
      expect([scope, covers(roleScopes.developer, scope)]).toEqual([scope, false]);
  });
});

describe('provider token: its scopes', () => {
  it('requires of its maker the scope by which the maker could do the same', () => {
    expect(providerScopes).toEqual({
      issue: 'secrets:write',
      rotate: 'secrets:rotate',
      revoke: 'secrets:delete',
    });
    for (const scope of Object.keys(providerScopes)) expect(allScopes).not.toContain(scope);
  });
});
