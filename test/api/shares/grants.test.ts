// Shares by grants, the list of shares, approval policies, the audit log, events and the exposure report.
import { describe, expect, it } from 'vitest';
import { newAgent, newKey, newSession } from '../../support/credentials';
import { faults } from '../../support/faults';
import { evict, inCore } from '../../support/gate';
import { approvalIn, approve, newApprovalPolicy, newOffice, under } from '../../support/governance/approvals';
import { newMember, newTeam } from '../../support/people';
import { newLink, view } from '../../support/shares';
import { signIn } from '../../support/signin/browser';
import { slow } from '../../support/slow';
import { type Caller, codeOf, newOrg, newSecret, useWorld } from '../../support/world';

useWorld();

const grant = (type: string, id: string, fields: object = {}) => ({
  kind: 'grant',
  grantee: { type, id },
  permission: 'read',
  ...fields,
});

describe('share by grant', () => {
  slow('gives a member this secret and no other', async () => {
    const o = await newOrg();
    const secret = await newSecret(o, { name: 'app/a' });
    const other = await newSecret(o, { name: 'app/ab' });
    const same = await newSecret(o, { name: 'app/a', environment: 'staging' });
    const viewer = await signIn(o, 'viewer');
    expect((await viewer.o.get(`/secrets/${secret.id}`)).status).toBe(403);
    const { json, status } = await o.post(`/secrets/${secret.id}/share`, grant('member', viewer.member.id));
    expect([status, json.kind, json.permission, json.expires_at]).toEqual([201, 'grant', 'read', null]);
    expect(json.id).toMatch(/^grt_/);
    expect((await viewer.o.get(`/secrets/${secret.id}`)).json.value).toBe(secret.value);
    for (const { id } of [other, same]) expect((await viewer.o.get(`/secrets/${id}`)).status).toBe(403);
    expect((await viewer.o.patch(`/secrets/${secret.id}`, { value: 'x' })).status).toBe(403);
    expect((await o.del(`/secrets/${secret.id}/shares/${json.id}`)).status).toBe(204);
    expect((await viewer.o.get(`/secrets/${secret.id}`)).status).toBe(403);
  });

  it('gives no more than its creator holds, and is revoked with the session token that created it', async () => {
    const o: Caller = await newOrg();
    const secret = await newSecret(o);
    const { id } = await newMember(o, 'viewer');
    const reader = await newKey(o, { scopes: ['secrets:share', 'secrets:read', 'secrets:list'] });
    expect((await reader.o.post(`/secrets/${secret.id}/share`, grant('member', id))).status).toBe(201);
    const write = await reader.o.post(
      `/secrets/${secret.id}/share`,
      grant('member', id, { permission: 'write' }),
    );
    expect(codeOf(write)).toEqual([403, 'SCOPE_EXCEEDS_PARENT']);
    const brief = await newSession(o, { ttlSeconds: 60 });
    const late = new Date(Date.now() + 3_600_000).toISOString();
    const longer = await brief.o.post(
      `/secrets/${secret.id}/share`,
      grant('member', id, { expires_at: late }),
    );
    expect(codeOf(longer)).toEqual([403, 'SCOPE_EXCEEDS_PARENT']);
    const made = await brief.o.post(`/secrets/${secret.id}/share`, grant('member', id));
    expect(made.status).toBe(201);
    await o.del(`/access-tokens/${brief.id}`);
    expect((await o.get(`/grants/${made.json.id}`)).status).toBe(404);
  });

  slow('requires an existing member or team; nothing else', async () => {
    const o = await newOrg();
    const { id } = await newSecret(o);
    expect((await o.post(`/secrets/${id}/share`, grant('team', await newTeam(o)))).status).toBe(201);
    expect(codeOf(await o.post(`/secrets/${id}/share`, grant('team', (await newMember(o)).id)))).toEqual([
      404,
      'NOT_FOUND',
    ]);
    expect(codeOf(await o.post(`/secrets/${id}/share`, grant('robot', 'x')))).toEqual([
      400,
      'VALIDATION_FAILED',
    ]);
    expect(
      codeOf(await o.post('/secrets/sec_0000000000000000000000/share', grant('team', await newTeam(o)))),
    ).toEqual([404, 'NOT_FOUND']);
  });
});

