// Nothing is lost and nothing is done twice, whatever D1 and the gate's life do in between.
import { describe, expect, it } from 'vitest';
import { ciphertexts } from '../../src/gate/journal/ciphertexts';
import { lastUsed } from '../../src/gate/limits/last-used';
import { problemOf } from '../model/invariants';
import { newKey, newSession } from '../support/credentials';
import { faults, holdNext, until } from '../support/faults';
import { inCore, inGate } from '../support/gate';
import { slow } from '../support/slow';
import { newLongSecret } from '../support/storage/planted';
import { type Answer, type Caller, newOrg, newSecret, useWorld } from '../support/world';

useWorld();

/** What is said of a change that may have taken effect. */
const IN_DOUBT = /not known whether .* took effect\. Repeat it with the same Idempotency-Key/;

describe('fault: a change that takes effect and cannot be answered', () => {
  const secret = { name: 'ONCE', type: 'generic', value: 'v' };

  slow('is told as in doubt on a full disk, and a repeat under its key makes it only once', async () => {
    const o = await newOrg();
    const full = (sql: string) => inGate(o, (_gate, { storage }) => void storage.sql.exec(sql));
    await full(
      "create trigger full before insert on audit begin select raise(abort, 'database or disk is full'); end",
    );
    const key = { 'Idempotency-Key': 'only-once' };
    const doubtful = await o.post('/secrets', secret, key);
    expect([doubtful.status, doubtful.json.error.code]).toEqual([503, 'UNAVAILABLE']);
    expect(doubtful.json.error.message).toMatch(IN_DOUBT);
    await full('drop trigger full');
    expect((await o.post('/secrets', secret, key)).status).toBe(201);
    expect((await o.get('/secrets')).json.data).toHaveLength(1);
  });

  it('is told as in doubt if the reply of the gate is lost; a read is not', async () => {
    const o = await newOrg();
    faults.rpc = () => ({ fate: 'after', retryable: false });
    const doubtful = await o.post('/secrets', secret);
    const read = await o.get('/secrets');
    faults.rpc = null;
    expect([doubtful.status, read.status]).toEqual([503, 503]);
    expect(doubtful.json.error.message).toMatch(IN_DOUBT);
    expect(read.json.error.message).not.toMatch(IN_DOUBT);
    expect((await o.post('/secrets', secret)).json.error.code).toBe('SECRET_NAME_TAKEN');
  });
});

describe('fault: a request in flight', () => {
  it('that the Worker repeats after a lost reply is known by its id: done once, audited once', async () => {
    const o = await newOrg();
    faults.gate = 0;
    faults.rpc = (n) => (n === 1 ? { fate: 'after', retryable: true } : null);
    const { status, json } = await o.post('/secrets', { name: 'ONCE', type: 'generic', value: 'v' });
    expect([status, faults.gate]).toEqual([201, 2]);
    const entries = (await o.get('/audit-log?action=secret.create')).json.data as {
      resource: string;
      status: number;
    }[];
    expect(entries.map((entry) => [entry.resource, entry.status])).toEqual([[json.id, 201]]);
  });

  it('audit log: its entry is stored before the response leaves', async () => {
    const o = await newOrg();
    const { id } = await newSecret(o);
    const reader = await newKey(o, { scopes: ['secrets:list'] });
    for (const [caller, status] of [
      [o, 200],
      [reader.o, 403],
    ] as const) {
      const answer = await caller.get(`/secrets/${id}`);
      const [entry] = await inCore(
        o,
        ({ auditLog }) => auditLog.newest({}, Number.MAX_SAFE_INTEGER, 1).entries,
      );
      expect(entry).toMatchObject({ status, request_id: answer.headers.get('request-id') });
    }
  });

  const waiting: Record<string, (o: Caller, id: string) => Promise<Answer>> = {
    'a change, for a lock': (o, id) => o.patch(`/secrets/${id}`, { value: 'two' }),
    'a read, for D1': (o, id) => o.get(`/secrets/${id}`),
    'all values, for D1': (o) => o.get('/environments/production/values'),
    'a list of versions, for D1': (o, id) => o.get(`/secrets/${id}/versions`),
  };
  it.each(Object.entries(waiting))(
    'revocation: a request whose caller is revoked while it waits is refused: %s',
    async (what, ask) => {
      const o = await newOrg();
      // A change of one that has as many versions as it may asks D1 under its lock.
      const { id } = await newLongSecret(o);
      const key = await newKey(o);
      await inCore(o, (core) => ciphertexts(core).clear());
      const { held, release } = holdNext('read');
      const first = what.endsWith('lock') ? o.patch(`/secrets/${id}`, { value: 'one' }) : null;
      if (first) await held();
      const answer = ask(key.o, id);
      await held();
      await until(() => inCore(o, (core) => lastUsed(core).of(key.id) !== null));
      expect((await o.del(`/api-keys/${key.id}`)).status).toBe(204);
      release();
      expect((await answer).json.error?.code).toBe('TOKEN_REVOKED');
      if (first) expect((await first).json.version).toBe(1001);
    },
  );

  it('purge: a request that reads a ciphertext while the secret is purged neither returns nor caches it', async () => {
    const o = await newOrg();
    const gone = await newSecret(o);
    const stays = await newSecret(o);
    await inCore(o, (core) => ciphertexts(core).clear());
    const { held, release } = holdNext();
    const all = o.get('/environments/production/values');
    await held();
    expect((await o.del(`/secrets/${gone.id}?permanent=true`)).status).toBe(204);
    release();
    expect((await all).json.values).toEqual({ [stays.name]: stays.value });
    expect(await problemOf(o)).toBe(null);
  });
});

