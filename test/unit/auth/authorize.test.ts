// The decision: who has ended, who may act at all and upon what, and who would hand on more than they hold.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Action } from '../../../src/auth/actions';
import { prefixes } from '../../../src/auth/authentication/token';
import {
  type Caller,
  ended,
  mayAct,
  mayReach,
  namesHeld,
  nobody,
  overlap,
  type PermissionSet,
  reaches,
  reachesAll,
  reachesEnvironment,
} from '../../../src/auth/authorize';
import { isNarrower, standsAlone, type Wanted, withinPermissions } from '../../../src/auth/delegation';
import { allScopes } from '../../../src/auth/scopes';
import { actions } from '../../../src/domains';

const NOW = 1_800_000_000_000;
const IP = '203.0.113.7';

const holding = (fields: Partial<PermissionSet> = {}): PermissionSet => ({
  scopes: ['*'],
  environments: null,
  secrets: null,
  upstreams: null,
  expires_at: null,
  ...fields,
});
const callerWith = (fields: Partial<Caller> = {}, ...holdings: Partial<PermissionSet>[]): Caller => ({
  ...nobody,
  kind: 'api_key',
  id: 'key_1',
  credential: 'key_1',
  permissions: (holdings.length ? holdings : [{}]).map(holding) as [PermissionSet, ...PermissionSet[]],
  ...fields,
});
const wanted = (fields: Partial<Wanted> = {}): Wanted => ({
  scopes: ['secrets:read'],
  environments: ['env_1'],
  secrets: ['prod/db/*'],
  upstreams: null,
  allowed_addresses: ['10.1.0.0/16'],
  expires_at: NOW,
  ...fields,
});

describe('revocation: a credential has ended', () => {
  const live = { expires_at: null, revoked_at: null };

  it.each([
    ['not if nothing ends it', live, undefined],
    ['not a millisecond before it expires', { expires_at: NOW + 1, revoked_at: null }, undefined],
    ['in the millisecond in which it expires', { expires_at: NOW, revoked_at: null }, 'TOKEN_EXPIRED'],
    ['ever after', { expires_at: 0, revoked_at: null }, 'TOKEN_EXPIRED'],
    [
      'by a recorded revocation, if the clock was set back since',
      { expires_at: null, revoked_at: NOW + 1 },
      'TOKEN_REVOKED',
    ],
    ['in the millisecond of its revocation', { expires_at: null, revoked_at: NOW }, 'TOKEN_REVOKED'],
    ['at the beginning of time', { expires_at: null, revoked_at: 0 }, 'TOKEN_REVOKED'],
    [
      'by revocation, where it has expired too',
      { expires_at: NOW - 5, revoked_at: NOW - 1 },
      'TOKEN_REVOKED',
    ],
  ])('%s', (_when, link, code) => {
    expect(ended([link], NOW)?.code).toBe(code);
    // As much through any credential that it descends from.
    expect(ended([live, link], NOW)?.code).toBe(code);
    expect(ended([live, live, link, live], NOW)?.code).toBe(code);
  });
});

