// The Provider API: what a platform that issues credentials can do with a provider token, and what nobody can
// do with what it revoked.
import { describe, expect, it } from 'vitest';
import { routes } from '../../../src/domains';
import { problemOf } from '../../model/invariants';
import { newKey, newSession } from '../../support/credentials';
import { faults, holdNext } from '../../support/faults';
import { inCore } from '../../support/gate';
import { slow } from '../../support/slow';
import {
  type Answer,
  BOOTSTRAP,
  type Caller,
  codeOf,
  db,
  newOrg,
  newSecret,
  send,
  useWorld,
} from '../../support/world';

useWorld();

type Body = Record<string, unknown>;

/**
 * A provider token, and calls with it; a body that is silent means `db/password` in production, for an hour.
 */
async function newProvider(o: Caller, fields: Body = {}) {
  const { json, status, text } = await o.post('/provider-tokens', {
    name: 'p',
    scopes: ['issue', 'rotate', 'revoke'],
    ...fields,
  });
  if (status !== 201) throw new Error(`no provider: ${status} ${text}`);
  return { id: json.id as string, token: json.token as string, ...callsWith(json.token) };
}

const silent = { secretName: 'db/password', environment: 'production' };
function callsWith(token: string) {
  const call =
    (verb: string, usual: Body) =>
    (body: Body | string = {}, headers?: Record<string, string>) =>
      send('POST', `/api/v1/provider/${verb}`, {
        token,
        body: typeof body === 'string' ? body : { ...silent, ...usual, ...body },
        headers,
      });
  return {
    issue: call('issue', { value: 'v1', ttlSeconds: 3600 }),
    rotate: call('rotate', { newValue: 'v2' }),
    revoke: call('revoke', {}),
  };
}

const read = (o: Caller, name = 'db/password', environment = 'production') =>
  o.get(`/secrets/by-name/${name}?environment=${environment}`);
/** Moves the clock of gates by so many seconds. */
const pass = (seconds: number) => {
  faults.clock = (faults.clock ?? Date.now()) + seconds * 1000;
};

