// Members whose role is limited to environments: what they reach, what grants add, who sets and lifts the
// limit, and when it applies.

import { describe, expect, it } from 'vitest';
import { newKey } from '../../support/credentials';
import { newApprovalPolicy } from '../../support/governance/approvals';
import { newGrant, newMember, ownerId } from '../../support/people';
import { newSignedIn, signIn } from '../../support/signin/browser';
import { slow } from '../../support/slow';
import { type Answer, type Caller, codeOf, db, newOrg, newSecret, useWorld } from '../../support/world';

useWorld();

const EXCEEDS = [403, 'SCOPE_EXCEEDS_PARENT'];
const LACKS = [403, 'INSUFFICIENT_SCOPE'];
const INVALID = [400, 'VALIDATION_FAILED'];
const statuses = async (...calls: Promise<Answer>[]) =>
  (await Promise.all(calls)).map(({ status }) => status);
const idOf = async (o: Caller, slug: string) => (await o.get(`/environments/${slug}`)).json.id as string;

/** An organisation with a secret in each of two environments, and a developer of the first. */
async function withDeveloper() {
  const { o, browser: ann } = await newSignedIn();
  const near = await newSecret(o, { name: 'NEAR', environment: 'development' });
  const far = await newSecret(o, { name: 'FAR', environment: 'production' });
  const dev = await signIn(o, 'developer', { environments: ['development'] });
  return { o, ann, near, far, dev, at: `/members/${dev.member.id}` };
}

