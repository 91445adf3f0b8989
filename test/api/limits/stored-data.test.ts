// What callers can have stored, and for how long: responses under Idempotency-Keys, session tokens, events,
// markers and tombstones are bounded, and what is past its time goes at once, however much of it there is.
import { getTableColumns } from 'drizzle-orm';
import { describe, expect, it } from 'vitest';
import { newId } from '../../../src/db/ids';
import { credentials } from '../../../src/db/schema';
import { upsertOf } from '../../../src/db/statements';
import { announced } from '../../../src/domains/incidents/gate/announced';
import { formerMakers } from '../../../src/gate/identity/former-makers';
import { storedResponses } from '../../../src/gate/request/stored-responses';
import { runTasks } from '../../../src/gate/tasks/run';
import { newAgent, newKey, newSession } from '../../support/credentials';
import { faults } from '../../support/faults';
import { ageTo, inCore } from '../../support/gate';
import { addSessions } from '../../support/people';
import { slow } from '../../support/slow';
import { DAY } from '../../support/time';
import { type Caller, db, newOrg, newSecret, useWorld, whoami } from '../../support/world';

useWorld();

const storedBytes = (o: Caller) =>
  inCore(
    o,
    ({ storage }) =>
      storage.sql
        .exec<{ n: number }>('select coalesce(sum(length(answer) + length(key)), 0) n from replays')
        .one().n,
  );

/**
 * Runs what is due at a time, as the alarm would, until nothing is due any more; answers how many runs that
 * took.
 */
const runAt = (o: Caller, now: number) =>
  inCore(o, async (core) => {
    faults.clock = now;
    let runs = 0;
    for (; core.schedule.now(now).length && runs < 100; runs++) await runTasks(core, now);
    faults.clock = null;
    return runs;
  });

/** A body that is wrong in a hundred fields of the caller's own naming. */
const wrong = (n: number) =>
  Object.fromEntries(Array.from({ length: 90 }, (_, at) => [`field-${n}-${at}-${'x'.repeat(150)}`, at]));

describe('idempotency: stored refusals', () => {
  it('keep no details, and a replay returns the first response all the same', async () => {
    const o = await newOrg();
    const headers = { 'Idempotency-Key': 'wrong' };
    const first = await o.post('/secrets', wrong(0), headers);
    expect([first.status, first.json.error.details.length > 50]).toEqual([400, true]);
    const before = await storedBytes(o);
    const second = await o.post('/secrets', wrong(0), headers);
    expect([second.status, second.text, second.headers.get('Idempotency-Replayed')]).toEqual([
      400,
      first.text,
      'true',
    ]);
    expect((await o.post('/secrets', wrong(1), headers)).json.error.code).toBe('IDEMPOTENCY_KEY_REUSED');
    expect(await storedBytes(o)).toBe(before);
  });

  slow('a thousand of them take less than a megabyte', async () => {
    const o = await newOrg();
    const before = await storedBytes(o);
    for (let n = 0; n < 100; n++) await o.post('/secrets', wrong(n), { 'Idempotency-Key': `k-${n}` });
    expect((await storedBytes(o)) - before).toBeLessThan(100_000);
  });

  it('a replay of a refusal is marked as a replay, regardless of its status', async () => {
    const o = await newOrg();
    await newSecret(o, { name: 'TAKEN' });
    const { id } = await newSecret(o);
    await o.del(`/secrets/${id}?permanent=true`);
    const requests: [number, string, unknown][] = [
      [409, '/secrets', { name: 'TAKEN', type: 'generic', value: 'v' }],
      [404, `/secrets/${id}/rotate`, { value: 'v' }],
      [400, '/secrets', { name: 'x' }],
    ];
    for (const [status, path, body] of requests) {
      const headers = { 'Idempotency-Key': `replay-${status}` };
      const first = await o.post(path, body, headers);
      const second = await o.post(path, body, headers);
      expect([first.status, first.headers.get('Idempotency-Replayed')]).toEqual([status, null]);
      expect([second.status, second.text, second.headers.get('Idempotency-Replayed')]).toEqual([
        status,
        first.text,
        'true',
      ]);
    }
  });
});

