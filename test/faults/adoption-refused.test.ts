// An adoption where D1 stands where the gate left it and refuses a change, because somebody altered, deleted
// or planted a row there: it gets every change that it can store, whatever fails in between, and the others
// are named.
import { describe, expect, it } from 'vitest';
import { mirror } from '../../src/gate/journal/mirror';
import { journal } from '../../src/gate/journal/records';
import { problemOf } from '../model/invariants';
import { newKey, newSession } from '../support/credentials';
import { type Fault, faults, faultsOf, reset } from '../support/faults';
import { evict, inCore } from '../support/gate';
import { sampled } from '../support/limits/sampled';
import { slow } from '../support/slow';
import { put, type Row, all as rowsOf, run } from '../support/storage/tampering';
import { BOOTSTRAP, type Caller, codeOf, newOrg, newSecret, send, useWorld } from '../support/world';

useWorld();

const adopt = (o: Caller) =>
  send('POST', `/api/v1/orgs/${o.id}/adopt`, { token: BOOTSTRAP, body: { reason: 'D1 refuses changes' } });
const lagOf = (o: Caller) => inCore(o, (core) => journal(core).extent().records);
const problem = (o: Caller) => problemOf(o, ['database_diverged']);
const rotated = async (o: Caller, id: string, value: string) =>
  (await o.patch(`/secrets/${id}`, { value })).json.version;

const NOTHING_LOST = { restored: 0, lost: 0, refused: 0, lost_secrets: [], lost_versions: [], unnamed: 0 };

/** D1 has lost the row of a key that is then revoked, and gets nothing from there on. */
async function stopped() {
  const o = await newOrg();
  const key = await newKey(o);
  const session = await newSession(key.o);
  const ids = { S3: '', renamed: '', deleted: '', destroyed: '' };
  for (const name of Object.keys(ids) as (keyof typeof ids)[])
    ids[name] = (await newSecret(o, { name, value: 'one' })).id;
  for (const value of ['two', 'three']) await rotated(o, ids.S3, value);
  await run('delete from credentials where id = ?', key.id);
  expect((await o.del(`/api-keys/${key.id}`)).status).toBe(204);
  expect(await rotated(o, ids.S3, 'four')).toBe(4);
  const { id: made } = await newSecret(o, { name: 'NEWX', value: 'new' });
  await o.patch(`/secrets/${ids.renamed}`, { name: 'another' });
  const { id: same } = await newSecret(o, { name: 'renamed', value: 'takes the name' });
  await o.del(`/secrets/${ids.deleted}`);
  await o.del(`/secrets/${ids.destroyed}?permanent=true`);
  const later = await newKey(o);
  expect(await lagOf(o)).toBe(8);
  return { o, key, session, later, ids: { ...ids, made, same } };
}

async function expectKept({ o, key, session, later, ids }: Awaited<ReturnType<typeof stopped>>) {
  // As D1 has it, not as the gate remembers it.
  await inCore(o, ({ storage }) => storage.sql.exec('delete from seals'));
  await evict(o);
  const { values } = (await o.get('/environments/production/values')).json;
  expect(values).toEqual({ S3: 'four', NEWX: 'new', another: 'one', renamed: 'takes the name' });
  expect((await o.get(`/secrets/${ids.S3}?version=3`)).json.value).toBe('three');
  expect((await o.get(`/secrets/${ids.deleted}`)).status).toBe(404);
  expect((await o.post(`/secrets/${ids.destroyed}/restore`)).status).toBe(404);
  for (const ended of [key, session])
    expect((await ended.o.get('/secrets')).json.error.code).toBe('TOKEN_REVOKED');
  expect((await later.o.get('/secrets')).status).toBe(200);
  expect(await problem(o)).toBe(null);
}

/** A row that the organisation never wrote has the name of a secret that is then made. */
async function planted() {
  const o = await newOrg();
  const { id } = await newSecret(o, { name: 'S', value: 'one' });
  const [row] = (await rowsOf('select * from secrets where id = ?', id)) as [Row];
  await put('secrets', { ...row, id: `sec_${crypto.randomUUID()}`, name: 'NEWX' });
  const { id: lost } = await newSecret(o, { name: 'NEWX', value: 'refused' });
  expect(await rotated(o, id, 'two')).toBe(2);
  await rotated(o, lost, 'refused too');
  await newSecret(o, { name: 'OTHER', value: 'other' });
  expect(await lagOf(o)).toBe(4);
  return { o, lost };
}

