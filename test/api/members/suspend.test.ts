// Suspended members: whatever a removal ends stops at once, and what they began before does not come back
// when they are resumed.
import { describe, expect, it } from 'vitest';
import { newId } from '../../../src/db/ids';
import { newKey } from '../../support/credentials';
import { faults } from '../../support/faults';
import { loseStorage } from '../../support/gate';
import {
  approvalIn,
  approve,
  newApprovalPolicy,
  newOffice,
  settle,
  under,
} from '../../support/governance/approvals';
import { herokuConfig, statusOf, syncAll, useTargets } from '../../support/integrations/syncs';
import { asMember, newGrant, newMember, newTeam, ownerId } from '../../support/people';
import { newLink, view } from '../../support/shares';
import { another, type Browser, newBrowser, newSignedIn, ORIGIN, signIn } from '../../support/signin/browser';
import { newDevice, provenBy, whoamiBy } from '../../support/signin/device';
import { newPasskey } from '../../support/signin/passkey';
import { decide, newTerminal, signInTerminal } from '../../support/signin/terminal';
import { slow } from '../../support/slow';
import { type Caller, codeOf, newOrg, newSecret, useWorld } from '../../support/world';

useWorld();
const targets = useTargets();

const EXCEEDS = [403, 'SCOPE_EXCEEDS_PARENT'];
const GONE = [410, 'SHARE_GONE'];

async function suspend(o: Caller, id: string, query = '') {
  const answer = await o.post(`/members/${id}/suspend${query}`);
  expect(answer.status, answer.text).toBe(200);
  return answer.json;
}

/** Resumes a member a second later: what a gate's clock cannot tell apart counts as before. */
async function resume(o: Caller, id: string) {
  faults.clock = (faults.clock ?? Date.now()) + 1000;
  const answer = await o.post(`/members/${id}/resume`);
  expect(answer.status, answer.text).toBe(200);
  faults.clock += 1000;
  return answer.json;
}

const eventsOf = async (o: Caller, type: string) =>
  (await o.get(`/events?types=${type}`)).json.data.map(({ data }: { data: object }) => data);

describe('suspension: a member', () => {
  it('suspension: is shown, listed and told in an event, and ends with resume', async () => {
    const o = await newOrg();
    const { id } = await newMember(o, 'developer', { name: 'Bea' });
    const before = (await o.get(`/members/${id}`)).json;
    expect(before.suspended_at).toBeNull();
    const suspended = await suspend(o, id);
    expect(suspended).toMatchObject({ id, status: 'suspended', enrolment: null, credentials: [] });
    expect(Date.parse(suspended.suspended_at)).toBeGreaterThan(0);
    const { credentials: _, ...row } = suspended;
    expect((await o.get(`/members/${id}`)).json).toEqual(row);
    const listed = async (status: string) =>
      (await o.get(`/members?status=${status}`)).json.data.map((one: { id: string }) => one.id);
    expect([await listed('suspended'), await listed('invited')]).toEqual([
      [id],
      expect.not.arrayContaining([id]),
    ]);
    // Again changes nothing.
    expect(await suspend(o, id)).toMatchObject({ revision: row.revision });
    expect(codeOf(await o.post(`/members/${id}/enrolments`))).toEqual([409, 'CONFLICT']);
    expect(await resume(o, id)).toMatchObject({ status: 'lapsed', suspended_at: null, role: 'developer' });
    expect((await o.post(`/members/${id}/resume`)).status).toBe(200);
    expect(await eventsOf(o, 'MEMBER_CHANGED')).toEqual([
      expect.objectContaining({ member_id: id, suspended: true, credentials: [] }),
      expect.objectContaining({ member_id: id, suspended: false }),
    ]);
    expect(codeOf(await o.post(`/members/${newId('mem')}/suspend`))).toEqual([404, 'NOT_FOUND']);
    expect(codeOf(await o.post(`/members/${newId('mem')}/resume`))).toEqual([404, 'NOT_FOUND']);
  });

  it('suspension: obeys If-Match', async () => {
    const o = await newOrg();
    const { id } = await newMember(o);
    const old = { 'If-Match': '"r1"' };
    expect((await o.patch(`/members/${id}`, { name: 'N' })).status).toBe(200);
    expect(codeOf(await o.call('POST', `/members/${id}/suspend`, undefined, old))).toEqual([
      412,
      'REVISION_CONFLICT',
    ]);
    expect((await o.get(`/members/${id}`)).json.suspended_at).toBeNull();
  });

  it('suspension: the access of the member is explained as none', async () => {
    const o = await newOrg();
    const { id } = await newMember(o, 'developer');
    await newGrant(o, 'member', id);
    const access = async () => (await o.get(`/members/${id}/access?action=secrets:read`)).json;
    expect(await access()).toMatchObject({ allowed: true, suspended: false });
    await suspend(o, id);
    expect(await access()).toEqual({ allowed: false, suspended: true, reasons: [] });
    await resume(o, id);
    expect((await access()).reasons.length).toBe(2);
  });
});