describe('share by grant, with an agent', () => {
  const scopes = ['secrets:read', 'secrets:list', 'tokens:write'];
  /** An agent that reaches `app/*` alone, and two secrets outside. */
  async function newWorld() {
    const o = await newOrg();
    const agent = await newAgent(o, { scopes, secrets: ['app/*'], ttlSeconds: 3600 });
    const inside = await newSecret(o, { name: 'app/a' });
    const secret = await newSecret(o, { name: 'b' });
    const other = await newSecret(o, { name: 'c' });
    const share = (by: Caller, id: string, fields: object = {}) =>
      by.post(`/secrets/${secret.id}/share`, grant('agent', id, fields));
    return { o, agent, inside, secret, other, share };
  }

  slow('gives it this secret in addition to its own, until it is revoked', async () => {
    const { o, agent, inside, secret, other, share } = await newWorld();
    const reads = async () =>
      Promise.all(
        [inside, secret, other].map(async ({ id }) => (await agent.o.get(`/secrets/${id}`)).status),
      );
    expect(await reads()).toEqual([200, 403, 403]);
    const made = await share(o, agent.id);
    expect([made.status, made.json.grantee]).toEqual([201, { type: 'agent', id: agent.id }]);
    // It goes with the agent.
    expect(made.json.expires_at).toBe((await o.get(`/agent-credentials/${agent.id}`)).json.expires_at);
    expect(await reads()).toEqual([200, 200, 403]);
    expect((await agent.o.patch(`/secrets/${secret.id}`, { value: 'x' })).status).toBe(403);
    expect(codeOf(await agent.o.get('/secrets/by-name/c'))).toEqual([403, 'SECRET_ACCESS_DENIED']);
    expect(Object.keys((await agent.o.get('/environments/production/values')).json.values).sort()).toEqual([
      'app/a',
      'b',
    ]);
    await evict(o);
    expect(await reads()).toEqual([200, 200, 403]);
    expect((await o.get(`/credentials/${agent.id}/graph`)).json.grants).toMatchObject([
      { source: 'credential' },
      { source: 'grant', secrets: ['b'] },
    ]);
    expect((await o.del(`/secrets/${secret.id}/shares/${made.json.id}`)).status).toBe(204);
    expect(await reads()).toEqual([200, 403, 403]);
  });

  slow('ends with the agent, with its creator, and by expiry', async () => {
    const { o, agent, secret, share } = await newWorld();
    const session = await newSession(o);
    expect((await share(session.o, agent.id)).status).toBe(201);
    expect((await agent.o.get(`/secrets/${secret.id}`)).status).toBe(200);
    await o.del(`/access-tokens/${session.id}`);
    expect((await agent.o.get(`/secrets/${secret.id}`)).status).toBe(403);
    const soon = new Date(Date.now() + 60_000).toISOString();
    expect((await share(o, agent.id, { expires_at: soon })).json.expires_at).toBe(soon);
    expect((await agent.o.get(`/secrets/${secret.id}`)).status).toBe(200);
    faults.clock = Date.now() + 61_000;
    expect((await agent.o.get(`/secrets/${secret.id}`)).status).toBe(403);
    faults.clock = null;
    expect((await share(o, agent.id)).status).toBe(201);
    await o.del(`/agent-credentials/${agent.id}`);
    expect((await o.get(`/secrets/${secret.id}/shares`)).json.data).toEqual([]);
    expect(codeOf(await share(o, agent.id))).toEqual([404, 'NOT_FOUND']);
  });

  it('attack: a credential that an agent creates inherits no grants, and an agent below another is given none', async () => {
    const { o, agent, inside, secret, share } = await newWorld();
    await share(o, agent.id, { permission: 'write' });
    const place = { environments: ['production'], secrets: ['b'] };
    const children = [
      await agent.o.post('/agent-credentials', { name: 'child', scopes: ['secrets:read'], ...place }),
      await agent.o.post('/api-keys', { name: 'child', scopes: ['secrets:read'], ...place }),
    ];
    expect(children.map(({ status }) => status)).toEqual([201, 201]);
    for (const { json } of children)
      expect((await o.as(json.token).get(`/secrets/${secret.id}`)).status).toBe(403);
    const below = (await agent.o.post('/agent-credentials', { name: 'below', scopes: ['secrets:read'] }))
      .json;
    expect((await o.as(below.token).get(`/secrets/${inside.id}`)).status).toBe(200);
    expect(codeOf(await share(o, below.id))).toEqual([404, 'NOT_FOUND']);
    expect((await o.as(below.token).get(`/secrets/${secret.id}`)).status).toBe(403);
    // It cannot share on what it was given: the grant gives no secrets:share.
    expect(
      (await agent.o.post(`/secrets/${secret.id}/share`, { kind: 'link', expires_in: 60, max_views: 1 }))
        .status,
    ).toBe(403);
  });

  slow('to an agent of this organisation, only through this route', async () => {
    const { o, agent, share } = await newWorld();
    const theirs = await newAgent(await newOrg());
    for (const id of [theirs.id, o.keyId, 'agt_none'])
      expect(codeOf(await share(o, id)), id).toEqual([404, 'NOT_FOUND']);
    const wide = await o.post('/grants', { grantee: { type: 'agent', id: agent.id }, permission: 'read' });
    expect(codeOf(wide)).toEqual([400, 'VALIDATION_FAILED']);
  });
});

