// A hostile SCIM client, and a hostile holder of other credentials: SCIM touches its own people and teams
// alone, gives no role, and decides nothing.
import { describe, expect, it } from 'vitest';
import type { CredentialRow, MemberRow } from '../../../src/db/schema';
import { revision } from '../../../src/gate/request/writes';
import { newKey, newSession } from '../../support/credentials';
import { faults } from '../../support/faults';
import { inGate } from '../../support/gate';
import {
  approvalIn,
  approve,
  colleague,
  newApprovalPolicy,
  newOffice,
  settle,
  under,
} from '../../support/governance/approvals';
import { add, newMember, newTeam, ownerId } from '../../support/people';
import { change, newBrowser, newSignedIn, ORIGIN, signIn } from '../../support/signin/browser';
import { newPasskey } from '../../support/signin/passkey';
import { ERROR, idpOf, newIdp, newUser, person } from '../../support/signin/scim';
import { addConnection } from '../../support/signin/sso';
import { slow } from '../../support/slow';
import { DAY } from '../../support/time';
import { codeOf, newOrg, newSecret, send, useWorld } from '../../support/world';

useWorld();

const rowsOf = async (o: { get(path: string): Promise<{ json: { data: unknown } }> }) =>
  JSON.stringify((await o.get('/members?limit=100')).json.data);

describe('SCIM: who may call', () => {
  slow('SCIM: a token works for its organisation and on its paths alone', async () => {
    const o = await newOrg();
    const other = await newOrg();
    const idp = await newIdp(o);
    const elsewhere = idpOf(other.id, idp.id, idp.token);
    for (const answer of [
      await elsewhere.get('/Users'),
      await elsewhere.post('/Users', person()),
      await elsewhere.get(`/Users/${await ownerId(other)}`),
      await elsewhere.get('/Schemas'),
    ])
      expect([answer.status, answer.json.schemas]).toEqual([404, [ERROR]]);
    const by = o.as(idp.token);
    for (const path of ['/secrets', '/members', '/scim-tokens', '/audit-log', '/teams', ''])
      expect(codeOf(await by.get(path)), path).toEqual([403, 'CREDENTIAL_KIND_NOT_ALLOWED']);
    expect(codeOf(await by.post('/api-keys', { name: 'x', scopes: ['*'] }))[0]).toBe(403);
    expect(codeOf(await by.post('/access-tokens', { ttlSeconds: 60 }))[0]).toBe(403);
    const who = await send('GET', '/api/v1/whoami', { token: idp.token });
    expect(who.json).toMatchObject({ kind: 'scim', id: idp.id, scopes: [], rate_limit: 1800 });
  });

  slow('SCIM: other credentials do nothing there', async () => {
    const { o, browser } = await newSignedIn();
    const before = await rowsOf(o);
    for (const token of [o.token, (await newSession(o)).token, browser.token, (await newKey(o)).token]) {
      const idp = idpOf(o.id, '', token);
      for (const answer of [
        await idp.get('/Users'),
        await idp.post('/Users', person()),
        await idp.get('/Schemas'),
      ])
        expect([answer.status, answer.json.schemas]).toEqual([403, [ERROR]]);
    }
    expect((await idpOf(o.id, '', 'svcscim_x').get('/Users')).status).toBe(401);
    expect((await send('GET', `/scim/v2/${o.id}/Users`)).status).toBe(401);
    expect(await rowsOf(o)).toBe(before);
  });

  slow('SCIM: only a confirmed owner makes a token, which ends at once', async () => {
    const { o, browser } = await newSignedIn();
    const admin = await signIn(o, 'admin');
    expect(codeOf(await admin.o.post('/scim-tokens', { name: 'x' }))[0]).toBe(403);
    const weak = await newKey(o, { scopes: ['tokens:*', 'members:*'] });
    expect(codeOf(await weak.o.post('/scim-tokens', { name: 'x' }))[0]).toBe(403);
    const made = await browser.o.post('/scim-tokens', { name: 'x' });
    expect(made.json).toMatchObject({ base_url: `http://localhost/scim/v2/${o.id}`, end_credentials: false });
    expect((await o.get('/scim-tokens')).text).not.toContain(made.json.token);
    faults.clock = Date.now() + 400_000;
    expect(codeOf(await browser.o.post('/scim-tokens', { name: 'x' }))).toEqual([
      403,
      'REAUTHENTICATION_REQUIRED',
    ]);
    const idp = idpOf(o.id, made.json.id, made.json.token);
    expect((await idp.get('/Users')).status).toBe(200);
    expect((await o.post(`/credentials/${idp.id}/contain`, {})).status).toBe(200);
    expect((await idp.get('/Users')).status).toBe(401);
  });
});