describe('suspension: sessions', () => {
  it('suspension: are refused with the reply, and stay so when the member is resumed', async () => {
    const { o, browser } = await newSignedIn();
    const bob = await signIn(o, 'admin');
    const second = await another(bob);
    const terminal = await signInTerminal(bob);
    const id = bob.member.id as string;
    const waiting = newTerminal();
    await waiting.start();
    expect((await decide(bob, 'confirm', waiting.codes.user_code)).status).toBe(200);
    await suspend(browser.o, id);
    const refused = async () => {
      for (const one of [bob, second, terminal])
        expect(codeOf(await one.whoami())).toEqual([401, 'TOKEN_REVOKED']);
      for (const one of [bob, second]) expect((await one.refresh()).status).toBe(401);
      expect((await terminal.refresh()).status).toBe(401);
      expect((await waiting.poll()).status).toBe(400);
    };
    await refused();
    expect(codeOf(await bob.login())).toEqual([401, 'UNAUTHENTICATED']);
    await loseStorage(o);
    await refused();
    expect(codeOf(await bob.login())).toEqual([401, 'UNAUTHENTICATED']);
    await resume(browser.o, id);
    await refused();
    // The passkey is as before.
    expect((await bob.login()).status).toBe(200);
    expect((await bob.whoami()).json).toMatchObject({ id, name: expect.any(String) });
  });

  slow('suspension: an enrolment link ends, also for a member who is resumed', async () => {
    const o = await newOrg();
    const { id, enrolment_url } = await newMember(o, 'developer');
    await suspend(o, id);
    const browser = newBrowser(await newPasskey(ORIGIN));
    const tried = async () => codeOf(await browser.enrol(enrolment_url));
    expect(await tried()).toEqual([410, 'ENROLMENT_GONE']);
    await resume(o, id);
    expect(await tried()).toEqual([410, 'ENROLMENT_GONE']);
    const { json } = await o.post(`/members/${id}/enrolments`);
    expect((await browser.enrol(json.enrolment_url)).status).toBe(200);
  });

  it('suspension: a sign-in at the same time leaves no session', async () => {
    const { o } = await newSignedIn();
    const bob = await signIn(o, 'developer');
    for (let n = 0; n < 5; n++) {
      const fresh = newBrowser(bob.passkey);
      faults.delay = 5;
      const [login] = await Promise.all([fresh.login(), suspend(o, bob.member.id)]);
      faults.delay = 0;
      if (login.status === 200) expect((await fresh.whoami()).status).toBe(401);
      await resume(o, bob.member.id);
      if (login.status === 200) expect((await fresh.whoami()).status).toBe(401);
    }
  });
});

