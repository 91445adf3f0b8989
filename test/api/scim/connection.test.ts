// SCIM tokens of a connection: the connection's people, roles and mapped teams; the token ends with it, and
// policies hold it as they hold the connection.
import { afterEach, describe, expect, it, vi } from 'vitest';
import type { MemberRow, PolicyRow } from '../../../src/db/schema';
import { inCore } from '../../support/gate';
import { newMember, newTeam } from '../../support/people';
import { ERROR, newIdp, newUser, person } from '../../support/signin/scim';
import {
  changeConnection,
  claimsOf,
  connected,
  deleteConnection,
  newConnection,
  newSsoBrowser,
} from '../../support/signin/sso-signin';
import { type Caller, codeOf, useWorld } from '../../support/world';

useWorld();
afterEach(() => vi.unstubAllGlobals());

const memberIn = async (o: Caller, id: string) => (await o.get(`/members/${id}`)).json;
const rowOf = (o: Caller, id: string) => inCore(o, ({ rows }) => rows.get('member', id) as MemberRow);
const idsIn = async (o: Caller, team: string) =>
  (await o.get(`/teams/${team}/members`)).json.data.map((one: { member_id: string }) => one.member_id);
const add = (...ids: string[]) => ({ op: 'add', path: 'members', value: ids.map((value) => ({ value })) });
const remove = (id: string) => ({ op: 'remove', path: `members[value eq "${id}"]` });

