// The decision: who has ended, who may act at all, and who would hand on more than they hold.
import { describe, expect, it } from 'vitest';
import { type Action, actions, needOf } from '../../src/auth/actions';
import { type Caller, ended, type Holding, isUnbounded, mayAct, mayEnter, mayName, withinHolding } from '../../src/auth/authorize';

const NOW = 1_800_000_000_000;
const IP = '203.0.113.7';

const callerWith = (fields: Partial<Caller> = {}): Caller => ({
  kind: 'api_key',
  id: 'key_1',
  name: 'k',
  parent_id: null,
  root: 'key_1',
  scopes: ['*'],
  environments: null,
  secrets: null,
  addresses: [],
  expires_at: null,
  ...fields,
});
const holding = (fields: Partial<Holding> = {}): Holding => ({
  scopes: ['secrets:read'],
  environments: ['env_1'],
  secrets: ['prod/db/*'],
  allowed_addresses: ['10.1.0.0/16'],
  expires_at: NOW,
  ...fields,
});

describe('a credential has ended', () => {
  const live = { expires_at: null, revoked_at: null };

  it.each([
    ['not if nothing ends it', live, undefined],
    ['not a millisecond before it expires', { expires_at: NOW + 1, revoked_at: null }, undefined],
    ['in the millisecond in which it expires', { expires_at: NOW, revoked_at: null }, 'TOKEN_EXPIRED'],
    ['ever after', { expires_at: 0, revoked_at: null }, 'TOKEN_EXPIRED'],
    ['not before its revocation takes effect', { expires_at: null, revoked_at: NOW + 1 }, undefined],
    ['in the millisecond of its revocation', { expires_at: null, revoked_at: NOW }, 'TOKEN_REVOKED'],
    ['at the beginning of time', { expires_at: null, revoked_at: 0 }, 'TOKEN_REVOKED'],
    ['by revocation, where it has expired too', { expires_at: NOW - 5, revoked_at: NOW - 1 }, 'TOKEN_REVOKED'],
    ['by expiry, where the revocation is still to come', { expires_at: NOW, revoked_at: NOW + 1 }, 'TOKEN_EXPIRED'],
  ])('%s', (_when, link, code) => {
    expect(ended([link], NOW)?.code).toBe(code);
    // As much through any credential that it descends from.
    expect(ended([live, link], NOW)?.code).toBe(code);
    expect(ended([live, live, link, live], NOW)?.code).toBe(code);
  });
});

describe('a caller may act', () => {
  const all = Object.keys(actions) as Action[];
  const kinds = ['api_key', 'session', 'agent', 'provider', 'break_glass', 'system'] as const;

  it.each(all)('%s: only as a kind that may, with all scopes', (action) => {
    for (const kind of kinds) {
      const expected = needOf(action).kinds.includes(kind) ? null : 'CREDENTIAL_KIND_NOT_ALLOWED';
      expect([kind, mayAct(callerWith({ kind }), action, IP)?.code ?? null]).toEqual([kind, expected]);
    }
  });

  it.each(all)('%s: only with a scope that it names', (action) => {
    const need = needOf(action);
    const kind = need.kinds[0] as Caller['kind'];
    const codeWith = (scopes: string[]) => mayAct(callerWith({ kind, scopes }), action, IP)?.code ?? null;
    expect(codeWith([])).toBe(need.scopes.length ? 'INSUFFICIENT_SCOPE' : null);
    expect(codeWith(['webhooks:*', 'scans:read'])).toBe(need.scopes.length ? 'INSUFFICIENT_SCOPE' : null);
    for (const scope of need.scopes) {
      expect(codeWith([scope])).toBeNull();
      expect(codeWith([`${scope.split(':')[0]}:*`])).toBeNull();
    }
  });

  it('without a scope where the act concerns the caller alone, but not from elsewhere nor as another kind', () => {
    const bare = callerWith({ scopes: [] });
    expect(mayAct(bare, 'api_key.rotate', IP, true)).toBeNull();
    expect(mayAct({ ...bare, kind: 'agent' }, 'api_key.rotate', IP, true)?.code).toBe('CREDENTIAL_KIND_NOT_ALLOWED');
    expect(mayAct({ ...bare, addresses: [['10.0.0.0/8']] }, 'api_key.rotate', IP, true)?.code).toBe('ADDRESS_NOT_ALLOWED');
  });

  it('only from where every link of its lineage may', () => {
    const codeFrom = (...addresses: string[][]) => mayAct(callerWith({ addresses }), 'secret.read', IP)?.code ?? null;
    expect(codeFrom()).toBeNull();
    expect(codeFrom(['203.0.113.0/24'])).toBeNull();
    expect(codeFrom(['10.0.0.0/8', '203.0.113.0/24'], [IP])).toBeNull();
    expect(codeFrom(['203.0.113.0/24'], ['203.0.113.8'])).toBe('ADDRESS_NOT_ALLOWED');
    expect(codeFrom(['203.0.113.8'], ['203.0.113.0/24'])).toBe('ADDRESS_NOT_ALLOWED');
    expect(codeFrom([])).toBe('ADDRESS_NOT_ALLOWED');
    expect(mayAct(callerWith({ addresses: [['0.0.0.0/0']] }), 'secret.read', 'unknown')?.code).toBe('ADDRESS_NOT_ALLOWED');
  });

  it('and is told which scope or kind is lacking', () => {
    expect(mayAct(callerWith({ scopes: [] }), 'secret.list', IP)?.message).toContain('secrets:list or secrets:read');
    expect(mayAct(callerWith({ kind: 'session' }), 'access_token.create', IP)?.message).toContain('an API key');
  });
});

