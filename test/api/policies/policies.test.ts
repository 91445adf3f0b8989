// Policies as a resource: what is accepted, how it is shown, and who may change it.
import { describe, expect, it } from 'vitest';
import { newAgent, newKey } from '../../support/credentials';
import { faults } from '../../support/faults';
import { newPolicy } from '../../support/governance/policies';
import { newMember, newTeam } from '../../support/people';
import { slow } from '../../support/slow';
import { codeOf, newOrg, useWorld } from '../../support/world';

useWorld();

const NAMING = { pattern: '^[A-Z]+$' };
const ROTATION = { max_age_days: 90 };

describe('policy', () => {
  it('is created, shown, changed, listed and deleted', async () => {
    const o = await newOrg();
    const production = (await o.get('/environments/production')).json.id;
    const sent = {
      name: 'Upper case',
      kind: 'naming',
      applies_to: { environments: [production], types: ['password'], names: ['app/*'] },
    };
    const made = await o.post('/policies', { ...sent, config: NAMING });
    const { id, created_at } = made.json;
    expect(id).toMatch(/^pol_/);
    expect([made.status, made.json]).toEqual([
      201,
      {
        id,
        revision: 1,
        name: 'Upper case',
        kind: 'naming',
        enabled: true,
        config: NAMING,
        created_by: o.keyId,
        created_at,
        updated_at: created_at,
        applies_to: { environments: ['production'], types: ['password'], names: ['app/*'] },
      },
    ]);
    expect((await o.get(`/policies/${id}`)).json).toEqual(made.json);
    const changed = await o.patch(`/policies/${id}`, {
      name: 'x',
      enabled: false,
      applies_to: {},
      config: { pattern: 'a' },
    });
    expect([changed.status, changed.json]).toMatchObject([
      200,
      {
        name: 'x',
        enabled: false,
        config: { pattern: 'a' },
        applies_to: { environments: null, types: null, names: null },
        created_at,
      },
    ]);
    const other = await newPolicy(o, 'rotation', ROTATION);
    const page = (await o.get('/policies?limit=1')).json;
    expect([page.data.map((row: { id: string }) => row.id), page.has_more]).toEqual([[id], true]);
    expect((await o.get(`/policies?limit=1&cursor=${page.next_cursor}`)).json).toMatchObject({
      data: [{ id: other.id }],
      has_more: false,
    });
    expect((await o.del(`/policies/${id}`)).status).toBe(204);
    for (const answer of [
      await o.get(`/policies/${id}`),
      await o.patch(`/policies/${id}`, {}),
      await o.del(`/policies/${id}`),
    ])
      expect(codeOf(answer)).toEqual([404, 'NOT_FOUND']);
  });

  it('shows each kind of config as it was given, with its defaults', async () => {
    const o = await newOrg();
    const team_id = await newTeam(o, (await newMember(o, 'admin')).id);
    const approval = { operations: ['secret.read'], required: 1, approvers: { team_id } };
    expect((await newPolicy(o, 'approval', approval)).config).toEqual({
      ...approval,
      allow_break_glass: false,
    });
    const byRole = {
      operations: ['secret.read', 'secret.delete'],
      required: 1,
      approvers: { role: 'owner' },
      allow_break_glass: true,
    };
    expect((await newPolicy(o, 'approval', byRole)).config).toEqual(byRole);
    expect((await newPolicy(o, 'rotation', ROTATION)).config).toEqual({ ...ROTATION, auto_rotate: false });
  });

  it('with a cron expression shows its next five times, in UTC', async () => {
    const o = await newOrg();
    faults.clock = Date.parse('2027-02-27T03:30:00.000Z');
    const { id, next_times } = await newPolicy(o, 'rotation', { cron: '30 3 * * *', auto_rotate: true });
    expect(next_times).toEqual(
      ['02-28', '03-01', '03-02', '03-03', '03-04'].map((day) => `2027-${day}T03:30:00.000Z`),
    );
    faults.clock = Date.parse('2027-03-01T00:00:00.000Z');
    expect((await o.get(`/policies/${id}`)).json.next_times[0]).toBe('2027-03-01T03:30:00.000Z');
    expect((await newPolicy(o, 'rotation', ROTATION)).next_times).toBeUndefined();
  });

  it.each([
    ['no kind', { name: 'x', config: NAMING }],
    ['an unknown kind', { name: 'x', kind: 'other', config: NAMING }],
    ['the config of another kind', { name: 'x', kind: 'naming', config: ROTATION }],
    ['an unknown field', { name: 'x', kind: 'naming', config: { ...NAMING, flags: 'i' } }],
    ['an empty list', { name: 'x', kind: 'naming', config: NAMING, applies_to: { names: [] } }],
    ['an unknown type', { name: 'x', kind: 'naming', config: NAMING, applies_to: { types: ['nothing'] } }],
    ['a bad glob', { name: 'x', kind: 'naming', config: NAMING, applies_to: { names: ['a b'] } }],
    [
      'too many bytes of globs',
      { name: 'x', kind: 'naming', config: NAMING, applies_to: { names: many(20, 250) } },
    ],
    ['no pattern', { name: 'x', kind: 'naming', config: {} }],
    ['a pattern that is no regular expression', { name: 'x', kind: 'naming', config: { pattern: '(' } }],
    ['a back-reference', { name: 'x', kind: 'naming', config: { pattern: '(a)\\1' } }],
    ['look-ahead', { name: 'x', kind: 'naming', config: { pattern: '(?=a)b' } }],
    ['look-behind', { name: 'x', kind: 'naming', config: { pattern: '(?<=a)b' } }],
    ['a pattern of 257 characters', { name: 'x', kind: 'naming', config: { pattern: 'a'.repeat(257) } }],
    [
      'a pattern whose program is too large',
      { name: 'x', kind: 'naming', config: { pattern: '[a-z]{999}' } },
    ],
    [
      'a pattern that repeats groups too often',
      { name: 'x', kind: 'naming', config: { pattern: '(((ab){5}){5}){5}' } },
    ],
    ['neither age nor cron', { name: 'x', kind: 'rotation', config: {} }],
    ['both', { name: 'x', kind: 'rotation', config: { max_age_days: 1, cron: '0 0 * * *' } }],
    ['an age of no days', { name: 'x', kind: 'rotation', config: { max_age_days: 0 } }],
    ['an age of 3,651 days', { name: 'x', kind: 'rotation', config: { max_age_days: 3651 } }],
    ['seconds in a cron expression', { name: 'x', kind: 'rotation', config: { cron: '0 0 0 * * *' } }],
    ['a cron expression of every minute', { name: 'x', kind: 'rotation', config: { cron: '* * * * *' } }],
    [
      'a cron expression that never comes true',
      { name: 'x', kind: 'rotation', config: { cron: '0 0 30 2 *' } },
    ],
    ['a nickname', { name: 'x', kind: 'rotation', config: { cron: '@daily' } }],
    ['a 61st minute', { name: 'x', kind: 'rotation', config: { cron: '61 0 * * *' } }],
    [
      'no operations',
      { name: 'x', kind: 'approval', config: { operations: [], required: 1, approvers: { role: 'owner' } } },
    ],
    [
      'an unknown operation',
      {
        name: 'x',
        kind: 'approval',
        config: { operations: ['x'], required: 1, approvers: { role: 'owner' } },
      },
    ],
    [
      'six approvals',
      {
        name: 'x',
        kind: 'approval',
        config: { operations: ['secret.read'], required: 6, approvers: { role: 'owner' } },
      },
    ],
    [
      'no approver',
      { name: 'x', kind: 'approval', config: { operations: ['secret.read'], required: 1, approvers: {} } },
    ],
    [
      'two kinds of approvers',
      {
        name: 'x',
        kind: 'approval',
        config: { operations: ['secret.read'], required: 1, approvers: { role: 'owner', team_id: 't' } },
      },
    ],
  ])('with %s is refused as 400', async (_what, body) => {
    const o = await newOrg();
    expect(codeOf(await o.post('/policies', body))).toEqual([400, 'VALIDATION_FAILED']);
  });

  it('keeps its kind: neither the field nor the config of another kind is accepted', async () => {
    const o = await newOrg();
    const { id } = await newPolicy(o, 'naming', NAMING);
    for (const body of [
      { kind: 'rotation' },
      { config: ROTATION },
      { config: { pattern: '(' } },
      { config: {} },
    ])
      expect(codeOf(await o.patch(`/policies/${id}`, body))).toEqual([400, 'VALIDATION_FAILED']);
    expect((await o.get(`/policies/${id}`)).json).toMatchObject({ kind: 'naming', config: NAMING });
    const bad = await o.patch(`/policies/${id}`, { config: { pattern: '(' } });
    expect(bad.json.error.details).toEqual([
      { path: 'config', message: expect.stringMatching(/^pattern must be .* RE2/) },
    ]);
  });

  slow('refuses an environment or a team that does not exist as 404', async () => {
    const o = await newOrg();
    const elsewhere = await newOrg();
    const team_id = await newTeam(elsewhere);
    const approval = { operations: ['secret.read'], required: 1, approvers: { team_id } };
    const { id } = await newPolicy(o, 'naming', NAMING);
    for (const answer of [
      await o.post('/policies', {
        name: 'x',
        kind: 'naming',
        config: NAMING,
        applies_to: { environments: ['moon'] },
      }),
      await o.post('/policies', { name: 'x', kind: 'approval', config: approval }),
      await o.patch(`/policies/${id}`, { applies_to: { environments: ['production', 'moon'] } }),
      await o.get('/policies/pol_0'),
      await o.get('/policies/pol_0/violations'),
      await elsewhere.get(`/policies/${id}`),
    ])
      expect(codeOf(answer)).toEqual([404, 'NOT_FOUND']);
  });

  slow('is one of at most 100 of an organisation', async () => {
    const o = await newOrg();
    const all = await Promise.all(
      Array.from({ length: 99 }, () => o.post('/policies', { name: 'x', kind: 'naming', config: NAMING })),
    );
    expect(all.filter(({ status }) => status === 201)).toHaveLength(99);
    const raced = await Promise.all(
      [1, 2].map(() => o.post('/policies', { name: 'x', kind: 'naming', config: NAMING })),
    );
    expect(raced.map(({ status }) => status).sort()).toEqual([201, 409]);
    expect(raced.find(({ status }) => status === 409)?.json.error.code).toBe('LIMIT_REACHED');
  });
});