describe('SCIM: members', () => {
  it("SCIM: another connection's person is not found", async () => {
    const o = await newOrg();
    const idp = await newIdp(o);
    const { id, userName } = await newUser(await newIdp(o));
    const connection = await addConnection(o);
    await change(o.id, (call) => {
      const row = call.core.rows.get('member', id) as MemberRow;
      const scim = row.provisioned?.scim ? { ...row.provisioned.scim, connection } : null;
      const provisioned = row.provisioned && { ...row.provisioned, connection, scim };
      return { status: 200, data: null, writes: [revision(call, 'member', row, { provisioned })] };
    });
    const off = { op: 'replace', value: { active: false } };
    for (const answer of [
      await idp.get(`/Users/${id}`),
      await idp.patch(`/Users/${id}`, off),
      await idp.del(`/Users/${id}`),
    ])
      expect(answer.status).toBe(404);
    expect((await idp.get('/Users')).text).not.toContain(id);
    // Its name is taken all the same.
    expect((await idp.post('/Users', person({ userName }))).status).toBe(409);
    expect((await idp.post('/Groups', { displayName: 'g', members: [{ value: id }] })).status).toBe(400);
  });

  slow('SCIM: gives no role, no invitation and no session', async () => {
    const o = await newOrg();
    const idp = await newIdp(o);
    const { id } = await newUser(idp, {
      role: 'owner',
      roles: [{ value: 'owner' }],
      entitlements: ['admin'],
    });
    await idp.patch(`/Users/${id}`, { op: 'add', path: 'roles', value: [{ value: 'owner' }] });
    const member = (await o.get(`/members/${id}`)).json;
    expect(member).toMatchObject({
      role: 'viewer',
      status: 'lapsed',
      enrolment: null,
      passkeys: 0,
      invited_by: idp.id,
    });
    const log = (await o.get('/audit-log?limit=5')).json.data;
    expect(log.find(({ action }: { action: string }) => action === 'scim.user_create')).toMatchObject({
      actor: { kind: 'scim', id: idp.id, name: 'idp' },
      resource: id,
    });
  });

  it('SCIM: removes no owner, renames none, and leaves one who acts', async () => {
    const o = await newOrg();
    const idp = await newIdp(o);
    const owner = await ownerId(o);
    const second = await newMember(o, 'owner');
    const before = await o.get(`/members/${owner}`);
    const path = `/Users/${owner}`;
    expect((await idp.del(path)).status).toBe(409);
    // The other owner has not enrolled, so cannot act.
    expect((await idp.patch(path, { op: 'replace', path: 'active', value: false })).status).toBe(409);
    const put = await idp.put(path, person({ displayName: 'Mallory', active: true }));
    expect(put.status, put.text).toBe(200);
    const { revision: _, ...row } = (await o.get(`/members/${owner}`)).json;
    const { revision: __, ...old } = before.json;
    expect(row).toEqual(old);
    expect((await newBrowser(await newPasskey(ORIGIN)).enrol(second.enrolment_url)).status).toBe(200);
    // The first one has no passkey: after the second, nobody could act.
    expect(
      (await idp.patch(`/Users/${second.id}`, { op: 'replace', path: 'active', value: false })).status,
    ).toBe(409);
    expect((await idp.patch(path, { op: 'replace', path: 'active', value: false })).status).toBe(200);
    expect((await o.get(`/members/${owner}`)).json).toMatchObject({ status: 'suspended', role: 'owner' });
  });

  it('SCIM: half a surrogate pair is stored as a replacement character', async () => {
    const o = await newOrg();
    const idp = await newIdp(o);
    const { json } = await idp.post('/Users', person({ displayName: 'a\ud800', externalId: '\udfff' }));
    expect([json.displayName, json.externalId]).toEqual(['a\ufffd', '\ufffd']);
    const long = await idp.post('/Users', person({ displayName: `${'x'.repeat(99)}\u{1f511}` }));
    expect(long.json.displayName).toBe(`${'x'.repeat(99)}\ufffd`);
  });

  it('SCIM: no name or address holds characters that pages do not show', async () => {
    const o = await newOrg();
    const idp = await newIdp(o);
    const { json } = await idp.post('/Users', person({ displayName: 'Ad\u200bmin\u202e (evil' }));
    expect(json.displayName).toBe('Admin (evil');
    expect((await o.get(`/members/${json.id}`)).json.name).toBe('Admin (evil');
    await idp.patch(`/Users/${json.id}`, { op: 'replace', value: { displayName: '\u2066' } });
    expect((await o.get(`/members/${json.id}`)).json.name).not.toContain('\u2066');
    const email = 'a\u202eb@example.com';
    for (const fields of [{ userName: email }, { emails: [{ value: email, primary: true }] }])
      expect((await idp.post('/Users', person(fields))).status).toBe(400);
    expect((await idp.post('/Groups', { displayName: 'ops\u200b' })).status).toBe(400);
  });

  it('SCIM: an owner without a passkey is not the one who remains', async () => {
    const { o, member } = await signIn(await newOrg(), 'owner');
    const idp = await newIdp(o);
    const second = await newMember(o, 'owner');
    const row = await inGate(o, ({ core }) => core.rows.get('member', second.id));
    await add(o, 'member', [{ ...(row as MemberRow), enrolled_at: Date.now() }]);
    const off = { op: 'replace', path: 'active', value: false };
    expect((await idp.patch(`/Users/${member.id}`, off)).status).toBe(409);
    expect((await idp.patch(`/Users/${second.id}`, off)).status).toBe(200);
  });

  it('SCIM: takes over no address, of those that it made neither', async () => {
    const o = await newOrg();
    const idp = await newIdp(o);
    const { id, email } = await newMember(o, 'admin');
    const moved = await idp.patch(`/Users/${id}`, {
      op: 'replace',
      path: 'emails',
      value: [{ value: 'evil@x.io' }],
    });
    expect([moved.status, moved.json.scimType]).toEqual([400, 'mutability']);
    const own = await newUser(idp);
    for (const operation of [
      { op: 'replace', path: 'emails', value: [{ value: email.toUpperCase() }] },
      { op: 'replace', path: 'userName', value: email },
    ])
      expect((await idp.patch(`/Users/${own.id}`, operation)).status).toBe(409);
    expect((await idp.post('/Users', person({ userName: email }))).status).toBe(409);
    expect((await o.get(`/members/${id}`)).json.email).toBe(email);
    // The same address in a PUT changes nothing, and links.
    const put = await idp.put(`/Users/${id}`, person({ userName: email, emails: [{ value: email }] }));
    expect(put.json).toMatchObject({ userName: email, externalId: expect.any(String) });
  });

  it('SCIM: lifts its own suspensions alone', async () => {
    const o = await newOrg();
    const idp = await newIdp(o);
    const { id } = await newUser(idp);
    expect((await o.post(`/members/${id}/suspend`)).status).toBe(200);
    for (const answer of [
      await idp.patch(`/Users/${id}`, { op: 'replace', value: { active: true } }),
      await idp.patch(`/Users/${id}`, { op: 'replace', value: { active: false } }),
      await idp.patch(`/Users/${id}`, { op: 'replace', value: { active: true } }),
    ])
      expect(answer.json.active).toBe(false);
    expect((await o.get(`/members/${id}`)).json.status).toBe('suspended');
    faults.clock = Date.now() + 1000;
    expect((await o.post(`/members/${id}/resume`)).status).toBe(200);
  });

  it('SCIM: does not lift a suspension that a person has made theirs', async () => {
    const o = await newOrg();
    const idp = await newIdp(o);
    const { id } = await newUser(idp);
    await idp.patch(`/Users/${id}`, { op: 'replace', value: { active: false } });
    const before = (await o.get(`/members/${id}`)).json;
    faults.clock = Date.now() + 1000;
    const suspended = await o.post(`/members/${id}/suspend`);
    expect([suspended.status, suspended.json.suspended_at]).toEqual([200, before.suspended_at]);
    const answer = await idp.patch(`/Users/${id}`, { op: 'replace', value: { active: true } });
    expect(answer.json.active).toBe(false);
    expect((await o.get(`/members/${id}`)).json.status).toBe('suspended');
    // Nor does the provider make it its own again, or the person theirs twice.
    const { revision: same } = (await o.get(`/members/${id}`)).json;
    await o.post(`/members/${id}/suspend`);
    expect((await o.get(`/members/${id}`)).json.revision).toBe(same);
    expect((await idp.del(`/Users/${id}`)).status).toBe(204);
    const again = person({ emails: [{ primary: true, value: before.email }] });
    expect((await idp.post('/Users', again)).status).toBe(409);
  });

  slow('SCIM: ends sessions with the reply, and credentials where that is asked', async () => {
    const { o } = await newSignedIn();
    const bob = await signIn(o, 'admin');
    const id = bob.member.id as string;
    const key = await newKey(bob.o, { scopes: ['secrets:read'] });
    const idp = await newIdp(o);
    expect((await idp.patch(`/Users/${id}`, { op: 'replace', value: { active: false } })).status).toBe(200);
    expect((await bob.whoami()).status).toBe(401);
    expect((await key.o.get('/secrets')).status).toBe(200);
    faults.clock = Date.now() + 1000;
    await idp.patch(`/Users/${id}`, { op: 'replace', value: { active: true } });
    expect((await bob.whoami()).status).toBe(401);
    await idp.call('PATCH', `/Users/${id}?svc_end_credentials=true`, {
      Operations: [{ op: 'replace', value: { active: false } }],
    });
    expect((await key.o.get('/secrets')).status).toBe(401);
    const eve = await signIn(o, 'admin');
    const second = await newKey(eve.o, { scopes: ['secrets:read'] });
    const strict = await newIdp(o, { end_credentials: true });
    expect((await strict.del(`/Users/${eve.member.id}`)).status).toBe(204);
    expect([(await eve.whoami()).status, (await second.o.get('/secrets')).status]).toEqual([401, 401]);
  });
});

