// PUT by name: one call that creates a secret or updates the one that has the name.
import { describe, expect, it } from 'vitest';
import { newAgent, newKey, newProvider } from '../../support/credentials';
import { faults } from '../../support/faults';
import { slow } from '../../support/slow';
import { codeOf, db, newOrg, newSecret, send, useWorld } from '../../support/world';

useWorld();

describe('PUT by name', () => {
  slow('creates a secret of type generic, and then updates it', async () => {
    const o = await newOrg();
    const call = (body: unknown, headers?: Record<string, string>) =>
      o.call('PUT', '/secrets/by-name/app/db', body, headers);
    const created = await call({ value: 'one', tags: { team: 'core' } });
    expect([created.status, created.json]).toMatchObject([
      201,
      { name: 'app/db', type: 'generic', version: 1, generated: false, tags: { team: 'core' } },
    ]);
    expect(created.json.value).toBeUndefined();
    const updated = await call({ value: 'two', type: 'password' });
    expect([updated.status, updated.json]).toMatchObject([
      200,
      { id: created.json.id, type: 'password', version: 2, tags: { team: 'core' } },
    ]);
    expect((await o.get('/secrets/by-name/app%2Fdb')).json).toMatchObject({ value: 'two', version: 2 });
    const actions = (await o.get(`/audit-log?resource=${created.json.id}`)).json.data.map(
      ({ action }: { action: string }) => action,
    );
    expect(actions).toEqual(['secret.read', 'secret.update', 'secret.create']);
  });

  slow('an equal value makes no version, if the caller may read it', async () => {
    const o = await newOrg();
    await newSecret(o, { name: 'S', value: 'same' });
    expect((await o.call('PUT', '/secrets/by-name/S', { value: 'same' })).json.version).toBe(1);
    const writer = await newKey(o, { scopes: ['secrets:write'] });
    expect((await writer.o.call('PUT', '/secrets/by-name/S', { value: 'same' })).json.version).toBe(2);
  });

  it('If-Match and If-None-Match: 412 unless the secret is as the caller believes', async () => {
    const o = await newOrg();
    const call = (body: unknown, headers: Record<string, string>) =>
      o.call('PUT', '/secrets/by-name/S', body, headers);
    expect(codeOf(await call({ value: 'v' }, { 'If-Match': '"v1"' }))).toEqual([412, 'VERSION_CONFLICT']);
    expect((await call({ value: 'v' }, { 'If-None-Match': '*' })).status).toBe(201);
    expect(codeOf(await call({ value: 'w' }, { 'If-None-Match': '*' }))).toEqual([412, 'VERSION_CONFLICT']);
    expect(codeOf(await call({ value: 'w' }, { 'If-Match': '"v2"' }))).toEqual([412, 'VERSION_CONFLICT']);
    const changed = await call({ value: 'w' }, { 'If-Match': '"v1"' });
    expect([changed.status, changed.headers.get('etag')]).toEqual([200, '"v2"']);
  });

  slow(
    'concurrency: twenty concurrent requests create one secret, with consecutive versions and none lost',
    async () => {
      const o = await newOrg();
      faults.delay = 10;
      const answers = await Promise.all(
        Array.from({ length: 20 }, (_, n) => o.call('PUT', '/secrets/by-name/HOT', { value: `value ${n}` })),
      );
      faults.delay = 0;
      expect(answers.filter(({ status }) => status === 201)).toHaveLength(1);
      expect(new Set(answers.map(({ json }) => json.id)).size).toBe(1);
      expect(answers.map(({ json }) => json.version).sort((a, b) => a - b)).toEqual(
        Array.from({ length: 20 }, (_, n) => n + 1),
      );
    },
  );

  it('concurrency: two requests right after a DELETE create one secret, and the other updates it', async () => {
    const o = await newOrg();
    const put = (name: string, n: number) =>
      o.call('PUT', `/secrets/by-name/${name}`, { value: `value ${n}` });
    for (const name of ['A', 'B', 'C', 'D']) {
      const { json } = await put(name, 0);
      await o.del(`/secrets/${json.id}`);
      const answers = await Promise.all([put(name, 1), put(name, 2)]);
      expect(answers.map(({ status }) => status).sort()).toEqual([200, 201]);
      expect(new Set(answers.map(({ json }) => json.id)).size).toBe(1);
    }
  });

  slow('concurrency: requests that race DELETE, restore and a provider all succeed', async () => {
    const o = await newOrg();
    const provider = await newProvider(o);
    faults.delay = 5;
    for (const name of ['A', 'B', 'C']) {
      const put = (n: number) => o.call('PUT', `/secrets/by-name/${name}`, { value: `value ${n}` });
      const { json } = await put(0);
      const issued = { secretName: name, environment: 'production', value: 'issued', ttlSeconds: 600 };
      const [gone, ...answers] = await Promise.all([
        o.del(`/secrets/${json.id}`),
        put(1),
        put(2),
        send('POST', '/api/v1/provider/issue', { token: provider.token, body: issued }),
        put(3),
        put(4),
      ]);
      expect([gone.status, ...answers.map(({ status }) => (status === 201 ? 200 : status))]).toEqual([
        204, 200, 200, 200, 200, 200,
      ]);
      const { data } = (await o.get(`/secrets?prefix=${name}`)).json;
      expect(data).toHaveLength(1);
      const restored = await Promise.all([o.post(`/secrets/${json.id}/restore`, {}), put(5), put(6)]);
      expect(restored.slice(1).map(({ status }) => status)).toEqual([200, 200]);
    }
  });

  it('finds the secret when the isolate remembers another one under the name', async () => {
    const o = await newOrg();
    const first = (await o.call('PUT', '/secrets/by-name/S', { value: 'a' })).json;
    await o.del(`/secrets/${first.id}?permanent=true`);
    const second = await o.call('PUT', '/secrets/by-name/S', { value: 'b' });
    expect([second.status, second.json.id === first.id]).toEqual([201, false]);
    expect((await o.get('/secrets/by-name/S')).json.value).toBe('b');
  });

  it('permission: names, environments and scopes limit it as they limit create and update', async () => {
    const o = await newOrg();
    const agent = await newAgent(o, {
      scopes: ['secrets:write'],
      secrets: ['app/*'],
      environments: ['staging'],
    });
    const call = (path: string) => agent.o.call('PUT', `/secrets/by-name/${path}`, { value: 'v' });
    expect((await call('app/a?environment=staging')).status).toBe(201);
    expect(codeOf(await call('other?environment=staging'))).toEqual([403, 'INSUFFICIENT_SCOPE']);
    expect(codeOf(await call('app/a?environment=production'))).toEqual([403, 'INSUFFICIENT_SCOPE']);
    const reader = await newKey(o, { scopes: ['secrets:read'] });
    expect(codeOf(await reader.o.call('PUT', '/secrets/by-name/x', { value: 'v' }))).toEqual([
      403,
      'INSUFFICIENT_SCOPE',
    ]);
    expect(codeOf(await o.call('PUT', '/secrets/by-name/x?environment=none', { value: 'v' }))).toEqual([
      404,
      'NOT_FOUND',
    ]);
    expect((await o.call('PUT', '/secrets/by-name/a//b', { value: 'v' })).status).toBe(404);
  });

  it('treats an expired or revoked secret as PATCH does', async () => {
    const o = await newOrg();
    await newSecret(o, { name: 'S', ttlSeconds: 60 });
    faults.clock = Date.now() + 61_000;
    expect(codeOf(await o.call('PUT', '/secrets/by-name/S', { value: 'v' }))).toEqual([
      410,
      'SECRET_EXPIRED',
    ]);
    expect((await o.call('PUT', '/secrets/by-name/S', { value: 'v', ttlSeconds: null })).status).toBe(200);
    faults.clock = null;
    expect((await o.get('/secrets/by-name/S')).json.value).toBe('v');
  });
});