/** So many patterns, each so long. */
function many(count: number, length: number) {
  return Array.from({ length: count }, (_, n) => `${n}`.padEnd(length, 'x'));
}

describe('permission: policies', () => {
  slow('need policies:read to be read and policies:write to be changed', async () => {
    const o = await newOrg();
    const { id } = await newPolicy(o, 'naming', NAMING);
    const reader = await newKey(o, { scopes: ['policies:read'] });
    const other = await newKey(o, { scopes: ['secrets:*', 'org:*'] });
    expect((await reader.o.get(`/policies/${id}`)).status).toBe(200);
    const changes = (key: typeof o | typeof reader.o) => [
      key.post('/policies', { name: 'x', kind: 'naming', config: NAMING }),
      key.patch(`/policies/${id}`, { enabled: false }),
      key.del(`/policies/${id}`),
    ];
    for (const answer of await Promise.all([
      ...changes(reader.o),
      ...changes(other.o),
      other.o.get('/policies'),
    ]))
      expect(codeOf(answer)).toEqual([403, 'INSUFFICIENT_SCOPE']);
  });

  it('a credential limited to environments or names cannot change policies of the whole organisation', async () => {
    const o = await newOrg();
    const { id } = await newPolicy(o, 'naming', NAMING);
    const limited = [
      await newKey(o, { scopes: ['policies:*'], environments: ['staging'] }),
      await newAgent(o, { scopes: ['policies:*'], secrets: ['app/*'] }),
    ];
    for (const { o: as } of limited)
      for (const answer of [
        await as.post('/policies', {
          name: 'x',
          kind: 'naming',
          config: NAMING,
          applies_to: { environments: ['staging'] },
        }),
        await as.patch(`/policies/${id}`, { enabled: false }),
        await as.del(`/policies/${id}`),
      ])
        expect(codeOf(answer)).toEqual([403, 'INSUFFICIENT_SCOPE']);
    expect((await limited[0]?.o.get('/policies'))?.json.data).toHaveLength(1);
  });
});