describe('SCIM: a token of a connection', () => {
  it('SCIM: names its connection, which has to exist', async () => {
    const { o, connection } = await connected();
    const made = await o.post('/scim-tokens', { name: 'idp', connection_id: connection });
    expect([made.status, made.json.connection_id]).toEqual([201, connection]);
    expect((await o.get('/scim-tokens')).json.data[0].connection_id).toBe(connection);
    const other = await connected();
    for (const id of [other.connection, 'sso_x'])
      expect(codeOf(await o.post('/scim-tokens', { name: 'idp', connection_id: id }))).toEqual([
        400,
        'VALIDATION_FAILED',
      ]);
  });

  it('SCIM: gives new users the default role of the connection, and ties them to it', async () => {
    const { o, connection } = await connected({ default_role: 'developer' });
    const idp = await newIdp(o, { connection_id: connection });
    const { id } = await newUser(idp, { roles: [{ value: 'owner' }] });
    expect((await memberIn(o, id)).role).toBe('developer');
    const { provisioned, connections } = await rowOf(o, id);
    expect(provisioned).toMatchObject({ made: true, connection, role: true, scim: { connection } });
    expect(connections?.map(([by]) => by)).toEqual(expect.arrayContaining([idp.id, connection]));
    // Without a connection: viewer, as before.
    expect((await memberIn(o, (await newUser(await newIdp(o))).id)).role).toBe('viewer');
  });

  it('SCIM: never gives owner, whatever the row of the connection says', async () => {
    const { o, connection } = await connected({
      default_role: 'owner' as never,
      role_mappings: [{ group: 'g', role: 'owner' }],
    });
    const idp = await newIdp(o, { connection_id: connection });
    const { id } = await newUser(idp);
    await idp.post('/Groups', { displayName: 'g', members: [{ value: id }] });
    expect((await memberIn(o, id)).role).toBe('viewer');
  });

  it("SCIM: sees its connection's people and those of none, not another connection's", async () => {
    const { o, connection, provider } = await connected();
    const second = await newConnection(o, provider);
    const a = await newIdp(o, { connection_id: connection });
    const b = await newIdp(o, { connection_id: second });
    const none = await newIdp(o);
    const ofA = await newUser(a);
    const ofB = await newUser(b);
    const ofNone = await newUser(none);
    const sees = async (idp: typeof a) => {
      const { Resources } = (await idp.get('/Users?count=200')).json;
      return [ofA, ofB, ofNone].map(({ id }) => Resources.some((one: { id: string }) => one.id === id));
    };
    expect(await sees(a)).toEqual([true, false, true]);
    expect(await sees(b)).toEqual([false, true, true]);
    expect(await sees(none)).toEqual([false, false, true]);
    for (const answer of [
      await a.get(`/Users/${ofB.id}`),
      await a.patch(`/Users/${ofB.id}`, { op: 'replace', value: { active: false } }),
      await a.del(`/Users/${ofB.id}`),
      await none.del(`/Users/${ofB.id}`),
    ])
      expect([answer.status, answer.json.schemas]).toEqual([404, [ERROR]]);
  });

  it('SCIM: a group that the connection maps gives a role, and takes it back', async () => {
    const { o, connection } = await connected({
      role_mappings: [
        { group: 'admins', role: 'admin' },
        { group: 'devs', role: 'developer' },
      ],
    });
    const idp = await newIdp(o, { connection_id: connection });
    const { id } = await newUser(idp);
    const role = async () => (await memberIn(o, id)).role;
    const admins = (await idp.post('/Groups', { displayName: 'admins', members: [{ value: id }] })).json;
    expect(await role()).toBe('admin');
    const devs = (await idp.post('/Groups', { displayName: 'devs' })).json;
    await idp.patch(`/Groups/${devs.id}`, add(id));
    expect(await role()).toBe('admin');
    await idp.patch(`/Groups/${admins.id}`, remove(id));
    expect(await role()).toBe('developer');
    // Names compare exactly, and a group under another name is another one.
    await idp.patch(`/Groups/${devs.id}`, { op: 'replace', path: 'displayName', value: 'Devs' });
    expect(await role()).toBe('viewer');
    await idp.patch(`/Groups/${devs.id}`, { op: 'replace', path: 'displayName', value: 'devs' });
    expect(await role()).toBe('developer');
    expect((await idp.del(`/Groups/${devs.id}`)).status).toBe(204);
    expect(await role()).toBe('viewer');
  });

  it('SCIM: changes no role that a person gave, of no owner, and not by a token of another connection', async () => {
    const { o, connection, provider } = await connected({ role_mappings: [{ group: 'g', role: 'admin' }] });
    const idp = await newIdp(o, { connection_id: connection });
    const bare = await newIdp(o);
    const second = await newIdp(o, { connection_id: await newConnection(o, provider) });
    const byHand = await newMember(o, 'developer');
    const { id: given } = await newUser(idp);
    await o.patch(`/members/${given}`, { role: 'developer' });
    const owner = await newMember(o, 'owner');
    const { id: ofNone } = await newUser(bare);
    const ids = [byHand.id, given, owner.id, ofNone];
    const before = await Promise.all(ids.map(async (id) => (await memberIn(o, id)).role));
    const made = await idp.post('/Groups', { displayName: 'g', members: ids.map((value) => ({ value })) });
    expect(made.status, made.text).toBe(201);
    for (const one of [bare, second]) await one.post('/Groups', { displayName: 'g2', members: [] });
    await bare.post('/Groups', { displayName: 'h', members: [{ value: ofNone }] });
    expect(await Promise.all(ids.map(async (id) => (await memberIn(o, id)).role))).toEqual(before);
  });

  it('SCIM: fills the team that the connection maps, under the name of the group, and changes nothing else of it', async () => {
    const { o, connection } = await connected();
    const team = await newTeam(o);
    const other = await newTeam(o);
    await changeConnection(o, connection, {
      team_mappings: [
        { group: 'Ops', team_id: team },
        { group: 'also', team_id: team },
      ],
    });
    const idp = await newIdp(o, { connection_id: connection });
    const { id } = await newUser(idp);
    const byHand = await newMember(o, 'developer');
    await o.post(`/teams/${team}/members`, { member_id: byHand.id });
    const found = await idp.get(`/Groups?filter=${encodeURIComponent('displayName eq "ops"')}`);
    expect(found.json.Resources).toMatchObject([{ id: team, displayName: 'Ops', members: [] }]);
    expect((await idp.patch(`/Groups/${team}`, add(id))).json.members).toMatchObject([{ value: id }]);
    expect((await idp.get(`/Groups/${team}`)).json.members).toMatchObject([{ value: id }]);
    expect((await idp.put(`/Groups/${team}`, { displayName: 'Ops', members: [] })).status).toBe(200);
    expect(await idsIn(o, team)).toEqual([byHand.id]);
    for (const answer of [
      await idp.patch(`/Groups/${team}`, { op: 'replace', path: 'displayName', value: 'mine' }),
      await idp.del(`/Groups/${team}`),
      await idp.post('/Groups', { displayName: 'ops' }),
      await idp.patch(`/Groups/${other}`, add(id)),
      await (await newIdp(o)).patch(`/Groups/${team}`, add(id)),
    ])
      expect([answer.status, answer.json.schemas]).toEqual([409, [ERROR]]);
    expect(await idsIn(o, team)).toEqual([byHand.id]);
  });

  it('SCIM: in a mapped team the union of SCIM and the claim counts', async () => {
    const { o, connection, provider, at } = await connected({ jit: 1 });
    const team = await newTeam(o);
    await changeConnection(o, connection, { team_mappings: [{ group: 'ops', team_id: team }] });
    const idp = await newIdp(o, { connection_id: connection });
    const claims = claimsOf(at('bea'), { groups: ['ops'] });
    const signIn = async (groups: string[]) => {
      const browser = newSsoBrowser();
      await browser.signIn(provider, { ...claims, groups });
      return (await browser.session()).member.id;
    };
    const bea = await signIn(['ops']);
    await idp.patch(`/Groups/${team}`, add(bea));
    await signIn([]);
    expect(await idsIn(o, team)).toEqual([bea]);
    await signIn(['ops']);
    await idp.patch(`/Groups/${team}`, remove(bea));
    expect(await idsIn(o, team)).toEqual([bea]);
    await signIn([]);
    expect(await idsIn(o, team)).toEqual([]);
  });

  it('SCIM: its groups decide the role at a sign-in too; the claim does where they give none', async () => {
    const { o, connection, provider, at } = await connected({
      jit: 1,
      role_mappings: [
        { group: 'admins', role: 'admin' },
        { group: 'devs', role: 'developer' },
      ],
    });
    const idp = await newIdp(o, { connection_id: connection });
    const claims = claimsOf(at('bea'), { groups: ['admins'] });
    const signIn = async () => {
      const browser = newSsoBrowser();
      await browser.signIn(provider, claims);
      return (await browser.session()).member;
    };
    const bea = await signIn();
    expect(bea.role).toBe('admin');
    const plain = (await idp.post('/Groups', { displayName: 'plain', members: [{ value: bea.id }] })).json;
    expect((await signIn()).role).toBe('admin');
    const devs = (await idp.post('/Groups', { displayName: 'devs', members: [{ value: bea.id }] })).json;
    expect((await memberIn(o, bea.id)).role).toBe('developer');
    expect((await signIn()).role).toBe('developer');
    await idp.patch(`/Groups/${devs.id}`, remove(bea.id));
    expect((await memberIn(o, bea.id)).role).toBe('viewer');
    expect((await signIn()).role).toBe('admin');
    expect(plain.id).toMatch(/^team_/);
  });

  it('SCIM: whom it gives a role or a place decides nothing for a week, nor do they count as strangers to its makers', async () => {
    const { o, owner, connection } = await connected({ role_mappings: [{ group: 'admins', role: 'admin' }] });
    const idp = await newIdp(owner.o, { connection_id: connection });
    const { id } = await newUser(idp);
    await inCore(o, ({ rows }) =>
      rows.put('member', { ...(rows.get('member', id) as MemberRow), connections: [] }),
    );
    await idp.post('/Groups', { displayName: 'admins', members: [{ value: id }] });
    const makers = (await rowOf(o, id)).connections?.map(([by]) => by) ?? [];
    expect(makers).toEqual(expect.arrayContaining([idp.id, connection]));
    const changed = await inCore(o, ({ rows }) => rows.get('sso_connection', connection)?.changed_by);
    const [maker] = changed?.map(([by]) => by) ?? [];
    expect(maker).toMatch(/^mem_/);
    expect(makers).toContain(maker);
  });

  it('SCIM: a policy holds a token of a connection as it holds the connection', async () => {
    const { o, connection } = await connected({ role_mappings: [{ group: 'admins', role: 'admin' }] });
    await newMember(o, 'admin');
    await newMember(o, 'admin');
    const policy = await o.post('/policies', {
      name: 'reads',
      kind: 'approval',
      config: { operations: ['secret.read'], required: 1, approvers: { role: 'admin' } },
    });
    expect(policy.status, policy.text).toBe(201);
    expect(codeOf(await o.post('/scim-tokens', { name: 'x', connection_id: connection }))).toEqual([
      403,
      'APPROVAL_REQUIRED',
    ]);
    expect((await o.post('/scim-tokens', { name: 'x' })).status).toBe(201);
    await changeConnection(o, connection, { role_mappings: [] });
    expect((await o.post('/scim-tokens', { name: 'x', connection_id: connection })).status).toBe(201);
    const rows = await inCore(o, (core) => core.rows.within('policy', '') as PolicyRow[]);
    expect(rows).toHaveLength(1);
  });
});

