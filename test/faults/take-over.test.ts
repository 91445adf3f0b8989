// A gate that release 0.5.0 left is taken over in place: what was in doubt is settled by the markers in D1,
// under a raised epoch, and the journal begins.
import { describe, expect, it } from 'vitest';
import { macOf } from '../../src/db/rows';
import type { CredentialRow, SecretRow } from '../../src/db/schema';
import { journal } from '../../src/gate/journal/records';
import { problemOf } from '../model/invariants';
import { newKey } from '../support/credentials';
import { type Fate, faults } from '../support/faults';
import { evict, inCore, inGate, keysOf } from '../support/gate';
import { few, slow } from '../support/slow';
import { BOOTSTRAP, type Caller, codeOf, db, newOrg, newSecret, send, useWorld } from '../support/world';

useWorld();

const EPOCH = 7;
let made = 0;

/** A change as release 0.5.0 noted it before it asked D1. */
const intentOf = (id: string, at: number, kind: string, row: object) => ({
  id,
  at,
  mark: at,
  puts: [{ kind, row }],
  gone: [],
  environments: [],
  draft: {
    actor: { kind: 'system', id: 'system', parent_id: null, name: null },
    action: 'api_key.update',
    resource: null,
    environment: null,
    version: null,
    reason: null,
    request_id: id,
    ip: '',
    user_agent: null,
  },
  status: 200,
  keep: null,
  destroyed: [],
  trimmed: [],
});

/** A gate and its D1 as release 0.5.0 left them, with a change in doubt of which D1 has the rows, or not. */
async function left(doubt: 'done' | 'never' | 'none', raising = EPOCH) {
  const o = await newOrg();
  const { id, value } = await newSecret(o, { value: 'kept' });
  const key = await newKey(o);
  const before = await inCore(o, ({ rows }) => rows.get('credential', key.id) as CredentialRow);
  const bare = { ...before, revoked_at: Date.now(), revision: before.revision + 1 };
  const after = { ...bare, mac: macOf((await keysOf(o)).row, 'credential', bare) };
  const mark = Date.now() + 1000;
  const request = `req_doubt_${++made}`;
  await inGate(o, (gate, { storage: { sql } }) => {
    const { meta } = gate.core;
    for (const name of ['term', 'position']) meta.forget(name);
    meta.set('epoch', String(EPOCH));
    meta.set('raising', String(raising));
    meta.set('mark', String(mark - 500));
    sql.exec('delete from journal');
    sql.exec('create table marks (id text primary key, body text not null) without rowid');
    sql.exec(
      'create table mark_parts (id text not null, part integer not null, body text not null, primary key (id, part)) without rowid',
    );
    if (doubt === 'none') return;
    const body = JSON.stringify(intentOf(request, mark, 'credential', after));
    sql.exec('insert into marks values (?, ?)', request, body.slice(0, 100));
    sql.exec('insert into mark_parts values (?, 0, ?)', request, body.slice(100));
  });
  const marker = (id: string, at: number) =>
    db.prepare('insert into commits (id, org_id, holds, created_at) values (?, ?, 1, ?)').bind(id, o.id, at);
  await db.batch([
    db.prepare('delete from journal_positions where org_id = ?').bind(o.id),
    db.prepare('insert into fences values (?, ?)').bind(o.id, raising),
    marker(`req_${o.id}`, mark - 500),
    ...(doubt === 'done'
      ? [
          marker(request, mark),
          db
            .prepare('update credentials set revoked_at = ?, revision = ?, mac = ? where id = ?')
            .bind(after.revoked_at, after.revision, after.mac, key.id),
        ]
      : []),
  ]);
  await evict(o);
  return { o, key, secret: id, value };
}

const fenceOf = (o: Caller) =>
  db.prepare('select epoch from fences where org_id = ?').bind(o.id).first<number>('epoch');

/** What holds of a gate that has been taken over. */
async function expectTaken(o: Caller) {
  expect(await inCore(o, (core) => journal(core).term())).not.toBe(null);
  for (const table of ['marks', 'mark_parts'])
    expect(
      await inGate(o, (_gate, { storage: { sql } }) => sql.exec(`select count(*) n from ${table}`).one()),
    ).toEqual({ n: 0 });
  expect(await fenceOf(o)).toBeGreaterThan(EPOCH);
  expect((await o.post('/secrets', { name: 'NEW', type: 'generic', value: 'v' })).status).toBe(201);
  expect(await problemOf(o)).toBe(null);
  expect((await o.get('/audit-log/verify')).json).toMatchObject({ ok: true });
}