describe('validation: the empty value', () => {
  it('is accepted by create, PUT and PATCH, and nowhere else', async () => {
    const o = await newOrg();
    const secret = await newSecret(o, { name: 'EMPTY', value: '' });
    expect((await o.get(`/secrets/${secret.id}`)).json.value).toBe('');
    expect((await o.patch(`/secrets/${secret.id}`, { value: 'x' })).json.version).toBe(2);
    expect((await o.patch(`/secrets/${secret.id}`, { value: '' })).json.version).toBe(3);
    expect((await o.call('PUT', '/secrets/by-name/EMPTY', { value: '' })).json.version).toBe(3);
    expect((await o.get('/environments/production/values')).json.values).toEqual({ EMPTY: '' });
    expect((await o.post(`/secrets/${secret.id}/rotate`, { value: '' })).status).toBe(400);
    const { n } = (await db
      .prepare("select count(*) n from secret_versions where value_sealed = '' and org_id = ?")
      .bind(o.id)
      .first<{ n: number }>()) as { n: number };
    expect(n).toBe(0);
  });
});

describe('validation: optional fields and lifetimes', () => {
  it('null counts as omitted in the optional fields of a new credential, and nowhere else', async () => {
    const o = await newOrg();
    const none = {
      expires_at: null,
      ttlSeconds: null,
      environments: null,
      secrets: null,
      allowed_addresses: null,
    };
    expect((await o.post('/api-keys', { name: 'k', scopes: ['org:read'], ...none })).status).toBe(201);
    expect(
      (await o.post('/agent-credentials', { name: 'a', scopes: ['org:read'], rate_limit: null, ...none }))
        .status,
    ).toBe(201);
    expect(
      (await o.post('/access-tokens', { ttlSeconds: 60, environments: null, secrets: null })).status,
    ).toBe(201);
    for (const body of [{ ttlSeconds: 60, scopes: null }, { ttlSeconds: null }])
      expect((await o.post('/access-tokens', body)).status).toBe(400);
    const { id } = (await o.post('/secrets', { name: 'N', type: 'password', value: 'v' })).json;
    expect((await o.post(`/secrets/${id}/rotate`, { value: null })).status).toBe(400);
    expect((await o.patch(`/secrets/${id}`, { name: null })).status).toBe(400);
  });

  it('API keys and agents take ttlSeconds or expires_at, not both; an agent without either ends after 30 days', async () => {
    const o = await newOrg();
    /** The seconds for which a new credential lives, at least and at most. */
    const lifeOf = async (create: () => Promise<object>) => {
      const before = Date.now();
      const ends = Date.parse(((await create()) as { expires_at: string }).expires_at);
      return [Math.floor((ends - Date.now()) / 1000), Math.ceil((ends - before + 1) / 1000)] as const;
    };
    const expectLife = ([least, most]: readonly [number, number], seconds: number) => {
      expect(least).toBeLessThanOrEqual(seconds);
      expect(most).toBeGreaterThanOrEqual(seconds);
    };
    expectLife(await lifeOf(() => newKey(o, { scopes: ['org:read'], ttlSeconds: 7_776_000 })), 7_776_000);
    const expires_at = new Date(Date.now() + 3_600_000).toISOString();
    expect((await newAgent(o, { expires_at })).expires_at).toBe(expires_at);
    for (const path of ['/api-keys', '/agent-credentials']) {
      const both = await o.post(path, { name: 'b', scopes: ['org:read'], ttlSeconds: 60, expires_at });
      expect([both.status, both.json.error.details[0].path]).toEqual([400, 'ttlSeconds']);
    }
    expectLife(await lifeOf(() => newAgent(o)), 30 * 86_400);
    const key = await newKey(o, { expires_at });
    expect((await newAgent(key.o)).expires_at).toBe(expires_at);
  });
});