describe('permission: a caller may act', () => {
  const all = Object.keys(actions) as Action[];
  const kinds = [...(Object.keys(prefixes) as Caller['kind'][]), 'member', 'system'] as const;
  const codeOf = (caller: Caller, action: Action, ip = IP, exempt = false) =>
    mayAct(caller, actions[action], ip, exempt)?.code ?? null;

  it.each(all)('%s: only as a kind that may, though it has every scope', (action) => {
    for (const kind of kinds) {
      const expected = actions[action].kinds.includes(kind) ? null : 'CREDENTIAL_KIND_NOT_ALLOWED';
      expect([kind, codeOf(callerWith({ kind, isOwner: true, confirmed: true }), action)]).toEqual([
        kind,
        expected,
      ]);
    }
  });

  it.each(all)('%s: only with a scope that the action lists', (action) => {
    const { scopes, kinds, reveals } = actions[action];
    for (const kind of kinds) {
      const codeWith = (...held: string[]) =>
        codeOf(callerWith({ kind, isOwner: true, confirmed: true }, { scopes: held }), action);
      // An agent that lacks another scope than one of secrets is told which.
      const isDenied = kind === 'agent' && reveals && scopes.some((scope) => scope.startsWith('secrets:'));
      const lacking = scopes.length === 0 ? null : isDenied ? 'SECRET_ACCESS_DENIED' : 'INSUFFICIENT_SCOPE';
      expect([kind, codeWith()]).toEqual([kind, lacking]);
      expect([kind, codeWith('scans:read')]).toEqual([kind, lacking]);
      for (const scope of scopes) {
        expect(codeWith(scope)).toBeNull();
        if (allScopes.includes(scope) && scope !== '*')
          expect(codeWith(`${scope.split(':')[0]}:*`)).toBeNull();
      }
    }
  });

  it("owner: an action for owners requires one, regardless of the caller's permissions", () => {
    const owned = all.filter((action) => actions[action].owner);
    expect(owned.length).toBeGreaterThan(0);
    for (const action of owned)
      for (const kind of actions[action].kinds) {
        expect([action, kind, codeOf(callerWith({ kind }), action)]).toEqual([
          action,
          kind,
          'INSUFFICIENT_SCOPE',
        ]);
        expect(mayAct(callerWith({ kind }), actions[action], IP)?.message).toContain('owner');
        expect(codeOf(callerWith({ kind, isOwner: true, confirmed: true }), action)).toBeNull();
      }
  });

  it('terminal session: refuses actions that need a browser or a confirmation, even to an owner, and nothing else', () => {
    const barred = all.filter((action) => actions[action].inBrowser || actions[action].fresh);
    expect(all.filter((action) => actions[action].inBrowser).sort()).toEqual([
      'approval.approve',
      'approval.reject',
      'auth.confirm',
      'auth.device_confirm',
      'auth.device_deny',
      'auth.device_lookup',
    ]);
    for (const action of all.filter((action) => actions[action].kinds.includes('member'))) {
      const expected = barred.includes(action) ? 'CREDENTIAL_KIND_NOT_ALLOWED' : null;
      expect([
        action,
        codeOf(callerWith({ kind: 'member', isOwner: true, isTerminal: true }), action),
      ]).toEqual([action, expected]);
    }
  });

  it('reauthentication: an action that requires it refuses a member without one, after kind and scope, and no one else', () => {
    const fresh = all.filter((action) => actions[action].fresh);
    expect(fresh.sort()).toEqual([
      'approval.approve',
      'audit.export_confirm',
      'auth.device_confirm',
      'member.enrol',
      'member.readmit',
      'member.unlink',
      'org.delete',
      'org.panic',
      'passkey.create',
      'passkey.delete',
      'passkey.update',
      'scim_token.create',
      'sso_connection.create',
      'sso_connection.delete',
      'sso_connection.test',
      'sso_connection.update',
    ]);
    for (const action of all)
      for (const kind of actions[action].kinds)
        for (const exempt of [true, false]) {
          const expected = kind === 'member' && fresh.includes(action) ? 'REAUTHENTICATION_REQUIRED' : null;
          expect([action, kind, codeOf(callerWith({ kind, isOwner: true }), action, IP, exempt)]).toEqual([
            action,
            kind,
            expected,
          ]);
        }
    expect(codeOf(callerWith({ kind: 'member' }, { scopes: ['secrets:read'] }), 'org.delete')).toBe(
      'INSUFFICIENT_SCOPE',
    );
  });

  it('with a scope of any of its permission sets', () => {
    const member = callerWith(
      { kind: 'member' },
      { scopes: ['org:read'] },
      { scopes: ['secrets:read'], environments: ['env_1'] },
    );
    expect(codeOf(member, 'secret.read')).toBeNull();
    expect(codeOf(member, 'secret.update')).toBe('INSUFFICIENT_SCOPE');
  });

  it('without a scope if the action concerns only the caller, but not from elsewhere nor as another kind', () => {
    const bare = callerWith({}, { scopes: [] });
    expect(codeOf(bare, 'api_key.revoke', IP, true)).toBeNull();
    expect(codeOf({ ...bare, kind: 'provider' }, 'api_key.revoke', IP, true)).toBe(
      'CREDENTIAL_KIND_NOT_ALLOWED',
    );
    expect(codeOf({ ...bare, addresses: [['10.0.0.0/8']] }, 'api_key.revoke', IP, true)).toBe(
      'ADDRESS_NOT_ALLOWED',
    );
  });

  it('allowed addresses: only where every ancestor is allowed', () => {
    const codeFrom = (...addresses: string[][]) => codeOf(callerWith({ addresses }), 'secret.read');
    expect(codeFrom()).toBeNull();
    expect(codeFrom(['203.0.113.0/24'])).toBeNull();
    expect(codeFrom(['10.0.0.0/8', '203.0.113.0/24'], [IP])).toBeNull();
    expect(codeFrom(['203.0.113.0/24'], ['203.0.113.8'])).toBe('ADDRESS_NOT_ALLOWED');
    expect(codeFrom(['203.0.113.8'], ['203.0.113.0/24'])).toBe('ADDRESS_NOT_ALLOWED');
    expect(codeFrom([])).toBe('ADDRESS_NOT_ALLOWED');
    expect(codeOf(callerWith({ addresses: [['0.0.0.0/0']] }), 'secret.read', 'unknown')).toBe(
      'ADDRESS_NOT_ALLOWED',
    );
  });

  it('allowed addresses: those of members apply to members, and not to what they create', () => {
    const member = callerWith({ kind: 'member', member_addresses: ['10.0.0.0/8'] });
    expect(codeOf(member, 'secret.read')).toBe('ADDRESS_NOT_ALLOWED');
    expect(codeOf(member, 'secret.read', '10.1.2.3')).toBeNull();
    expect(withinPermissions(member, wanted({ allowed_addresses: null }))).toBeNull();
  });

  it('the refusal names the missing scope or kind, and tells an agent who can grant it', () => {
    const bare = { scopes: [] };
    expect(mayAct(callerWith({}, bare), actions['secret.list'], IP)?.message).toContain(
      'secrets:list or secrets:read',
    );
    expect(mayAct(callerWith({ kind: 'session' }), actions['access_token.create'], IP)?.message).toContain(
      'an API key',
    );
    const { message } = mayAct(callerWith({ kind: 'agent' }, bare), actions['secret.read'], IP) ?? {};
    for (const part of ['secrets:read', 'tokens:write', 'PATCH /api/v1/orgs/:org_id/agent-credentials/:id'])
      expect(message).toContain(part);
  });
});