describe('provider issue', () => {
  it('creates a secret for a new name, and a version for an existing one', async () => {
    const o = await newOrg();
    const p = await newProvider(o);
    const first = await p.issue();
    expect([first.status, first.json]).toEqual([
      201,
      {
        secretId: expect.stringMatching(/^sec_/),
        secretName: 'db/password',
        environment: 'production',
        version: 1,
        expiresAt: expect.stringMatching(/^\d{4}-.*Z$/),
      },
    ]);
    expect(first.text).not.toContain('v1"');
    expect((await read(o)).json).toMatchObject({
      id: first.json.secretId,
      value: 'v1',
      version: 1,
      type: 'generic',
      status: 'active',
    });
    const second = await p.issue({ value: 'next', ttlSeconds: 60 });
    expect([second.status, second.json.version, second.json.secretId]).toEqual([200, 2, first.json.secretId]);
    expect((await read(o)).json).toMatchObject({ value: 'next', expires_at: second.json.expiresAt });
    expect((await o.get(`/secrets/${first.json.secretId}?version=1`)).json.value).toBe('v1');
  });

  it('accepts an environment by id or slug; names are separate in each', async () => {
    const o = await newOrg();
    const p = await newProvider(o);
    const staging = (await o.get('/environments')).json.data.find(
      ({ slug }: { slug: string }) => slug === 'staging',
    );
    const bySlug = await p.issue({ environment: 'staging' });
    const byId = await p.issue({ environment: staging.id, value: 'b' });
    expect([bySlug.status, byId.status, byId.json.version, byId.json.environment]).toEqual([
      201,
      200,
      2,
      'staging',
    ]);
    expect((await p.issue()).status).toBe(201);
    expect((await read(o, 'db/password', 'staging')).json.value).toBe('b');
  });

  it('takes over a secret that a person created, of any type, even an expired one', async () => {
    const o = await newOrg();
    const p = await newProvider(o);
    const made = await newSecret(o, {
      name: 'db/password',
      type: 'password',
      tags: { team: 'core' },
      ttlSeconds: 60,
    });
    faults.clock = Date.now();
    pass(60);
    expect(codeOf(await read(o))).toEqual([410, 'SECRET_EXPIRED']);
    expect((await p.issue()).json).toMatchObject({ secretId: made.id, version: 2 });
    expect((await read(o)).json).toMatchObject({
      value: 'v1',
      type: 'password',
      tags: { team: 'core' },
      status: 'active',
    });
  });

  it('creates a secret if the one with the name is deleted, and follows a renamed one', async () => {
    const o = await newOrg();
    const p = await newProvider(o);
    const first = (await p.issue()).json;
    await o.patch(`/secrets/${first.secretId}`, { name: 'old' });
    const second = await p.issue({ value: 'second' });
    expect([second.status, second.json.version]).toEqual([201, 1]);
    expect(second.json.secretId).not.toBe(first.secretId);
    await o.del(`/secrets/${second.json.secretId}`);
    const third = await p.issue({ value: 'third' });
    expect([third.status, third.json.version]).toEqual([201, 1]);
    await o.del(`/secrets/${third.json.secretId}?permanent=true`);
    await o.patch(`/secrets/${first.secretId}`, { name: 'db/password' });
    const fourth = await p.issue({ value: 'fourth' });
    expect([fourth.status, fourth.json.version, fourth.json.secretId]).toEqual([200, 2, first.secretId]);
    expect((await read(o)).json.value).toBe('fourth');
    expect(await problemOf(o)).toBe(null);
  });

  slow(
    'concurrency: many issues of a new name make one secret with consecutive versions and every value',
    async () => {
      const o = await newOrg();
      const providers = await Promise.all(Array.from({ length: 4 }, () => newProvider(o)));
      faults.delay = 5;
      const answers = await Promise.all(
        Array.from(
          { length: 24 },
          (_, i) => providers[i % 4]?.issue({ secretName: 'fresh', value: `value ${i}` }) as Promise<Answer>,
        ),
      );
      expect(answers.map(({ status }) => status).sort()).toEqual([...Array(23).fill(200), 201]);
      const ids = new Set(answers.map(({ json }) => json.secretId));
      expect(ids.size).toBe(1);
      expect(answers.map(({ json }) => json.version).sort((a, b) => a - b)).toEqual(
        Array.from({ length: 24 }, (_, i) => i + 1),
      );
      for (const [i, { json }] of answers.entries())
        expect((await o.get(`/secrets/${json.secretId}?version=${json.version}`)).json.value).toBe(
          `value ${i}`,
        );
      expect(await problemOf(o)).toBe(null);
    },
  );

  it('concurrency: issue and revoke wait for a change that gives the name to another secret', async () => {
    const o = await newOrg();
    const p = await newProvider(o);
    for (const act of [p.revoke, p.rotate, () => p.issue({ value: 'late' })]) {
      // The name is free when the provider asks, and is given to this secret while the provider waits for its
      // lock.
      const { id } = await newSecret(o, { name: 'other' });
      const { held, release } = holdNext();
      const renamed = o.patch(`/secrets/${id}`, { name: 'db/password' });
      await held();
      const acted = act();
      const patched = o.patch(`/secrets/${id}`, { description: 'meanwhile' });
      await new Promise((done) => setTimeout(done, 20));
      faults.delay = 10;
      release();
      expect((await renamed).status).toBe(200);
      expect((await acted).status).toBe(200);
      expect([200, 410]).toContain((await patched).status);
      faults.delay = 0;
      faults.held = null;
      expect(await problemOf(o)).toBe(null);
      await o.del(`/secrets/${id}?permanent=true`);
    }
  });

  slow(
    'concurrency: with rotations, revocations, renames and deletions, no version is missing and no integrity violation is reported',
    async () => {
      const o = await newOrg();
      const p = await newProvider(o);
      faults.delay = 4;
      for (let round = 0; round < 6; round++) {
        const answers = await Promise.all([
          p.issue({ value: `a${round}` }),
          p.revoke(),
          p.rotate({ newValue: `b${round}` }),
          p.issue({ value: `c${round}` }),
          newSecret(o, { name: 'db/password' }).catch(() => null),
          p.revoke(),
          p.issue({ value: `d${round}` }),
        ]);
        for (const answer of answers)
          if (answer && 'status' in answer) expect(answer.status, JSON.stringify(answer)).not.toBe(500);
        const { id } = (await o.get('/secrets?prefix=db')).json.data[0];
        await Promise.all([
          p.issue({ value: `e${round}` }),
          round % 2
            ? o.patch(`/secrets/${id}`, { name: `moved ${round}`.replace(' ', '-') })
            : o.del(`/secrets/${id}?permanent=true`),
          p.revoke(),
          p.issue({ value: `f${round}` }),
          p.rotate(),
        ]);
      }
      faults.delay = 0;
      expect(await problemOf(o)).toBe(null);
      expect((await o.get('/audit-log/verify')).json.ok).toBe(true);
    },
  );
});

