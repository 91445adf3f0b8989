// Members: who may invite, change and remove whom, what goes with a member, and that what is explained is
// what is decided.

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Action } from '../../../src/auth/actions';
import { mayAct, mayReach, nobody, type PermissionSet, reaches, reasons } from '../../../src/auth/authorize';
import { allScopes } from '../../../src/auth/scopes';
import { sha256 } from '../../../src/crypto/digest';
import { newId } from '../../../src/db/ids';
import { type MemberRow, roles } from '../../../src/db/schema';
import { actions } from '../../../src/domains';
import { invalid } from '../../../src/errors';
import { mirror } from '../../../src/gate/journal/mirror';
import { problemOf } from '../../model/invariants';
import { newKey, newSession } from '../../support/credentials';
import { faults } from '../../support/faults';
import { inCore, inGate, loseStorage } from '../../support/gate';
import { newUpstream } from '../../support/integrations/upstreams';
import {
  addKeys,
  addPasskey,
  addSession,
  asMember,
  newGrant,
  newKeyInput,
  newMember,
  newTeam,
  ownerId,
} from '../../support/people';
import { runs, slow } from '../../support/slow';
import {
  type Answer,
  BOOTSTRAP,
  type Caller,
  callerOf,
  codeOf,
  db,
  newOrg,
  newSecret,
  send,
  useWorld,
} from '../../support/world';

useWorld();

const EXCEEDS = [403, 'SCOPE_EXCEEDS_PARENT'];
const whole = async (o: Caller) => JSON.stringify((await o.get('/members?limit=100')).json.data);