describe('SCIM: a token, which waits for no approval,', () => {
  it('SCIM: is made under an approval where a policy holds what people do to members and teams', async () => {
    for (const operation of ['member.change', 'team.change']) {
      const { o, ann, asked } = await newOffice();
      const cat = await colleague(o, 'owner');
      await newApprovalPolicy(o, [operation]);
      const refused = await cat.o.post('/scim-tokens', { name: 'idp', end_credentials: true });
      const { id } = approvalIn(refused);
      expect(approvalIn(await o.post('/scim-tokens', { name: 'idp' })).operation).toBe(operation);
      expect((await asked.get('/scim-tokens')).json.data).toEqual([]);
      const { summary, shown } = (await ann.o.get(`/approvals/${id}`)).json;
      expect(summary).toMatch(/asks to create the SCIM token "idp"/);
      expect(shown).toContainEqual({
        name: 'Ends credentials of those it suspends or removes',
        value: 'yes',
      });
      expect((await approve(ann, id)).status).toBe(200);
      const made = await cat.o.post('/scim-tokens', { name: 'idp', end_credentials: true }, under(id));
      expect(made.status).toBe(201);
    }
  });

  it('SCIM: is made under an approval where it fills an approving team', async () => {
    const { o } = await newOffice();
    const cat = await colleague(o, 'owner');
    const idp = await newIdp(o);
    const { id: user } = await newUser(idp);
    await o.patch(`/members/${user}`, { role: 'admin' });
    const group = (await idp.post('/Groups', { displayName: 'deciders', members: [{ value: user }] })).json
      .id;
    const own = await newTeam(o, await ownerId(o));
    await newApprovalPolicy(o, ['secret.read'], { config: { approvers: { team_id: own } } });
    expect((await cat.o.post('/scim-tokens', { name: 'free' })).status).toBe(201);
    await newApprovalPolicy(o, ['secret.read'], { config: { approvers: { team_id: group } } });
    expect(approvalIn(await cat.o.post('/scim-tokens', { name: 'held' })).status).toBe('pending');
  });
});