describe('member: environments', () => {
  slow('are given by id or slug, shown as slugs, and null for none', async () => {
    const o = await newOrg();
    const id = await idOf(o, 'staging');
    const invite = (environments: unknown, role = 'developer') =>
      o.post('/members', { email: `${crypto.randomUUID()}@x.io`, name: 'x', role, environments });
    const limited = (await invite([id, 'development'])).json;
    expect([...limited.environments].sort()).toEqual(['development', 'staging']);
    expect((await o.get(`/members/${limited.id}`)).json.environments).toEqual(limited.environments);
    for (const none of [undefined, null]) expect((await invite(none)).json.environments).toBe(null);
    expect(codeOf(await invite([]))).toEqual(INVALID);
    expect(codeOf(await invite(['staging', 'staging']))).toEqual(INVALID);
    expect(codeOf(await invite(['nowhere']))).toEqual([404, 'NOT_FOUND']);
    expect(codeOf(await invite(['env_0']))).toEqual([404, 'NOT_FOUND']);
    // The same environments in another order, or by another name, are no change.
    const again = await o.patch(`/members/${limited.id}`, { environments: ['development', 'staging'] });
    expect([again.status, again.json.status, again.json.environments]).toEqual([
      200,
      'invited',
      limited.environments,
    ]);
    expect((await o.patch(`/members/${limited.id}`, { environments: null })).json.environments).toBe(null);
    expect(codeOf(await o.patch(`/members/${limited.id}`, { environments: [] }))).toEqual(INVALID);
    expect(codeOf(await o.patch(`/members/${limited.id}`, { environments: ['nowhere'] }))).toEqual([
      404,
      'NOT_FOUND',
    ]);
  });

  it('an owner has none', async () => {
    const { o } = await newSignedIn();
    const owner = await ownerId(o);
    const body = { email: 'x@x.io', name: 'x', role: 'owner', environments: ['staging'] };
    expect(codeOf(await o.post('/members', body))).toEqual(INVALID);
    const other = await newMember(o, 'owner');
    for (const id of [owner, other.id])
      expect(codeOf(await o.patch(`/members/${id}`, { environments: ['staging'] }))).toEqual(INVALID);
    const limited = await newMember(o, 'admin', { environments: ['staging'] });
    expect(codeOf(await o.patch(`/members/${limited.id}`, { role: 'owner' }))).toEqual(INVALID);
    const lifted = await o.patch(`/members/${limited.id}`, { role: 'owner', environments: null });
    expect(lifted.json).toMatchObject({ role: 'owner', environments: null });
    const demoted = await o.patch(`/members/${limited.id}`, { role: 'admin', environments: ['staging'] });
    expect(demoted.json).toMatchObject({ role: 'admin', environments: ['staging'] });
  });

  it('bound what the role gives, in a browser and in whoami', async () => {
    const { near, far, dev } = await withDeveloper();
    const { o } = dev;
    expect((await dev.whoami()).json).toMatchObject({
      environments: ['development'],
      default_environment: null,
      secrets: null,
    });
    expect(await statuses(o.get(`/secrets/${near.id}`), o.get(`/secrets/${far.id}`))).toEqual([200, 403]);
    expect(
      (await o.get('/secrets?environment=development')).json.data.map(({ name }: { name: string }) => name),
    ).toEqual(['NEAR']);
    expect(codeOf(await o.get('/secrets?environment=production'))).toEqual(LACKS);
    expect(codeOf(await o.get('/environments/production/values'))).toEqual(LACKS);
    expect((await o.get('/environments')).json.data.map(({ slug }: { slug: string }) => slug)).toEqual([
      'development',
    ]);
    const made = { name: 'NEW', type: 'generic', value: 'v' };
    expect(codeOf(await o.post('/secrets', { ...made, environment: 'production' }))).toEqual(LACKS);
    // The default environment is out of reach.
    expect(codeOf(await o.post('/secrets', made))).toEqual(LACKS);
    expect((await o.post('/secrets', { ...made, environment: 'development' })).status).toBe(201);
  });

  slow('bound what the member gives to credentials', async () => {
    const { dev, far } = await withDeveloper();
    const key = await newKey(dev.o, { scopes: ['secrets:read'] });
    expect((await dev.o.get(`/api-keys/${key.id}`)).json.environments).toEqual(['development']);
    expect(codeOf(await key.o.get(`/secrets/${far.id}`))).toEqual(LACKS);
    const wide = { name: 'k', scopes: ['secrets:read'], environments: ['production'] };
    for (const path of ['/api-keys', '/agent-credentials'])
      expect(codeOf(await dev.o.post(path, wide))).toEqual(EXCEEDS);
  });

  slow('grants add to the role outside them, and the access of a member says by what', async () => {
    const { o, far, dev, at } = await withDeveloper();
    const grant = await newGrant(o, 'member', dev.member.id, { environments: ['production'] });
    expect((await dev.o.get(`/secrets/${far.id}`)).status).toBe(200);
    expect(codeOf(await dev.o.del(`/secrets/${far.id}`))).toEqual(LACKS);
    const why = async (action: string, environment: string) =>
      (await o.get(`${at}/access?action=${action}&environment=${environment}`)).json.reasons.map(
        ({ source }: { source: string }) => source,
      );
    expect(await why('secrets:read', 'development')).toEqual(['role']);
    expect(await why('secrets:read', 'production')).toEqual(['grant']);
    expect(await why('secrets:delete', 'production')).toEqual([]);
    expect(await why('secrets:delete', 'staging')).toEqual([]);
    await o.del(`/grants/${grant.id}`);
    expect(codeOf(await dev.o.get(`/secrets/${far.id}`))).toEqual(LACKS);
  });

  slow('a change raises the revision and an event, and applies with the reply', async () => {
    const { o, near, far, dev, at } = await withDeveloper();
    const { revision } = (await o.get(at)).json;
    const widened = await o.patch(at, { environments: ['development', 'production'] });
    expect(widened.json.revision).toBe(revision + 1);
    expect((await dev.o.get(`/secrets/${far.id}`)).status).toBe(200);
    expect((await o.patch(at, { environments: null }, { 'If-Match': `"r${revision}"` })).status).toBe(412);
    await o.patch(at, { environments: ['production'] });
    expect(await statuses(dev.o.get(`/secrets/${near.id}`), dev.o.get(`/secrets/${far.id}`))).toEqual([
      403, 200,
    ]);
    const events = (await o.get('/events?limit=100')).json.data.filter(
      ({ type }: { type: string }) => type === 'MEMBER_CHANGED',
    );
    expect(events.map(({ data }: { data: { environments: string[] } }) => data.environments)).toEqual([
      ['development', 'production'],
      ['production'],
    ]);
    await o.patch(at, { environments: ['production'] });
    expect(
      (await o.get('/events?limit=100')).json.data.filter(
        ({ type }: { type: string }) => type === 'MEMBER_CHANGED',
      ),
    ).toHaveLength(2);
  });

  slow('a credential that the member made before keeps what it holds, as after a demotion', async () => {
    const { o, far } = await withDeveloper();
    const dev = await signIn(o, 'developer');
    const key = await newKey(dev.o, { scopes: ['secrets:read'] });
    await o.patch(`/members/${dev.member.id}`, { environments: ['development'] });
    expect(codeOf(await dev.o.get(`/secrets/${far.id}`))).toEqual(LACKS);
    expect((await key.o.get(`/secrets/${far.id}`)).status).toBe(200);
  });

  it('a link that somebody else made serves only where they gave the role', async () => {
    const o = await newOrg();
    const other = await newKey(o, { scopes: ['*'] });
    const limited = { environments: ['staging'] };
    const theirs = await newMember(other.o, 'viewer', limited);
    const mine = await newMember(o, 'viewer', limited);
    for (const { id } of [theirs, mine]) await o.patch(`/members/${id}`, { environments: null });
    const status = async ({ id }: { id: string }) => (await o.get(`/members/${id}`)).json.status;
    expect([await status(theirs), await status(mine)]).toEqual(['lapsed', 'invited']);
  });

  slow('end with their environment: the role then holds nowhere', async () => {
    const { o } = await newSignedIn();
    const { id } = (await o.post('/environments', { name: 'Short', slug: 'short' })).json;
    const dev = await signIn(o, 'developer', { environments: ['short'] });
    expect((await o.del('/environments/short')).status).toBe(204);
    expect((await dev.o.get('/environments')).json.data).toEqual([]);
    expect((await dev.whoami()).json.environments).toEqual([id]);
    // Another environment of that name is another one.
    await o.post('/environments', { name: 'Short', slug: 'short' });
    expect(codeOf(await dev.o.get('/environments/short/values'))).toEqual(LACKS);
    expect((await o.get(`/members/${dev.member.id}`)).json.environments).toEqual([id]);
  });

  it('tampering: a limit that is lifted in D1 holds', async () => {
    const { o, far, dev } = await withDeveloper();
    await db
      .prepare('update members set environments = null where org_id = ? and id = ?')
      .bind(o.id, dev.member.id)
      .run();
    expect(codeOf(await dev.o.get(`/secrets/${far.id}`))).toEqual(LACKS);
  });
});