describe('member', () => {
  it('is invited with an enrolment URL that is shown once', async () => {
    const o = await newOrg();
    const { json, status } = await o.post('/members', {
      email: 'Bob@Example.com',
      name: 'Bob',
      role: 'developer',
    });
    expect(status).toBe(201);
    expect(json).toMatchObject({
      email: 'Bob@Example.com',
      role: 'developer',
      status: 'invited',
      passkeys: 0,
      invited_by: o.keyId,
      enrolled_at: null,
    });
    expect(json.enrolment_url).toMatch(/^http:\/\/localhost\/enrol#svcenrol_[0-9A-Za-z]+$/);
    const lives = Date.parse(json.enrolment.expires_at) - Date.parse(json.enrolment.created_at);
    expect(lives).toBe(86_400_000);
    const { enrolment_url, ...rest } = json;
    expect((await o.get(`/members/${json.id}`)).json).toEqual(rest);
    expect((await o.get('/members')).text).not.toContain('svcenrol_');
    const stored = JSON.stringify(
      (await db.prepare('select * from members where org_id = ?').bind(o.id).all()).results,
    );
    expect(stored).not.toContain(enrolment_url.split('#')[1]);
  });
});

describe('member: email', () => {
  it('is unique without regard to case, also with concurrent requests', async () => {
    const o = await newOrg();
    const invite = (email: string, by: Caller = o) =>
      by.post('/members', { email, name: 'x', role: 'viewer' });
    expect(codeOf(await invite('ANN@example.com'))).toEqual([409, 'EMAIL_TAKEN']);
    const keys = [await newKey(o), await newKey(o), await newKey(o), await newKey(o)];
    const emails = ['b@x.io', 'B@x.io', 'b@X.io', 'B@X.IO'];
    faults.delay = 10;
    const raced = await Promise.all(keys.map(({ o: by }, at) => invite(emails[at] as string, by)));
    faults.delay = 0;
    expect(raced.map(({ status }) => status).sort()).toEqual([201, 409, 409, 409]);
    const { id } = await newMember(o, 'viewer', { email: 'c@x.io' });
    expect(codeOf(await o.patch(`/members/${id}`, { email: 'B@x.io' }))).toEqual([409, 'EMAIL_TAKEN']);
    expect((await o.patch(`/members/${id}`, { email: 'C@X.io' })).json.email).toBe('C@X.io');
  });

  slow('can be used again after its member is removed', async () => {
    const o = await newOrg();
    const { id } = await newMember(o, 'viewer', { email: 'c@x.io' });
    await o.del(`/members/${id}`);
    expect((await o.post('/members', { email: 'C@x.io', name: 'x', role: 'viewer' })).status).toBe(201);
  });
});

describe('enrolment', () => {
  slow('a new one replaces it; only owners can create one for an owner', async () => {
    const o = await newOrg();
    const { id, enrolment_url } = await newMember(o);
    const { status, json } = await o.post(`/members/${id}/enrolments`);
    expect([status, json.id]).toEqual([201, id]);
    expect(json.enrolment_url).toMatch(/\/enrol#svcenrol_/);
    expect(json.enrolment_url).not.toBe(enrolment_url);
    const limited = await newKey(o, { scopes: ['*'], environments: ['staging'] });
    for (const weak of [await newKey(o, { scopes: ['members:*'] }), limited])
      expect(codeOf(await weak.o.post(`/members/${id}/enrolments`))).toEqual([403, 'INSUFFICIENT_SCOPE']);
    expect(codeOf(await (await newSession(o)).o.post(`/members/${id}/enrolments`))).toEqual([
      403,
      'CREDENTIAL_KIND_NOT_ALLOWED',
    ]);
    const admin = await newMember(o, 'admin');
    const named = { member: id };
    expect((await asMember(o, admin.id, 'member.enrol', { named, input: { enrolment: 'x' } })).code).toBe(
      'INSUFFICIENT_SCOPE',
    );
    expect(
      (await asMember(o, await ownerId(o), 'member.enrol', { named, input: { enrolment: 'x' } })).status,
    ).toBe(201);
    expect(codeOf(await o.post('/members/mem_0/enrolments'))).toEqual([404, 'NOT_FOUND']);
  });

  slow('expires after a day; lists filter by waiting and expired ones', async () => {
    const o = await newOrg();
    const owner = await ownerId(o);
    const { id } = await newMember(o);
    const ids = async (status: string) =>
      ((await o.get(`/members?status=${status}`)).json.data as { id: string }[]).map((row) => row.id);
    expect(await ids('invited')).toEqual([owner, id]);
    await inGate(o, ({ core }) => {
      const row = core.rows.get('member', owner);
      core.rows.put('member', { ...(row as NonNullable<typeof row>), enrolled_at: 1, enrolment_hash: null });
    });
    expect([await ids('active'), await ids('invited')]).toEqual([[owner], [id]]);
    expect((await o.get(`/members/${owner}`)).json.enrolment).toBe(null);
    faults.clock = Date.now() + 86_400_001;
    expect([await ids('lapsed'), await ids('invited')]).toEqual([[id], []]);
    faults.clock = null;
    expect(codeOf(await o.get('/members?status=gone'))).toEqual([400, 'VALIDATION_FAILED']);
  });

  it('applies to the role that its maker gave, and no other', async () => {
    const o = await newOrg();
    const admin = await newMember(o, 'admin');
    const input = {
      id: newId('mem'),
      email: 'i@x.io',
      name: 'I',
      role: 'viewer',
      enrolment: 'known to the admin',
    };
    await asMember(o, admin.id, 'member.create', { input });
    expect((await o.patch(`/members/${input.id}`, { name: 'J' })).json.status).toBe('invited');
    expect((await o.patch(`/members/${input.id}`, { role: 'owner' })).json).toMatchObject({
      role: 'owner',
      status: 'lapsed',
      enrolment: null,
    });
    expect((await o.post(`/members/${input.id}/enrolments`)).json.status).toBe('invited');
    const mine = await newMember(o, 'viewer');
    expect((await o.patch(`/members/${mine.id}`, { role: 'admin' })).json.status).toBe('invited');
  });

  slow('idempotency: a replay returns the same URL, and null to another token of the same key', async () => {
    const o = await newOrg();
    const body = { email: 'r@x.io', name: 'R', role: 'viewer' };
    const first = await o.post('/members', body, { 'Idempotency-Key': 'k' });
    const again = await o.post('/members', body, { 'Idempotency-Key': 'k' });
    expect([again.text, again.headers.get('idempotency-replayed')]).toEqual([first.text, 'true']);
    await o.del(`/members/${first.json.id}`);
    expect((await o.post('/members', body, { 'Idempotency-Key': 'k' })).json.enrolment_url).toBe(null);
  });

  slow('is created with a new organisation for its owner, and by a recovery for an owner', async () => {
    const body = { name: 'x', owner: { email: 'o@x.io', name: 'O' } };
    const { json } = await send('POST', '/api/v1/orgs', { token: BOOTSTRAP, body });
    expect(json.owner).toMatchObject({ email: 'o@x.io', role: 'owner', status: 'invited' });
    expect(json.owner.enrolment_url).toMatch(/^http:\/\/localhost\/enrol#svcenrol_/);
    const o = callerOf(json.org.id, json.api_key.token);
    const second = await newMember(o, 'owner', { email: 'Second@x.io' });
    const recover = (more: object) =>
      send('POST', `/api/v1/orgs/${o.id}/recovery`, { token: BOOTSTRAP, body: { reason: 'lost', ...more } });
    const hashOf = (id: string) => inGate(o, ({ core }) => core.rows.get('member', id)?.enrolment_hash);
    const hash = (answer: Answer) => sha256(answer.json.enrolment_url.split('#')[1]);
    const oldest = await recover({});
    expect(oldest.json.api_key.token).toMatch(/^svc_live_/);
    expect(await hashOf(json.owner.id)).toBe(hash(oldest));
    const named = await recover({ email: 'second@X.io' });
    expect(await hashOf(second.id)).toBe(hash(named));
    expect(await hashOf(json.owner.id)).toBe(hash(oldest));
    const { email } = await newMember(o, 'admin');
    for (const other of [email, 'nobody@x.io'])
      expect(codeOf(await recover({ email: other }))).toEqual([404, 'NOT_FOUND']);
  });
});

describe('permission: roles', () => {
  it('are shown with their scopes to any credential', async () => {
    const o = await newOrg();
    const weak = await newKey(o, { scopes: ['integrations:notify'] });
    const { data } = (await weak.o.get('/roles')).json;
    expect(data.map(({ role }: { role: string }) => role)).toEqual([
      'owner',
      'admin',
      'developer',
      'viewer',
      'auditor',
    ]);
    expect(data[3]).toEqual({ role: 'viewer', scopes: ['secrets:list', 'environments:read', 'org:read'] });
  });

  it('are given by callers who hold all their scopes', async () => {
    const o = await newOrg();
    const { id } = await newMember(o, 'viewer');
    const cases: [Record<string, unknown>, string[]][] = [
      [{ scopes: ['members:write'] }, []],
      [{ scopes: ['members:write', 'secrets:list', 'environments:read', 'org:read'] }, ['viewer']],
      [{ scopes: ['members:*', 'audit:read', 'compliance:read', 'org:*'] }, ['auditor']],
      [{ scopes: ['*'] }, ['owner', 'admin', 'developer', 'viewer', 'auditor']],
    ];
    for (const [fields, may] of cases) {
      const { o: key } = await newKey(o, fields);
      for (const role of ['admin', 'developer', 'viewer', 'auditor', 'owner']) {
        await o.patch(`/members/${id}`, { role: role === 'viewer' ? 'auditor' : 'viewer' });
        const invited = await key.post('/members', { email: `${crypto.randomUUID()}@x.io`, name: 'x', role });
        const changed = await key.patch(`/members/${id}`, { role });
        const want = may.includes(role) ? [201, 200] : [403, 403];
        expect([invited.status, changed.status], `${fields.scopes} gives ${role}`).toEqual(want);
      }
    }
  });

  it('are not given by a caller with limits in environments, names, addresses or time, or with a parent', async () => {
    const o = await newOrg();
    const { id } = await newMember(o, 'viewer');
    const before = await whole(o);
    /** An agent without an end: only that what it creates ends with it sets it apart from a key. */
    const endless = async () => {
      const { json } = await o.post('/agent-credentials', { name: 'a', scopes: ['*'] });
      expect(
        (await o.patch(`/agent-credentials/${json.id}`, { ttlSeconds: null })).json.expires_at,
      ).toBeNull();
      return json.token;
    };
    const bounded = [
      await newKey(o, { environments: ['production'] }),
      await newKey(o, { secrets: ['*'] }),
      await newKey(o, { allowed_addresses: ['0.0.0.0/0'] }),
      await newKey(o, { expires_at: '2099-01-01T00:00:00Z' }),
      await newSession(o),
      { o: o.as((await o.post('/agent-credentials', { name: 'a', scopes: ['*'] })).json.token) },
      { o: o.as(await endless()) },
    ];
    for (const { o: by } of bounded) {
      expect(codeOf(await by.post('/members', { email: 'n@x.io', name: 'x', role: 'viewer' }))).toEqual(
        EXCEEDS,
      );
      expect(codeOf(await by.patch(`/members/${id}`, { role: 'auditor' }))).toEqual(EXCEEDS);
    }
    expect(await whole(o)).toBe(before);
    // Names are another matter, and so is a role that stays as it is.
    for (const { o: by } of bounded)
      expect((await by.patch(`/members/${id}`, { name: 'N', role: 'viewer' })).status).toBe(200);
  });
});

describe('permission: rank', () => {
  const people = async () => {
    const o = await newOrg();
    const owner = await ownerId(o);
    const admin = await newMember(o, 'admin');
    const peer = await newMember(o, 'admin');
    const developer = await newMember(o, 'developer');
    return { o, owner, admin: admin.id, peer: peer.id, developer: developer.id };
  };
  const blank = { email: null, name: null, role: null };

  it('an admin cannot change, demote or remove an owner, nor make one', async () => {
    const { o, owner, admin, peer } = await people();
    const other = await newMember(o, 'owner');
    const before = await whole(o);
    const named = { member: other.id };
    for (const change of [{ role: 'viewer' }, { email: 'mine@x.io' }, { name: 'n' }])
      expect(
        (await asMember(o, admin, 'member.update', { named, input: { ...blank, ...change } })).code,
      ).toBe('SCOPE_EXCEEDS_PARENT');
    for (const revoke of [false, true])
      expect((await asMember(o, admin, 'member.delete', { named, input: { revoke } })).code).toBe(
        'SCOPE_EXCEEDS_PARENT',
      );
    for (const member of [admin, peer])
      expect(
        (await asMember(o, admin, 'member.update', { named: { member }, input: { ...blank, role: 'owner' } }))
          .code,
      ).toBe('SCOPE_EXCEEDS_PARENT');
    const input = { id: 'mem_x', email: 'x@x.io', name: 'x', role: 'owner', enrolment: 'h' };
    expect((await asMember(o, admin, 'member.create', { input })).code).toBe('SCOPE_EXCEEDS_PARENT');
    expect(await whole(o)).toBe(before);
    expect(
      (await asMember(o, owner, 'member.update', { named, input: { ...blank, role: 'viewer' } })).status,
    ).toBe(200);
  });

  slow('admins and owners may change their equals and all below them', async () => {
    const { o, admin, peer, developer } = await people();
    const update = (member: string, input: object) =>
      asMember(o, admin, 'member.update', { named: { member }, input: { ...blank, ...input } });
    expect((await update(peer, { role: 'developer' })).status).toBe(200);
    expect((await update(developer, { role: 'admin' })).status).toBe(200);
    expect((await update(admin, { email: 'me@x.io', name: 'Me' })).status).toBe(200);
    expect((await update(admin, { role: 'viewer' })).status).toBe(200);
    expect((await update(peer, { role: 'viewer' })).code).toBe('INSUFFICIENT_SCOPE');
  });

  it('a key with members:write, and a session of the strongest key, can change only a viewer', async () => {
    const { o, owner, admin } = await people();
    const before = await whole(o);
    for (const { o: by } of [
      await newKey(o, { scopes: ['members:write'] }),
      await newSession(o),
      await newKey(o, { environments: ['staging'] }),
    ])
      for (const id of [owner, admin]) {
        for (const change of [{ email: 'mine@x.io' }, { name: 'x' }])
          expect(codeOf(await by.patch(`/members/${id}`, change))).toEqual(EXCEEDS);
        expect(codeOf(await by.del(`/members/${id}`))).toEqual(EXCEEDS);
      }
    expect(await whole(o)).toBe(before);
    const { o: weak } = await newKey(o, { scopes: ['members:write'] });
    const viewer = await newMember(o, 'viewer');
    expect((await weak.patch(`/members/${viewer.id}`, { name: 'V' })).status).toBe(200);
    expect((await weak.del(`/members/${viewer.id}`)).status).toBe(200);
  });
});

describe('member: the last owner', () => {
  it('can be neither removed nor demoted, also not by concurrent requests', async () => {
    for (const change of ['demote', 'remove', 'both'] as const) {
      const o = await newOrg();
      const owners = [await ownerId(o), (await newMember(o, 'owner')).id, (await newMember(o, 'owner')).id];
      // Each by a key of its own: those of one caller come one after the other anyway.
      const keys = [await newKey(o), await newKey(o), await newKey(o)];
      const demote = (id: string, by: Caller = o) => by.patch(`/members/${id}`, { role: 'admin' });
      const remove = (id: string, by: Caller = o) => by.del(`/members/${id}`);
      faults.delay = 20;
      const answers = await Promise.all(
        keys.map(({ o: by }, at) =>
          (change === 'demote' || (change === 'both' && at % 2) ? demote : remove)(owners[at] as string, by),
        ),
      );
      faults.delay = 0;
      expect(answers.map(({ json }) => json.error?.code).filter(Boolean)).toEqual(['LAST_OWNER']);
      const left = ((await o.get('/members')).json.data as { id: string; role: string }[]).filter(
        ({ role }) => role === 'owner',
      );
      expect(left).toHaveLength(1);
      const last = left[0]?.id as string;
      expect([codeOf(await demote(last)), codeOf(await remove(last))]).toEqual([
        [409, 'LAST_OWNER'],
        [409, 'LAST_OWNER'],
      ]);
      expect((await o.patch(`/members/${last}`, { role: 'owner', name: 'Still' })).status).toBe(200);
    }
  });

  slow('stays when two owners demote each other', async () => {
    const o = await newOrg();
    const a = await ownerId(o);
    const b = (await newMember(o, 'owner')).id;
    const demote = (by: string, member: string) =>
      asMember(o, by, 'member.update', {
        named: { member },
        input: { email: null, name: null, role: 'viewer' },
      });
    faults.delay = 10;
    const answers = await Promise.all([demote(a, b), demote(b, a)]);
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 403]);
  });
});

describe('member: removal', () => {
  slow('a key that is limited to environments or names removes nobody', async () => {
    const o = await newOrg();
    const { id } = await newMember(o, 'auditor');
    for (const limits of [{ environments: ['development'] }, { secrets: ['dev_*'] }]) {
      const { o: limited } = await newKey(o, limits);
      expect(codeOf(await limited.del(`/members/${id}`))).toEqual(EXCEEDS);
      expect(codeOf(await limited.del(`/members/${id}?revoke_credentials=true`))).toEqual(EXCEEDS);
    }
    const { o: whole } = await newKey(o, { scopes: ['members:*'] });
    expect((await whole.del(`/members/${id}`)).status).toBe(200);
  });

  it('removes their passkeys, memberships and grants, and nothing of others', async () => {
    const o = await newOrg();
    const { id } = await newMember(o, 'viewer');
    const other = await newMember(o, 'viewer');
    const team = await newTeam(o, id, other.id);
    await newGrant(o, 'member', id);
    const kept = await newGrant(o, 'member', other.id);
    await addPasskey(o, id);
    expect((await o.get(`/members/${id}`)).json.passkeys).toBe(1);
    expect((await o.del(`/members/${id}`)).json).toEqual({ credentials: [] });
    expect(codeOf(await o.get(`/members/${id}`))).toEqual([404, 'NOT_FOUND']);
    expect(
      (await o.get(`/teams/${team}/members`)).json.data.map((row: { member_id: string }) => row.member_id),
    ).toEqual([other.id]);
    expect((await o.get('/grants')).json.data.map((row: { id: string }) => row.id)).toEqual([kept.id]);
    for (const table of ['passkeys', 'team_members', 'grants', 'members']) {
      const { results } = await db.prepare(`select * from ${table} where org_id = ?`).bind(o.id).all();
      // Whom they invited and who invited them is kept for seven days: see auth/policies/ties.ts.
      const left = JSON.stringify(results.map(({ connections: _, ...row }) => row));
      expect(left, table).not.toContain(id);
    }
    expect((await asMember(o, id, 'secret.list')).status).toBe(401);
    expect(await problemOf(o)).toBe(null);
  });

  slow('ends their browser sessions immediately', async () => {
    const o = await newOrg();
    const { id } = await newMember(o, 'developer');
    const passkey = await addPasskey(o, id);
    const session = await addSession(o, id, passkey);
    const ask = async () => {
      const { status, code } = await asMember(o, id, 'caller.read', { session });
      return [status, code];
    };
    expect(await ask()).toEqual([200, null]);
    await o.del(`/members/${id}`);
    expect(await ask()).toEqual([401, 'TOKEN_REVOKED']);
  });

  slow('reports the live credentials that they made, which stay, or end if that is asked', async () => {
    for (const revoke of [false, true]) {
      const o = await newOrg();
      const { id } = await newMember(o, 'developer');
      const keys = [newKeyInput('a'), newKeyInput('b')];
      for (const input of keys) expect((await asMember(o, id, 'api_key.create', { input })).status).toBe(201);
      const dead = newKeyInput('dead');
      await asMember(o, id, 'api_key.create', { input: dead });
      await o.del(`/api-keys/${dead.token.id}`);
      const { status, json } = await o.del(`/members/${id}${revoke ? '?revoke_credentials=true' : ''}`);
      expect(status).toBe(200);
      expect(json).toEqual({
        credentials: keys.map(({ token, name }) => ({ kind: 'api_key', id: token.id, name })),
      });
      const live = ((await o.get('/api-keys')).json.data as { id: string }[]).map((row) => row.id);
      expect(live).toEqual(revoke ? [o.keyId] : [o.keyId, ...keys.map(({ token }) => token.id)]);
      expect(codeOf(await o.del(`/members/${id}?revoke_credentials=true`))).toEqual(
        revoke ? [404, 'NOT_FOUND'] : [200, undefined],
      );
      expect(codeOf(await o.del(`/members/${id}`))).toEqual([404, 'NOT_FOUND']);
    }
  });

  it('permission: ends credentials only for callers who may end credentials', async () => {
    const o = await newOrg();
    const { id } = await newMember(o, 'viewer');
    const { o: weak } = await newKey(o, { scopes: ['members:write'] });
    expect(codeOf(await weak.del(`/members/${id}?revoke_credentials=true`))).toEqual([
      403,
      'INSUFFICIENT_SCOPE',
    ]);
    expect((await o.get(`/members/${id}`)).status).toBe(200);
    const { o: able } = await newKey(o, { scopes: ['members:write', 'tokens:write'] });
    expect((await able.del(`/members/${id}?revoke_credentials=true`)).status).toBe(200);
  });

  slow('concurrency: leaves no credential that was being created', async () => {
    const o = await newOrg();
    for (let i = 0; i < 8; i++) {
      const { id } = await newMember(o, 'developer');
      const session = await addSession(o, id, await addPasskey(o, id));
      const inputs = [newKeyInput('a'), newKeyInput('b'), newKeyInput('c')];
      faults.delay = 15;
      const removing = async () => {
        for (;;) {
          const answer = await o.del(`/members/${id}?revoke_credentials=true`);
          if (answer.status !== 503) return answer;
        }
      };
      const [removed] = await Promise.all([
        removing(),
        ...inputs.map((input) => asMember(o, id, 'api_key.create', { input, session })),
      ]);
      faults.delay = 0;
      expect(removed.status).toBe(200);
      expect((await o.get('/api-keys')).json.data.map((row: { id: string }) => row.id)).toEqual([o.keyId]);
    }
    expect(await problemOf(o)).toBe(null);
    expect((await o.get('/audit-log?action=integrity.alarm')).json.data).toEqual([]);
  });

  slow('ends very many credentials in one batch, and reports how many remain', async () => {
    const o = await newOrg();
    const { id } = await newMember(o, 'developer');
    await addKeys(o, id, 1030);
    const { json } = await o.del(`/members/${id}?revoke_credentials=true`);
    expect(json.credentials).toHaveLength(1000);
    expect(json.remaining).toBe(30);
    expect(codeOf(await o.get(`/members/${id}`))).toEqual([404, 'NOT_FOUND']);
    const rest = (await o.del(`/members/${id}?revoke_credentials=true`)).json;
    expect([rest.credentials.length, rest.remaining]).toEqual([30, undefined]);
    expect((await o.get('/api-keys')).json.data).toHaveLength(1);
    const { results } = await db
      .prepare('select count(*) n from credentials where org_id = ? and revoked_at is not null')
      .bind(o.id)
      .all();
    expect(results[0]?.n).toBe(1030);
    expect(await problemOf(o)).toBe(null);
  });

  it('integrity: ends many credentials though one was altered in the database, and reports it', async () => {
    const o = await newOrg();
    const { id } = await newMember(o, 'developer');
    const ids = await addKeys(o, id, 20);
    const [row] = (await db.prepare('select * from credentials where id = ?').bind(ids[7]).all()).results as [
      Record<string, unknown>,
    ];
    const mend = () =>
      db
        .prepare(
          `insert or replace into credentials (${Object.keys(row)}) values (${Object.keys(row).map(() => '?')})`,
        )
        .bind(...Object.values(row))
        .run();
    const damage = 'update credentials set revision = 2 where id = ?';
    await db.prepare(damage).bind(ids[7]).run();
    const removed = await o.del(`/members/${id}?revoke_credentials=true`);
    expect([removed.status, removed.json.credentials?.length]).toEqual([200, 20]);
    expect((await o.get('/api-keys')).json.data).toHaveLength(1);
    expect((await o.get('/audit-log?action=integrity.alarm')).json.data[0].reason).toBe('database_diverged');
    const live = () =>
      db
        .prepare('select count(*) n from credentials where org_id = ? and revoked_at is null')
        .bind(o.id)
        .first('n');
    expect(await live(), 'all or none').toBe(21);
    await mend();
    await o.get('/secrets');
    expect(await inCore(o, (core) => mirror(core).follow())).toBe(true);
    expect(await live()).toBe(1);
  });
});

describe('permission: the explanation for a member', () => {
  const places = ['production', 'staging'].flatMap((environment) =>
    ['app/a', 'app/b', 'db'].map((name) => ({ environment, name })),
  );
  const asked: Record<string, Action> = {
    'secrets:read': 'secret.read',
    'secrets:write': 'secret.update',
    'secrets:rotate': 'secret.rotate',
    'secrets:delete': 'secret.delete',
    'tokens:write': 'api_key.create',
    'members:read': 'member.list',
    'org:read': 'org.read',
    'audit:read': 'audit.read',
  };
  const grants = fc.array(
    fc.record({
      by: fc.constantFrom('member', 'team'),
      permission: fc.constantFrom('read', 'write'),
      environments: fc.option(fc.subarray(['production', 'staging'], { minLength: 1 })),
      secrets: fc.option(fc.subarray(['app/*', '*b', 'db', 'app/?'], { minLength: 1 })),
    }),
    { maxLength: 3 },
  );

  it('agrees with the responses to their requests, for any role and grants', async () => {
    const o = await newOrg();
    const owner = await ownerId(o);
    const secrets = new Map<string, string>();
    for (const place of places) secrets.set(JSON.stringify(place), (await newSecret(o, place)).id);
    const role = fc.constantFrom(...roles);
    let allowed = 0;
    let barred = 0;
    await fc.assert(
      fc.asyncProperty(role, grants, async (role, given) => {
        const { id } = await newMember(o, role);
        const team = await newTeam(o, id);
        const made = new Map<string, string>();
        for (const { by, permission, environments, secrets } of given) {
          const fields = { permission, ...(environments && { environments }), ...(secrets && { secrets }) };
          made.set((await newGrant(o, by as 'member', by === 'team' ? team : id, fields)).id, by);
        }
        for (const [scope, action] of Object.entries(asked))
          for (const place of places) {
            const isSecret = scope.startsWith('secrets:');
            const input = {
              scope,
              environment: isSecret ? place.environment : null,
              secret: isSecret ? place.name : null,
            };
            const said = (await asMember(o, owner, 'member.access', { named: { member: id }, input })).data;
            const named = isSecret ? { secret: secrets.get(JSON.stringify(place)) as string } : {};
            // A finding stops the call just behind the decision.
            const call = await asMember(o, id, action, { named, finding: invalid('x', 'y') });
            expect([scope, place, said.allowed], JSON.stringify(said)).toEqual([
              scope,
              place,
              call.status !== 403,
            ]);
            said.allowed ? allowed++ : barred++;
            expect(said.reasons.length > 0).toBe(said.allowed);
            for (const reason of said.reasons)
              if (reason.source === 'role') expect(reason).toEqual({ source: 'role', role });
              else
                expect(reason.grantee).toEqual({
                  type: made.get(reason.grant_id),
                  id: made.get(reason.grant_id) === 'team' ? team : id,
                });
            if (!isSecret) break;
          }
        await o.del(`/members/${id}`);
      }),
      // Every role once without grants, so that enough is allowed and refused whatever the rest of the run
      // draws.
      { numRuns: runs(25, roles.length), examples: roles.map((role) => [role, []] as [typeof role, []]) },
    );
    expect([allowed > 50, barred > 50]).toEqual([true, true]);
  });

  it('agrees with the pure functions, for any permissions, scope and target', () => {
    const held = fc.record({
      scopes: fc.subarray([...allScopes], { minLength: 1, maxLength: 4 }),
      environments: fc.option(fc.subarray(['e1', 'e2'], { minLength: 1 })),
      secrets: fc.option(fc.subarray(['app/*', '*b', 'db'], { minLength: 1 })),
      upstreams: fc.constant(null),
      expires_at: fc.constant(null),
    });
    const target = fc.record({
      environment: fc.constantFrom('e1', 'e2', 'e3'),
      name: fc.constantFrom('app/a', 'b', 'db', 'x'),
    });
    fc.assert(
      fc.property(
        fc.array(held, { minLength: 1, maxLength: 4 }),
        fc.constantFrom(...Object.entries(asked)),
        target,
        (list, [scope, action], at) => {
          const caller = {
            ...nobody,
            kind: 'member' as const,
            permissions: list as unknown as [PermissionSet],
          };
          const may = mayAct(caller, actions[action], '203.0.113.7') === null;
          expect(reasons(list, [scope], null).length > 0).toBe(may);
          const reach = reasons(list, [scope], at);
          expect(reach.length > 0).toBe(
            may && mayReach(caller, actions[action], { ...at, shown: at.environment }) === null,
          );
          expect(reach.length > 0).toBe(reaches(caller, [scope], at.environment, at.name));
          // Each reason gives it by itself, and what is none does not.
          for (const one of list)
            expect(reach.includes(one)).toBe(
              mayAct({ ...caller, permissions: [one] }, actions[action], '') === null &&
                reaches({ ...caller, permissions: [one] }, [scope], at.environment, at.name),
            );
        },
      ),
    );
  });

  it('uses the default environment for a name alone, and refuses an unknown scope, environment or member', async () => {
    const o = await newOrg();
    const { id } = await newMember(o, 'viewer');
    const grant = await newGrant(o, 'member', id, { environments: ['production'], secrets: ['app/*'] });
    const access = (query: string, of = id) => o.get(`/members/${of}/access?${query}`);
    const why = { source: 'grant', grant_id: grant.id, grantee: { type: 'member', id } };
    expect((await access('action=secrets:read&secret=app/x')).json).toEqual({
      allowed: true,
      suspended: false,
      reasons: [why],
    });
    expect((await access('action=secrets:read&secret=db')).json).toMatchObject({
      allowed: false,
      reasons: [],
    });
    expect((await access('action=secrets:read&secret=app/x&environment=staging')).json.allowed).toBe(false);
    expect((await access('action=secrets:read')).json).toMatchObject({ allowed: true, reasons: [why] });
    expect((await access('action=secrets:list')).json.reasons).toEqual([
      { source: 'role', role: 'viewer' },
      why,
    ]);
    expect(codeOf(await access('action=secrets:see'))).toEqual([400, 'VALIDATION_FAILED']);
    expect(codeOf(await access(''))).toEqual([400, 'VALIDATION_FAILED']);
    expect(codeOf(await access('action=secrets:read&environment=nowhere'))).toEqual([404, 'NOT_FOUND']);
    expect(codeOf(await access('action=secrets:read', 'mem_0'))).toEqual([404, 'NOT_FOUND']);
  });
});

describe('access: upstreams', () => {
  it('access: says which upstreams a member may use, and by what', async () => {
    const o = await newOrg();
    const { id } = await newMember(o, 'viewer');
    const stripe = await newUpstream(o, { name: 'stripe' });
    await newUpstream(o, { name: 'openai' });
    const access = async (query: string, by: Pick<typeof o, 'get'> = o) =>
      (await by.get(`/members/${id}/access?${query}`)).json;
    expect(await access('action=secrets:use')).toMatchObject({ allowed: false, upstreams: [] });
    const grantee = { type: 'member', id };
    const grant = (await o.post('/grants', { grantee, permission: 'use', upstreams: ['str*'] })).json;
    const why = { source: 'grant', grant_id: grant.id, grantee };
    const seen = [{ id: stripe.id, name: 'stripe' }];
    expect(await access('action=secrets:use')).toMatchObject({ allowed: true, upstreams: seen });
    expect(await access('action=secrets:use&upstream=stripe')).toEqual({
      allowed: true,
      suspended: false,
      reasons: [why],
      upstreams: seen,
    });
    expect(await access('action=secrets:use&upstream=openai')).toMatchObject({
      allowed: false,
      reasons: [],
      upstreams: [],
    });
    // Who may read a secret may use it.
    await newGrant(o, 'member', id, { permission: 'read' });
    expect(await access('action=secrets:use&upstream=openai')).toMatchObject({ allowed: true });
    expect(await access('action=secrets:read')).not.toHaveProperty('upstreams');
    for (const query of [
      'action=secrets:read&upstream=stripe',
      'action=secrets:use&upstream=stripe&secret=x',
    ])
      expect((await access(query)).error.code).toBe('VALIDATION_FAILED');
    const { o: asker } = await newKey(o, { scopes: ['members:read'] });
    expect(await access('action=secrets:use', asker)).toMatchObject({ allowed: true, upstreams: [] });
    for (const query of ['upstream=stripe', 'upstream=unknown'])
      expect((await access(`action=secrets:use&${query}`, asker)).error.code).toBe('NOT_FOUND');
  });
});

describe('integrity: rows of members in the database', () => {
  slow(
    'an altered role, a planted grant and a planted team member are refused, also after the gate lost its storage',
    async () => {
      const o = await newOrg();
      const { id: secret } = await newSecret(o);
      const a = await newMember(o, 'viewer');
      const b = await newMember(o, 'viewer');
      const trusted = await newMember(o, 'viewer');
      const team = await newTeam(o, trusted.id);
      await newGrant(o, 'team', team);
      await newGrant(o, 'member', trusted.id);
      const run = (sql: string, ...params: string[]) =>
        db
          .prepare(sql)
          .bind(...params)
          .run();
      await run("update members set role = 'owner' where id = ?", a.id);
      await run("update grants set grantee_id = ? where grantee_type = 'member' and org_id = ?", b.id, o.id);
      await run(
        'update team_members set id = ?, member_id = ? where org_id = ?',
        `${team}.${b.id}`,
        b.id,
        o.id,
      );
      const read = async (member: string) =>
        (
          await asMember(o, member, 'secret.read', {
            named: { secret },
            input: { version: null, if_none_match: null },
          })
        ).status;
      expect([await read(a.id), await read(b.id), await read(trusted.id)]).toEqual([403, 403, 200]);
      await loseStorage(o);
      // What was altered is left out: so it is as if it had never been.
      expect([await read(a.id), await read(b.id), await read(trusted.id)]).toEqual([401, 403, 403]);
    },
  );
});

describe('allowed addresses: members', () => {
  it('apply only to members', async () => {
    const o = await newOrg();
    const owner = await ownerId(o);
    expect((await o.get('')).json.allowed_addresses).toBe(null);
    const ranges = ['198.51.100.0/24', '2001:db8::/32'];
    // An API key may say so from anywhere; a browser session must not shut itself out.
    expect((await o.patch('', { allowed_addresses: ranges })).json.allowed_addresses).toEqual(ranges);
    expect((await o.get('/members')).status).toBe(200);
    expect((await asMember(o, owner, 'member.list')).code).toBe('ADDRESS_NOT_ALLOWED');
    const list = { limit: 1, after: null, status: null };
    expect((await asMember(o, owner, 'member.list', { input: list, ip: '198.51.100.3' })).status).toBe(200);
    expect((await o.patch('', { allowed_addresses: null })).json.allowed_addresses).toBe(null);
    const update = (allowed_addresses: string[]) =>
      asMember(o, owner, 'org.update', {
        input: { name: null, default_environment: null, allowed_addresses },
      });
    expect((await update(ranges)).code).toBe('VALIDATION_FAILED');
    expect((await update(['203.0.113.0/24'])).status).toBe(200);
    expect(codeOf(await o.patch('', { allowed_addresses: ['nowhere'] }))).toEqual([400, 'VALIDATION_FAILED']);
    const { o: reader } = await newKey(o, { scopes: ['org:read'] });
    expect(codeOf(await reader.patch('', { allowed_addresses: null }))).toEqual([403, 'INSUFFICIENT_SCOPE']);
    expect((await o.patch('', { name: 'renamed' })).json.allowed_addresses).toEqual(['203.0.113.0/24']);
  });
});

describe('member: lists and limits', () => {
  slow('pages show all members; 2,000 is the limit', async () => {
    const o = await newOrg();
    const ids = [await ownerId(o)];
    for (let i = 0; i < 4; i++) ids.push((await newMember(o, i % 2 ? 'viewer' : 'auditor')).id);
    const seen: string[] = [];
    for (let cursor = ''; ; ) {
      const { json } = await o.get(`/members?limit=2${cursor}`);
      seen.push(...json.data.map(({ id }: { id: string }) => id));
      if (!json.has_more) break;
      cursor = `&cursor=${json.next_cursor}`;
    }
    expect(seen).toEqual(ids);
    await inGate(o, ({ core }) => {
      const row = core.rows.get('member', ids[1] as string) as NonNullable<MemberRow>;
      for (let i = 0; i < 1995; i++) core.rows.put('member', { ...row, id: `mem_${i}`, email: `${i}@x.io` });
    });
    expect(codeOf(await o.post('/members', { email: 'n@x.io', name: 'n', role: 'viewer' }))).toEqual([
      409,
      'LIMIT_REACHED',
    ]);
  });
});