describe('SCIM: when a connection is deleted', () => {
  it('SCIM: its tokens end with the reply, also those whose rows stayed', async () => {
    const { o, owner, connection } = await connected();
    const idp = await newIdp(o, { connection_id: connection });
    const bare = await newIdp(o);
    const gone = await owner.o.del(`/sso-connections/${connection}`);
    expect(gone.status, gone.text).toBe(204);
    expect((await idp.get('/Users')).status).toBe(401);
    expect((await bare.get('/Users')).status).toBe(200);
    expect((await o.get('/scim-tokens')).json.data.map(({ id }: { id: string }) => id)).toEqual([bare.id]);
    const later = await connected();
    const left = await newIdp(later.o, { connection_id: later.connection });
    await deleteConnection(later.o, later.connection);
    expect((await left.get('/Users')).status).toBe(401);
    expect((await later.o.get('/scim-tokens')).json.data).toEqual([]);
  });

  it('SCIM: its people are seen by other tokens, its teams belong to people', async () => {
    const { o, owner, connection } = await connected({ default_role: 'developer' });
    const idp = await newIdp(o, { connection_id: connection });
    const { id, userName } = await newUser(idp);
    const group = (await idp.post('/Groups', { displayName: 'g', members: [{ value: id }] })).json;
    await owner.o.del(`/sso-connections/${connection}`);
    const bare = await newIdp(o);
    expect((await bare.get(`/Users/${id}`)).json.userName).toBe(userName);
    expect((await bare.post('/Users', person({ userName }))).status).toBe(409);
    expect((await bare.patch(`/Groups/${group.id}`, remove(id))).status).toBe(409);
    expect((await o.del(`/teams/${group.id}/members/${id}`)).status).toBe(204);
    const off = await bare.patch(`/Users/${id}`, { op: 'replace', value: { active: false } });
    expect(off.json.active).toBe(false);
    expect((await memberIn(o, id)).role).toBe('developer');
  });
});