describe('provider lifetime', () => {
  slow('expires to the second for every way of reading and for rotate; only issue starts again', async () => {
    const o = await newOrg();
    const p = await newProvider(o);
    faults.clock = Math.ceil(Date.now() / 1000) * 1000;
    const { json } = await p.issue({ ttlSeconds: 60 });
    expect(Date.parse(json.expiresAt)).toBe(faults.clock + 60_000);
    pass(59.999);
    expect((await read(o)).status).toBe(200);
    pass(0.001);
    expect(codeOf(await read(o))).toEqual([410, 'SECRET_EXPIRED']);
    expect(codeOf(await o.get(`/secrets/${json.secretId}?version=1`))).toEqual([410, 'SECRET_EXPIRED']);
    expect((await o.get('/environments/production/values')).json.values).toEqual({});
    pass(1000);
    const rotated = await p.rotate();
    expect([rotated.status, rotated.json.version, Date.parse(rotated.json.expiresAt)]).toEqual([
      200,
      2,
      (faults.clock as number) + 60_000,
    ]);
    expect((await read(o)).json).toMatchObject({ value: 'v2', status: 'active' });
    expect((await o.get(`/secrets/${json.secretId}?version=1`)).json.value).toBe('v1');
  });

  slow('of a POST or PATCH applies to rotate too; a rotate without one sets no end', async () => {
    const o = await newOrg();
    const p = await newProvider(o);
    faults.clock = Date.now();
    const ends = async () => Date.parse((await p.rotate()).json.expiresAt) - (faults.clock as number);
    const { id } = await newSecret(o, { name: 'db/password', ttlSeconds: 5 });
    pass(4);
    expect(await ends()).toBe(5000);
    await o.patch(`/secrets/${id}`, { ttlSeconds: 90 });
    pass(30);
    expect(await ends()).toBe(90_000);
    await o.patch(`/secrets/${id}`, { ttlSeconds: null });
    expect((await p.rotate()).json.expiresAt).toBe(null);
    await p.issue({ ttlSeconds: 61 });
    expect(await ends()).toBe(61_000);
  });

  slow('audit log: the entry that sets a lifetime shows it, and no other does', async () => {
    const o = await newOrg();
    const p = await newProvider(o);
    const { secretId, expiresAt } = (await p.issue()).json;
    const rotated = (await p.rotate()).json;
    await p.revoke();
    const made = (await o.post('/secrets', { name: 'A', type: 'generic', value: 'v', ttlSeconds: 60 })).json;
    const plain = (await o.post('/secrets', { name: 'B', type: 'generic', value: 'v' })).json;
    await o.patch(`/secrets/${made.id}`, { ttlSeconds: null });
    await o.patch(`/secrets/${made.id}`, { value: 'w' });
    const { data } = (await o.get('/audit-log?limit=100')).json;
    const entries = (resource: string) =>
      data
        .filter((entry: Body) => entry.resource === resource)
        .reverse()
        .map(({ action, environment, version, expires_at, actor }: Body & { actor: Body }) => [
          action,
          environment,
          version,
          expires_at,
          actor.kind,
        ]);
    expect(entries(secretId)).toEqual([
      ['provider.issue', 'production', 1, expiresAt, 'provider'],
      ['provider.rotate', 'production', 2, rotated.expiresAt, 'provider'],
      ['provider.revoke', 'production', 2, undefined, 'provider'],
    ]);
    expect(entries(made.id)).toEqual([
      ['secret.create', 'production', 1, made.expires_at, 'api_key'],
      ['secret.update', 'production', 1, null, 'api_key'],
      ['secret.update', 'production', 2, undefined, 'api_key'],
    ]);
    expect(entries(plain.id)).toEqual([['secret.create', 'production', 1, null, 'api_key']]);
    expect((await o.get('/audit-log/verify')).json.ok).toBe(true);
  });
});