describe('suspension: what the member began', () => {
  it('suspension: share links end for good, and those of a key that they created stay', async () => {
    const { o } = await newSignedIn();
    const bob = await signIn(o, 'developer');
    const { id } = await newSecret(o);
    const key = await newKey(bob.o, { scopes: ['secrets:read', 'secrets:share', 'secrets:list'] });
    const own = await newLink(bob.o, id);
    const ofKey = await newLink(key.o, id);
    await suspend(o, bob.member.id);
    expect(codeOf(await view(own))).toEqual(GONE);
    expect((await view(ofKey)).status).toBe(200);
    await resume(o, bob.member.id);
    expect(codeOf(await view(own))).toEqual(GONE);
    expect((await bob.login()).status).toBe(200);
    expect((await view(await newLink(bob.o, id))).status).toBe(200);
  });

  slow('suspension: their devices are blocked for good, and none is assigned to them', async () => {
    const { o } = await newSignedIn();
    const bob = await signIn(o, 'developer');
    const member_id = bob.member.id as string;
    const { id, keys } = await newDevice(o);
    const other = await newDevice(o);
    expect((await o.post(`/devices/${id}/assign`, { member_id })).status).toBe(200);
    const { json } = await o.post('/agent-credentials', {
      name: 'a',
      scopes: ['secrets:read'],
      device_id: id,
    });
    const bound = () => provenBy(o.as(json.token), keys).get('/secrets');
    expect((await bound()).status).toBe(200);
    await suspend(o, member_id);
    expect(codeOf(await bound())).toEqual([401, 'TOKEN_REVOKED']);
    expect((await o.get(`/devices/${id}`)).json.status).toBe('blocked');
    expect(codeOf(await o.post(`/devices/${other.id}/assign`, { member_id }))).toEqual([409, 'CONFLICT']);
    await resume(o, member_id);
    expect(codeOf(await bound())).toEqual([401, 'TOKEN_REVOKED']);
    expect(codeOf(await o.post(`/devices/${id}/assign`, { member_id: null }))).toEqual([409, 'CONFLICT']);
    expect((await o.post(`/devices/${other.id}/assign`, { member_id })).json.status).toBe('active');
    expect((await whoamiBy(json.token, null)).status).toBe(401);
  });

  slow('suspension: a connection that they stored sends nothing until they are resumed', async () => {
    const { o } = await newSignedIn();
    const bob = await signIn(o, 'admin');
    await newSecret(o, { name: 'API_KEY' });
    const { json, status } = await bob.o.post('/integrations', {
      kind: 'sync',
      platform: 'heroku',
      name: 'h',
      config: herokuConfig,
    });
    expect(status).toBe(201);
    const run = async () => {
      const asked = await o.post('/integrations/sync', {
        integrationId: json.id,
        environmentId: 'production',
      });
      if (asked.status !== 202) return asked.status;
      await syncAll(o);
      return (await statusOf(o, asked.json.syncId)).status;
    };
    await suspend(o, bob.member.id);
    const calls = targets.calls.length;
    expect(await run()).not.toBe('completed');
    expect(targets.calls.length).toBe(calls);
    await resume(o, bob.member.id);
    expect(await run()).toBe('completed');
  });

  it('suspension: credentials that they created stay and are named, or end where that is asked', async () => {
    const { o } = await newSignedIn();
    const bob = await signIn(o, 'admin');
    const key = await newKey(bob.o, { name: 'deploy', scopes: ['secrets:read'] });
    const named = [{ kind: 'api_key', id: key.id, name: 'deploy' }];
    expect((await suspend(o, bob.member.id)).credentials).toEqual(named);
    expect((await eventsOf(o, 'MEMBER_CHANGED'))[0]).toMatchObject({ suspended: true, credentials: named });
    expect((await key.o.get('/secrets')).status).toBe(200);
    const weak = await newKey(o, { scopes: ['members:*', 'secrets:*', 'tokens:read'] });
    const dev = await newMember(o, 'viewer');
    expect(codeOf(await weak.o.post(`/members/${dev.id}/suspend?revoke_credentials=true`))).toEqual([
      403,
      'INSUFFICIENT_SCOPE',
    ]);
    expect((await suspend(o, bob.member.id, '?revoke_credentials=true')).credentials).toEqual(named);
    expect(codeOf(await key.o.get('/secrets'))).toEqual([401, 'TOKEN_REVOKED']);
    expect(await suspend(o, bob.member.id)).toMatchObject({ credentials: [] });
  });
});