describe('upgrade: a gate of release 0.5.0', () => {
  it.each(['done', 'never', 'none'] as const)('with a change in doubt: %s', async (doubt) => {
    const { o, key, secret, value } = await left(doubt);
    expect((await o.get(`/secrets/${secret}`)).json.value).toBe(value);
    expect(codeOf(await key.o.get('/secrets'))[1]).toBe(doubt === 'done' ? 'TOKEN_REVOKED' : undefined);
    const { data } = (await o.get('/audit-log?action=api_key.update')).json;
    expect(data.map(({ status }: { status: number }) => status)).toEqual(
      { done: [200], never: [503], none: [] }[doubt],
    );
    await expectTaken(o);
  });

  slow('is taken over if the last raise of the epoch got no reply', async () => {
    const { o } = await left('none', EPOCH + 1);
    await o.get('/secrets');
    await expectTaken(o);
  });

  const fates: Fate[] = ['before', 'after', 'late', 'reset before', 'reset after', 'reset late'];
  it.each(
    few(
      fates.flatMap((fate) => [1, 2, 3, 4].map((n) => [fate, n] as const)),
      5,
    ),
  )('fault: D1 call %s, %i: what is in doubt is settled once', async (fate, nth) => {
    const { o, key } = await left('done');
    // The isolate holds its keys.
    faults.d1 = 0;
    faults.fail = (_, n) => (n === nth ? fate : null);
    await o.get('/secrets');
    faults.fail = null;
    await evict(o).catch(() => {});
    for (let i = 0; i < 3; i++) await o.get('/secrets');
    for (const land of faults.orphans) await land().catch(() => {});
    expect(codeOf(await key.o.get('/secrets'))).toEqual([401, 'TOKEN_REVOKED']);
    await expectTaken(o);
  });

  slow('while D1 is away serves reads, and changes nothing', async () => {
    const { o, secret, value } = await left('none');
    faults.fail = () => 'before';
    expect((await o.get(`/secrets/${secret}`)).json.value).toBe(value);
    expect(codeOf(await o.patch(`/secrets/${secret}`, { value: 'x' }))).toEqual([503, 'UNAVAILABLE']);
    faults.fail = null;
    expect((await o.patch(`/secrets/${secret}`, { value: 'x' })).status).toBe(200);
    await expectTaken(o);
  });

  it('in doubt about a change while D1 is away is not served: the caller may have ended', async () => {
    const { o, key } = await left('done');
    faults.fail = () => 'before';
    expect(codeOf(await key.o.get('/secrets'))).toEqual([503, 'UNAVAILABLE']);
    faults.fail = null;
    expect(codeOf(await key.o.get('/secrets'))).toEqual([401, 'TOKEN_REVOKED']);
    await expectTaken(o);
  });

  slow('over another database changes nothing until it is adopted', async () => {
    const { o } = await left('never');
    await db.prepare('update fences set epoch = epoch + 1000000 where org_id = ?').bind(o.id).run();
    expect((await o.get('/secrets')).status).toBe(200);
    const refused = await o.post('/secrets', { name: 'X', type: 'generic', value: 'v' });
    expect([codeOf(refused), refused.json.error.message]).toEqual([
      [503, 'UNAVAILABLE'],
      expect.stringContaining('adopt'),
    ]);
    expect(await inGate(o, (gate) => gate.vitals())).toBe('diverged');
    const adopted = await send('POST', `/api/v1/orgs/${o.id}/adopt`, {
      token: BOOTSTRAP,
      body: { reason: 'restored' },
    });
    expect(adopted.status).toBe(200);
    expect((await o.post('/secrets', { name: 'X', type: 'generic', value: 'v' })).status).toBe(201);
  });

  it('that is older than D1 is refused', async () => {
    const { o } = await left('none');
    await db
      .prepare('insert into commits (id, org_id, holds, created_at) values (?, ?, 1, ?)')
      .bind(`later_${o.id}`, o.id, Date.now() + 9_000_000)
      .run();
    expect(codeOf(await o.get('/secrets'))).toEqual([503, 'UNAVAILABLE']);
    expect(await inGate(o, (gate) => gate.vitals())).toBe('behind');
  });
});

slow('upgrade: a lost gate begins from a database of release 0.5.0', async () => {
  const { o, secret, value } = await left('none');
  await inGate(o, (_gate, { storage }) => storage.deleteAll());
  await evict(o);
  const row = await inCore(o, ({ rows }) => rows.get('secret', secret) as SecretRow | null);
  expect(row).toBe(null);
  expect((await o.get(`/secrets/${secret}`)).json.value).toBe(value);
  expect((await o.post('/secrets', { name: 'NEW', type: 'generic', value: 'v' })).status).toBe(201);
  expect(await fenceOf(o)).toBe(EPOCH + 1);
});