describe('provider rotate', () => {
  slow('answers 404 for a name without a secret, and 409 for a revoked one', async () => {
    const o = await newOrg();
    const p = await newProvider(o);
    expect(codeOf(await p.rotate())).toEqual([404, 'NOT_FOUND']);
    expect(codeOf(await p.rotate({ environment: 'nowhere' }))).toEqual([404, 'NOT_FOUND']);
    const { json } = await p.issue();
    await p.revoke();
    expect(codeOf(await p.rotate())).toEqual([409, 'SECRET_REVOKED']);
    await p.issue();
    await o.del(`/secrets/${json.secretId}`);
    expect(codeOf(await p.rotate())).toEqual([404, 'NOT_FOUND']);
  });
});

describe('provider revoke', () => {
  slow('answers as before when it is repeated, and changes nothing', async () => {
    const o = await newOrg();
    const p = await newProvider(o);
    expect(codeOf(await p.revoke())).toEqual([404, 'NOT_FOUND']);
    const { secretId } = (await p.issue()).json;
    faults.clock = Date.now();
    const first = await p.revoke();
    expect([first.status, first.json]).toEqual([
      200,
      {
        secretId,
        secretName: 'db/password',
        environment: 'production',
        status: 'revoked',
        revokedAt: new Date(faults.clock).toISOString(),
      },
    ]);
    pass(100);
    const before = await db.prepare('select revision from secrets where id = ?').bind(secretId).first();
    expect((await p.revoke()).json).toEqual(first.json);
    expect(await db.prepare('select revision from secrets where id = ?').bind(secretId).first()).toEqual(
      before,
    );
  });

  it('revokes every way of reading and every change but issue; the secret can be listed, deleted and restored', async () => {
    const o = await newOrg();
    const p = await newProvider(o);
    const { secretId } = (await p.issue()).json;
    await p.rotate();
    const etag = (await o.get('/environments/production/values')).headers.get('etag') as string;
    const single = (await o.get(`/secrets/${secretId}`)).headers.get('etag') as string;
    await p.revoke();
    const gone = [410, 'SECRET_REVOKED'];
    const everyWay = async () => {
      for (const query of ['', '?version=1', '?version=2'])
        expect(codeOf(await o.get(`/secrets/${secretId}${query}`))).toEqual(gone);
      expect(codeOf(await read(o))).toEqual(gone);
      expect(codeOf(await o.get('/secrets/by-name/db/password?version=1'))).toEqual(gone);
      expect(codeOf(await o.get(`/secrets/${secretId}`, { 'If-None-Match': single }))).toEqual(gone);
      expect((await o.get('/environments/production/values', { 'If-None-Match': etag })).json.values).toEqual(
        {},
      );
    };
    await everyWay();
    expect(codeOf(await o.post(`/secrets/${secretId}/rollback`, { version: 1 }))).toEqual(gone);
    expect(codeOf(await o.post(`/secrets/${secretId}/rotate`, { value: 'x' }))).toEqual(gone);
    expect(codeOf(await o.post(`/secrets/${secretId}/rotate`))).toEqual(gone);
    for (const body of [
      { ttlSeconds: 60 },
      { ttlSeconds: null },
      { value: 'x' },
      { value: 'x', ttlSeconds: 60 },
      { name: 'other' },
      { tags: {} },
    ])
      expect(codeOf(await o.patch(`/secrets/${secretId}`, body)), JSON.stringify(body)).toEqual(gone);
    expect((await o.get('/secrets?status=revoked')).json.data).toMatchObject([
      { id: secretId, status: 'revoked' },
    ]);
    expect((await o.get('/secrets?status=active')).json.data).toEqual([]);
    expect((await o.get(`/secrets/${secretId}/versions`)).json.data).toHaveLength(2);
    expect(codeOf(await o.post('/secrets', { name: 'db/password', type: 'generic', value: 'v' }))).toEqual([
      409,
      'SECRET_NAME_TAKEN',
    ]);
    expect((await o.del(`/secrets/${secretId}`)).status).toBe(204);
    expect((await o.post(`/secrets/${secretId}/restore`)).json).toMatchObject({ status: 'revoked' });
    await everyWay();
    faults.clock = Date.now() + 4000_000;
    await everyWay();
    expect((await o.del(`/secrets/${secretId}?permanent=true`)).status).toBe(204);
  });

  it('issue activates the secret with the next version; revoked versions stay revoked', async () => {
    const o = await newOrg();
    const p = await newProvider(o);
    const { secretId } = (await p.issue({ value: 'one' })).json;
    await p.rotate({ newValue: 'two' });
    await p.revoke();
    const again = await p.issue({ value: 'three' });
    expect([again.status, again.json.version, again.json.secretId]).toEqual([200, 3, secretId]);
    const gone = async (...versions: number[]) => {
      for (const version of versions) {
        expect(codeOf(await o.get(`/secrets/${secretId}?version=${version}`))).toEqual([
          410,
          'SECRET_REVOKED',
        ]);
        expect(codeOf(await o.get(`/secrets/by-name/db/password?version=${version}`))).toEqual([
          410,
          'SECRET_REVOKED',
        ]);
        expect(codeOf(await o.post(`/secrets/${secretId}/rollback`, { version }))).toEqual([
          410,
          'SECRET_REVOKED',
        ]);
      }
    };
    await gone(1, 2);
    expect((await read(o)).json).toMatchObject({ value: 'three', version: 3, status: 'active' });
    await p.rotate({ newValue: 'four' });
    expect((await o.get(`/secrets/${secretId}?version=3`)).json.value).toBe('three');
    await o.post(`/secrets/${secretId}/rollback`, { version: 3 });
    expect((await read(o)).json).toMatchObject({ value: 'three', version: 5 });
    await gone(1, 2);
    await p.revoke();
    await p.issue({ value: 'six' });
    await gone(1, 2, 3, 4, 5);
    expect((await read(o)).json.value).toBe('six');
    expect(await problemOf(o)).toBe(null);
  });

  it('destroys one-time values in stored responses, and cached ciphertexts', async () => {
    const o = await newOrg();
    const p = await newProvider(o);
    const { id } = await newSecret(o, { name: 'db/password', type: 'password' });
    const generate = () => o.post(`/secrets/${id}/rotate`, {}, { 'Idempotency-Key': 'again' });
    const { value } = (await generate()).json;
    expect((await generate()).json.value).toBe(value);
    await p.revoke();
    expect((await generate()).json.value).toBe(null);
    await p.issue();
    expect((await generate()).json.value).toBe(null);
    const kept = await inCore(o, ({ storage }) =>
      storage.sql.exec('select version from seals where secret = ?', id).toArray(),
    );
    expect(kept).toEqual([{ version: 3 }]);
  });

  it('survives adoption of a backup from before it, and of one from before a later issue', async () => {
    const o = await newOrg();
    const p = await newProvider(o);
    const names = ['revoked', 'anew', 'untouched'];
    for (const secretName of names) await p.issue({ secretName, value: `leaked ${secretName}` });
    await p.issue({ secretName: 'twice', value: 'leaked twice' });
    await p.revoke({ secretName: 'twice' });
    const tables = ['secrets', 'secret_versions'];
    const backup = await Promise.all(
      tables.map(
        async (table) =>
          (await db.prepare(`select * from ${table} where org_id = ?`).bind(o.id).all()).results,
      ),
    );
    await p.revoke({ secretName: 'revoked' });
    await p.revoke({ secretName: 'anew' });
    await p.issue({ secretName: 'anew', value: 'fresh' });
    await p.issue({ secretName: 'twice', value: 'fresh' });
    await p.rotate({ secretName: 'untouched' });
    for (const [i, table] of tables.entries()) {
      await db.prepare(`delete from ${table} where org_id = ?`).bind(o.id).run();
      for (const row of backup[i] as Body[]) {
        const columns = Object.keys(row);
        await db
          .prepare(
            `insert into ${table} (${columns.map((name) => `"${name}"`)}) values (${columns.map(() => '?')})`,
          )
          .bind(...Object.values(row))
          .run();
      }
    }
    const adopted = await send('POST', `/api/v1/orgs/${o.id}/adopt`, {
      token: BOOTSTRAP,
      body: { reason: 'a drill' },
    });
    expect(adopted.status).toBe(200);
    for (const name of ['revoked', 'anew', 'twice']) {
      expect(codeOf(await read(o, name)), name).toEqual([410, 'SECRET_REVOKED']);
      for (let version = 1; version <= 4; version++)
        expect([404, 410], name).toContain(
          (await o.get(`/secrets/by-name/${name}?version=${version}`)).status,
        );
    }
    expect((await read(o, 'untouched')).json.value).toBe('leaked untouched');
    expect((await p.issue({ secretName: 'anew', value: 'newer' })).status).toBe(200);
    expect((await read(o, 'anew')).json.value).toBe('newer');
    expect(await problemOf(o)).toBe(null);
  });
});