describe('permission: a caller reaches', () => {
  const at = (environment: string, name?: string) => ({ environment, shown: 'staging', name });
  const code = (caller: Caller, ...where: [string, string?]) =>
    mayReach(caller, actions['secret.read'], at(...where))?.code ?? null;

  it('the environments of its limits, or all', () => {
    expect(code(callerWith(), 'env_1')).toBeNull();
    expect(code(callerWith({}, { environments: ['env_1'] }), 'env_1')).toBeNull();
    expect(code(callerWith({}, { environments: [] }), 'env_1')).toBe('INSUFFICIENT_SCOPE');
    const elsewhere = callerWith({}, { environments: ['env_2'] });
    expect(mayReach(elsewhere, actions['secret.read'], at('env_1', 'x'))).toEqual({
      code: 'INSUFFICIENT_SCOPE',
      message: 'This credential may not access the environment staging.',
    });
  });

  it('the names that match its patterns, or all', () => {
    expect(code(callerWith(), 'env_1', 'x')).toBeNull();
    expect(code(callerWith({}, { secrets: ['a*', 'prod/*'] }), 'env_1', 'prod/x')).toBeNull();
    expect(code(callerWith({}, { secrets: [] }), 'env_1', 'x')).toBe('INSUFFICIENT_SCOPE');
    expect(
      mayReach(callerWith({}, { secrets: ['a*'] }), actions['secret.read'], at('env_1', 'ba'))?.message,
    ).toContain('the name ba');
  });

  it('an environment as a whole though it is limited to some names in it', () => {
    expect(code(callerWith({}, { secrets: ['a*'] }), 'env_1')).toBeNull();
  });

  it('nothing by combination of two permission sets', () => {
    const member = callerWith(
      { kind: 'member' },
      { scopes: ['secrets:list'] },
      { scopes: ['secrets:read'], environments: ['env_1'], secrets: ['a*'] },
      { scopes: ['secrets:read'], environments: ['env_2'], secrets: ['b*'] },
      { scopes: ['secrets:write'], environments: ['env_3'] },
    );
    expect([code(member, 'env_1', 'a'), code(member, 'env_2', 'b')]).toEqual([null, null]);
    for (const [environment, name] of [
      ['env_1', 'b'],
      ['env_2', 'a'],
      ['env_3', 'a'],
    ] as const)
      expect([environment, name, code(member, environment, name)]).toEqual([
        environment,
        name,
        'INSUFFICIENT_SCOPE',
      ]);
    expect(reaches(member, ['secrets:read'], 'env_1', 'a')).toBe(true);
    expect(reaches(member, ['secrets:read'], 'env_1', 'b')).toBe(false);
    expect(reaches(member, ['secrets:write', 'secrets:read'], 'env_3', 'b')).toBe(true);
    expect(reachesEnvironment(member, ['secrets:read'], 'env_3')).toBe(false);
    expect(reachesEnvironment(member, ['secrets:write'], 'env_3')).toBe(true);
  });

  it('agent: the refusal is for the secret, and says who can grant access', () => {
    const agent = callerWith({ kind: 'agent' }, { environments: ['env_1'], secrets: ['a*'] });
    for (const where of [at('env_2', 'a'), at('env_1', 'b'), at('env_2')]) {
      const refusal = mayReach(agent, actions['secret.read'], where);
      expect(refusal?.code).toBe('SECRET_ACCESS_DENIED');
      expect(refusal?.message).toContain('PATCH /api/v1/orgs/:org_id/agent-credentials/:id');
    }
    // What reveals no value is refused to it as to anyone.
    expect(mayReach(agent, actions['secret.update'], at('env_1', 'b'))?.code).toBe('INSUFFICIENT_SCOPE');
    expect(mayReach(agent, actions['secret.versions'], at('env_1', 'b'))?.code).toBe('INSUFFICIENT_SCOPE');
  });

  it('the org as a whole only with one permission set that has the scope and no limits', () => {
    expect(reachesAll(callerWith(), ['secrets:read'])).toBe(true);
    expect(reachesAll(callerWith({}, { environments: [] }), ['secrets:read'])).toBe(false);
    expect(reachesAll(callerWith({}, { secrets: ['*'] }), ['secrets:read'])).toBe(false);
    expect(reachesAll(callerWith({}, { scopes: ['org:read'] }, { secrets: ['*'] }), ['secrets:read'])).toBe(
      false,
    );
  });

  it('in an environment the names of all its permission sets, or all', () => {
    const member = callerWith(
      {},
      { scopes: ['org:read'] },
      { environments: ['env_1'], secrets: ['a', 'b'] },
      { secrets: ['b', 'c'] },
    );
    expect(namesHeld(member, ['secrets:read'], 'env_1')).toEqual(['a', 'b', 'c']);
    expect(namesHeld(member, ['secrets:read'], 'env_2')).toEqual(['b', 'c']);
    expect(namesHeld(callerWith({}, { secrets: ['a'] }, {}), ['secrets:read'], 'env_1')).toBeNull();
  });
});

