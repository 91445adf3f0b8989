// Workload identity: trusts, and what the session tokens that they give may do.
import { describe, expect, it } from 'vitest';
import type { CredentialRow } from '../../../src/db/schema';
import { newAgent, newKey, newSession } from '../../support/credentials';
import { holdNext, until } from '../../support/faults';
import { inCore } from '../../support/gate';
import { finding, newReport } from '../../support/governance/compliance';
import { newSignedIn, signIn } from '../../support/signin/browser';
import { newDevice, provenBy } from '../../support/signin/device';
import {
  exchange,
  type Issuer,
  newIssuer,
  newTrust,
  newWorkload,
  trustIn,
} from '../../support/signin/issuers';
import { slow } from '../../support/slow';
import { type Caller, codeOf, db, newOrg, newSecret, useWorld, whoami } from '../../support/world';

useWorld();

const UNAUTHENTICATED = [401, 'UNAUTHENTICATED'];

describe('workload identity: trust', () => {
  slow('is created, shown, listed, changed and deleted', async () => {
    const o = await newOrg();
    const issuer = await newIssuer();
    const made = await o.post(
      '/trusts',
      trustIn(issuer, { environments: ['production'], secrets: ['app/*'], ttlSeconds: 900 }),
    );
    expect(made.status).toBe(201);
    expect(made.json).toEqual({
      id: expect.stringMatching(/^trs_[A-Za-z0-9]{22}$/),
      revision: 1,
      name: 'ci',
      issuer: issuer.url,
      audiences: ['http://localhost'],
      claims: { sub: 'repo:acme/app:*' },
      scopes: ['secrets:read'],
      environments: ['production'],
      secrets: ['app/*'],
      upstreams: null,
      allowed_addresses: null,
      ttlSeconds: 900,
      reuse: false,
      jwks: issuer.jwks,
      created_by: o.keyId,
      parent_id: null,
      created_at: expect.any(String),
      updated_at: expect.any(String),
      expires_at: null,
      last_used_at: null,
      use_count: 0,
      last_used_place: null,
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

  slow('gives session tokens with its permissions, for its lifetime', async () => {
    const o = await newOrg();
    const issuer = await newIssuer();
    const seen = await newSecret(o, { name: 'app/DB', environment: 'production' });
    const hidden = await newSecret(o, { name: 'other/DB', environment: 'production' });
    const trust = await newTrust(o, issuer, {
      environments: ['production'],
      secrets: ['app/*'],
      ttlSeconds: 900,
    });
    const { status, json } = await exchange(o, trust, await issuer.sign());
    expect([status, Object.keys(json).sort()]).toEqual([201, ['expiresAt', 'id', 'token']]);
    expect(json.token).toMatch(/^svcsess_/);
    const lives = Date.parse(json.expiresAt) - Date.now();
    expect(lives > 880_000 && lives <= 900_000).toBe(true);
    expect((await whoami(json)).json).toMatchObject({
      kind: 'session',
      id: json.id,
      parent_id: trust.id,
      scopes: ['secrets:read'],
      environments: ['production'],
      secrets: ['app/*'],
      name: 'ci: repo:acme/app:ref:refs/heads/main',
      rate_limit: 600,
    });
    const by = o.as(json.token);
    expect((await by.get(`/secrets/${seen.id}`)).json.value).toBe(seen.value);
    expect(codeOf(await by.get(`/secrets/${hidden.id}`))).toEqual([403, 'INSUFFICIENT_SCOPE']);
    expect(codeOf(await by.post('/access-tokens', { ttlSeconds: 60 }))).toEqual([
      403,
      'CREDENTIAL_KIND_NOT_ALLOWED',
    ]);
    expect((await o.get(`/trusts/${trust.id}`)).json.use_count).toBeGreaterThan(0);
    expect(
      (await o.get('/access-tokens')).json.data.map(({ parentId }: { parentId: string }) => parentId),
    ).toEqual([trust.id]);
  });
});

describe('workload identity: audit log', () => {
  slow('says who exchanged, and why an exchange was refused', async () => {
    const o = await newOrg();
    const issuer = await newIssuer();
    const trust = await newTrust(o, issuer);
    const { id } = await newWorkload(o, trust, await issuer.sign());
    expect(codeOf(await exchange(o, trust, await issuer.sign({ aud: 'https://other.example.com' })))).toEqual(
      UNAUTHENTICATED,
    );
    const [denied, given] = (await o.get('/audit-log?action=auth.exchange')).json.data;
    expect(given).toMatchObject({
      actor: { kind: 'trust', id: trust.id, parent_id: null, name: 'ci' },
      resource: id,
      outcome: 'success',
      status: 201,
    });
    expect(denied).toMatchObject({
      actor: { kind: 'trust', id: null },
      resource: trust.id,
      outcome: 'denied',
      status: 401,
      reason: 'the audience does not match',
    });
  });
});

describe('workload identity: validation of a trust', () => {
  const jwk = (fields: Record<string, unknown>) => ({ kty: 'EC', crv: 'P-256', x: 'x', y: 'y', ...fields });
  const wrong: Record<string, [fields: (issuer: Issuer) => Record<string, unknown>, path: string]> = {
    'no claims': [() => ({ claims: {} }), 'claims'],
    'claims that name nobody': [() => ({ claims: { ref: 'refs/heads/main' } }), 'claims'],
    '* alone': [() => ({ claims: { sub: '*' } }), 'claims.sub'],
    'wildcards alone': [() => ({ claims: { sub: '*?*' } }), 'claims.sub'],
    '* in a list': [() => ({ claims: { sub: ['repo:acme/app:x', '*'] } }), 'claims.sub'],
    '* for sub beside another name': [() => ({ claims: { sub: '*', repository: 'acme/app' } }), 'claims.sub'],
    '* for a repository': [() => ({ claims: { repository: '*' } }), 'claims.repository'],
    'an empty list': [() => ({ claims: { sub: [] } }), 'claims.sub'],
    'an empty glob': [() => ({ claims: { sub: '' } }), 'claims.sub'],
    'a glob that is no text': [() => ({ claims: { sub: 1 } }), 'claims.sub'],
    'a glob of six *': [() => ({ claims: { sub: 'a*b*c*d*e*f*' } }), 'claims.sub'],
    'a long glob': [() => ({ claims: { sub: 'x'.repeat(257) } }), 'claims.sub'],
    'a glob that changes the direction of text': [
      () => ({ claims: { sub: 'repo:\u202eacme' } }),
      'claims.sub',
    ],
    'a claim of the token itself': [() => ({ claims: { sub: 'x', aud: 'x' } }), 'claims.aud'],
    'a claim whose name is none': [() => ({ claims: { sub: 'x', 'a b': 'x' } }), 'claims.a b'],
    'too many claims': [
      () => ({
        claims: { sub: 'x', ...Object.fromEntries(Array.from({ length: 20 }, (_, n) => [`c${n}`, 'x'])) },
      }),
      'claims',
    ],
    'too long claims': [
      () => ({ claims: { sub: Array.from({ length: 20 }, (_, n) => `${n}${'x'.repeat(250)}`) } }),
      'claims',
    ],
    'an issuer over http': [() => ({ issuer: 'http://issuer.example.com' }), 'issuer'],
    'an issuer with a user': [() => ({ issuer: 'https://a@issuer.example.com' }), 'issuer'],
    'an issuer with a query': [() => ({ issuer: 'https://issuer.example.com?x' }), 'issuer'],
    'an issuer with a fragment': [() => ({ issuer: 'https://issuer.example.com#x' }), 'issuer'],
    'an issuer without a host': [() => ({ issuer: 'https:///x' }), 'issuer'],
    'a private issuer without keys': [
      () => ({ issuer: 'https://kubernetes.default.svc.cluster.local', jwks: undefined }),
      'issuer',
    ],
    'an issuer at a private address without keys': [
      () => ({ issuer: 'https://10.0.0.1', jwks: undefined }),
      'issuer',
    ],
    'no audience': [() => ({ audiences: [] }), 'audiences'],
    'a short lifetime': [() => ({ ttlSeconds: 59 }), 'ttlSeconds'],
    'a long lifetime': [() => ({ ttlSeconds: 86_401 }), 'ttlSeconds'],
    'no keys': [() => ({ jwks: { keys: [] } }), 'jwks.keys'],
    'too many keys': [
      ({ jwk: one }) => ({ jwks: { keys: Array.from({ length: 21 }, () => one) } }),
      'jwks.keys',
    ],
    'too large keys': [
      () => ({ jwks: { keys: Array.from({ length: 20 }, () => ({ kty: 'RSA', n: 'x'.repeat(1000) })) } }),
      'jwks',
    ],
    'a long kid': [
      ({ jwk: one }) => ({ jwks: { keys: [{ ...one, kid: 'k'.repeat(257) }] } }),
      'jwks.keys.0.kid',
    ],
    'a private key': [({ jwk: one }) => ({ jwks: { keys: [{ ...one, d: 'x' }] } }), 'jwks.keys.0'],
    'a symmetric key': [() => ({ jwks: { keys: [{ kty: 'oct', k: 'c2VjcmV0' }] } }), 'jwks.keys.0'],
    'a symmetric key without its value': [() => ({ jwks: { keys: [{ kty: 'oct' }] } }), 'jwks.keys.0'],
    'a point that is not on the curve': [
      () => ({ jwks: { keys: [jwk({ x: 'A'.repeat(43), y: 'A'.repeat(43) })] } }),
      'jwks.keys.0',
    ],
    'a key of another curve': [() => ({ jwks: { keys: [jwk({ crv: 'P-521' })] } }), 'jwks.keys.0'],
    'a point of small order': [
      () => ({ jwks: { keys: [{ kty: 'OKP', crv: 'Ed25519', x: 'A'.repeat(43) }] } }),
      'jwks.keys.0',
    ],
    'a short RSA key': [
      () => ({ jwks: { keys: [{ kty: 'RSA', e: 'AQAB', n: 'x'.repeat(171) }] } }),
      'jwks.keys.0',
    ],
    'an RSA key with another exponent': [
      () => ({ jwks: { keys: [{ kty: 'RSA', e: 'Aw', n: 'x'.repeat(342) }] } }),
      'jwks.keys.0',
    ],
    'a key for encryption': [({ jwk: one }) => ({ jwks: { keys: [{ ...one, use: 'enc' }] } }), 'jwks.keys.0'],
    'a key for another algorithm': [
      ({ jwk: one }) => ({ jwks: { keys: [{ ...one, alg: 'RS256' }] } }),
      'jwks.keys.0',
    ],
    'a key twice': [({ jwk: one }) => ({ jwks: { keys: [one, { ...one, kid: 'other' }] } }), 'jwks.keys.1'],
    'a kid twice': [({ jwk: one }) => ({ jwks: { keys: [one, { ...one, alg: undefined }] } }), 'jwks.keys.1'],
    'every repository of GitHub': [
      () => ({
        issuer: 'https://token.actions.githubusercontent.com',
        claims: { sub: 'repo:*', ref: 'refs/heads/main' },
      }),
      'claims',
    ],
    'every owner of a name that begins alike': [
      () => ({
        issuer: 'https://token.actions.githubusercontent.com',
        claims: { repository_owner: 'acme*' },
      }),
      'claims',
    ],
    'every project of GitLab': [
      () => ({ issuer: 'https://gitlab.com', claims: { sub: 'project_path:*:ref_type:branch:ref:main' } }),
      'claims',
    ],
    'one of two owners of GitHub': [
      () => ({
        issuer: 'https://token.actions.githubusercontent.com',
        claims: { sub: ['repo:acme/app:*', 'repo:*/app:*'] },
      }),
      'claims',
    ],
  };

  it('refuses claims that accept more than a workload, and keys that are not public', async () => {
    const o = await newOrg();
    const issuer = await newIssuer();
    const { id } = await newTrust(o, issuer);
    for (const [what, [fields, path]] of Object.entries(wrong)) {
      const changed = fields(issuer);
      const answer = await o.post('/trusts', { ...trustIn(issuer), ...changed });
      expect([what, ...codeOf(answer)]).toEqual([what, 400, 'VALIDATION_FAILED']);
      expect([what, answer.json.error.details[0].path]).toEqual([what, path]);
      if (!('jwks' in changed && changed.jwks === undefined)) {
        const patched = await o.patch(`/trusts/${id}`, changed);
        expect([what, patched.status]).toEqual([what, 400]);
      }
    }
    expect(
      (await o.post('/trusts', { ...trustIn(issuer), claims: JSON.parse('{"sub":"x","__proto__":"x"}') }))
        .status,
    ).toBe(400);
    const rsa = await newIssuer({ alg: 'RS256' });
    expect((await o.post('/trusts', trustIn(rsa, { jwks: { keys: [{ ...rsa.jwk, d: 'x' }] } }))).status).toBe(
      400,
    );
    expect((await o.get('/trusts')).json.data.length).toBe(1);
  });

  slow('accepts owners that are named on platforms of many accounts', async () => {
    const o = await newOrg();
    const github = 'https://token.actions.githubusercontent.com';
    for (const [issuer, claims] of [
      [github, { sub: 'repo:acme/*:environment:production' }],
      [github, { repository: ['acme/app', 'acme/site-*'] }],
      [github, { repository_owner_id: '1234', ref: 'refs/heads/*' }],
      ['https://gitlab.com', { project_path: 'acme/*', ref_protected: 'true' }],
      ['https://accounts.google.com', { email: 'ci@acme.iam.gserviceaccount.com' }],
    ] as const)
      expect((await o.post('/trusts', { name: 'x', issuer, claims, scopes: ['secrets:read'] })).status).toBe(
        201,
      );
  });

  it('an issuer of many accounts and claims that name none are refused, whichever of them changes', async () => {
    const o = await newOrg();
    const issuer = await newIssuer();
    const github = { issuer: 'https://token.actions.githubusercontent.com' };
    const owned = await newTrust(o, issuer, github);
    const other = await newTrust(o, issuer, { claims: { sub: 'repo:*' } });
    for (const answer of [
      await o.patch(`/trusts/${owned.id}`, { claims: { sub: 'repo:*' } }),
      await o.patch(`/trusts/${other.id}`, github),
    ]) {
      expect(codeOf(answer)).toEqual([400, 'VALIDATION_FAILED']);
      expect(answer.json.error.details[0].path).toBe('claims');
    }
    expect((await o.get(`/trusts/${owned.id}`)).json.claims).toEqual(owned.claims);
    expect((await o.get(`/trusts/${other.id}`)).json.issuer).toBe(issuer.url);
    expect((await o.patch(`/trusts/${owned.id}`, { claims: { sub: 'repo:acme/site:*' } })).status).toBe(200);
    // With another spelling, the claims would be judged as those of an unknown issuer.
    const spelled = { issuer: `${github.issuer}:443/` };
    const fields = {
      name: 't',
      ...spelled,
      claims: { sub: 'repo:*' },
      scopes: ['secrets:read'],
      jwks: issuer.jwks,
    };
    for (const answer of [await o.patch(`/trusts/${other.id}`, spelled), await o.post('/trusts', fields)]) {
      expect(codeOf(answer)).toEqual([400, 'VALIDATION_FAILED']);
      expect(answer.json.error.details).toEqual([
        { path: 'issuer', message: expect.stringContaining(`must be ${github.issuer},`) },
      ]);
    }
  });

  it('PATCH is judged as POST is: what stays of the trust counts', async () => {
    const o = await newOrg();
    const issuer = await newIssuer();
    const github = 'https://token.actions.githubusercontent.com';
    const inside = await newTrust(
      o,
      await newIssuer({ url: 'https://kubernetes.default.svc.cluster.local' }),
    );
    const given = await newTrust(o, issuer);
    const fetched = await newTrust(o, issuer, { jwks: undefined });
    const called = { job_workflow_ref: 'acme/ci/.github/workflows/deploy.yml@refs/heads/main' };
    for (const [trust, fields, path] of [
      // The keys would be fetched from an address that is not public.
      [inside, { jwks: null }, 'issuer'],
      [fetched, { issuer: 'https://10.0.0.1' }, 'issuer'],
      [given, { issuer: 'https://10.0.0.1', jwks: null }, 'issuer'],
      // The claims name no caller at the issuer.
      [fetched, { issuer: github, claims: called }, 'claims'],
      [fetched, { issuer: 'https://accounts.google.com' }, 'claims'],
      [fetched, { issuer: 'https://agent.buildkite.com' }, 'claims'],
      [fetched, { claims: called }, 'claims'],
      [fetched, { claims: { azp: 'x' } }, 'claims'],
    ] as const) {
      const answer = await o.patch(`/trusts/${trust.id}`, fields);
      expect([fields, ...codeOf(answer), answer.json.error?.details[0].path]).toEqual([
        fields,
        400,
        'VALIDATION_FAILED',
        path,
      ]);
    }
    for (const { id, issuer: url, jwks } of [inside, given, fetched])
      expect((await o.get(`/trusts/${id}`)).json).toMatchObject({
        issuer: url,
        jwks,
        claims: { sub: 'repo:acme/app:*' },
      });
    // By tokens:write alone nobody makes a trust accept other tokens; what is said in full is taken.
    const clerk = (await newKey(o, { scopes: ['tokens:write'] })).o;
    for (const [trust, fields] of [
      [given, { jwks: null }],
      [fetched, { issuer: github }],
      [given, { issuer: github, jwks: null }],
    ] as const) {
      expect(codeOf(await clerk.patch(`/trusts/${trust.id}`, fields))).toEqual([403, 'SCOPE_EXCEEDS_PARENT']);
      expect((await o.patch(`/trusts/${trust.id}`, fields)).status).toBe(200);
    }
  });

  it('* for a claim beside the one that names the workload: the token must have that claim', async () => {
    const o = await newOrg();
    const issuer = await newIssuer();
    const trust = await newTrust(o, issuer, { claims: { sub: 'repo:acme/app:*', environment: '*' } });
    expect((await exchange(o, trust, await issuer.sign({ environment: 'production' }))).status).toBe(201);
    expect(codeOf(await exchange(o, trust, await issuer.sign()))).toEqual(UNAUTHENTICATED);
  });

  it('an organisation has 100 live trusts', async () => {
    const o = await newOrg();
    const issuer = await newIssuer();
    const { id } = await newTrust(o, issuer);
    await inCore(o, ({ rows }) => {
      const row = rows.get('credential', id);
      if (row)
        for (let n = 0; n < 99; n++) {
          const copy = `trs_${String(n).padStart(22, '0')}`;
          rows.put('credential', { ...row, id: copy, token_hash: copy });
        }
    });
    expect(codeOf(await o.post('/trusts', trustIn(issuer)))).toEqual([409, 'LIMIT_REACHED']);
    await o.del(`/trusts/${id}`);
    expect((await o.post('/trusts', trustIn(issuer))).status).toBe(201);
  });

  slow('a trust has 1,000 live session tokens; a shorter lifetime makes room', async () => {
    const o = await newOrg();
    const issuer = await newIssuer();
    const trust = await newTrust(o, issuer, { ttlSeconds: 7200 });
    const { id } = await newWorkload(o, trust, await issuer.sign());
    await inCore(o, ({ rows }) => {
      const row = rows.get('credential', id) as CredentialRow;
      for (let n = 0; n < 999; n++) {
        const copy = `tok_${String(n).padStart(22, '0')}`;
        rows.put('credential', { ...row, id: copy, token_hash: copy, created_at: row.created_at - 300_000 });
      }
    });
    const answer = async () => codeOf(await exchange(o, trust, await issuer.sign()))[0];
    expect(await answer()).toBe(409);
    await o.patch(`/trusts/${trust.id}`, { ttlSeconds: 240 });
    expect(await answer()).toBe(201);
    await o.patch(`/trusts/${trust.id}`, { ttlSeconds: 7200 });
    expect(await answer()).toBe(409);
  });
});

describe('workload identity: permission', () => {
  it('a trust holds no more than its maker, who cannot widen it either', async () => {
    const o = await newOrg();
    const issuer = await newIssuer();
    const key = await newKey(o, {
      scopes: ['tokens:write', 'secrets:read'],
      environments: ['staging'],
      secrets: ['app/*'],
    });
    const exceeds = [403, 'SCOPE_EXCEEDS_PARENT'];
    for (const fields of [
      { scopes: ['secrets:write'] },
      { environments: ['production'] },
      { secrets: ['*'] },
    ])
      expect(codeOf(await key.o.post('/trusts', trustIn(issuer, fields)))).toEqual(exceeds);
    const own = await newTrust(key.o, issuer);
    expect([own.environments, own.secrets]).toEqual([['staging'], ['app/*']]);
    const wide = await newTrust(o, issuer, { scopes: ['*'] });
    for (const fields of [
      ...[{ claims: { sub: 'repo:evil/app:*' } }, { audiences: ['https://other.example.com'] }],
      ...[{ jwks: (await newIssuer()).jwks }, { issuer: 'https://evil.example.com' }, { ttlSeconds: 7200 }],
      { claims: { sub: 'repo:acme/*' } },
    ])
      expect([fields, ...codeOf(await key.o.patch(`/trusts/${wide.id}`, fields))]).toEqual([
        fields,
        ...exceeds,
      ]);
    expect(
      codeOf(await key.o.patch(`/trusts/${own.id}`, { scopes: ['secrets:read', 'secrets:write'] })),
    ).toEqual(exceeds);
    // To narrow it, tokens:write is enough.
    for (const fields of [
      { claims: { sub: 'repo:acme/app:ref:*', ref: 'main' } },
      { ttlSeconds: 60 },
      { scopes: ['secrets:list'] },
    ])
      expect((await key.o.patch(`/trusts/${wide.id}`, fields)).status).toBe(200);
    expect(
      codeOf(await (await newKey(o, { scopes: ['secrets:*'] })).o.post('/trusts', trustIn(issuer))),
    ).toEqual([...[403, 'INSUFFICIENT_SCOPE']]);
  });

  it('a caller that makes a trust accept other tokens becomes its creator', async () => {
    const o = await newOrg();
    const issuer = await newIssuer();
    const key = await newKey(o);
    const trust = await newTrust(o, issuer);
    expect((await key.o.patch(`/trusts/${trust.id}`, { name: 'renamed' })).json.created_by).toBe(o.keyId);
    expect(
      (await key.o.patch(`/trusts/${trust.id}`, { claims: { sub: 'repo:acme/*' } })).json.created_by,
    ).toBe(key.id);
    const { json } = await o.post(`/credentials/${key.id}/contain`);
    expect(json.revoked.map(({ id }: { id: string }) => id).sort()).toEqual([key.id, trust.id].sort());
  });

  slow(
    'a trust created by a session token or an agent is revoked with its creator, and they can change no other trust',
    async () => {
      const o = await newOrg();
      const issuer = await newIssuer();
      const lasting = await newTrust(o, issuer);
      for (const maker of [await newAgent(o, { scopes: ['*'] }), await newSession(o)]) {
        const trust = await newTrust(maker.o, issuer);
        expect(trust.parent_id).toBe(maker.id);
        const workload = await newWorkload(maker.o, trust, await issuer.sign());
        expect(
          codeOf(await maker.o.patch(`/trusts/${lasting.id}`, { claims: { sub: 'repo:acme/*' } })),
        ).toEqual([403, 'SCOPE_EXCEEDS_PARENT']);
        expect((await o.post(`/credentials/${maker.id}/contain`)).status).toBe(200);
        expect(codeOf(await whoami(workload))).toEqual([401, 'TOKEN_REVOKED']);
        expect(codeOf(await exchange(o, trust, await issuer.sign()))).toEqual(UNAUTHENTICATED);
      }
    },
  );

  it('a session token of a trust makes nothing that outlives it or exceeds it', async () => {
    const o = await newOrg();
    const issuer = await newIssuer();
    const trust = await newTrust(o, issuer, { scopes: ['tokens:write', 'secrets:read'] });
    const { o: workload } = await newWorkload(o, trust, await issuer.sign());
    expect(codeOf(await workload.post('/api-keys', { name: 'k', scopes: ['*'] }))).toEqual([
      403,
      'SCOPE_EXCEEDS_PARENT',
    ]);
    expect(codeOf(await workload.patch(`/trusts/${trust.id}`, { ttlSeconds: 86_400 }))).toEqual([
      403,
      'SCOPE_EXCEEDS_PARENT',
    ]);
    expect(codeOf(await workload.patch(`/trusts/${trust.id}`, { claims: { sub: 'repo:*' } }))).toEqual([
      403,
      'SCOPE_EXCEEDS_PARENT',
    ]);
    const { json } = await workload.post('/api-keys', { name: 'k', scopes: ['secrets:read'] });
    await o.del(`/trusts/${trust.id}`);
    expect(codeOf(await whoami(json))).toEqual([401, 'TOKEN_REVOKED']);
  });

  it('an agent credential that is bound to a device makes no trust', async () => {
    const o = await newOrg();
    const device = await newDevice(o);
    const agent = await newAgent(o, { scopes: ['*'], device_id: device.id });
    expect(codeOf(await provenBy(agent.o, device.keys).post('/trusts', trustIn(await newIssuer())))).toEqual([
      403,
      'SCOPE_EXCEEDS_PARENT',
    ]);
  });

  it('allowed addresses bound the exchange and its session tokens', async () => {
    const o = await newOrg();
    const issuer = await newIssuer();
    const trust = await newTrust(o, issuer, { allowed_addresses: ['192.0.2.0/24'] });
    expect(codeOf(await exchange(o, trust, await issuer.sign()))).toEqual(UNAUTHENTICATED);
    const [{ reason }] = (await o.get('/audit-log?action=auth.exchange&limit=1')).json.data;
    expect(reason).toBe('the client address is not allowed');
    const { json } = await exchange(o, trust, await issuer.sign(), { 'CF-Connecting-IP': '192.0.2.9' });
    expect(codeOf(await whoami(json))).toEqual([403, 'ADDRESS_NOT_ALLOWED']);
    expect((await o.as(json.token).get('/secrets', { 'CF-Connecting-IP': '192.0.2.9' })).status).toBe(200);
  });
});

describe('workload identity: a trust that changes', () => {
  it('applies to its session tokens immediately: removed permissions, and workloads it no longer accepts', async () => {
    const o = await newOrg();
    const issuer = await newIssuer();
    const trust = await newTrust(o, issuer, {
      scopes: ['secrets:read', 'secrets:write'],
      claims: { sub: ['repo:acme/app:*', 'repo:acme/site:*'] },
    });
    const app = await newWorkload(o, trust, await issuer.sign());
    const site = await newWorkload(
      o,
      trust,
      await issuer.sign({ sub: 'repo:acme/site:ref:refs/heads/main' }),
    );
    const write = ({ o: by }: { o: Caller }) =>
      by.post('/secrets', { name: `n${Math.random()}`, type: 'generic', value: 'v' });
    expect((await write(app)).status).toBe(201);
    await o.patch(`/trusts/${trust.id}`, { scopes: ['secrets:read'] });
    expect(codeOf(await write(app))).toEqual([403, 'INSUFFICIENT_SCOPE']);
    // What is added later, a live session token does not hold.
    await o.patch(`/trusts/${trust.id}`, { scopes: ['secrets:read', 'secrets:write', 'audit:read'] });
    expect((await whoami(app)).json.scopes).toEqual(['secrets:read', 'secrets:write']);
    await o.patch(`/trusts/${trust.id}`, { claims: { sub: 'repo:acme/app:*' } });
    expect((await whoami(app)).status).toBe(200);
    expect(codeOf(await whoami(site))).toEqual([401, 'TOKEN_REVOKED']);
    for (const fields of [
      { audiences: ['https://other.example.com'] },
      { claims: { sub: 'repo:acme/app:*', ref: 'main' } },
      { issuer: 'https://other.example.com' },
    ]) {
      const before = (await o.get(`/trusts/${trust.id}`)).json;
      expect((await o.patch(`/trusts/${trust.id}`, fields)).status).toBe(200);
      expect(codeOf(await whoami(app))).toEqual([401, 'TOKEN_REVOKED']);
      await o.patch(`/trusts/${trust.id}`, {
        issuer: before.issuer,
        audiences: before.audiences,
        claims: before.claims,
      });
      expect((await whoami(app)).status).toBe(200);
    }
    await o.patch(`/trusts/${trust.id}`, { jwks: (await newIssuer()).jwks });
    expect(codeOf(await whoami(app))).toEqual([401, 'TOKEN_REVOKED']);
  });

  it('gives nobody the stored responses of earlier workloads after its issuer was replaced', async () => {
    const o = await newOrg();
    const issuer = await newIssuer();
    const other = await newIssuer();
    const trust = await newTrust(o, issuer, { scopes: ['secrets:write'] });
    const workload = async (of = issuer) => (await newWorkload(o, trust, await of.sign())).o;
    const body = { name: 'DEPLOYED', type: 'generic', value: 'x' };
    const post = async (by: Caller) => by.post('/secrets', body, { 'Idempotency-Key': 'deploy-1' });
    const first = await post(await workload());
    // Another run of the same workload, also once the trust holds more.
    expect(
      (await o.patch(`/trusts/${trust.id}`, { name: 'renamed', scopes: ['secrets:write', 'secrets:list'] }))
        .status,
    ).toBe(200);
    const again = await post(await workload());
    expect([again.status, again.text, again.headers.get('Idempotency-Replayed')]).toEqual([
      201,
      first.text,
      'true',
    ]);
    expect((await o.patch(`/trusts/${trust.id}`, { issuer: other.url, jwks: other.jwks })).status).toBe(200);
    expect(codeOf(await post(await workload(other)))).toEqual([409, 'SECRET_NAME_TAKEN']);
  });

  it('that gives a shorter lifetime shortens its session tokens immediately', async () => {
    const o = await newOrg();
    const issuer = await newIssuer();
    const trust = await newTrust(o, issuer, {
      ttlSeconds: 7200,
      scopes: ['secrets:read', 'tokens:write', 'tokens:read'],
    });
    const early = await newWorkload(o, trust, await issuer.sign());
    const made = await early.o.post('/agent-credentials', { name: 'a', scopes: ['secrets:read'] });
    await inCore(o, (core) => {
      core.now = () => Date.now() + 300_000;
    });
    const late = await newWorkload(o, trust, await issuer.sign());
    await o.patch(`/trusts/${trust.id}`, { ttlSeconds: 240 });
    expect(codeOf(await whoami(early))).toEqual([401, 'TOKEN_EXPIRED']);
    expect(codeOf(await whoami(made.json))).toEqual([401, 'TOKEN_EXPIRED']);
    const { data } = (await o.get('/access-tokens')).json;
    const { expires_at } = (await whoami(late)).json;
    expect(Date.parse(late.expiresAt) - Date.parse(expires_at)).toBe(7_200_000 - 240_000);
    expect(data.map(({ id, expiresAt }: Record<string, string>) => [id, expiresAt])).toEqual([
      [late.id, expires_at],
    ]);
    expect((await o.get(`/credentials/${late.id}/graph`)).json.grants[0].expires_at).toBe(expires_at);
    // A longer one is for session tokens to come.
    await o.patch(`/trusts/${trust.id}`, { ttlSeconds: 86_400 });
    expect((await whoami(late)).json.expires_at).toBe(late.expiresAt);
  });

  it('revokes its session tokens and what they created once it is deleted', async () => {
    const o = await newOrg();
    const issuer = await newIssuer();
    const trust = await newTrust(o, issuer);
    const workload = await newWorkload(o, trust, await issuer.sign());
    await o.del(`/trusts/${trust.id}`);
    expect(codeOf(await whoami(workload))).toEqual([401, 'TOKEN_REVOKED']);
    expect(codeOf(await exchange(o, trust, await issuer.sign()))).toEqual(UNAUTHENTICATED);
    expect((await o.get('/audit-log?action=auth.exchange&limit=1')).json.data[0].reason).toBe(
      'the trust has ended',
    );
  });

  slow('is evaluated in its current state when the session token is issued', async () => {
    const o = await newOrg();
    const issuer = await newIssuer();
    const trust = await newTrust(o, issuer);
    const { held, release } = holdNext('batch');
    const narrowed = o.patch(`/trusts/${trust.id}`, {
      claims: { sub: 'repo:acme/app:environment:production' },
    });
    await held();
    const exchanged = exchange(o, trust, await issuer.sign());
    await until(() => false, 10);
    release();
    expect((await narrowed).status).toBe(200);
    expect(codeOf(await exchanged)).toEqual(UNAUTHENTICATED);
  });

  it.each([
    ['deleted', (o: Caller, path: string) => o.del(path), 401],
    [
      'narrowed',
      (o: Caller, path: string) => o.patch(path, { claims: { sub: 'repo:acme/app:environment:*' } }),
      401,
    ],
    ['renamed', (o: Caller, path: string) => o.patch(path, { name: 'renamed' }), 201],
    [
      'changed to ask for another claim, which the token has',
      (o: Caller, path: string) => o.patch(path, { claims: { sub: 'repo:acme/app:*', ref: 'main' } }),
      201,
    ],
  ] as const)('that is %s after the Worker has looked at it', async (_, change, status) => {
    const o = await newOrg();
    const issuer = await newIssuer();
    const trust = await newTrust(o, issuer);
    const token = await issuer.sign({ ref: 'main' });
    const { held, release } = holdNext('read');
    const exchanged = exchange(o, trust, token);
    await held();
    expect((await change(o, `/trusts/${trust.id}`)).status).toBeLessThan(300);
    release();
    expect((await exchanged).status).toBe(status);
    expect((await o.get('/access-tokens')).json.data.length).toBe(status === 201 ? 1 : 0);
  });

  it('that accepts another claim in the meantime is read again', async () => {
    const o = await newOrg();
    const issuer = await newIssuer();
    const trust = await newTrust(o, issuer);
    const row = await inCore(o, ({ rows }) => rows.get('credential', trust.id));
    // The gate knows of a change that the Worker's look at D1 has missed.
    await inCore(o, ({ rows }) => {
      if (row?.trust)
        rows.put('credential', {
          ...row,
          revision: row.revision + 1,
          trust: { ...row.trust, claims: { sub: 'repo:acme/app:*', ref: 'main' } },
        });
    });
    expect(codeOf(await exchange(o, trust, await issuer.sign({ ref: 'main' })))).toEqual([
      503,
      'UNAVAILABLE',
    ]);
    await inCore(o, ({ rows }) => row && rows.put('credential', row));
    expect((await exchange(o, trust, await issuer.sign({ ref: 'main' }))).status).toBe(201);
  });

  it('is not found if its row was altered in the database', async () => {
    const o = await newOrg();
    const issuer = await newIssuer();
    const trust = await newTrust(o, issuer);
    const evil = await newIssuer({ url: issuer.url });
    const [stored] = (
      await db.prepare('select trust from credentials where id = ?').bind(trust.id).all<{ trust: string }>()
    ).results;
    const config = JSON.parse(stored?.trust ?? '{}');
    const [thumbprint = ''] = Object.keys(config.keys);
    const { use: _, ...key } = evil.jwk;
    await db
      .prepare('update credentials set trust = ? where id = ?')
      .bind(JSON.stringify({ ...config, keys: { [thumbprint]: key } }), trust.id)
      .run();
    expect(codeOf(await exchange(o, trust, await evil.sign()))).toEqual(UNAUTHENTICATED);
  });
});

describe('workload identity: incident response', () => {
  slow('contain revokes a trust with its session tokens, and reports what they did', async () => {
    const o = await newOrg();
    const issuer = await newIssuer();
    const secret = await newSecret(o);
    const trust = await newTrust(o, issuer, { scopes: ['secrets:read', 'tokens:write'] });
    const workload = await newWorkload(o, trust, await issuer.sign());
    await workload.o.get(`/secrets/${secret.id}`);
    const key = (await workload.o.post('/api-keys', { name: 'k', scopes: ['secrets:read'] })).json;
    const { status, json } = await o.post(`/credentials/${trust.id}/contain`);
    expect(status).toBe(200);
    expect(json.revoked).toEqual(
      expect.arrayContaining([
        { kind: 'trust', id: trust.id, name: 'ci' },
        { kind: 'session', id: workload.id, name: expect.stringContaining('ci: repo:acme/app') },
      ]),
    );
    expect(json.read.map(({ secret_id }: { secret_id: string }) => secret_id)).toEqual([secret.id]);
    expect(json.credentials.map(({ id }: { id: string }) => id).sort()).toEqual([key.id, workload.id].sort());
    for (const token of [workload, key]) expect(codeOf(await whoami(token))).toEqual([401, 'TOKEN_REVOKED']);
    expect((await o.post(`/credentials/${trust.id}/contain`)).json).toEqual(json);
  });

  slow('the graph of a trust shows its creator, its session tokens and its reach', async () => {
    const o = await newOrg();
    const issuer = await newIssuer();
    await newSecret(o, { environment: 'staging' });
    const trust = await newTrust(o, issuer, { environments: ['staging'] });
    const workload = await newWorkload(o, trust, await issuer.sign());
    const { json } = await o.get(`/credentials/${trust.id}/graph`);
    expect(json).toMatchObject({
      kind: 'trust',
      id: trust.id,
      name: 'ci',
      parent: { id: o.keyId, relation: 'created_by' },
    });
    expect(json.children).toMatchObject([
      { kind: 'session', id: workload.id, name: expect.any(String), relation: 'dies_with' },
    ]);
    expect(json.reach).toEqual({
      alive: true,
      scopes: ['secrets:read'],
      environments: [{ environment: 'staging', secrets: 1 }],
      upstreams: [],
    });
    expect((await o.get(`/credentials/${workload.id}/graph`)).json.parent).toMatchObject({
      kind: 'trust',
      id: trust.id,
    });
  });

  slow('panic ends session tokens and names recent trusts; with api_keys it ends trusts', async () => {
    const o = await newOrg();
    const issuer = await newIssuer();
    const trust = await newTrust(o, issuer);
    const gone = await newTrust(o, issuer);
    await o.del(`/trusts/${gone.id}`);
    const workload = await newWorkload(o, trust, await issuer.sign());
    const first = await o.post('/panic', { reason: 'a laptop was stolen' });
    expect(first.json.recent.trusts).toEqual([
      {
        id: trust.id,
        name: 'ci',
        issuer: issuer.url,
        created_by: o.keyId,
        created_at: expect.any(String),
        updated_at: expect.any(String),
      },
    ]);
    expect(codeOf(await whoami(workload))).toEqual([401, 'TOKEN_REVOKED']);
    expect((await exchange(o, trust, await issuer.sign())).status).toBe(201);
    const second = await o.post('/panic', { reason: 'a laptop was stolen', api_keys: true });
    const next = o.as(second.json.api_key.token);
    expect(codeOf(await exchange(o, trust, await issuer.sign()))).toEqual(UNAUTHENTICATED);
    expect((await next.get('/trusts')).json.data).toEqual([]);
    const { id } = await newTrust(next, issuer);
    expect((await exchange(o, { id }, await issuer.sign())).status).toBe(201);
  });

  it('panic names an old trust that was changed lately', async () => {
    const o = await newOrg();
    const issuer = await newIssuer();
    const old = await newTrust(o, issuer);
    const changed = await newTrust(o, issuer);
    await inCore(o, ({ rows }) => {
      for (const { id } of [old, changed]) {
        const row = rows.get('credential', id);
        const at = Date.now() - 8 * 86_400_000;
        const trust = row?.trust && { ...row.trust, changed_at: id === old.id ? at : row.trust.changed_at };
        if (row) rows.put('credential', { ...row, created_at: at, trust: trust ?? null });
      }
    });
    const { json } = await o.post('/panic', { reason: 'a laptop was stolen' });
    expect(json.recent.trusts.map(({ id }: { id: string }) => id)).toEqual([changed.id]);
  });

  slow('removing a member ends the trusts of theirs that it is asked to end', async () => {
    const { o } = await newSignedIn();
    const browser = await signIn(o, 'admin');
    const issuer = await newIssuer();
    const trust = await newTrust(browser.o, issuer);
    const workload = await newWorkload(o, trust, await issuer.sign());
    const { json } = await o.del(`/members/${browser.member.id}?revoke_credentials=true`);
    expect(json.credentials).toEqual([{ kind: 'trust', id: trust.id, name: 'ci' }]);
    expect(codeOf(await whoami(workload))).toEqual([401, 'TOKEN_REVOKED']);
  });

  slow('events and the compliance report tell of trusts', async () => {
    const o = await newOrg();
    const issuer = await newIssuer();
    const trust = await newTrust(o, issuer, { scopes: ['secrets:*'] });
    const report = await newReport(o);
    expect(report.inventory.credentials.find(({ kind }) => kind === 'trust')).toEqual({
      kind: 'trust',
      live: 1,
      without_expiry: 1,
      unused: 0,
      over_scoped: 1,
    });
    expect(finding(report, 'credentials-over-scoped').evidence.map(({ id }) => id)).toContain(trust.id);
    await o.del(`/trusts/${trust.id}`);
    const { data } = (await o.get('/events?types=CREDENTIAL_CREATED,CREDENTIAL_REVOKED')).json;
    expect(
      data
        .filter(({ data: { kind } }: { data: { kind: string } }) => kind === 'trust')
        .map(({ type }: { type: string }) => type),
    ).toEqual([...['CREDENTIAL_CREATED', 'CREDENTIAL_REVOKED']]);
  });
});