describe('idempotency: stored bytes of an API key and its descendants', () => {
  const fill = (o: Caller, root: string, megabytes: number, keep_until = Date.now() + DAY) =>
    inCore(o, (core) => {
      const answer = 'x'.repeat(1024 * 1024);
      const fields = {
        request: 'req_0',
        digest: 'd',
        answer,
        one_time: null,
        resource: null,
        keep_until,
        root,
      };
      for (let n = 0; n < megabytes; n++)
        storedResponses(core).save({ ...fields, key: `key:${root}:filler-${n}` });
    });

  slow('over 64 MiB their requests with an Idempotency-Key are refused, and no others', async () => {
    const o = await newOrg();
    const greedy = await newKey(o);
    const other = await newKey(o);
    await fill(o, greedy.id, 64);
    const create = (by: Caller, n: number, headers = {}) =>
      by.post('/secrets', { name: `s-${n}`, type: 'generic', value: 'v' }, headers);
    const refused = await create(greedy.o, 1, { 'Idempotency-Key': 'one-more' });
    expect([refused.status, refused.json.error.code]).toEqual([409, 'LIMIT_REACHED']);
    expect((await newSession(greedy.o)).o.id).toBe(o.id);
    expect((await create(greedy.o, 1)).status).toBe(201);
    expect((await create(other.o, 2, { 'Idempotency-Key': 'one-more' })).status).toBe(201);
    // Nothing was done and nothing stored: once there is room, the same request under the same key is done.
    await inCore(o, (core) => void storedResponses(core).sweep(Date.now() + 2 * DAY, 1000));
    expect((await create(greedy.o, 3, { 'Idempotency-Key': 'one-more' })).status).toBe(201);
  });

  it('are counted again when the gate starts', async () => {
    const o = await newOrg();
    await fill(o, 'key_x', 3);
    const rooms = await inCore(o, (core) => [
      storedResponses(core).hasRoom('key_x'),
      storedResponses(core).hasRoom('key_y'),
    ]);
    expect(rooms).toEqual([true, true]);
    const bytes = await inCore(
      o,
      ({ storage }) =>
        storage.sql.exec<{ n: number }>("select sum(bytes) n from replays where root = 'key_x'").one().n,
    );
    expect(bytes).toBeGreaterThan(3 * 1024 * 1024);
  });
});

