// Grants: what they give and for how long, and that nobody gives more than they hold.
import { describe, expect, it } from 'vitest';
import { problemOf } from '../../model/invariants';
import { newKey, newSession } from '../../support/credentials';
import { faults } from '../../support/faults';
import { inGate } from '../../support/gate';
import { asMember, newGrant, newMember, newTeam, ownerId } from '../../support/people';
import { slow } from '../../support/slow';
import { type Caller, codeOf, newOrg, newSecret, useWorld } from '../../support/world';

useWorld();

const EXCEEDS = [403, 'SCOPE_EXCEEDS_PARENT'];
const to = (id: string, type = 'member') => ({ grantee: { type, id }, permission: 'read' });
const inAnHour = () => new Date(Date.now() + 3_600_000).toISOString();
const readerOf = (o: Caller, secret: string) => async (member: string) =>
  (
    await asMember(o, member, 'secret.read', {
      named: { secret },
      input: { version: null, if_none_match: null },
    })
  ).status;

describe('grant', () => {
  slow(
    'allows reading, or writing and rotating, and never deleting, for its environments and names',
    async () => {
      const o = await newOrg();
      const { id } = await newMember(o, 'viewer');
      const there = await newSecret(o, { name: 'app/a', environment: 'staging' });
      const others = [
        await newSecret(o, { name: 'app/a' }),
        await newSecret(o, { name: 'db', environment: 'staging' }),
      ];
      const may = async (
        action: 'secret.read' | 'secret.update' | 'secret.rotate' | 'secret.delete',
        secret: string,
      ) => {
        const finding = { code: 'VALIDATION_FAILED' } as const;
        return (await asMember(o, id, action, { named: { secret }, finding })).status !== 403;
      };
      const all = async (secret: string) => [
        await may('secret.read', secret),
        await may('secret.update', secret),
        await may('secret.rotate', secret),
        await may('secret.delete', secret),
      ];
      expect(await all(there.id)).toEqual([false, false, false, false]);
      const read = await newGrant(o, 'member', id, { environments: ['staging'], secrets: ['app/*'] });
      expect(read).toMatchObject({
        permission: 'read',
        environments: ['staging'],
        secrets: ['app/*'],
        expires_at: null,
        created_by: o.keyId,
      });
      expect(await all(there.id)).toEqual([true, false, false, false]);
      for (const { id } of others) expect(await all(id)).toEqual([false, false, false, false]);
      const write = await newGrant(o, 'member', id, {
        environments: ['staging'],
        secrets: ['app/*'],
        permission: 'write',
      });
      expect(await all(there.id)).toEqual([true, true, true, false]);
      expect((await o.get(`/grants/${write.id}`)).json).toEqual(write);
      expect((await o.get('/grants')).json.data).toEqual([read, write]);
      for (const { id } of [read, write]) expect((await o.del(`/grants/${id}`)).status).toBe(204);
      expect(await all(there.id)).toEqual([false, false, false, false]);
      expect(codeOf(await o.del(`/grants/${read.id}`))).toEqual([404, 'NOT_FOUND']);
      expect(codeOf(await o.get(`/grants/${read.id}`))).toEqual([404, 'NOT_FOUND']);
      expect(await problemOf(o)).toBe(null);
    },
  );

  slow('expires, in effect and in lists', async () => {
    const o = await newOrg();
    const { id: secret } = await newSecret(o);
    const { id } = await newMember(o, 'viewer');
    const team = await newTeam(o, id);
    const reads = readerOf(o, secret);
    for (const [type, grantee] of [
      ['member', id],
      ['team', team],
    ] as const) {
      const grant = await newGrant(o, type, grantee, { expires_at: inAnHour() });
      expect(await reads(id)).toBe(200);
      faults.clock = Date.now() + 3_600_001;
      expect(await reads(id)).toBe(403);
      expect((await o.get('/grants')).json.data).toEqual([]);
      expect(codeOf(await o.get(`/grants/${grant.id}`))).toEqual([404, 'NOT_FOUND']);
      faults.clock = null;
      await o.del(`/grants/${grant.id}`);
    }
  });

  it('is listed by grantee, in pages', async () => {
    const o = await newOrg();
    const { id } = await newMember(o);
    const team = await newTeam(o);
    const mine = [
      await newGrant(o, 'member', id),
      await newGrant(o, 'member', id, { secrets: ['a'] }),
      await newGrant(o, 'member', id, { secrets: ['b'] }),
    ];
    const theirs = await newGrant(o, 'team', team);
    const list = async (query: string) => (await o.get(`/grants?${query}`)).json;
    expect((await list(`grantee=${team}`)).data).toEqual([theirs]);
    const first = await list(`grantee=${id}&limit=2`);
    expect([first.data, first.has_more]).toEqual([mine.slice(0, 2), true]);
    expect((await list(`grantee=${id}&limit=2&cursor=${first.next_cursor}`)).data).toEqual(mine.slice(2));
    expect((await list('grantee=mem_0')).data).toEqual([]);
  });

  slow('validation: requires an existing grantee, an existing environment and a permission', async () => {
    const o = await newOrg();
    const { id } = await newMember(o);
    const stranger = await newMember(await newOrg());
    const team = await newTeam(o);
    for (const grantee of ['mem_0', stranger.id, team, o.keyId])
      expect(codeOf(await o.post('/grants', to(grantee)))).toEqual([404, 'NOT_FOUND']);
    expect(codeOf(await o.post('/grants', to(id, 'team')))).toEqual([404, 'NOT_FOUND']);
    expect(codeOf(await o.post('/grants', { ...to(id), environments: ['nowhere'] }))).toEqual([
      404,
      'NOT_FOUND',
    ]);
    for (const wrong of [
      { permission: 'delete' },
      { environments: [] },
      { secrets: [] },
      { secrets: ['é'] },
      { expires_at: '2020-01-01T00:00:00Z' },
      { grantee: { type: 'agent', id } },
    ])
      expect(codeOf(await o.post('/grants', { ...to(id), ...wrong }))).toEqual([400, 'VALIDATION_FAILED']);
    expect((await o.get('/grants')).json.data).toEqual([]);
  });

  it('limit: a hundred for one grantee', async () => {
    const o = await newOrg();
    const team = await newTeam(o);
    const first = await newGrant(o, 'team', team);
    await inGate(o, ({ core }) => {
      const row = core.rows.get('grant', first.id);
      for (let i = 0; row && i < 99; i++) core.rows.put('grant', { ...row, id: `grt_${i}` });
    });
    expect(codeOf(await o.post('/grants', to(team, 'team')))).toEqual([409, 'LIMIT_REACHED']);
  });
});