describe('share by grant: list of shares', () => {
  slow('shows live links and grants of the secret in pages, without an address', async () => {
    const o = await newOrg();
    const secret = await newSecret(o);
    const other = await newSecret(o);
    const links = [
      await newLink(o, secret.id, { passphrase: 'p' }),
      await newLink(o, secret.id),
      await newLink(o, secret.id),
    ];
    await newLink(o, other.id);
    const { id } = await newMember(o, 'viewer');
    const granted = [
      (await o.post(`/secrets/${secret.id}/share`, grant('member', id))).json.id,
      (await o.post(`/secrets/${secret.id}/share`, grant('member', id, { permission: 'write' }))).json.id,
    ];
    await o.post(`/secrets/${other.id}/share`, grant('member', id));
    await view(links[1] as { id: string; key: string });
    const all = await o.get(`/secrets/${secret.id}/shares`);
    expect(all.json.data.map(({ id }: { id: string }) => id)).toEqual([
      ...granted,
      ...links.map(({ id }) => id),
    ]);
    expect(all.json.data[2]).toMatchObject({
      kind: 'link',
      version: 1,
      passphrase: true,
      views: 0,
      max_views: 3,
      created_by: o.keyId,
    });
    expect(all.json.data[3]).toMatchObject({ passphrase: false, views: 1 });
    expect(all.text).not.toMatch(/svcshare_|url|key_hash|value/);
    const found: string[] = [];
    for (let cursor = ''; ; ) {
      const { json } = await o.get(
        `/secrets/${secret.id}/shares?limit=2${cursor && `&cursor=${encodeURIComponent(cursor)}`}`,
      );
      found.push(...json.data.map(({ id }: { id: string }) => id));
      if (!json.has_more) break;
      cursor = json.next_cursor;
    }
    expect(found).toEqual([...granted, ...links.map(({ id }) => id)]);
    const stranger = await newKey(o, { scopes: ['secrets:share', 'secrets:read'], secrets: ['other/*'] });
    expect((await stranger.o.get(`/secrets/${secret.id}/shares`)).status).toBe(403);
    expect((await stranger.o.del(`/secrets/${secret.id}/shares/${links[0]?.id}`)).status).toBe(403);
  });

  slow('tenancy: a share can be revoked only through its own secret and organisation', async () => {
    const o = await newOrg();
    const theirs = await newOrg();
    const secret = await newSecret(o);
    const other = await newSecret(o);
    const link = await newLink(o, secret.id);
    const wide = (
      await o.post('/grants', { grantee: { type: 'team', id: await newTeam(o) }, permission: 'read' })
    ).json.id;
    const foreign = await newSecret(theirs);
    for (const path of [
      `${other.id}/shares/${link.id}`,
      `${secret.id}/shares/${wide}`,
      `${secret.id}/shares/nothing`,
    ])
      expect(codeOf(await o.del(`/secrets/${path}`)), path).toEqual([404, 'NOT_FOUND']);
    for (const path of [`${foreign.id}/shares/${link.id}`, `${secret.id}/shares/${link.id}`])
      expect(codeOf(await theirs.del(`/secrets/${path}`)), path).toEqual([404, 'NOT_FOUND']);
    expect((await view(link)).status).toBe(200);
    expect((await o.get(`/grants/${wide}`)).status).toBe(200);
  });
});

describe('share by grant: approval policy', () => {
  it.each(['secret.share', 'secret.read'])(
    '%s holds links and grants of a secret until it is approved',
    async (operation) => {
      const { o, ann, asked } = await newOffice();
      const secret = await newSecret(o, { name: 'held/a', value: 'held value' });
      await newApprovalPolicy(o, [operation], { applies_to: { names: ['held/*'] } });
      const team = await newTeam(o);
      const link = { kind: 'link', expires_in: 60, max_views: 1 };
      const held = await asked.post(`/secrets/${secret.id}/share`, link);
      const { id } = approvalIn(held);
      const { summary, operation: shown } = (await asked.get(`/approvals/${id}`)).json;
      expect([summary, shown]).toEqual([
        expect.stringContaining('share the secret held/a by a link'),
        operation,
      ]);
      expect((await o.get(`/secrets/${secret.id}/shares`)).json.data).toEqual([]);
      approvalIn(await asked.post(`/secrets/${secret.id}/share`, grant('team', team)));
      // The same effect by another call is held, too.
      approvalIn(
        await asked.post('/grants', {
          grantee: { type: 'team', id: team },
          permission: 'read',
          secrets: ['held/a'],
        }),
      );
      await approve(ann, id);
      const done = await asked.post(`/secrets/${secret.id}/share`, link, under(id));
      expect(done.status).toBe(201);
      expect((await view({ id: done.json.id, key: new URL(done.json.url).hash.slice(1) })).json.value).toBe(
        'held value',
      );
      expect(codeOf(await asked.post(`/secrets/${secret.id}/share`, link, under(id)))).toEqual([
        409,
        'APPROVAL_MISMATCH',
      ]);
    },
  );
});