describe('provider idempotency', () => {
  slow(
    'a replay returns the first response; keys of other tokens are separate; another body is refused',
    async () => {
      const o = await newOrg();
      const p = await newProvider(o);
      const q = await newProvider(o);
      const headers = { 'Idempotency-Key': 'k' };
      const first = await p.issue({}, headers);
      for (let i = 0; i < 2; i++) {
        const again = await p.issue({}, headers);
        expect([again.status, again.json, again.headers.get('idempotency-replayed')]).toEqual([
          201,
          first.json,
          'true',
        ]);
      }
      expect((await q.issue({}, headers)).json.version).toBe(2);
      expect(codeOf(await p.issue({ value: 'other' }, headers))).toEqual([422, 'IDEMPOTENCY_KEY_REUSED']);
      expect((await p.rotate({}, { 'Idempotency-Key': 'r' })).json.version).toBe(3);
      expect((await p.rotate({}, { 'Idempotency-Key': 'r' })).json.version).toBe(3);
      const revoked = await p.revoke({}, { 'Idempotency-Key': 'v' });
      await p.issue();
      expect((await p.revoke({}, { 'Idempotency-Key': 'v' })).json).toEqual(revoked.json);
      expect((await read(o)).json.version).toBe(4);
    },
  );

  slow('concurrent requests with one key make one version of a new name', async () => {
    const o = await newOrg();
    const p = await newProvider(o);
    faults.delay = 10;
    const answers = await Promise.all(
      Array.from({ length: 8 }, () => p.issue({}, { 'Idempotency-Key': 'twins' })),
    );
    for (const answer of answers) expect([201, 409]).toContain(answer.status);
    expect((await p.issue({}, { 'Idempotency-Key': 'twins' })).json.version).toBe(1);
    expect((await read(o)).json.version).toBe(1);
  });
});