describe('purge: expired data', () => {
  slow('stored responses: ten times as many as one run deletes, as soon as the first expired', async () => {
    const o = await newOrg();
    await newSecret(o);
    const now = Date.now();
    await inCore(o, (core) =>
      core.storage.transactionSync(() => {
        const fields = {
          request: 'r',
          digest: 'd',
          answer: 'a',
          one_time: null,
          resource: null,
          keep_until: now + 1000,
          root: 'key_x',
        };
        for (let n = 0; n < 10_000; n++) storedResponses(core).save({ ...fields, key: `k-${n}` });
      }),
    );
    await inCore(o, ({ schedule }) => schedule.at('replays', now + 1000));
    const runs = await runAt(o, now + 301_000);
    expect(runs).toBeLessThan(15);
    expect(
      await inCore(
        o,
        ({ storage }) => storage.sql.exec<{ n: number }>('select count(*) n from replays').one().n,
      ),
    ).toBe(0);
  });

  it('stored responses: a request schedules the purge for the time at which its response expires', async () => {
    const o = await newOrg();
    await inCore(o, ({ schedule }) => schedule.done('replays', null));
    const now = Date.now();
    await newSecret(o);
    expect(
      await inCore(o, ({ schedule }) =>
        [schedule.now(now + 290_000), schedule.now(now + 400_000)].map((tasks) => tasks.includes('replays')),
      ),
    ).toEqual([false, true]);
  });

  slow(
    'commit markers and ended sessions in D1: ten times as many as one run deletes, within an hour',
    async () => {
      const o = await newOrg();
      const now = Date.now();
      const session = (n: number, ended: number) => ({
        org_id: o.id,
        id: newId('tok'),
        kind: 'session',
        token_hash: `h-${o.id}-${ended}-${n}`,
        hint: 'h',
        scopes: [],
        rate_limit: 600,
        created_by: 'key_x',
        dies_with: 'key_x',
        created_at: now - 2 * DAY,
        expires_at: now + ended,
        revision: 1,
        mac: 'm',
      });
      for (let part = 0; part < 10; part++) {
        const { sql, params } = upsertOf(
          credentials,
          Array.from({ length: 1000 }, (_, n) => session(part * 1000 + n, -13 * 3_600_000)),
        );
        const markers = JSON.stringify(Array.from({ length: 1000 }, (_, n) => `marker-${o.id}-${part}-${n}`));
        await db.batch([
          db.prepare(sql).bind(...params),
          db
            .prepare('insert into commits select value, ?, 1, ? from json_each(?)')
            .bind(o.id, now - 2 * DAY, markers),
        ]);
      }
      const young = upsertOf(credentials, [session(0, -3_600_000)]);
      await db
        .prepare(young.sql)
        .bind(...young.params)
        .run();
      const count = (table: string, where: string) =>
        db
          .prepare(`select count(*) n from ${table} where org_id = ? and ${where}`)
          .bind(o.id)
          .first<number>('n');
      await inCore(o, ({ schedule }) => schedule.at('retention', now));
      expect(await runAt(o, now)).toBeLessThan(15);
      expect([
        await count('commits', `created_at < ${now - DAY}`),
        await count('credentials', "kind = 'session'"),
      ]).toEqual([0, 1]);
      // It runs again an hour later.
      expect(
        await inCore(o, ({ schedule }) =>
          [schedule.now(now + 3_500_000), schedule.now(now + 3_700_000)].map((tasks) =>
            tasks.includes('retention'),
          ),
        ),
      ).toEqual([false, true]);
    },
  );

  it('expired session tokens in D1 over the newest 20,000: after a quarter of an hour', async () => {
    const o = await newOrg();
    const now = Date.now();
    const { sql, params } = upsertOf(credentials, [
      {
        org_id: o.id,
        id: newId('tok'),
        kind: 'session',
        token_hash: `h-${o.id}`,
        hint: 'h',
        scopes: [],
        rate_limit: 600,
        created_by: 'key_x',
        dies_with: 'key_x',
        created_at: now - DAY,
        expires_at: now - 1000,
        revision: 1,
        mac: 'm',
      },
    ]);
    // One a tenth of a second: 9,000 in the last quarter of an hour.
    const columns = Object.keys(getTableColumns(credentials));
    const copied = columns.map((name) =>
      ['id', 'token_hash'].includes(name)
        ? `${name} || n`
        : name === 'expires_at'
          ? `${now} - n * 100`
          : name,
    );
    await db.batch([
      db.prepare(sql).bind(...params),
      db
        .prepare(
          `insert into credentials (${columns}) with recursive numbers(n) as (select 1 union all select n + 1 from numbers where n < 23000)
           select ${copied} from credentials, numbers where org_id = ?`,
        )
        .bind(o.id),
    ]);
    const count = () =>
      db
        .prepare("select count(*) n from credentials where org_id = ? and kind = 'session'")
        .bind(o.id)
        .first<number>('n');
    await inCore(o, ({ schedule }) => schedule.at('retention', now));
    expect(await runAt(o, now)).toBeLessThan(10);
    expect(await count()).toBe(20_000);
    // While there are so many it runs again after a quarter of an hour.
    expect(
      await inCore(o, ({ schedule }) =>
        [schedule.now(now + 800_000), schedule.now(now + 1_000_000)].map((tasks) =>
          tasks.includes('retention'),
        ),
      ),
    ).toEqual([false, true]);
  });

  slow('events over the newest 100,000, and events of a month ago', async () => {
    const o = await newOrg();
    const now = Date.now();
    const head = await inCore(o, ({ storage, outbox }) =>
      storage.transactionSync(() => {
        for (let n = 0; n < 110_000; n++)
          outbox.put({ type: 'CREDENTIAL_CREATED', data: {} }, n < 500 ? now - 31 * DAY : now);
        outbox.sweep(now);
        return outbox.head();
      }),
    );
    const left = await inCore(o, ({ storage, outbox }) => ({
      ...storage.sql
        .exec<{ n: number; first: number }>('select count(*) n, min(sequence) first from outbox')
        .one(),
      gone: outbox.gone(),
    }));
    expect(left).toEqual({ n: 100_000, first: head - 99_999, gone: head - 100_000 });
  });

  it('tombstones after 400 days, and the oldest of too many', async () => {
    const o = await newOrg();
    const { id } = await newSecret(o);
    await o.del(`/secrets/${id}?permanent=true`);
    const isBuried = () => inCore(o, ({ rows }) => rows.isBuried('secret', id));
    expect(await isBuried()).toBe(true);
    const later = Date.now() + 401 * DAY;
    faults.clock = later;
    await inCore(o, (core) => ageTo(core, later));
    await inCore(o, ({ schedule }) => schedule.at('rows', later));
    await runAt(o, later);
    faults.clock = null;
    expect(await isBuried()).toBe(false);
  });

  it('data about a credential outside its row: is deleted with the row', async () => {
    const o = await newOrg();
    const { id } = await newAgent(o, { ttlSeconds: 60 });
    const fresh = () => inCore(o, (core) => announced(core).fresh(id, ['sec_1', 'sec_2']));
    await inCore(o, (core) => announced(core).note(id, ['sec_1'], 'key_1', 1));
    expect(await fresh()).toEqual(['sec_2']);
    const later = Date.now() + 91 * DAY;
    faults.clock = later;
    await inCore(o, (core) => ageTo(core, later));
    await runAt(o, later);
    faults.clock = null;
    expect([await fresh(), await inCore(o, ({ rows }) => rows.get('credential', id))]).toEqual([
      ['sec_1', 'sec_2'],
      null,
    ]);
  });
});