describe('permission: a caller may give', () => {
  const parent = callerWith(
    { addresses: [['10.0.0.0/8', '192.0.2.0/24']], expires_at: NOW },
    {
      scopes: ['secrets:*', 'tokens:write'],
      environments: ['env_1', 'env_2'],
      secrets: ['prod/*', 'shared'],
    },
  );

  it.each<[string, Partial<Wanted>]>([
    ['less than it holds', {}],
    [
      'all that it holds',
      {
        scopes: ['secrets:*', 'tokens:write'],
        environments: ['env_2', 'env_1'],
        secrets: ['shared', 'prod/*'],
        allowed_addresses: ['192.0.2.0/24', '10.0.0.0/8'],
      },
    ],
    ['nothing', { scopes: [], environments: [], secrets: [], allowed_addresses: [], expires_at: 0 }],
  ])('%s', (_what, fields) => {
    expect(withinPermissions(parent, wanted(fields))).toBeNull();
  });

  it.each<[string, Partial<Wanted>, string]>([
    ['a scope that it lacks', { scopes: ['secrets:read', 'org:write'] }, 'org:write'],
    ['the star of a resource of which it has an action', { scopes: ['tokens:*'] }, 'tokens:*'],
    ['the star', { scopes: ['*'] }, 'scope *'],
    ['another environment', { environments: ['env_1', 'env_3'] }, 'environments'],
    ['every environment', { environments: null }, 'environments'],
    ['another name', { secrets: ['prod/x', 'dev/x'] }, 'names'],
    ['a wider pattern', { secrets: ['prod*'] }, 'names'],
    ['every name', { secrets: null }, 'names'],
    ['every name by a pattern', { secrets: ['*'] }, 'names'],
    ['another address', { allowed_addresses: ['10.0.0.1', '192.0.3.1'] }, 'addresses'],
    ['a wider range', { allowed_addresses: ['10.0.0.0/7'] }, 'addresses'],
    ['every address', { allowed_addresses: null }, 'addresses'],
    ['a longer life', { expires_at: NOW + 1 }, 'lifetime'],
    ['a life without end', { expires_at: null }, 'lifetime'],
  ])('not %s', (_what, fields, named) => {
    expect(withinPermissions(parent, wanted(fields))).toEqual({
      code: 'SCOPE_EXCEEDS_PARENT',
      message: expect.stringContaining(named),
    });
    // Only because of what bounds it: one that is not bounded may.
    expect(withinPermissions(callerWith(), wanted(fields))).toBeNull();
  });

  it('only addresses that every ancestor may use', () => {
    const narrow = callerWith({ addresses: [['10.0.0.0/8'], ['10.1.0.0/16', '10.2.0.0/16']] });
    const codeFor = (range: string) =>
      withinPermissions(narrow, wanted({ allowed_addresses: [range] }))?.code ?? null;
    expect([codeFor('10.2.3.0/24'), codeFor('10.3.0.0/24'), codeFor('11.0.0.1')]).toEqual([
      null,
      'SCOPE_EXCEEDS_PARENT',
      'SCOPE_EXCEEDS_PARENT',
    ]);
  });

  it('each scope from one permission set that covers environments, names and lifetime', () => {
    const member = callerWith(
      { kind: 'member' },
      { scopes: ['tokens:write', 'secrets:list'] },
      { scopes: ['secrets:read'], environments: ['env_1'], secrets: ['a*'], expires_at: NOW },
      { scopes: ['secrets:read'], environments: ['env_2'] },
    );
    const code = (fields: Partial<Wanted>) =>
      withinPermissions(member, wanted({ allowed_addresses: null, ...fields }))?.message ?? null;
    expect(code({ environments: ['env_1'], secrets: ['ab*'] })).toBeNull();
    expect(
      code({ scopes: ['secrets:list', 'secrets:read'], environments: ['env_1'], secrets: ['a'] }),
    ).toBeNull();
    expect(code({ environments: ['env_2'], secrets: null, expires_at: null })).toBeNull();
    expect(code({ environments: ['env_1', 'env_2'], secrets: ['a'] })).toContain('environments');
    expect(code({ environments: ['env_1'], secrets: ['b'] })).toContain('names');
    expect(code({ environments: ['env_1'], secrets: ['a'], expires_at: NOW + 1 })).toContain('lifetime');
    expect(code({ scopes: ['secrets:write'], environments: ['env_2'] })).toContain('secrets:write');
  });
});