describe('provider permission', () => {
  slow('only provider tokens can use the three routes, and they can use no other route', async () => {
    const o = await newOrg();
    const p = await newProvider(o);
    const { secretId } = (await p.issue()).json;
    const agent = (await o.post('/agent-credentials', { name: 'a', scopes: ['*'] })).json.token;
    const emergency = (await o.post('/break-glass-tokens', { reason: 'a drill, nothing more' })).json.token;
    for (const token of [o.token, (await newKey(o)).token, (await newSession(o)).token, agent, emergency])
      for (const call of Object.values(callsWith(token)))
        expect(codeOf(await call())).toEqual([403, 'CREDENTIAL_KIND_NOT_ALLOWED']);
    for (const token of [BOOTSTRAP, 'junk', p.token.replace('svcprov_', 'svc_live_')])
      for (const call of Object.values(callsWith(token))) expect((await call()).status).toBe(401);
    expect((await read(o)).json.version).toBe(1);

    for (const route of routes.filter(
      ({ path, deployment, isPage }) =>
        !path.startsWith('/provider/') && path !== '/whoami' && !deployment && !isPage,
    )) {
      if (route.path.startsWith('/auth/')) continue;
      const path = route.path
        .replace('{org_id}', o.id)
        .replace('{name}', 'db/password')
        .replace('{environment}', 'production')
        .replace(/\{\w+\}/g, secretId);
      const answer = await send(route.method.toUpperCase(), `/api/v1${path}`, {
        token: p.token,
        ...(route.body && { body: {} }),
      });
      expect([401, 403], `${route.method} ${route.path}`).toContain(answer.status);
      expect(['CREDENTIAL_KIND_NOT_ALLOWED', 'UNAUTHENTICATED'], `${route.method} ${route.path}`).toContain(
        answer.json.error.code,
      );
    }
    expect((await send('GET', '/api/v1/whoami', { token: p.token })).json).toMatchObject({
      kind: 'provider',
      id: p.id,
    });
  });

  slow('each route requires its scope', async () => {
    const o = await newOrg();
    const all = await newProvider(o);
    await all.issue();
    for (const scope of ['issue', 'rotate', 'revoke'] as const) {
      const p = await newProvider(o, { scopes: [scope] });
      for (const verb of ['issue', 'rotate', 'revoke'] as const) {
        const answer = await p[verb]();
        if (verb === scope) expect(answer.status).toBe(200);
        else {
          expect(codeOf(answer)).toEqual([403, 'INSUFFICIENT_SCOPE']);
          expect(answer.json.error.message).toContain(verb);
        }
      }
      await all.issue();
    }
  });

  it('is limited to environments and names; secrets out of reach look non-existent', async () => {
    const o = await newOrg();
    const all = await newProvider(o);
    for (const environment of ['production', 'staging'])
      for (const secretName of ['db/password', 'db/other', 'web/key'])
        await all.issue({ environment, secretName });
    const p = await newProvider(o, { environments: ['staging'], secrets: ['db/p*'] });
    const inside = { environment: 'staging', secretName: 'db/password' };
    for (const verb of ['issue', 'rotate', 'revoke'] as const) {
      expect((await p[verb](inside)).status).toBe(200);
      const tried = async (body: Body) => {
        const { status, json } = await p[verb](body);
        expect([status, json.error.code], JSON.stringify(body)).toEqual([403, 'INSUFFICIENT_SCOPE']);
        return json.error.message as string;
      };
      const there = await tried({ ...inside, environment: 'production' });
      const nowhere = await tried({ ...inside, environment: 'nowhere' });
      expect(there.replace('production', '…')).toBe(nowhere.replace('nowhere', '…'));
      expect(there).toContain('production');
      const other = await tried({ ...inside, secretName: 'web/key' });
      const none = await tried({ ...inside, secretName: 'web/nay' });
      expect(other.replace('web/key', '…')).toBe(none.replace('web/nay', '…'));
      expect(other).toContain('web/key');
      await tried({ ...inside, secretName: 'DB/password' });
    }
    const { data } = (await o.get(`/audit-log?actor=${p.id}&outcome=denied&limit=100`)).json;
    expect(data).toHaveLength(15);
    expect((await read(o, 'web/key')).json).toMatchObject({ version: 1, status: 'active' });
  });

  slow('revocation: a revoked token is refused immediately, including its stored responses', async () => {
    const o = await newOrg();
    const p = await newProvider(o);
    await p.issue({}, { 'Idempotency-Key': 'k' });
    expect((await o.del(`/provider-tokens/${p.id}`)).status).toBe(204);
    for (const call of [() => p.issue({}, { 'Idempotency-Key': 'k' }), p.issue, p.rotate, p.revoke])
      expect(codeOf(await call())).toEqual([401, 'TOKEN_REVOKED']);
  });

  slow('tenant isolation: writes only in the organisation of the token', async () => {
    const o = await newOrg();
    const other = await newOrg();
    const p = await newProvider(o);
    const q = await newProvider(other);
    await p.issue({ value: 'mine' });
    await q.issue({ value: 'theirs' });
    await q.revoke();
    expect((await read(o)).json).toMatchObject({ value: 'mine', version: 1 });
  });
});