describe('suspension: permission', () => {
  it('suspension: follows the rules of removal, and resume those of an invitation', async () => {
    const o = await newOrg();
    const owner = await ownerId(o);
    const admin = (await newMember(o, 'admin')).id;
    const other = (await newMember(o, 'owner')).id;
    const viewer = (await newMember(o, 'viewer')).id;
    const by = (member: string, action: 'member.suspend' | 'member.resume', target: string) =>
      asMember(o, member, action, { named: { member: target }, input: { revoke: false } });
    for (const action of ['member.suspend', 'member.resume'] as const) {
      expect((await by(admin, action, other)).code).toBe('SCOPE_EXCEEDS_PARENT');
      expect((await by(viewer, action, admin)).code).toBe('INSUFFICIENT_SCOPE');
    }
    for (const limits of [{ environments: ['development'] }, { secrets: ['dev_*'] }]) {
      const { o: limited } = await newKey(o, limits);
      expect(codeOf(await limited.post(`/members/${viewer}/suspend`))).toEqual(EXCEEDS);
    }
    // Who holds members:write alone may end what a viewer may do, and not give it.
    const weak = await newKey(o, { scopes: ['members:write'] });
    expect((await weak.o.post(`/members/${viewer}/suspend`)).status).toBe(200);
    expect(codeOf(await weak.o.post(`/members/${viewer}/resume`))).toEqual(EXCEEDS);
    expect((await by(admin, 'member.suspend', admin)).status).toBe(200);
    expect((await by(admin, 'member.resume', admin)).code).toBe('UNAUTHENTICATED');
    expect((await by(owner, 'member.suspend', other)).status).toBe(200);
    expect((await by(other, 'member.resume', other)).code).toBe('UNAUTHENTICATED');
  });

  slow('suspension: an owner only in a session that was confirmed', async () => {
    const { o, browser } = await newSignedIn();
    const eve = await signIn(o, 'owner');
    faults.clock = Date.now() + 400_000;
    expect(codeOf(await browser.o.post(`/members/${eve.member.id}/suspend`))).toEqual([
      403,
      'REAUTHENTICATION_REQUIRED',
    ]);
    await suspend(o, eve.member.id);
    expect(codeOf(await browser.o.post(`/members/${eve.member.id}/resume`))).toEqual([
      403,
      'REAUTHENTICATION_REQUIRED',
    ]);
  });

  it('suspension: the last owner who acts is not suspended, demoted or removed, also not by concurrent requests', async () => {
    const o = await newOrg();
    const owners = [await ownerId(o), (await newMember(o, 'owner')).id, (await newMember(o, 'owner')).id];
    const keys = [await newKey(o), await newKey(o), await newKey(o)];
    faults.delay = 20;
    const answers = await Promise.all(keys.map(({ o: by }, at) => by.post(`/members/${owners[at]}/suspend`)));
    faults.delay = 0;
    expect(answers.map(({ json }) => json.error?.code).filter(Boolean)).toEqual(['LAST_OWNER']);
    const last = owners[answers.findIndex(({ status }) => status !== 200)] as string;
    for (const answer of [
      await o.del(`/members/${last}`),
      await o.patch(`/members/${last}`, { role: 'admin' }),
      await o.post(`/members/${last}/suspend`),
    ])
      expect(codeOf(answer)).toEqual([409, 'LAST_OWNER']);
    // One who is suspended can be removed and demoted.
    const [gone, demoted] = owners.filter((id) => id !== last) as [string, string];
    expect((await o.del(`/members/${gone}`)).status).toBe(200);
    expect((await o.patch(`/members/${demoted}`, { role: 'viewer' })).status).toBe(200);
  });
});