describe('permission: an update that only narrows', () => {
  const before = wanted({ scopes: ['secrets:*'], environments: ['env_1', 'env_2'], secrets: ['prod/*'] });

  it.each<[string, Partial<Wanted>, boolean]>([
    ['where it changes nothing', {}, true],
    ['with fewer scopes', { scopes: ['secrets:read'] }, true],
    ['with fewer environments', { environments: ['env_2'] }, true],
    ['with narrower names', { secrets: ['prod/db/?'] }, true],
    ['with fewer addresses', { allowed_addresses: ['10.1.2.0/24'] }, true],
    ['with an earlier end', { expires_at: NOW - 1 }, true],
    ['not with another scope', { scopes: ['secrets:read', 'audit:read'] }, false],
    ['not with all environments', { environments: null }, false],
    ['not with other names', { secrets: ['prod/x', 'dev'] }, false],
    ['not with other addresses', { allowed_addresses: ['10.2.0.0/16'] }, false],
    ['not with all addresses', { allowed_addresses: null }, false],
    ['not with a later end', { expires_at: NOW + 1 }, false],
    ['not without an end', { expires_at: null }, false],
    [
      'not where one thing narrows and another widens',
      { scopes: ['secrets:read'], environments: null },
      false,
    ],
  ])('%s', (_what, fields, expected) => {
    expect(isNarrower(before, { ...before, ...fields })).toBe(expected);
  });

  it('narrows what has no limits, with any change', () => {
    const all = wanted({
      scopes: ['*'],
      environments: null,
      secrets: null,
      allowed_addresses: null,
      expires_at: null,
    });
    expect(isNarrower(all, before)).toBe(true);
    expect(isNarrower(all, all)).toBe(true);
  });
});