describe('share by grant: audit log and reports', () => {
  slow(
    'audit log: creation, views, refusals and revocation say secret, version, link and address',
    async () => {
      const o = await newOrg();
      const secret = await newSecret(o, { name: 'app/db' });
      const link = await newLink(o, secret.id, { passphrase: 'p' });
      await view(link, 'wrong', '192.0.2.55');
      await view(link, 'p', '192.0.2.55');
      await o.del(`/secrets/${secret.id}/shares/${link.id}`);
      await view(link, 'p', '192.0.2.55');
      const { data } = (await o.get('/audit-log?limit=100')).json;
      const found = data
        .filter(({ action }: { action: string }) => action.startsWith('secret.share'))
        .reverse();
      const about = {
        resource: secret.id,
        resource_name: 'app/db',
        environment: 'production',
        share: link.id,
      };
      const viewer = {
        actor: { kind: 'system', id: link.id },
        action: 'secret.share_view',
        ip: '192.0.2.55',
        user_agent: 'a browser',
      };
      expect(found).toMatchObject([
        { action: 'secret.share', status: 201, version: 1, ...about, actor: { id: o.keyId } },
        { ...viewer, ...about, version: 1, status: 403, outcome: 'denied' },
        { ...viewer, ...about, version: 1, status: 200, outcome: 'success' },
        { action: 'secret.share_revoke', status: 204, ...about },
        { ...viewer, resource: link.id, status: 410, version: null },
      ]);
      expect((await o.get('/audit-log/verify')).json.ok).toBe(true);
      const readers = (await o.get(`/secrets/${secret.id}/readers`)).json.data;
      expect(JSON.stringify(readers)).toContain(link.id);
    },
  );

  slow('event: SECRET_SHARED says who got what, but neither URL nor value', async () => {
    const o = await newOrg();
    const secret = await newSecret(o, { name: 'app/db' });
    const link = await newLink(o, secret.id);
    const { id } = await newMember(o, 'viewer');
    await o.post(`/secrets/${secret.id}/share`, grant('member', id));
    const events = (await inCore(o, ({ outbox }) => outbox.oldest(100))).filter(
      ({ type }) => type === 'SECRET_SHARED',
    );
    const about = { secret_id: secret.id, name: 'app/db', environment: 'production', version: 1 };
    expect(events.map(({ data }) => data)).toMatchObject([
      { ...about, kind: 'link', share_id: link.id, max_views: 3, expires_at: link.expires_at },
      { ...about, kind: 'grant', grantee: { type: 'member', id }, permission: 'read' },
    ]);
    expect(JSON.stringify(events)).not.toMatch(/svcshare_|http/);
  });

  it('containment: the report names shares, and counts them and their views as reads', async () => {
    const o = await newOrg();
    const key = await newKey(o);
    const secret = await newSecret(o, { name: 'a' });
    const untouched = await newSecret(o, { name: 'b' });
    const link = await newLink((await newSession(key.o)).o, secret.id);
    await o.patch(`/secrets/${secret.id}`, { value: 'second' });
    await view(link);
    await newLink(o, untouched.id);
    // A link that was made before is viewed after.
    const [{ time }] = (await o.get('/audit-log?action=secret.share_view')).json.data;
    const late = (await o.post(`/credentials/${key.id}/contain`, { since: time })).json;
    expect([late.shared, late.read]).toMatchObject([[], [{ secret_id: secret.id, version: 1, time }]]);
    const { json } = await o.post(`/credentials/${key.id}/contain`, {});
    expect(json.shared).toMatchObject([{ secret_id: secret.id, name: 'a', version: 1 }]);
    expect(json.read).toMatchObject([{ secret_id: secret.id, version: 1 }]);
    expect(codeOf(await view(link))).toEqual([410, 'SHARE_GONE']);
    const again = (await o.post(`/credentials/${key.id}/contain`, {})).json;
    expect(again.shared).toEqual(json.shared);
  });
});