describe('suspension: approvals', () => {
  /** An office with a held secret, and two admins who can neither ask nor decide for each other. */
  async function newHeld() {
    const office = await newOffice();
    const cat = await signIn(office.o, 'admin');
    const dan = await signIn(office.o, 'admin');
    await settle(office.o);
    const secret = await newSecret(office.o);
    const approvers = { role: 'admin' };
    await newApprovalPolicy(office.o, ['secret.read'], { config: { required: 1, approvers } });
    const path = `/secrets/${secret.id}`;
    const held = async (by: Caller) => approvalIn(await by.get(path)).id as string;
    const state = async (id: string) => (await office.o.get(`/approvals/${id}`)).json.status;
    return { ...office, cat, dan, path, held, state };
  }
  const idOf = (browser: Browser) => browser.member.id as string;

  /** Resumes a member who decides for a policy: another approver has to agree. */
  async function resumed(o: Caller, id: string, by: Browser) {
    faults.clock = (faults.clock ?? Date.now()) + 1000;
    const path = `/members/${id}/resume`;
    const asked = approvalIn(await o.post(path));
    expect((await approve(by, asked.id)).status).toBe(200);
    expect((await o.call('POST', path, undefined, under(asked.id))).status).toBe(200);
    faults.clock += 1000;
  }

  it('suspension: what they asked for is void, and stays so', async () => {
    const { o, cat, dan, held, state } = await newHeld();
    const early = await another(cat);
    const signedOut = await held(early.o);
    await early.logout();
    expect(await state(signedOut)).toBe('pending');
    await suspend(o, idOf(cat));
    expect(await state(signedOut)).toBe('void');
    await resumed(o, idOf(cat), dan);
    expect(await state(signedOut)).toBe('void');
  });

  it('suspension: what they approved counts no more, also once they are resumed', async () => {
    const { o, asked, cat, dan, path, held, state } = await newHeld();
    const id = await held(asked);
    expect((await approve(cat, id)).json.status).toBe('approved');
    await suspend(o, idOf(cat));
    expect(codeOf(await asked.get(path, under(id)))[0]).not.toBe(200);
    await resumed(o, idOf(cat), dan);
    expect(codeOf(await asked.get(path, under(id)))[0]).not.toBe(200);
    expect(await state(id)).not.toBe('used');
    const next = await held(asked);
    expect((await approve(dan, next)).status).toBe(200);
    expect((await asked.get(path, under(next))).status).toBe(200);
  });

  it('suspension: they are no approver who counts for a policy', async () => {
    const { o, ann, cat, dan } = await newHeld();
    const wanted = { operations: ['secret.delete'], required: 3, approvers: { role: 'admin' } };
    const make = async () =>
      ann.o.post('/policies', { name: crypto.randomUUID(), kind: 'approval', config: wanted });
    await ann.confirm();
    expect((await make()).status).toBe(201);
    await suspend(o, idOf(cat));
    expect(codeOf(await make())).toEqual([422, 'APPROVAL_IMPOSSIBLE']);
    expect(idOf(dan)).not.toBe(idOf(cat));
  });

  it('suspension: resuming a decider is held like making one, and ties both', async () => {
    const { o, asked, bob, cat, held } = await newHeld();
    await suspend(o, idOf(cat));
    const ask = await bob.o.post(`/members/${idOf(cat)}/resume`);
    const { id } = approvalIn(ask);
    const shown = (await bob.o.get(`/approvals/${id}`)).json;
    expect(shown.operation).toBe('member.change');
    expect(JSON.stringify(shown.shown)).toContain('resumed');
    // By an owner it is held too: an admin who may decide is there.
    expect(codeOf(await o.post(`/members/${idOf(cat)}/resume`))).toEqual([403, 'APPROVAL_REQUIRED']);
    expect(await held(asked)).toMatch(/^apr_/);
  });

  it('suspension: whoever resumes a member is not decided for by them for seven days', async () => {
    const { o, bob } = await newOffice();
    const cat = await signIn(o, 'admin');
    await settle(o);
    await suspend(bob.o, idOf(cat));
    await resume(bob.o, idOf(cat));
    const secret = await newSecret(o);
    await newApprovalPolicy(o, ['secret.read'], { config: { required: 1, approvers: { role: 'admin' } } });
    const { id } = approvalIn(await bob.o.get(`/secrets/${secret.id}`));
    expect((await cat.login()).status).toBe(200);
    expect(codeOf(await approve(cat, id))[0]).toBe(403);
  });

  slow('suspension: is held where a policy holds changes of members', async () => {
    const { o, bob, cat } = await newHeld();
    await newApprovalPolicy(o, ['member.change']);
    expect(codeOf(await bob.o.post(`/members/${idOf(cat)}/suspend`))).toEqual([403, 'APPROVAL_REQUIRED']);
    expect((await cat.whoami()).status).toBe(200);
  });
});

it('suspension: teams and grants are kept', async () => {
  const o = await newOrg();
  const { id } = await newMember(o, 'viewer');
  const team = await newTeam(o, id);
  const grant = await newGrant(o, 'member', id);
  await suspend(o, id);
  expect((await o.get(`/teams/${team}/members`)).json.data.length).toBe(1);
  await resume(o, id);
  expect((await o.get('/grants')).json.data.map((row: { id: string }) => row.id)).toEqual([grant.id]);
});