describe('SCIM: approvals', () => {
  it('SCIM: keeps no owner from deciding by removing whom it made', async () => {
    const { o, ann, asked } = await newOffice();
    const idp = await newIdp(o);
    const connections = () =>
      inGate(o, ({ core }) => core.rows.get('member', ann.member.id as string)?.connections ?? []);
    const { id: known } = await newUser(idp);
    // A person lets them act, so what ties them outlives them, at the oldest owner's row.
    expect((await ann.o.post(`/members/${known}/enrolments`)).status).toBe(201);
    expect((await idp.del(`/Users/${known}`)).status).toBe(204);
    const kept = await connections();
    expect(kept.map(([, , of]) => of)).toEqual([known, known]);
    // Of people who never acted, nothing is kept.
    for (let n = 0; n < 3; n++) {
      const { id } = await newUser(idp);
      expect((await idp.del(`/Users/${id}`)).status).toBe(204);
    }
    expect(await connections()).toEqual(kept);
    await newApprovalPolicy(o, ['secret.read']);
    const secret = await newSecret(o);
    const { id } = approvalIn(await asked.get(`/secrets/${secret.id}`));
    expect((await approve(ann, id)).status).toBe(200);
  });

  it('SCIM: whom it resumed or put into an approving team decides nothing for seven days', async () => {
    const { o, asked } = await newOffice();
    const secret = await newSecret(o);
    const cat = await signIn(o, 'admin');
    const dan = await signIn(o, 'admin');
    await settle(o);
    const idp = await newIdp(o);
    const group = await idp.post('/Groups', { displayName: 'deciders' });
    const team = group.json.id as string;
    await o.post(`/teams/${team}/members`, { member_id: dan.member.id });
    await settle(o);
    await newApprovalPolicy(o, ['secret.read'], { config: { required: 1, approvers: { team_id: team } } });
    const { id } = approvalIn(await asked.get(`/secrets/${secret.id}`));
    const join = { op: 'add', path: 'members', value: [{ value: cat.member.id }] };
    expect((await idp.patch(`/Groups/${team}`, join)).status).toBe(200);
    expect(codeOf(await approve(cat, id))[0]).toBe(403);
    // Leaving and joining again changes nothing.
    await idp.patch(`/Groups/${team}`, { op: 'remove', path: 'members' }, join);
    expect(codeOf(await approve(cat, id))[0]).toBe(403);
    const active = async (value: boolean) =>
      idp.patch(`/Users/${dan.member.id}`, { op: 'replace', path: 'active', value });
    expect((await active(false)).status).toBe(200);
    faults.clock = Date.now() + 1000;
    expect((await active(true)).json.active).toBe(true);
    faults.clock += 1000;
    expect((await dan.login()).status).toBe(200);
    expect(codeOf(await approve(dan, id))[0]).toBe(403);
    expect((await o.get(`/teams/${team}/members`)).json.data.length).toBe(2);
  });

  it('SCIM: a member whom it made decides nothing for seven days, though people gave the role', async () => {
    const { o, asked } = await newOffice();
    const idp = await newIdp(o);
    const { id } = await newUser(idp);
    const link = (await o.post(`/members/${id}/enrolments`)).json.enrolment_url;
    expect((await o.patch(`/members/${id}`, { role: 'admin' })).status).toBe(200);
    const fresh = newBrowser(await newPasskey(ORIGIN));
    const url = (await o.post(`/members/${id}/enrolments`)).json.enrolment_url ?? link;
    expect((await fresh.enrol(url)).status).toBe(200);
    // Only what SCIM recorded is left: people would tie the member otherwise.
    await change(o.id, (call) => {
      const row = call.core.rows.get('member', id) as MemberRow;
      const connections = (row.connections ?? []).filter(([by]) => by === idp.id);
      return { status: 200, data: null, writes: [revision(call, 'member', row, { connections })] };
    });
    const secret = await newSecret(o);
    await newApprovalPolicy(o, ['secret.read'], { config: { required: 1, approvers: { role: 'admin' } } });
    const { id: approval } = approvalIn(await asked.get(`/secrets/${secret.id}`));
    expect(codeOf(await approve(fresh, approval))[0]).toBe(403);
  });

  slow('SCIM: ties nobody, if its token was made longer ago than ties last', async () => {
    const { o, ann, asked, bob } = await newOffice();
    const idp = await newIdp(o);
    // SCIM touches both who asks and who decides; Ann was resumed eight days ago.
    await change(o.id, (call) => ({
      status: 200,
      data: null,
      writes: [
        ...[bob.member.id, ann.member.id].map((id, at) =>
          revision(call, 'member', call.core.rows.get('member', id) as MemberRow, {
            connections: [[idp.id, Date.now() - (at ? 8 : 1) * DAY]],
          }),
        ),
        revision(call, 'credential', call.core.rows.get('credential', idp.id) as CredentialRow, {
          created_at: Date.now() - 9 * DAY,
        }),
      ],
    }));
    const secret = await newSecret(o);
    await newApprovalPolicy(o, ['secret.read']);
    const { id } = approvalIn(await asked.get(`/secrets/${secret.id}`));
    expect((await approve(ann, id)).json.status).toBe('approved');
  });
});