describe('member: an admin with environments', () => {
  async function withAdmin() {
    const world = await withDeveloper();
    const admin = await signIn(world.o, 'admin', { environments: ['development'] });
    return { ...world, admin };
  }

  slow('invites nobody, and changes no role and no environments', async () => {
    const { o, admin, dev, at } = await withAdmin();
    const fields = { email: 'n@x.io', name: 'n', role: 'viewer' };
    for (const body of [fields, { ...fields, environments: ['development'] }])
      expect(codeOf(await admin.o.post('/members', body))).toEqual(EXCEEDS);
    const own = `/members/${admin.member.id}`;
    for (const path of [at, own])
      for (const body of [{ environments: null }, { environments: ['production'] }, { role: 'viewer' }])
        expect(codeOf(await admin.o.patch(path, body))).toEqual(EXCEEDS);
    expect((await admin.o.patch(at, { name: 'Renamed' })).status).toBe(200);
    expect((await o.get(own)).json.environments).toEqual(['development']);
    expect((await o.get(at)).json).toMatchObject({
      id: dev.member.id,
      role: 'developer',
      environments: ['development'],
    });
  });

  it('removes nobody, nor with a grant without limits', async () => {
    const { o, admin, at } = await withAdmin();
    await newGrant(o, 'member', admin.member.id);
    expect(codeOf(await admin.o.del(at))).toEqual(EXCEEDS);
    expect((await o.get(at)).status).toBe(200);
  });

  slow('does not change an admin of more environments, nor their passkeys', async () => {
    const { o, admin } = await withAdmin();
    const wide = await signIn(o, 'admin', { environments: ['development', 'staging'] });
    const apart = await signIn(o, 'admin', { environments: ['staging'] });
    expect(codeOf(await admin.o.patch(`/members/${wide.member.id}`, { name: 'x' }))).toEqual(EXCEEDS);
    const passkeyOf = async (id: string) => (await o.get(`/members/${id}/passkeys`)).json.data[0].id;
    for (const { member } of [wide, apart]) {
      const path = `/members/${member.id}/passkeys/${await passkeyOf(member.id)}`;
      expect(codeOf(await admin.o.patch(path, { name: 'x' }))).toEqual(LACKS);
    }
    const own = `/members/${admin.member.id}/passkeys/${await passkeyOf(admin.member.id)}`;
    expect((await wide.o.patch(own, { name: 'x' })).status).toBe(200);
  });

  slow('puts nobody in a team that holds more', async () => {
    const { o, admin, dev } = await withAdmin();
    const { id } = (await o.post('/teams', { name: 'team' })).json;
    const add = () => admin.o.post(`/teams/${id}/members`, { member_id: dev.member.id });
    await newGrant(o, 'team', id, { environments: ['development'] });
    expect((await add()).status).toBe(201);
    await o.del(`/teams/${id}/members/${dev.member.id}`);
    await newGrant(o, 'team', id, { environments: ['production'] });
    expect(codeOf(await add())).toEqual(EXCEEDS);
  });

  slow('sees of the limits of others those that it reaches', async () => {
    const { o, admin } = await withAdmin();
    const other = await newMember(o, 'viewer', { environments: ['development', 'production'] });
    expect((await admin.o.get(`/members/${other.id}`)).json.environments).toEqual(['development']);
    const apart = await newMember(o, 'viewer', { environments: ['production'] });
    const whole = await newMember(o, 'viewer');
    const shown = async ({ id }: { id: string }) => (await admin.o.get(`/members/${id}`)).json.environments;
    expect([await shown(apart), await shown(whole)]).toEqual([[], null]);
  });

  slow('audit: sees the entries of its environments and its own', async () => {
    const { o, admin, near, far } = await withAdmin();
    for (const by of [o, admin.o]) for (const { id } of [near, far]) await by.get(`/secrets/${id}`);
    const read = (await admin.o.get('/audit-log?action=secret.read&limit=100')).json.data;
    expect(
      read.map(({ actor, resource, resource_name }: Record<string, { kind: string }>) => [
        actor?.kind,
        resource,
        resource_name,
      ]),
    ).toEqual([
      ['member', far.id, null],
      ['member', near.id, 'NEAR'],
      ['api_key', near.id, 'NEAR'],
    ]);
  });
});

describe('member: environments and approval', () => {
  slow('a change of them is held as a change of role is', async () => {
    const { o, at } = await withDeveloper();
    await newApprovalPolicy(o, ['member.change']);
    for (const environments of [['production'], null])
      expect(codeOf(await o.patch(at, { environments }))).toEqual([403, 'APPROVAL_REQUIRED']);
    expect((await o.patch(at, { name: 'Renamed' })).status).toBe(200);
    expect((await o.get(at)).json.environments).toEqual(['development']);
  });

  it('more environments for a decider are held by every approval policy', async () => {
    const { o } = await withDeveloper();
    const admin = await newMember(o, 'admin', { environments: ['development'] });
    await newApprovalPolicy(o, ['secret.delete']);
    for (const environments of [['development', 'production'], null])
      expect(codeOf(await o.patch(`/members/${admin.id}`, { environments }))).toEqual([
        403,
        'APPROVAL_REQUIRED',
      ]);
    expect(
      (await o.patch(`/members/${admin.id}`, { role: 'viewer', environments: ['production'] })).status,
    ).toBe(200);
  });
});