describe('permission: no one can grant more than they hold', () => {
  it('in scopes, environments, names, addresses or time', async () => {
    const o = await newOrg();
    const { id } = await newMember(o, 'viewer');
    const key = async (fields: object) =>
      (await newKey(o, { scopes: ['members:write', 'secrets:list', 'secrets:read'], ...fields })).o;
    const soon = inAnHour();
    const later = new Date(Date.parse(soon) + 1000).toISOString();
    const cases: [Caller, object, boolean][] = [
      [await key({ scopes: ['members:write'] }), {}, false],
      [await key({ scopes: ['members:write', 'secrets:read'] }), {}, false],
      [await key({}), {}, true],
      [await key({}), { permission: 'write' }, false],
      [await key({ scopes: ['members:write', 'secrets:*'] }), { permission: 'write' }, true],
      [await key({ environments: ['staging'] }), { environments: ['production'] }, false],
      [await key({ environments: ['staging'] }), { environments: ['staging', 'production'] }, false],
      [await key({ secrets: ['app/*'] }), { secrets: ['*'] }, false],
      [await key({ secrets: ['app/*'] }), { secrets: ['app/x', 'db'] }, false],
      [await key({ allowed_addresses: ['203.0.113.0/24'] }), {}, false],
      [await key({ expires_at: soon }), { expires_at: later }, false],
      [await key({ expires_at: soon }), { expires_at: soon }, true],
    ];
    for (const [at, [by, fields, may]] of cases.entries())
      expect(codeOf(await by.post('/grants', { ...to(id), ...fields })), `case ${at}`).toEqual(
        may ? [201, undefined] : EXCEEDS,
      );
    expect((await o.get('/grants')).json.data).toHaveLength(3);
  });

  slow('an omitted limit becomes that of the caller', async () => {
    const o = await newOrg();
    const { id } = await newMember(o, 'viewer');
    const expires_at = inAnHour();
    const by = await newKey(o, { environments: ['staging'], secrets: ['app/*'], expires_at });
    expect((await by.o.post('/grants', to(id))).json).toMatchObject({
      environments: ['staging'],
      secrets: ['app/*'],
      expires_at,
      parent_id: null,
    });
  });

  slow('a member counts with role and grants', async () => {
    const o = await newOrg();
    const admin = await newMember(o, 'admin');
    const auditor = await newMember(o, 'auditor');
    const input = (id: string) => ({
      id,
      grantee: { type: 'member', id: auditor.id },
      permission: 'read',
      environments: null,
      secrets: null,
      expires_at: null,
    });
    expect((await asMember(o, auditor.id, 'grant.create', { input: input('grt_1') })).code).toBe(
      'INSUFFICIENT_SCOPE',
    );
    expect((await asMember(o, admin.id, 'grant.create', { input: input('grt_2') })).data).toMatchObject({
      created_by: admin.id,
      expires_at: null,
    });
    expect((await asMember(o, await ownerId(o), 'grant.create', { input: input('grt_3') })).status).toBe(201);
  });
});