describe('limits: session tokens', () => {
  slow('an API key has up to 1,000 live ones: one more is 409, and one that ends makes room', async () => {
    const o = await newOrg();
    const key = await newKey(o);
    const ids = await addSessions(o, key.id, 999);
    const last = await newSession(key.o);
    const refused = await key.o.post('/access-tokens', { ttlSeconds: 600 });
    expect([refused.status, refused.json.error.code]).toEqual([409, 'LIMIT_REACHED']);
    // Another key is not concerned, nor is what the key does otherwise.
    expect((await whoami(await newSession(o))).status).toBe(200);
    expect((await key.o.get('/secrets')).status).toBe(200);
    expect((await key.o.del(`/access-tokens/${ids[0]}`)).status).toBe(204);
    expect((await key.o.post('/access-tokens', { ttlSeconds: 600 })).status).toBe(201);
    expect((await last.o.get('/secrets')).status).toBe(200);
  });

  slow('a hundred concurrent mints do not exceed the limit', async () => {
    const o = await newOrg();
    const key = await newKey(o);
    await addSessions(o, key.id, 990);
    const answers = await Promise.all(
      Array.from({ length: 30 }, () => key.o.post('/access-tokens', { ttlSeconds: 600 })),
    );
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(10);
    expect(answers.filter(({ json }) => json.error?.code === 'LIMIT_REACHED')).toHaveLength(20);
  });

  it('can be limited to environments and names when they are minted', async () => {
    const o = await newOrg();
    const inside = await newSecret(o, { name: 'app/a', environment: 'staging' });
    const outside = await newSecret(o, { name: 'b', environment: 'staging' });
    const session = await newSession(o, {
      environments: ['staging'],
      secrets: ['app/*'],
      scopes: ['secrets:read'],
    });
    expect([
      (await session.o.get(`/secrets/${inside.id}`)).status,
      (await session.o.get(`/secrets/${outside.id}`)).status,
    ]).toEqual([200, 403]);
    expect((await o.post('/access-tokens', { ttlSeconds: 60, environments: ['none'] })).status).toBe(404);
    const narrow = await newKey(o, { scopes: ['secrets:read'], secrets: ['app/*'] });
    expect((await narrow.o.post('/access-tokens', { ttlSeconds: 60, secrets: ['*'] })).json.error.code).toBe(
      'SCOPE_EXCEEDS_PARENT',
    );
  });

  it('revocation: a revoked one leaves the gate after ten minutes and stays refused', async () => {
    const o = await newOrg();
    const session = await newSession(o, { ttlSeconds: 86_400 });
    await o.del(`/access-tokens/${session.id}`);
    const later = Date.now() + 700_000;
    await inCore(o, ({ schedule }) => schedule.at('rows', later));
    await runAt(o, later);
    expect(await inCore(o, ({ rows }) => rows.get('credential', session.id))).toBe(null);
    expect((await session.o.get('/secrets')).json.error.code).toBe('TOKEN_REVOKED');
  });
});

describe('limits: makers that have left the gate', () => {
  it('makers that have left the gate are bounded, and the newest stay', async () => {
    const o = await newOrg();
    const kept = await inCore(o, (core) => {
      core.storage.sql.exec(`with recursive n(i) as (select 1 union all select i + 1 from n where i < 60010)
        insert into former_makers select printf('key_%06d', i), printf('key_%06d', i + 1), 'r' || i % 5, i from n`);
      formerMakers(core).leave([o.keyId], 0);
      return core.storage.sql
        .exec<{ n: number; oldest: string }>('select count(*) n, min(id) oldest from former_makers')
        .one();
    });
    expect(kept).toEqual({ n: 60_000, oldest: 'key_000011' });
  });
});