describe('fault: D1 is unavailable', () => {
  it('the gate answers from its own rows, and otherwise 503 with retry_after', async () => {
    const o = await newOrg();
    const { id, value } = await newSecret(o);
    faults.fail = () => 'before';
    expect((await o.get(`/secrets/${id}`)).json.value).toBe(value);
    expect((await o.get('/environments/production/values')).status).toBe(200);
    expect((await o.get('/secrets')).json.data.length).toBe(1);
    const versions = await o.get(`/secrets/${id}/versions`);
    expect([versions.status, versions.json.error.code]).toEqual([503, 'UNAVAILABLE']);
    expect(Number(versions.headers.get('retry-after'))).toBeGreaterThan(0);
  });
});

describe('concurrency: with random delays of D1', () => {
  it('fifty writers on one secret make versions 2 to 51, none lost, none equal', async () => {
    const o = await newOrg();
    const { id } = await newSecret(o);
    faults.delay = 8;
    const made = await Promise.all(
      Array.from({ length: 50 }, (_, i) => o.patch(`/secrets/${id}`, { value: `v${i}` })),
    );
    const versions = made.map(({ json }) => json.version as number);
    expect([...versions].sort((a, b) => a - b)).toEqual(Array.from({ length: 50 }, (_, i) => i + 2));
    for (const [i, version] of versions.entries())
      expect((await o.get(`/secrets/${id}?version=${version}`)).json.value).toBe(`v${i}`);
  });

  it('revocation: reads in flight are refused once their credential, its parent or the secret is gone', async () => {
    for (const end of ['token', 'parent', 'secret'] as const) {
      const o = await newOrg();
      const { id } = await newSecret(o);
      const parent = await newKey(o);
      const child = await newSession(parent.o);
      faults.delay = 10;
      const before = Array.from({ length: 10 }, () => child.o.get(`/secrets/${id}`));
      const path = {
        token: `/access-tokens/${child.id}`,
        parent: `/api-keys/${parent.id}`,
        secret: `/secrets/${id}`,
      }[end];
      expect((await o.del(path)).status).toBe(204);
      const after = await Promise.all(Array.from({ length: 10 }, () => child.o.get(`/secrets/${id}`)));
      expect(new Set(after.map(({ status }) => status))).toEqual(new Set([end === 'secret' ? 404 : 401]));
      await Promise.all(before);
      faults.delay = 0;
    }
  });

  slow('revocation: tokens that are minted while the parent is revoked do not survive', async () => {
    const o = await newOrg();
    const parent = await newKey(o);
    faults.delay = 10;
    const minting = Array.from({ length: 20 }, () => parent.o.post('/access-tokens', { ttlSeconds: 60 }));
    expect((await o.del(`/api-keys/${parent.id}`)).status).toBe(204);
    for (const made of await Promise.all(minting)) {
      if (made.status === 201)
        expect((await o.as(made.json.token).get('/secrets')).json.error.code).toBe('TOKEN_REVOKED');
      else expect(made.json.error.code).toBe('TOKEN_REVOKED');
    }
    expect((await o.get('/access-tokens')).json.data).toEqual([]);
  });

  it('create, rename and restore give a name to only one secret', async () => {
    for (let first = 0; first < 3; first++) {
      const o = await newOrg();
      const gone = await newSecret(o, { name: 'N' });
      await o.del(`/secrets/${gone.id}`);
      const other = await newSecret(o);
      const taker = await newSecret(o, { name: 'N' });
      expect((await o.post(`/secrets/${gone.id}/restore`)).json.error.code).toBe('SECRET_NAME_TAKEN');
      await o.del(`/secrets/${taker.id}?permanent=true`);
      faults.delay = 10;
      const ways = [
        () => o.post('/secrets', { name: 'N', type: 'generic', value: 'v' }),
        () => o.patch(`/secrets/${other.id}`, { name: 'N' }),
        () => o.post(`/secrets/${gone.id}/restore`),
      ];
      const all = await Promise.all([...ways.slice(first), ...ways.slice(0, first)].map((take) => take()));
      const refused = all.filter(({ status }) => status >= 400);
      expect(refused.map(({ json }) => json.error.code)).toEqual(['SECRET_NAME_TAKEN', 'SECRET_NAME_TAKEN']);
      faults.delay = 0;
      expect(await problemOf(o)).toBe(null);
    }
  });

  slow('an environment and a secret in it are never deleted and created together', async () => {
    const o = await newOrg();
    for (let round = 0; round < 10; round++) {
      const { id, slug } = (await o.post('/environments', { name: `e ${round}` })).json;
      const create = () => o.post('/secrets', { name: 'N', type: 'generic', value: 'v', environment: slug });
      const remove = () => o.del(`/environments/${id}`);
      faults.delay = 10;
      const [first, second] = round % 2 ? [create, remove] : [remove, create];
      const statuses = (await Promise.all([first(), second()])).map(({ status }) => status);
      faults.delay = 0;
      expect(['201,409', '409,201', '204,404', '404,204']).toContain(statuses.join());
    }
    expect(await problemOf(o)).toBe(null);
  });

  it('idempotency: twenty requests with one key make one credential', async () => {
    const o = await newOrg();
    faults.delay = 10;
    const all = await Promise.all(
      Array.from({ length: 20 }, () =>
        o.post('/api-keys', { name: 'twin', scopes: ['org:read'] }, { 'Idempotency-Key': 'twin' }),
      ),
    );
    const made = all.filter(({ status }) => status === 201);
    expect(new Set(made.map(({ text }) => text)).size).toBe(1);
    for (const { status, json } of all)
      if (status !== 201) expect(json.error.code).toBe('IDEMPOTENCY_IN_PROGRESS');
    expect((await o.get('/api-keys')).json.data).toHaveLength(2);
  });
});
