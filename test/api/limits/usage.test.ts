// How much an organisation holds of what it may hold: counted as it is, shown as it is counted, and held to
// its bounds.
import { describe, expect, it } from 'vitest';
import { isBrief } from '../../../src/db/credential-kinds';
import type { SecretRow } from '../../../src/db/schema';
import { isAlive } from '../../../src/gate/identity/lifetime';
import { problemOf } from '../../model/invariants';
import { newAgent, newBreakGlass, newKey, newProvider, newSession } from '../../support/credentials';
import { faults, holdNext } from '../../support/faults';
import { inCore } from '../../support/gate';
import { newMember } from '../../support/people';
import { slow } from '../../support/slow';
import { newLongSecret } from '../../support/storage/planted';
import { BOOTSTRAP, type Caller, db, newOrg, newSecret, send, useWorld } from '../../support/world';

useWorld();

async function usageOf(o: Caller): Promise<Record<string, number>> {
  const { backlog: _, ...usage } = (await o.get('')).json.usage;
  return usage;
}
const sealedIn = (o: Caller, id = '%') =>
  db
    .prepare(
      'select coalesce(sum(length(value_sealed)), 0) n from secret_versions where org_id = ? and secret_id like ?',
    )
    .bind(o.id, id)
    .first<number>('n');
/** What the gate says of a secret. */
const rowOf = (o: Caller, id: string) => inCore(o, ({ rows }) => rows.get('secret', id) as SecretRow);
/** Credentials that are alive, each looked at for itself. */
const aliveIn = (o: Caller) =>
  inCore(
    o,
    (core) =>
      core.rows.after('credential', '', 1000).filter((row) => !isBrief(row.kind) && isAlive(core, row))
        .length,
  );

describe('usage', () => {
  slow('an organisation shows the contents of its tables, a deleted secret until it is purged', async () => {
    const o = await newOrg();
    expect(await usageOf(o)).toEqual({ secrets: 0, sealed_bytes: 0, credentials: 1, members: 1 });
    const one = await newSecret(o);
    const two = await newSecret(o, { value: 'x'.repeat(1000) });
    await o.patch(`/secrets/${one.id}`, { value: 'second' });
    await newMember(o);
    const usage = { secrets: 2, sealed_bytes: await sealedIn(o), credentials: 1, members: 2 };
    expect(await usageOf(o)).toEqual(usage);
    await o.del(`/secrets/${one.id}`);
    expect((await o.patch('', { name: 'renamed' })).json).toMatchObject({ name: 'renamed', usage });
    await o.del(`/secrets/${one.id}?permanent=true`);
    expect(await usageOf(o)).toEqual({ ...usage, secrets: 1, sealed_bytes: await sealedIn(o, two.id) });
    expect(await problemOf(o)).toBe(null);
  });

  it('a credential counts while it and all its ancestors are live; session tokens do not count', async () => {
    const o = await newOrg();
    const key = await newKey(o);
    const session = await newSession(key.o);
    const brief = await newSession(key.o, { ttlSeconds: 60 });
    const agent = await newAgent(session.o, { scopes: ['*'] });
    await newKey(agent.o);
    await newKey(brief.o);
    await newProvider(o);
    await newBreakGlass(o, { ttlSeconds: 120 });
    const revoked = await newAgent(o);
    const holds = async (credentials: number) => {
      expect((await usageOf(o)).credentials).toBe(credentials);
      expect(await aliveIn(o)).toBe(credentials);
    };
    await holds(8);
    await o.del(`/agent-credentials/${revoked.id}`);
    await holds(7);
    faults.clock = Date.now() + 61_000;
    await holds(6);
    // With the session token go the agent that it made, and the key that the agent made.
    await o.del(`/access-tokens/${session.id}`);
    await holds(4);
    await inCore(o, ({ rows }) => rows.forget('credential', brief.id));
    await holds(4);
    faults.clock = Date.now() + 121_000;
    await holds(3);
    await o.post('/panic', { reason: 'a drill' });
    await holds(2);
  });

  slow('doctor: reports a count that D1 contradicts', async () => {
    const o = await newOrg();
    const { id } = await newLongSecret(o, { counted: 9999 });
    expect(await problemOf(o)).toContain('sealed bytes');
    await o.del(`/secrets/${id}?permanent=true`);
    expect(await problemOf(o)).toBe(null);
  });
});