describe('permission: the intersection of two permission sets', () => {
  const both = (one: Partial<PermissionSet>, other: Partial<PermissionSet>) =>
    overlap(holding(one), holding(other));

  it('has the scopes of both, the environments of both, and the patterns that lie within the other set', () => {
    const one = {
      scopes: ['secrets:*', 'audit:read'],
      environments: ['env_1', 'env_2'],
      secrets: ['app/*', 'db'],
    };
    const other = {
      scopes: ['secrets:read', 'secrets:list', 'audit:*', 'org:read'],
      environments: ['env_2', 'env_3'],
      secrets: ['app/a*', 'd?'],
    };
    const common = {
      scopes: ['audit:read', 'secrets:read', 'secrets:list'],
      environments: ['env_2'],
      secrets: ['db', 'app/a*'],
    };
    expect(both(one, other)).toEqual(holding(common));
    expect(both(one, {})).toEqual(holding(one));
    expect(both({}, one)).toEqual(holding(one));
    expect(both(one, one)).toEqual(holding(one));
  });

  it('is empty if they have nothing in common, which is not everything', () => {
    const nothing = both(
      { scopes: ['org:read'], environments: ['env_1'], secrets: ['a'] },
      { scopes: ['audit:read'], environments: ['env_2'], secrets: ['b'] },
    );
    expect(nothing).toEqual(holding({ scopes: [], environments: [], secrets: [] }));
    expect(reaches(callerWith({}, { ...nothing, scopes: ['*'] }), ['org:read'], 'env_1', 'a')).toBe(false);
  });

  it('keeps provider token scopes if the other set has the required scopes', () => {
    const scopes = ['issue', 'rotate', 'revoke'];
    expect(both({ scopes }, { scopes: ['*'] }).scopes).toEqual(scopes);
    expect(both({ scopes }, { scopes: ['secrets:write', 'secrets:delete'] }).scopes).toEqual([
      'issue',
      'revoke',
    ]);
    expect(both({ scopes }, { scopes: ['secrets:read'] }).scopes).toEqual([]);
  });

  it('is contained in each', () => {
    const some = fc.record({
      scopes: fc.subarray(['*', 'secrets:*', 'secrets:read', 'audit:read', 'audit:*']),
      environments: fc.option(fc.subarray(['env_1', 'env_2'])),
      secrets: fc.option(fc.subarray(['*', 'a*', '*b', 'ab', '?'])),
    });
    fc.assert(
      fc.property(some, some, (one, other) => {
        const given = { ...both(one, other), allowed_addresses: null };
        expect([
          withinPermissions(callerWith({}, one), given),
          withinPermissions(callerWith({}, other), given),
        ]).toEqual([null, null]);
      }),
    );
  });
});

describe('permission: a caller without a parent', () => {
  it('is one without limits whose descendants do not end with it', () => {
    expect(standsAlone(callerWith())).toBe(true);
    for (const bound of [{ isDependent: true }, { expires_at: NOW }, { addresses: [['0.0.0.0/0', '::/0']] }])
      expect(standsAlone(callerWith(bound))).toBe(false);
    for (const bound of [{ environments: ['env_1'] }, { secrets: ['*'] }])
      expect(standsAlone(callerWith({}, bound))).toBe(false);
  });

  it('is never the caller without permissions', () => {
    for (const action of Object.keys(actions) as Action[])
      for (const kind of actions[action].kinds)
        if (actions[action].scopes.length || actions[action].owner)
          expect([action, mayAct({ ...nobody, kind }, actions[action], IP) === null]).toEqual([
            action,
            false,
          ]);
  });
});