describe('a caller reaches', () => {
  it('the environments that it names, or all', () => {
    expect(mayEnter(callerWith(), 'env_1', 'e')).toBeNull();
    expect(mayEnter(callerWith({ environments: ['env_1'] }), 'env_1', 'e')).toBeNull();
    expect(mayEnter(callerWith({ environments: ['env_2'] }), 'env_1', 'shown')).toMatchObject({
      code: 'INSUFFICIENT_SCOPE',
      message: expect.stringContaining('shown'),
    });
    expect(mayEnter(callerWith({ environments: [] }), 'env_1', 'e')?.code).toBe('INSUFFICIENT_SCOPE');
  });

  it('the names that one of its patterns matches, or all', () => {
    expect(mayName(callerWith(), 'x')).toBeNull();
    expect(mayName(callerWith({ secrets: ['a*', 'prod/*'] }), 'prod/x')).toBeNull();
    expect(mayName(callerWith({ secrets: ['a*'] }), 'ba')?.code).toBe('INSUFFICIENT_SCOPE');
    expect(mayName(callerWith({ secrets: [] }), 'x')?.code).toBe('INSUFFICIENT_SCOPE');
  });

  it('the org as a whole only if neither bounds it', () => {
    expect(isUnbounded(callerWith())).toBe(true);
    expect(isUnbounded(callerWith({ environments: [] }))).toBe(false);
    expect(isUnbounded(callerWith({ secrets: ['*'] }))).toBe(false);
  });
});

describe('a caller may hand on', () => {
  const parent = callerWith({
    scopes: ['secrets:*', 'tokens:write'],
    environments: ['env_1', 'env_2'],
    secrets: ['prod/*', 'shared'],
    addresses: [['10.0.0.0/8', '192.0.2.0/24']],
    expires_at: NOW,
  });

  it.each<[string, Partial<Holding>]>([
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
    expect(withinHolding(parent, holding(fields))).toBeNull();
  });

  it.each<[string, Partial<Holding>, string]>([
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
    expect(withinHolding(parent, holding(fields))).toEqual({ code: 'SCOPE_EXCEEDS_PARENT', message: expect.stringContaining(named) });
    // Only because of what bounds it: one that is not bounded may.
    expect(withinHolding(callerWith(), holding(fields))).toBeNull();
  });

  it('only addresses that every link of its lineage may come from', () => {
    const narrow = callerWith({ addresses: [['10.0.0.0/8'], ['10.1.0.0/16', '10.2.0.0/16']] });
    const codeFor = (range: string) => withinHolding(narrow, holding({ allowed_addresses: [range] }))?.code ?? null;
    expect([codeFor('10.2.3.0/24'), codeFor('10.3.0.0/24'), codeFor('11.0.0.1')]).toEqual([
      null,
      'SCOPE_EXCEEDS_PARENT',
      'SCOPE_EXCEEDS_PARENT',
    ]);
  });
});