describe('grant: made by a session token or an agent', () => {
  it('is revoked together with it, and never later', async () => {
    const o = await newOrg();
    const { id: secret } = await newSecret(o);
    const reads = readerOf(o, secret);
    const { id } = await newMember(o, 'viewer');
    const session = await newSession(o);
    expect(codeOf(await session.o.post('/grants', { ...to(id), expires_at: inAnHour() }))).toEqual(EXCEEDS);
    const grant = (await session.o.post('/grants', to(id))).json;
    expect([grant.expires_at, grant.parent_id]).toEqual([session.expiresAt, session.id]);
    expect(await reads(id)).toBe(200);
    await o.del(`/access-tokens/${session.id}`);
    expect(await reads(id)).toBe(403);
    expect((await o.get('/grants')).json.data).toEqual([]);

    const key = await newKey(o);
    const agent = (await key.o.post('/agent-credentials', { name: 'a', scopes: ['*'] })).json;
    expect((await o.as(agent.token).post('/grants', to(id))).json).toMatchObject({
      expires_at: agent.expires_at,
      parent_id: agent.id,
    });
    expect(await reads(id)).toBe(200);
    await o.del(`/agent-credentials/${agent.id}`);
    expect(await reads(id)).toBe(403);
  });

  slow('is revoked together with its ancestors', async () => {
    const o = await newOrg();
    const { id: secret } = await newSecret(o);
    const { id } = await newMember(o, 'viewer');
    const team = await newTeam(o, id);
    const key = await newKey(o);
    await (await newSession(key.o)).o.post('/grants', to(team, 'team'));
    expect(await readerOf(o, secret)(id)).toBe(200);
    await o.del(`/api-keys/${key.id}`);
    expect(await readerOf(o, secret)(id)).toBe(403);
  });

  slow('stays when an API key made it', async () => {
    const o = await newOrg();
    const { id: secret } = await newSecret(o);
    const { id } = await newMember(o, 'viewer');
    const key = await newKey(o);
    await newGrant(key.o, 'member', id);
    await o.del(`/api-keys/${key.id}`);
    expect(await readerOf(o, secret)(id)).toBe(200);
  });
});