describe('SCIM: groups', () => {
  it('SCIM: teams of people are shown without members and stay as they are', async () => {
    const o = await newOrg();
    const idp = await newIdp(o);
    const { id } = await newMember(o, 'viewer');
    const team = await newTeam(o, id);
    const path = `/Groups/${team}`;
    expect((await idp.get(path)).json).toMatchObject({ displayName: 'team', members: [] });
    for (const answer of [
      await idp.patch(path, { op: 'remove', path: 'members' }),
      await idp.patch(path, { op: 'replace', path: 'displayName', value: 'mine' }),
      await idp.put(path, { displayName: 'mine', members: [] }),
      await idp.del(path),
    ])
      expect([answer.status, answer.json.scimType]).toEqual([409, 'mutability']);
    expect((await idp.post('/Groups', { displayName: 'TEAM' })).status).toBe(409);
    expect((await o.get(`/teams/${team}/members`)).json.data.length).toBe(1);
  });

  slow('SCIM: a person whom a person added stays in the team', async () => {
    const o = await newOrg();
    const idp = await newIdp(o);
    const { id } = await newMember(o, 'viewer');
    const { json } = await idp.post('/Groups', { displayName: 'crew' });
    await o.post(`/teams/${json.id}/members`, { member_id: id });
    await idp.patch(`/Groups/${json.id}`, { op: 'replace', path: 'members', value: [] });
    await idp.patch(`/Groups/${json.id}`, { op: 'remove', path: `members[value eq "${id}"]` });
    expect((await o.get(`/teams/${json.id}/members`)).json.data.length).toBe(1);
    expect((await idp.post('/Groups', { displayName: 'x', members: [{ value: 'mem_nobody' }] })).status).toBe(
      400,
    );
  });
});

