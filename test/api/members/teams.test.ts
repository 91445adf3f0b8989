// Teams: who may put whom into one, and what goes with it.
import { describe, expect, it } from 'vitest';
import { problemOf } from '../../model/invariants';
import { newKey, newSession } from '../../support/credentials';
import { faults } from '../../support/faults';
import { asMember, newGrant, newMember, newTeam } from '../../support/people';
import { slow } from '../../support/slow';
import { codeOf, db, newOrg, newSecret, useWorld } from '../../support/world';

useWorld();

const EXCEEDS = [403, 'SCOPE_EXCEEDS_PARENT'];

describe('team', () => {
  it('is created, shown, renamed, listed and deleted', async () => {
    const o = await newOrg();
    const made = await o.post('/teams', { name: 'Payments' });
    expect([made.status, made.json]).toEqual([
      201,
      { id: made.json.id, revision: 1, name: 'Payments', created_at: made.json.created_at },
    ]);
    const { id } = made.json;
    expect((await o.get(`/teams/${id}`)).json).toEqual(made.json);
    expect((await o.patch(`/teams/${id}`, { name: 'Billing' })).json.name).toBe('Billing');
    expect((await o.get('/teams')).json).toEqual({
      data: [{ ...made.json, revision: 2, name: 'Billing' }],
      next_cursor: null,
      has_more: false,
    });
    expect((await o.del(`/teams/${id}`)).status).toBe(204);
    for (const answer of [
      await o.get(`/teams/${id}`),
      await o.patch(`/teams/${id}`, { name: 'x' }),
      await o.del(`/teams/${id}`),
    ])
      expect(codeOf(answer)).toEqual([404, 'NOT_FOUND']);
    expect((await o.get('/teams')).json.data).toEqual([]);
  });

  slow('has each member once', async () => {
    const o = await newOrg();
    const a = await newMember(o);
    const b = await newMember(o);
    const team = await newTeam(o);
    const other = await newTeam(o, b.id);
    const add = () => o.post(`/teams/${team}/members`, { member_id: a.id });
    const first = await add();
    const again = await add();
    expect([first.status, again.status, again.text]).toEqual([201, 201, first.text]);
    expect(first.json).toMatchObject({ team_id: team, member_id: a.id, added_by: o.keyId });
    const raced = await Promise.all(
      [1, 2, 3].map(() => o.post(`/teams/${team}/members`, { member_id: b.id })),
    );
    expect(raced.map(({ status }) => status)).toEqual([201, 201, 201]);
    const list = async (query = '') => (await o.get(`/teams/${team}/members${query}`)).json;
    expect((await list()).data.map((row: { member_id: string }) => row.member_id)).toEqual([a.id, b.id]);
    const page = await list('?limit=1');
    expect([page.data.length, page.has_more]).toEqual([1, true]);
    expect((await list(`?limit=1&cursor=${page.next_cursor}`)).data[0].member_id).toBe(b.id);
    expect(codeOf(await o.get(`/teams/${other}/members?cursor=${page.next_cursor}`))).toEqual([
      400,
      'INVALID_CURSOR',
    ]);
    expect((await o.del(`/teams/${team}/members/${a.id}`)).status).toBe(204);
    expect(codeOf(await o.del(`/teams/${team}/members/${a.id}`))).toEqual([404, 'NOT_FOUND']);
    expect((await list()).data).toHaveLength(1);
    expect((await o.get(`/teams/${other}/members`)).json.data).toHaveLength(1);
  });

  slow('is 404 for another id, and refuses a member who does not exist', async () => {
    const o = await newOrg();
    const { id } = await newMember(o);
    const team = await newTeam(o);
    const elsewhere = await newOrg();
    const stranger = await newMember(elsewhere);
    for (const answer of [
      await o.get('/teams/team_0/members'),
      await o.post('/teams/team_0/members', { member_id: id }),
      await o.del(`/teams/team_0/members/${id}`),
      await o.post(`/teams/${team}/members`, { member_id: stranger.id }),
      await o.post(`/teams/${team}/members`, { member_id: team }),
      await o.del(`/teams/${team}/members/${id}`),
    ])
      expect(codeOf(answer)).toEqual([404, 'NOT_FOUND']);
    expect(codeOf(await o.post(`/teams/${team}/members`, {}))).toEqual([400, 'VALIDATION_FAILED']);
  });

  it('gives its grants to its members, until they leave or it is deleted', async () => {
    const o = await newOrg();
    const { id: secret } = await newSecret(o);
    const a = await newMember(o, 'viewer');
    const b = await newMember(o, 'viewer');
    const team = await newTeam(o, a.id, b.id);
    const input = { version: null, if_none_match: null };
    const read = async (member: string) =>
      (await asMember(o, member, 'secret.read', { named: { secret }, input })).status;
    expect([await read(a.id), await read(b.id)]).toEqual([403, 403]);
    const granted = async () => (await asMember(o, a.id, 'caller.read')).data.granted_scopes;
    expect(await granted()).toEqual([]);
    await newGrant(o, 'team', team);
    expect([await read(a.id), await read(b.id)]).toEqual([200, 200]);
    expect(await granted()).toContain('secrets:read');
    await o.del(`/teams/${team}/members/${a.id}`);
    expect([await read(a.id), await read(b.id)]).toEqual([403, 200]);
    await o.del(`/members/${b.id}`);
    expect(await read(b.id)).toBe(401);
    await o.post(`/teams/${team}/members`, { member_id: a.id });
    expect(await read(a.id)).toBe(200);
    await o.del(`/teams/${team}`);
    expect(await read(a.id)).toBe(403);
    expect((await o.get('/grants')).json.data).toEqual([]);
    for (const table of ['teams', 'team_members', 'grants'])
      expect(
        (await db.prepare(`select id from ${table} where org_id = ?`).bind(o.id).all()).results,
        table,
      ).toEqual([]);
    expect(await problemOf(o)).toBe(null);
  });
});