describe('quota', () => {
  slow('releases destroyed versions, over 1,100 rotations', { timeout: 120_000 }, async () => {
    const o = await newOrg();
    const { id } = await newSecret(o, { type: 'password', value: 'x'.repeat(100) });
    const clock = Date.now();
    const rotate = async (count: number) => {
      for (let i = 0; i < count; i++) {
        // Twenty a minute, well below what a key may ask.
        faults.clock = clock + i * 3000;
        expect((await o.post(`/secrets/${id}/rotate`, { value: String(i).padStart(100, 'x') })).status).toBe(
          200,
        );
      }
      faults.clock = clock + 10_000_000;
      return (await usageOf(o)).sealed_bytes;
    };
    const full = await rotate(999);
    expect(await rotate(50)).toBe(full);
    expect(await rotate(51)).toBe(full);
    expect([full, (await rowOf(o, id)).sealed_size]).toEqual([await sealedIn(o), await sealedIn(o)]);
    expect(await rowOf(o, id)).toMatchObject({ version: 1101, oldest_version: 102 });
    expect(await problemOf(o)).toBe(null);
  });

  slow(
    'every new version counts the kept versions, with one more read, and corrects a wrong count',
    async () => {
      const o = await newOrg();
      const { token } = await newProvider(o);
      const provide = (verb: string, secretName: string, fields: object) =>
        send('POST', `/api/v1/provider/${verb}`, {
          token,
          body: { secretName, environment: 'production', ...fields },
        });
      const ways: Record<string, (secret: { id: string; name: string }) => ReturnType<typeof send>> = {
        update: ({ id }) => o.patch(`/secrets/${id}`, { value: 'one more' }),
        rotate: ({ id }) => o.post(`/secrets/${id}/rotate`, { value: 'one more' }),
        generate: ({ id }) => o.post(`/secrets/${id}/rotate`, { generate: { length: 4096 } }),
        rollback: ({ id }) => o.post(`/secrets/${id}/rollback`, { version: 1000 }),
        'rollback to the one that goes': ({ id }) => o.post(`/secrets/${id}/rollback`, { version: 1 }),
        issue: ({ name }) => provide('issue', name, { value: 'one more', ttlSeconds: 60 }),
        'provider rotate': ({ name }) => provide('rotate', name, { newValue: 'one more' }),
      };
      for (const [what, way] of Object.entries(ways))
        for (const counted of [null, 5_000_000, 1]) {
          const secret = await newLongSecret(o, { counted });
          faults.d1 = 0;
          expect((await way(secret)).status, what).toBe(200);
          expect(await rowOf(o, secret.id), what).toMatchObject({
            version: 1001,
            oldest_version: 2,
            sealed_size: await sealedIn(o, secret.id),
          });
          expect(faults.d1, what).toBe(2);
        }
      expect(await problemOf(o)).toBe(null);
    },
  );

  slow('a change that counts is 503, and changes nothing, while D1 does not answer', async () => {
    const o = await newOrg();
    const { id } = await newLongSecret(o);
    const before = await rowOf(o, id);
    faults.fail = (kind) => (kind === 'read' ? 'before' : null);
    const answer = await o.post(
      `/secrets/${id}/rotate`,
      { value: 'one more' },
      { 'Idempotency-Key': 'once' },
    );
    expect([answer.status, answer.json.error.code]).toEqual([503, 'UNAVAILABLE']);
    expect(answer.headers.get('retry-after')).not.toBe(null);
    expect(await rowOf(o, id)).toEqual(before);
    faults.fail = null;
    // Its lock is free, and its Idempotency-Key not spent.
    expect(
      (await o.post(`/secrets/${id}/rotate`, { value: 'one more' }, { 'Idempotency-Key': 'once' })).json
        .version,
    ).toBe(1001);
    expect(await problemOf(o)).toBe(null);
  });

  slow('concurrency: no other change of the secret happens between the count and the change', async () => {
    const o = await newOrg();
    const { id } = await newLongSecret(o);
    faults.delay = 5;
    const answers = await Promise.all(
      Array.from({ length: 12 }, (_, i) =>
        i % 3
          ? o.patch(`/secrets/${id}`, { value: 'x'.repeat(i * 50) })
          : o.post(`/secrets/${id}/rollback`, { version: 1000 }),
      ),
    );
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
    expect(await problemOf(o)).toBe(null);
  });

  it('revocation: a caller who is revoked while the change counts is refused', async () => {
    const o = await newOrg();
    const { id } = await newLongSecret(o);
    const key = await newKey(o);
    const { held, release } = holdNext();
    const late = key.o.post(`/secrets/${id}/rotate`, { value: 'one more' });
    await held();
    expect((await o.del(`/api-keys/${key.id}`)).status).toBe(204);
    release();
    expect((await late).json.error.code).toBe('TOKEN_REVOKED');
    expect((await rowOf(o, id)).version).toBe(1000);
  });

  it('a count is discarded if a database was adopted in the meantime', async () => {
    const o = await newOrg();
    const { id } = await newLongSecret(o);
    const tables = ['secrets', 'secret_versions'];
    const backup = await Promise.all(
      tables.map(
        async (table) =>
          (await db.prepare(`select * from ${table} where org_id = ?`).bind(o.id).all()).results,
      ),
    );
    await o.patch(`/secrets/${id}`, { description: 'later than the backup' });
    const { held, release } = holdNext();
    const late = o.post(`/secrets/${id}/rotate`, { value: 'one more' });
    await held();
    for (const [i, table] of tables.entries()) {
      await db.prepare(`delete from ${table} where org_id = ?`).bind(o.id).run();
      for (const row of backup[i] as Record<string, unknown>[])
        await db
          .prepare(`insert into ${table} (${Object.keys(row)}) values (${Object.keys(row).map(() => '?')})`)
          .bind(...Object.values(row))
          .run();
    }
    const adopted = await send('POST', `/api/v1/orgs/${o.id}/adopt`, {
      token: BOOTSTRAP,
      body: { reason: 'a drill' },
    });
    expect([adopted.status, adopted.json.restored]).toEqual([200, 1]);
    release();
    expect((await late).json.error.code).toBe('UNAVAILABLE');
    expect((await o.post(`/secrets/${id}/rotate`, { value: 'one more' })).status).toBe(200);
    expect(await problemOf(o)).toBe(null);
  });

  slow('at 4 GiB nothing can be added, and a change that frees more than it takes works', async () => {
    const o = await newOrg();
    const long = await newLongSecret(o, { counted: 4 * 1024 ** 3 });
    const other = await newSecret(o, { value: 'small' }).catch((error: Error) => error.message);
    expect(other).toContain('LIMIT_REACHED');
    expect((await usageOf(o)).sealed_bytes).toBe(4 * 1024 ** 3);
    // A release before counted what was destroyed: the first further version mends that.
    expect((await o.post(`/secrets/${long.id}/rotate`)).status).toBe(200);
    expect((await usageOf(o)).sealed_bytes).toBe(await sealedIn(o));
    await newSecret(o, { value: 'small' });
    expect(await problemOf(o)).toBe(null);
  });
});
