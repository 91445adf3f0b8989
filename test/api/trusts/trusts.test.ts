// Workload identity: trusts, and what the session tokens that they give may do.
import { describe, expect, it } from 'vitest';
import { newAgent, newKey, newSession } from '../../support/credentials';
import { evict, inCore } from '../../support/gate';
import { exchange, newIssuer, newTrust, newWorkload, trustIn } from '../../support/issuers';
import { codeOf, newOrg, newSecret, useWorld, whoami } from '../../support/world';

useWorld();

const UNAUTHENTICATED = [401, 'UNAUTHENTICATED'];

describe('workload identity: trust', () => {
  it('is created, shown, listed, changed and deleted', async () => {
    const o = await newOrg();
    const issuer = await newIssuer();
    const made = await o.post('/trusts', trustIn(issuer, { environments: ['production'], secrets: ['app/*'], ttlSeconds: 900 }));
    expect(made.status).toBe(201);
    const { use: _, ...key } = issuer.jwk;
    expect(made.json).toEqual({
      ...{ id: expect.stringMatching(/^trs_[A-Za-z0-9]{22}$/), name: 'ci', issuer: issuer.url, audiences: ['http://localhost'] },
      ...{ claims: { sub: 'repo:acme/app:*' }, scopes: ['secrets:read'], environments: ['production'], secrets: ['app/*'] },
      ...{ allowed_addresses: null, ttlSeconds: 900, jwks: { keys: [key] }, created_by: o.keyId, parent_id: null },
      ...{ created_at: expect.any(String), updated_at: expect.any(String), expires_at: null },
      ...{ last_used_at: null, use_count: 0, last_used_place: null },
    });
    const { id } = made.json;
    expect((await o.get(`/trusts/${id}`)).json).toEqual(made.json);
    expect((await o.get('/trusts')).json).toEqual({ data: [made.json], next_cursor: null, has_more: false });
    const changed = await o.patch(`/trusts/${id}`, {
      name: 'main',
      claims: { sub: ['repo:acme/app:ref:refs/heads/main'] },
      ttlSeconds: 60,
    });
    expect([changed.status, changed.json.name, changed.json.ttlSeconds, changed.json.claims]).toEqual([
      ...[200, 'main', 60],
      { sub: ['repo:acme/app:ref:refs/heads/main'] },
    ]);
    expect((await o.del(`/trusts/${id}`)).status).toBe(204);
    expect((await o.del(`/trusts/${id}`)).status).toBe(204);
    expect(codeOf(await o.get(`/trusts/${id}`))).toEqual([404, 'NOT_FOUND']);
    expect(codeOf(await o.patch(`/trusts/${id}`, { name: 'x' }))).toEqual([404, 'NOT_FOUND']);
    expect((await o.get('/trusts')).json.data).toEqual([]);
  });

  it('gives session tokens that hold what it holds, for as long as it says', async () => {
    const o = await newOrg();
    const issuer = await newIssuer();
    const seen = await newSecret(o, { name: 'app/DB', environment: 'production' });
    const hidden = await newSecret(o, { name: 'other/DB', environment: 'production' });
    const trust = await newTrust(o, issuer, { environments: ['production'], secrets: ['app/*'], ttlSeconds: 900 });
    const { status, json } = await exchange(o, trust, await issuer.sign());
    expect([status, Object.keys(json).sort()]).toEqual([201, ['expiresAt', 'id', 'token']]);
    expect(json.token).toMatch(/^svcsess_/);
    const lives = Date.parse(json.expiresAt) - Date.now();
    expect(lives > 880_000 && lives <= 900_000).toBe(true);
    expect((await whoami(json)).json).toMatchObject({
      ...{ kind: 'session', id: json.id, parent_id: trust.id, scopes: ['secrets:read'], environments: ['production'] },
      ...{ secrets: ['app/*'], name: 'ci: repo:acme/app:ref:refs/heads/main', rate_limit: 600 },
    });
    const by = o.as(json.token);
    expect((await by.get(`/secrets/${seen.id}`)).json.value).toBe(seen.value);
    expect(codeOf(await by.get(`/secrets/${hidden.id}`))).toEqual([403, 'INSUFFICIENT_SCOPE']);
    expect(codeOf(await by.post('/access-tokens', { ttlSeconds: 60 }))).toEqual([403, 'CREDENTIAL_KIND_NOT_ALLOWED']);
    expect((await o.get(`/trusts/${trust.id}`)).json.use_count).toBeGreaterThan(0);
    expect((await o.get('/access-tokens')).json.data.map(({ parentId }: { parentId: string }) => parentId)).toEqual([trust.id]);
  });
});

describe('workload identity: audit log', () => {
  it('says who exchanged, and why an exchange was refused', async () => {
    const o = await newOrg();
    const issuer = await newIssuer();
    const trust = await newTrust(o, issuer);
    const { id } = await newWorkload(o, trust, await issuer.sign());
    expect(codeOf(await exchange(o, trust, await issuer.sign({ aud: 'https://other.example.com' })))).toEqual(UNAUTHENTICATED);
    const [denied, given] = (await o.get('/audit-log?action=auth.exchange')).json.data;
    expect(given).toMatchObject({
      ...{ actor: { kind: 'trust', id: trust.id, parent_id: null, name: 'ci' }, resource: id, outcome: 'success', status: 201 },
    });
    expect(denied).toMatchObject({
      ...{ actor: { kind: 'trust', id: null }, resource: trust.id, outcome: 'denied', status: 401 },
      reason: 'the audience does not match',
    });
  });
});
void [newAgent, newKey, newSession, evict, inCore];