describe('SCIM: hostile input', () => {
  it('SCIM: filters, paths and bodies that are malformed, deep or huge are 400 and change nothing', async () => {
    const o = await newOrg();
    const idp = await newIdp(o);
    const { id } = await newUser(idp);
    const before = await rowsOf(o);
    const filters = [
      'userName',
      'userName co "a"',
      'userName eq "a" or userName eq "b"',
      'not (userName eq "a")',
      `${'('.repeat(20_000)}userName eq "a"`,
      Array.from({ length: 21 }, () => 'id eq "a"').join(' and '),
      Array.from({ length: 21 }, () => '(id eq "a")').join(' and '),
      `${'('.repeat(11)}id eq "a"${')'.repeat(11)}`,
      '(id eq "a"',
      'id eq "a")',
      'id eq "a") and (id eq "a"',
      '()',
      '(id) eq "a"',
      '(id eq "a") (id eq "a")',
      'id eq "a" andid eq "a"',
      `userName eq "${'a'.repeat(1000)}"`,
      'userName eq "a',
      'constructor eq "a"',
      'password eq "a"',
      'userName eq "\\u0000"',
      'userName eq "a\nb"',
    ];
    for (const filter of filters) {
      const answer = await idp.get(`/Users?filter=${encodeURIComponent(filter.slice(0, 8000))}`);
      expect([answer.status, answer.json.scimType], filter.slice(0, 40)).toEqual([400, 'invalidFilter']);
    }
    for (const query of ['startIndex=x', 'count=1e9', 'count=1.5'])
      expect((await idp.get(`/Users?${query}`)).status, query).toBe(400);
    const path = `/Users/${id}`;
    const refused: [number, unknown][] = [
      [400, 'text'],
      [400, []],
      [400, {}],
      [400, { Operations: {} }],
      [400, { Operations: Array.from({ length: 101 }, () => ({ op: 'add', path: 'title', value: 'x' })) }],
      [400, { Operations: [{ op: 'move', path: 'active' }] }],
      [400, { Operations: [{ op: 'remove' }] }],
      [400, { Operations: [{ op: 'remove', path: 'userName' }] }],
      [400, { Operations: [{ op: 'replace', path: 'active', value: 'maybe' }] }],
      [400, { Operations: [{ op: 'replace', path: 'userName', value: '' }] }],
      [400, { Operations: [{ op: 'replace', path: 'userName', value: 'a'.repeat(300) }] }],
      [400, { Operations: [{ op: 'replace', path: 'emails', value: 'no address' }] }],
      [400, { Operations: [{ op: 'replace', path: 'a[b[c]]', value: 1 }] }],
      [400, { Operations: [{ op: 'replace', path: '['.repeat(400), value: 1 }] }],
      [400, { Operations: [{ op: 'replace', value: 'active' }] }],
    ];
    for (const [status, body] of refused) {
      const answer = await idp.call('PATCH', path, body);
      expect([answer.status, answer.json.schemas], JSON.stringify(body).slice(0, 80)).toEqual([
        status,
        [ERROR],
      ]);
    }
    const raw = (text: string) =>
      send('PATCH', `/scim/v2/${o.id}${path}`, {
        token: idp.token,
        body: text,
        headers: { 'Content-Type': 'application/json' },
      });
    expect((await raw('{')).status).toBe(400);
    expect((await idp.call('PATCH', path, { x: 'a'.repeat(1_100_000) })).status).toBe(413);
    expect(await rowsOf(o)).toBe(before);
  });

  slow('SCIM: keys of prototypes are attributes that it does not know', async () => {
    const o = await newOrg();
    const idp = await newIdp(o);
    const { id } = await newUser(idp);
    const keys = ['__proto__', 'constructor', 'prototype', 'toString', 'hasOwnProperty'];
    const body = `{"Operations":[{"op":"add","value":{${keys.map((key) => `"${key}":{"active":false,"role":"owner"}`).join(',')}}},${keys
      .map((key) => `{"op":"replace","path":"${key}","value":"x"}`)
      .join(',')}]}`;
    const answer = await idp.call('PATCH', `/Users/${id}`, JSON.parse(body));
    expect([200, 400]).toContain(answer.status);
    const made = await idp.post(
      '/Users',
      JSON.parse(
        `{"__proto__":{"userName":"x@y.io"},"constructor":1,"name":{"__proto__":{"givenName":"a"}}}`,
      ),
    );
    expect(made.status).toBe(400);
    expect(({} as Record<string, unknown>).active).toBeUndefined();
    expect((await idp.get(`/Users/${id}`)).json.active).toBe(true);
  });
});