/** How an adoption fails: one call at a time, or D1 from a call on. */
async function* failures<T extends { o: Caller }>(make: () => Promise<T>, every: number) {
  const first = await make();
  Object.assign(faults, { d1: 0, gate: 0, statements: 0 });
  expect((await adopt(first.o)).status).toBe(200);
  const calls = { d1: faults.d1, gate: faults.gate, statements: faults.statements };
  const away: Fault[] = Array.from({ length: calls.d1 }, (_, n) => ({
    what: `D1 is away from call ${n + 1} on`,
    how: { fail: (_kind, at) => (at > n ? 'before' : null) },
  }));
  for (const fault of [
    ...sampled([...faultsOf({ ...calls, statements: 0 })], Math.ceil(every / 4)),
    ...sampled([...faultsOf({ statements: calls.statements, d1: 0, gate: 0 })], every),
    ...sampled(away, Math.ceil(every / 4)),
  ]) {
    const world = await make();
    Object.assign(faults, { d1: 0, gate: 0, statements: 0 }, fault.how);
    const answer = await adopt(world.o);
    const { orphans } = faults;
    reset();
    yield { ...world, answer, what: fault.what };
    for (const land of orphans) await land().catch(() => {});
  }
}

describe('restore: a database that stands at the position of the gate and refuses a change', () => {
  it('gets all changes, and nothing is given up', async () => {
    const world = await stopped();
    const { status, json } = await adopt(world.o);
    expect([status, json]).toEqual([200, expect.objectContaining(NOTHING_LOST)]);
    await expectKept(world);
  });

  it.each([
    ['an altered secret', 'update secrets set revision = 99, name = ? where id = ?'],
    ['a secret that is gone', 'delete from secrets where name <> ? and id = ?'],
    [
      'a version in the way',
      `insert into secret_versions (org_id, secret_id, version, seal_id, value_sealed, fingerprint, size, created_by, created_at, mac)
        select org_id, secret_id, 2, seal_id, ?, fingerprint, size, created_by, created_at, mac from secret_versions where secret_id = ?`,
    ],
  ])('gets the rows of the gate in place of %s', async (_what, sql) => {
    const o = await newOrg();
    const { id } = await newSecret(o, { name: 'S', value: 'one' });
    await run(sql, 'forged', id);
    expect(await rotated(o, id, 'two')).toBe(2);
    expect(await lagOf(o)).toBe(1);
    expect((await adopt(o)).json).toMatchObject(NOTHING_LOST);
    await inCore(o, ({ storage }) => storage.sql.exec('delete from seals'));
    await evict(o);
    expect((await o.get(`/secrets/${id}`)).json.value).toBe('two');
    expect((await o.get(`/secrets/${id}?version=1`)).json.value).toBe('one');
    expect(await problem(o)).toBe(null);
  });

  slow('gets more changes than a batch holds', async () => {
    const o = await newOrg();
    const key = await newKey(o);
    await run('delete from credentials where id = ?', key.id);
    await o.del(`/api-keys/${key.id}`);
    for (let i = 0; i < 3; i++)
      await Promise.all(Array.from({ length: 80 }, (_, n) => newSecret(o, { name: `${i}-${n}` })));
    expect(await lagOf(o)).toBe(241);
    expect((await adopt(o)).json).toMatchObject(NOTHING_LOST);
    expect(await problem(o)).toBe(null);
  });

  slow('gets all changes although the adoption is interrupted anywhere', { timeout: 300_000 }, async () => {
    for await (const { what, answer, ...world } of failures(stopped, 64)) {
      if (what.startsWith('D1 is away'))
        expect([what, ...codeOf(answer)]).toEqual([what, 503, 'UNAVAILABLE']);
      const { status, json } = await adopt(world.o);
      expect([what, status, json]).toEqual([what, 200, expect.objectContaining(NOTHING_LOST)]);
      await expectKept(world);
    }
  });

  it('gives up the changes that it cannot store, and no other, and names what is lost', async () => {
    const { o, lost } = await planted();
    const { status, json } = await adopt(o);
    expect([status, json]).toEqual([
      200,
      expect.objectContaining({
        lost_secrets: [{ id: lost, name: 'NEWX', environment: 'production', version: 2 }],
        lost_versions: [],
        refused: 1,
      }),
    ]);
    expect((await o.get('/environments/production/values')).json.values).toEqual({
      S: 'two',
      OTHER: 'other',
    });
    expect(await problem(o)).toBe(null);
  });

  it('removes no other secret for one that it cannot store', async () => {
    const o = await newOrg();
    const { id } = await newSecret(o, { name: 'A', value: 'one' });
    const [earlier] = (await rowsOf('select * from secrets where id = ?', id)) as [Row];
    await o.patch(`/secrets/${id}`, { name: 'B' });
    await run('delete from secrets where id = ?', id);
    await put('secrets', earlier);
    await newSecret(o, { name: 'A', value: 'refused' });
    expect(await lagOf(o)).toBe(1);
    expect((await adopt(o)).json).toMatchObject({ restored: 1, lost: 1, lost_secrets: [{ name: 'A' }] });
    expect((await o.get(`/secrets/${id}`)).json).toMatchObject({ name: 'A', value: 'one' });
    expect(await problem(o)).toBe(null);
  });

  it('lets no change happen between giving one up and naming it', async () => {
    const { o } = await planted();
    let batches = 0;
    // Four are refused: of all records and of the first, each as it is and then by force.
    faults.fail = (kind) => (kind === 'batch' && ++batches === 5 ? 'reset after' : null);
    await adopt(o);
    reset();
    expect(codeOf(await o.post('/secrets', { name: 'N', type: 'generic', value: 'v' }))).toEqual([
      503,
      'UNAVAILABLE',
    ]);
    expect((await adopt(o)).json).toMatchObject({ lost: 1, lost_versions: [] });
    expect((await o.get('/environments/production/values')).json.values).toEqual({
      S: 'two',
      OTHER: 'other',
    });
    expect(await problem(o)).toBe(null);
  });

  slow(
    'gives up no change unless it is then named, although the adoption is interrupted anywhere',
    { timeout: 300_000 },
    async () => {
      for await (const { what, o, lost } of failures(planted, 64)) {
        const isKnown = await inCore(
          o,
          (core) =>
            mirror(core).isPaused() || journal(core).concerns(lost) || core.rows.get('secret', lost) === null,
        );
        expect([what, isKnown]).toEqual([what, true]);
        const { status, json } = await adopt(o);
        expect([what, status, json.lost_secrets?.length, json.lost_versions]).toEqual([what, 200, 1, []]);
        const { values } = (await o.get('/environments/production/values')).json;
        expect([what, values]).toEqual([what, { S: 'two', OTHER: 'other' }]);
        expect(await problem(o)).toBe(null);
      }
    },
  );
});

describe('adoption: a row of a secret that was altered', () => {
  it('is replaced by that of the gate if D1 has its value, and given up otherwise', async () => {
    const o = await newOrg();
    const kept = await newSecret(o, { name: 'KEPT', value: 'one' });
    const lost = await newSecret(o, { name: 'LOST', value: 'one' });
    await run("update secrets set description = 'altered' where org_id = ?", o.id);
    await run('delete from secret_versions where secret_id = ?', lost.id);
    const { json } = await adopt(o);
    expect(json).toMatchObject({ refused: 2, lost: 1, lost_secrets: [{ name: 'LOST' }] });
    await inCore(o, ({ storage }) => storage.sql.exec('delete from seals'));
    await evict(o);
    expect((await o.get(`/secrets/${kept.id}`)).json).toMatchObject({ value: 'one', description: null });
    expect((await o.get(`/secrets/${lost.id}`)).status).toBe(404);
    expect(await problem(o)).toBe(null);
  });
});