describe('provider validation', () => {
  const wrong: ['issue' | 'rotate' | 'revoke', Body, string][] = [
    ['issue', { secretName: undefined }, 'secretName'],
    ['issue', { secretName: '' }, 'secretName'],
    ['issue', { secretName: '../etc' }, 'secretName'],
    ['issue', { secretName: 'a b' }, 'secretName'],
    ['issue', { secretName: 'a/' }, 'secretName'],
    ['issue', { secretName: 'x'.repeat(256) }, 'secretName'],
    ['issue', { secretName: 7 }, 'secretName'],
    ['issue', { environment: undefined }, 'environment'],
    ['issue', { environment: null }, 'environment'],
    ['issue', { value: undefined }, 'value'],
    ['issue', { value: '' }, 'value'],
    ['issue', { value: 'x'.repeat(65_537) }, 'value'],
    ['issue', { value: '\ud800' }, 'value'],
    ['issue', { ttlSeconds: undefined }, 'ttlSeconds'],
    ['issue', { ttlSeconds: 59 }, 'ttlSeconds'],
    ['issue', { ttlSeconds: 31_536_001 }, 'ttlSeconds'],
    ['issue', { ttlSeconds: 60.5 }, 'ttlSeconds'],
    ['issue', { ttlSeconds: '60' }, 'ttlSeconds'],
    ['issue', { newValue: 'x' }, 'newValue'],
    ['issue', { type: 'password' }, 'type'],
    ['rotate', { newValue: undefined }, 'newValue'],
    ['rotate', { newValue: '' }, 'newValue'],
    ['rotate', { value: 'x' }, 'value'],
    ['rotate', { ttlSeconds: 60 }, 'ttlSeconds'],
    ['revoke', { value: 'x' }, 'value'],
    ['revoke', { secretName: '/a' }, 'secretName'],
  ];

  slow('a malformed body is refused with the name of the field, and changes nothing', async () => {
    const o = await newOrg();
    const p = await newProvider(o);
    for (const [verb, body, path] of wrong) {
      const answer = await p[verb](body);
      expect(codeOf(answer), `${verb} ${path}`).toEqual([400, 'VALIDATION_FAILED']);
      expect(new Set(answer.json.error.details.map((detail: { path: string }) => detail.path))).toEqual(
        new Set([path]),
      );
    }
    expect((await o.get('/secrets')).json.data).toEqual([]);
  });

  slow('lifetime, size and name have limits: a minute, a year, 64 KiB, no __proto__', async () => {
    const o = await newOrg();
    const p = await newProvider(o);
    for (const ttlSeconds of [60, 31_536_000])
      expect([200, 201]).toContain((await p.issue({ ttlSeconds })).status);
    const value = '\0é'.padEnd(65_535, 'x');
    expect((await p.issue({ secretName: '__proto__', value })).status).toBe(201);
    expect((await read(o, '__proto__')).json.value).toBe(value);
    const entries = (await o.get('/environments/production/values')).json.values;
    expect(Object.keys(entries)).toEqual(['__proto__', 'db/password']);
  });

  it('an environment that does not exist is 404', async () => {
    const p = await newProvider(await newOrg());
    expect(codeOf(await p.issue({ environment: 'nowhere' }))).toEqual([404, 'NOT_FOUND']);
  });
});