describe('SCIM: a token without a connection', () => {
  it('SCIM: still manages whom it made once they sign in by a connection, and nobody else of it', async () => {
    const { o, connection, provider, at } = await connected({ jit: 1 });
    const idp = await newIdp(o, { connection_id: connection });
    const bare = await newIdp(o);
    const { id } = await newUser(bare, { userName: at('bea'), emails: [{ value: at('bea') }] });
    await newSsoBrowser().signIn(provider, claimsOf(at('bea')));
    expect((await rowOf(o, id)).provisioned?.connection).toBe(connection);
    expect((await bare.get(`/Users/${id}`)).status).toBe(200);
    expect((await idp.get(`/Users/${id}`)).status).toBe(200);
    const browser = newSsoBrowser();
    await browser.signIn(provider, claimsOf(at('jit')));
    const jit = (await browser.session()).member.id;
    const byHand = await newMember(o, 'developer', { email: at('hand') });
    await newSsoBrowser().signIn(provider, claimsOf(at('hand')));
    for (const one of [jit, byHand.id]) expect((await bare.get(`/Users/${one}`)).status).toBe(404);
    const off = await bare.patch(`/Users/${id}`, { op: 'replace', value: { active: false } });
    expect([off.status, off.json.active]).toEqual([200, false]);
  });
});