describe('permission: members of a team with grants', () => {
  it('are added only by callers who hold everything it gives, everywhere and for as long', async () => {
    const o = await newOrg();
    const { id } = await newMember(o, 'viewer');
    const soon = new Date(Date.now() + 3_600_000).toISOString();
    const later = new Date(Date.now() + 7_200_000).toISOString();
    const key = async (fields: object) =>
      (await newKey(o, { scopes: ['teams:write', 'secrets:*'], ...fields })).o;
    const team = async (...grants: Record<string, unknown>[]) => {
      const made = await newTeam(o);
      for (const fields of grants) await newGrant(o, 'team', made, fields);
      return made;
    };
    const cases: [string, Awaited<ReturnType<typeof key>>, string, boolean][] = [
      ['teams:write alone, no grants', await key({ scopes: ['teams:write'] }), await team(), true],
      ['teams:write alone', await key({ scopes: ['teams:write'] }), await team({}), false],
      [
        'reads, to a team that reads',
        await key({ scopes: ['teams:write', 'secrets:list', 'secrets:read'] }),
        await team({}),
        true,
      ],
      [
        'reads, to a team that writes',
        await key({ scopes: ['teams:write', 'secrets:list', 'secrets:read'] }),
        await team({ permission: 'write' }),
        false,
      ],
      [
        'the second grant is more',
        await key({ environments: ['staging'] }),
        await team({ environments: ['staging'] }, { environments: ['production'] }),
        false,
      ],
      [
        'its own environment',
        await key({ environments: ['staging'] }),
        await team({ environments: ['staging'] }),
        true,
      ],
      ['all environments', await key({ environments: ['staging'] }), await team({}), false],
      ['its own names', await key({ secrets: ['app/*'] }), await team({ secrets: ['app/x'] }), true],
      ['other names', await key({ secrets: ['app/*'] }), await team({ secrets: ['app/*', 'db'] }), false],
      ['until its end', await key({ expires_at: later }), await team({ expires_at: soon }), true],
      ['beyond its end', await key({ expires_at: soon }), await team({ expires_at: later }), false],
      ['without an end', await key({ expires_at: later }), await team({}), false],
      ['from some addresses', await key({ allowed_addresses: ['203.0.113.0/24'] }), await team({}), false],
    ];
    for (const [what, by, to, may] of cases) {
      const answer = await by.post(`/teams/${to}/members`, { member_id: id });
      expect(codeOf(answer), what).toEqual(may ? [201, undefined] : EXCEEDS);
      expect((await o.get(`/teams/${to}/members`)).json.data, what).toHaveLength(may ? 1 : 0);
    }
  });

  it('are not added by a caller with a parent, regardless of its permissions', async () => {
    const o = await newOrg();
    const { id } = await newMember(o, 'viewer');
    const brief = new Date(Date.now() + 60_000).toISOString();
    const bare = await newTeam(o);
    const granted = await newTeam(o);
    const { id: grant } = await newGrant(o, 'team', granted, { expires_at: brief });
    const agent = o.as((await o.post('/agent-credentials', { name: 'a', scopes: ['*'] })).json.token);
    for (const by of [(await newSession(o)).o, agent]) {
      expect(codeOf(await by.post(`/teams/${granted}/members`, { member_id: id }))).toEqual(EXCEEDS);
      expect((await by.post(`/teams/${bare}/members`, { member_id: id })).status).toBe(201);
    }
    await o.del(`/grants/${grant}`);
    expect((await agent.post(`/teams/${granted}/members`, { member_id: id })).status).toBe(201);
  });

  slow('are not added while the team gets a grant', async () => {
    const o = await newOrg();
    const { o: weak } = await newKey(o, { scopes: ['teams:write'] });
    for (let i = 0; i < 6; i++) {
      const { id } = await newMember(o, 'viewer');
      const team = await newTeam(o);
      faults.delay = 15;
      const [added, granted] = await Promise.all([
        weak.post(`/teams/${team}/members`, { member_id: id }),
        o.post('/grants', { grantee: { type: 'team', id: team }, permission: 'read' }),
      ]);
      faults.delay = 0;
      expect(granted.status).toBe(201);
      // Added before the grant, then the grant was given to a team with that member in it; or refused.
      expect([201, 403]).toContain(added.status);
      if (added.status === 201)
        expect(Date.parse(added.json.created_at)).toBeLessThanOrEqual(Date.parse(granted.json.created_at));
    }
  });
});

describe('limits: teams', () => {
  slow('a member is in up to 20: one more is 409, and leaving one makes room', async () => {
    const o = await newOrg();
    const { id: member_id } = await newMember(o);
    const teams: string[] = [];
    for (let n = 0; n < 21; n++) teams.push(await newTeam(o));
    const add = async (team: string) => {
      const { status, json } = await o.post(`/teams/${team}/members`, { member_id });
      return status === 201 ? 201 : json.error.code;
    };
    for (const team of teams.slice(0, 20)) expect(await add(team)).toBe(201);
    expect(await add(teams[20] as string)).toBe('LIMIT_REACHED');
    // Who is in it already is in it still.
    expect(await add(teams[0] as string)).toBe(201);
    expect((await o.del(`/teams/${teams[0]}/members/${member_id}`)).status).toBe(204);
    expect(await add(teams[20] as string)).toBe(201);
  });
});
