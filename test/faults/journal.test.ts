// The journal: the gate decides alone, and D1 follows. Nothing acknowledged is lost from the gate, D1 ends as
// with changes one at a time, and no record is taken twice, whatever happens to D1 and the gate in between.
import { afterEach, describe, expect, it } from 'vitest';
import type { OrgRow } from '../../src/db/schema';
import { ciphertexts } from '../../src/gate/journal/ciphertexts';
import { BOUND, mirror } from '../../src/gate/journal/mirror';
import { beginTerm, type Position, positionInD1 } from '../../src/gate/journal/position';
import { journal } from '../../src/gate/journal/records';
import { revision } from '../../src/gate/request/writes';
import { purgeRows } from '../../src/gate/tasks/purge';
import { retain } from '../../src/gate/tasks/retention';
import { runTasks } from '../../src/gate/tasks/run';
import { problemOf } from '../model/invariants';
import { contain, newKey, newSession } from '../support/credentials';
import { type Fate, faults, holdNext, reset } from '../support/faults';
import { copyStorage, evict, inCore, inGate, loseStorage, putBackStorage } from '../support/gate';
import { newPolicy } from '../support/governance/policies';
import { newMember } from '../support/people';
import { change, newSignedIn } from '../support/signin/browser';
import { few, slow } from '../support/slow';
import { newLongSecret } from '../support/storage/planted';
import { DAY } from '../support/time';
import { BOOTSTRAP, type Caller, codeOf, db, newOrg, newSecret, useWorld } from '../support/world';

useWorld();

const bound = { ...BOUND };
afterEach(() => void Object.assign(BOUND, bound));

const lagOf = (o: Caller) => inCore(o, (core) => journal(core).last() - journal(core).position());
const follow = (o: Caller) => inCore(o, (core) => mirror(core).follow());
/** An organisation whose D1 follows only when a test lets it. */
async function lagging() {
  const o = await newOrg();
  faults.lags = true;
  faults.isAlarmHeld = true;
  return o;
}

describe('journal: while D1 is away', () => {
  it('reads and changes go on, and D1 gets them once it is back', async () => {
    const o = await lagging();
    const { id } = await newSecret(o, { value: 'one' });
    await follow(o);
    faults.fail = () => 'before';
    expect((await o.patch(`/secrets/${id}`, { value: 'two' })).json.version).toBe(2);
    const key = await newKey(o);
    const session = await newSession(key.o);
    const made = await newSecret(key.o, { value: 'made' });
    expect((await session.o.get(`/secrets/${made.id}`)).json.value).toBe('made');
    await evict(o);
    expect((await o.get(`/secrets/${id}`)).json).toMatchObject({ version: 2, value: 'two' });
    expect((await o.patch(`/secrets/${id}`, { value: 'three' })).json.version).toBe(3);
    expect(await lagOf(o)).toBe(4);
    faults.fail = null;
    expect(await problemOf(o)).toBe(null);
    expect(await lagOf(o)).toBe(0);
  });

  slow(
    'what ends access is answered after a short wait, and is not undone by the loss of the gate once D1 has it',
    async () => {
      const o = await lagging();
      const key = await newKey(o);
      const child = await newSession(key.o);
      await follow(o);
      faults.fail = () => 'before';
      expect((await o.del(`/api-keys/${key.id}`)).status).toBe(204);
      for (const one of [key.o, child.o])
        expect(codeOf(await one.get('/secrets'))).toEqual([401, 'TOKEN_REVOKED']);
      const [entry, late] = (await o.get('/audit-log?limit=4')).json.data
        .reverse()
        .filter(({ action }: { action: string }) => ['api_key.revoke', 'database.late'].includes(action));
      expect(late).toMatchObject({
        action: 'database.late',
        actor: { kind: 'system' },
        request_id: entry.request_id,
      });
      await evict(o);
      expect(codeOf(await key.o.get('/secrets'))).toEqual([401, 'TOKEN_REVOKED']);
      faults.fail = null;
      await follow(o);
      await loseStorage(o);
      expect(codeOf(await key.o.get('/secrets'))).toEqual([401, 'TOKEN_REVOKED']);
    },
  );

  slow('what Workers read first is 503, stands, and is found by a repeat', async () => {
    const o = await lagging();
    faults.fail = (kind) => (kind === 'batch' ? 'before' : null);
    const key = { 'Idempotency-Key': 'invite' };
    const body = { email: 'bea@example.com', name: 'Bea', role: 'viewer' };
    expect(codeOf(await o.post('/members', body, key))).toEqual([503, 'UNAVAILABLE']);
    // A repeat does not say that it is there before it is, from a gate that starts again either.
    await evict(o);
    expect(codeOf(await o.post('/members', body, key))).toEqual([503, 'UNAVAILABLE']);
    reset();
    const again = await o.post('/members', body, key);
    expect([again.status, again.headers.get('idempotency-replayed')]).toEqual([201, 'true']);
    expect((await o.get('/members')).json.data).toHaveLength(2);
    expect(await problemOf(o)).toBe(null);
  });

  it('bounds: past what a journal holds only what ends access is changed', async () => {
    const o = await lagging();
    const key = await newKey(o);
    await follow(o);
    faults.fail = () => 'before';
    BOUND.records = 2;
    for (const name of ['A', 'B']) await newSecret(o, { name });
    const refused = await o.post('/secrets', { name: 'C', type: 'generic', value: 'v' });
    expect([codeOf(refused), refused.json.error.retry_after]).toEqual([[503, 'UNAVAILABLE'], 30]);
    expect((await o.get('/secrets/by-name/A')).status).toBe(200);
    expect((await o.del(`/api-keys/${key.id}`)).status).toBe(204);
    faults.fail = null;
    await follow(o);
    expect((await o.post('/secrets', { name: 'C', type: 'generic', value: 'v' })).status).toBe(201);
    expect(await problemOf(o)).toBe(null);
  });

  it('a value is read from the journal when its ciphertext has left the cache', async () => {
    const o = await lagging();
    const { id } = await newSecret(o, { value: 'one' });
    const other = await newSecret(o, { value: 'other' });
    await o.patch(`/secrets/${id}`, { value: 'two' });
    await inCore(o, (core) => ciphertexts(core).clear());
    faults.fail = () => 'before';
    expect((await o.get(`/secrets/${id}?version=1`)).json.value).toBe('one');
    expect((await o.get('/environments/production/values')).json.values).toEqual({
      [(await o.get(`/secrets/${id}`)).json.name]: 'two',
      [other.name]: 'other',
    });
  });
});

describe('journal: what D1 is told besides', () => {
  it('a session that ended long ago stays in D1 while a record changes it', async () => {
    const { o } = await newSignedIn();
    faults.lags = true;
    faults.isAlarmHeld = true;
    await follow(o);
    const session = await inCore(o, ({ rows }) =>
      rows.after('credential', '', 100).find(({ kind }) => kind === 'browser'),
    );
    if (!session) throw new Error('no session');
    faults.fail = (kind) => (kind === 'batch' ? 'before' : null);
    await change(o.id, (call, now) => ({
      status: 200,
      data: null,
      writes: [revision(call, 'credential', session, { revoked_at: now })],
    }));
    faults.fail = null;
    const left = () =>
      db.prepare('select count(*) n from credentials where id = ?').bind(session.id).first('n');
    const later = (session.expires_at as number) + DAY;
    const retained = () =>
      inCore(o, async (core) => {
        core.now = () => later;
        purgeRows(core, later);
        await retain(core, later);
        core.now = () => Date.now();
      });
    await retained();
    expect(await left()).toBe(1);
    expect(await follow(o)).toBe(true);
    await retained();
    expect(await left()).toBe(0);
  });

  it('audit log: entries are archived though D1 refuses a change', async () => {
    const o = await newOrg();
    const { id } = await newSecret(o);
    await db.prepare('update secrets set revision = 99 where id = ?').bind(id).run();
    await o.patch(`/secrets/${id}`, { value: 'two' });
    expect(codeOf(await o.as(BOOTSTRAP).post('/audit-log/archive', {}))).toEqual([503, 'UNAVAILABLE']);
    const { results } = await db
      .prepare('select first_sequence from audit_segments where org_id = ?')
      .bind(o.id)
      .all();
    expect(results).toEqual([{ first_sequence: 1 }]);
  });
});

describe('journal: queries of D1', () => {
  it('a list of versions has those that D1 lacked', async () => {
    const o = await lagging();
    const { id } = await newSecret(o);
    await o.patch(`/secrets/${id}`, { value: 'two' });
    const { data } = (await o.get(`/secrets/${id}/versions`)).json;
    expect(data.map(({ version }: { version: number }) => version)).toEqual([2, 1]);
  });

  it('a version that destroys the oldest one counts those that D1 lacked', async () => {
    const o = await lagging();
    const { id } = await newLongSecret(o);
    for (const value of ['one more', 'and a longer one']) await o.patch(`/secrets/${id}`, { value });
    expect(await problemOf(o)).toBe(null);
  });

  it('a backup of the log waits until D1 has everything', async () => {
    const o = await lagging();
    await newSecret(o);
    expect((await o.as(BOOTSTRAP).post('/audit-log/archive', {})).status).toBe(200);
    expect(await lagOf(o)).toBe(0);
  });
});

describe('journal: a batch', () => {
  const fates: Fate[] = ['before', 'after', 'late', 'reset before', 'reset after', 'reset late'];
  it.each(
    few(
      fates.flatMap((fate) => [1, 2, 3].map((n) => [fate, n] as const)),
      5,
    ),
  )('fault: that ends %s, at D1 call %i, is taken once', async (fate, nth) => {
    const o = await lagging();
    const { id } = await newSecret(o, { value: 'one' });
    await o.patch(`/secrets/${id}`, { value: 'two' });
    const { id: key } = await newKey(o);
    faults.d1 = 0;
    faults.fail = (_, n) => (n === nth ? fate : null);
    await follow(o).catch(() => {});
    await o.patch(`/secrets/${id}`, { value: 'three' });
    await o.patch(`/api-keys/${key}`, { name: 'renamed' });
    await follow(o).catch(() => {});
    const { orphans } = faults;
    for (const land of orphans.splice(0)) await land().catch(() => {});
    faults.fail = null;
    expect(await problemOf(o)).toBe(null);
    expect((await o.get(`/secrets/${id}`)).json).toMatchObject({ version: 3, value: 'three' });
    // What arrives late, again.
    for (const land of orphans) await land().catch(() => {});
    expect(await problemOf(o)).toBe(null);
  });

  it('that arrives after further records were sent takes no effect', async () => {
    const o = await lagging();
    const { id } = await newSecret(o, { value: 'one' });
    faults.fail = (kind) => (kind === 'batch' ? 'late' : null);
    expect(await follow(o)).toBe(false);
    const [late] = faults.orphans.splice(0);
    faults.fail = null;
    await o.patch(`/secrets/${id}`, { value: 'two' });
    await follow(o);
    await expect(late?.()).rejects.toThrow('constraint');
    expect(await problemOf(o)).toBe(null);
  });

  slow('carries many records, and names that are given up and taken', async () => {
    const o = await lagging();
    const a = await newSecret(o, { name: 'A' });
    const b = await newSecret(o, { name: 'B' });
    await follow(o);
    for (const [id, name] of [
      [a.id, 'T'],
      [b.id, 'A'],
      [a.id, 'B'],
    ] as const)
      expect((await o.patch(`/secrets/${id}`, { name })).status).toBe(200);
    await o.del(`/secrets/${b.id}`);
    await newSecret(o, { name: 'A' });
    for (let n = 0; n < 20; n++) await newSecret(o);
    const { id, slug } = (await o.post('/environments', { name: 'short' })).json;
    const inside = await newSecret(o, { environment: slug });
    await o.del(`/secrets/${inside.id}?permanent=true`);
    await o.del(`/environments/${id}`);
    await follow(o);
    expect(await problemOf(o)).toBe(null);
    for (let n = 0; n < 30; n++) await newSecret(o);
    faults.d1 = 0;
    await follow(o);
    expect(faults.d1).toBe(1);
    faults.fail = (kind) => (kind === 'batch' ? 'before' : null);
    for (let keys = 0; keys < 3; keys++) {
      const key = await newKey(o);
      for (let n = 0; n < 70; n++) await newSecret(key.o);
    }
    faults.fail = null;
    faults.d1 = 0;
    await follow(o);
    expect(faults.d1).toBe(2);
    expect(await problemOf(o)).toBe(null);
  });

  it('is sent by the alarm where nothing waits for it', async () => {
    const o = await lagging();
    await newSecret(o);
    expect(await lagOf(o)).toBe(1);
    await inCore(o, (core) => runTasks(core, core.now() + 2000));
    expect(await lagOf(o)).toBe(0);
  });

  it('is sent before the reply leaves, where a new policy or an earlier end narrows access', async () => {
    const o = await lagging();
    const { id } = await newSecret(o);
    expect(await lagOf(o)).toBeGreaterThan(0);
    await newPolicy(o, 'naming', { pattern: '.' });
    expect(await lagOf(o)).toBe(0);
    await o.patch(`/secrets/${id}`, { ttlSeconds: 7200 });
    expect(await lagOf(o)).toBe(0);
    await o.patch(`/secrets/${id}`, { ttlSeconds: 9000 });
    expect(await lagOf(o)).toBe(1);
    await o.patch(`/secrets/${id}`, { ttlSeconds: 3600 });
    expect(await lagOf(o)).toBe(0);
  });

  it('is sent before the reply leaves, where access ends', async () => {
    const o = await lagging();
    const key = await newKey(o);
    const { held, release } = holdNext('batch');
    let isAnswered = false;
    const revoking = o.del(`/api-keys/${key.id}`).then(({ status }) => {
      isAnswered = true;
      return status;
    });
    await held();
    expect(isAnswered).toBe(false);
    // It has taken effect in the gate; the repeat of whoever lost the reply waits too.
    expect(codeOf(await key.o.get('/secrets'))).toEqual([401, 'TOKEN_REVOKED']);
    release();
    expect(await revoking).toBe(204);
    expect(await lagOf(o)).toBe(0);
  });
});

describe('journal: what is repeated', () => {
  it.each(few<Record<string, string>>([{ 'Idempotency-Key': 'end' }, {}], 1))(
    'the repeat of a revocation waits as the first one does: %o',
    async (headers) => {
      const o = await lagging();
      const key = await newKey(o);
      await follow(o);
      faults.fail = () => 'before';
      expect((await o.del(`/api-keys/${key.id}`, undefined, headers)).status).toBe(204);
      faults.fail = null;
      expect(await lagOf(o)).toBe(1);
      expect((await o.del(`/api-keys/${key.id}`, undefined, headers)).status).toBe(204);
      expect(await lagOf(o)).toBe(0);
    },
  );

  it('the replay of a containment waits as the first one does', async () => {
    const o = await lagging();
    const key = await newKey(o);
    await follow(o);
    const end = () => contain(o, key.id, {}, { 'Idempotency-Key': 'contain' });
    faults.fail = (kind) => (kind === 'batch' ? 'before' : null);
    expect((await end()).status).toBe(200);
    faults.fail = null;
    expect(await lagOf(o)).toBeGreaterThan(0);
    const again = await end();
    expect([again.headers.get('idempotency-replayed'), await lagOf(o)]).toEqual(['true', 0]);
  });

  it('a revocation whose reply was lost waits for D1 when the Worker repeats the call', async () => {
    const o = await lagging();
    const key = await newKey(o);
    await follow(o);
    let calls = 0;
    faults.fail = () => (calls === 1 ? 'before' : null);
    faults.rpc = () => (++calls === 1 ? { fate: 'after', retryable: true } : null);
    expect((await o.del(`/api-keys/${key.id}`)).status).toBe(204);
    expect([calls, await lagOf(o)]).toEqual([2, 0]);
    await loseStorage(o);
    expect(codeOf(await key.o.get('/secrets'))).toEqual([401, 'TOKEN_REVOKED']);
  });

  it('a term that begins late, after another, takes no effect', async () => {
    const o = await lagging();
    await follow(o);
    await inCore(o, async (core) => {
      const seen = (await positionInD1(core)) as Position;
      await beginTerm(core, seen, 'first', seen.position);
      await expect(beginTerm(core, seen, 'late', seen.position)).rejects.toThrow('UNAVAILABLE');
      expect(await positionInD1(core)).toMatchObject({ term: 'first' });
    });
  });

  it('a row that D1 could not take is refused, and nothing changes', async () => {
    const o = await newOrg();
    const put = (name: string) =>
      change(o.id, (call) => ({
        status: 200,
        data: null,
        writes: [revision(call, 'org', call.core.rows.get('org', o.id) as OrgRow, { name })],
      }));
    await expect(put('x'.repeat(2_000_000))).rejects.toThrow('too large for the database');
    await put('short');
    expect(await problemOf(o)).toBe(null);
  });
});

describe('journal: a gate whose storage is lost or older', () => {
  it('begins a new term from what D1 has received; what had not arrived is gone, and said to be', async () => {
    const o = await lagging();
    const { id } = await newSecret(o, { value: 'one' });
    await follow(o);
    await o.patch(`/secrets/${id}`, { value: 'two' });
    const lost = await newSecret(o);
    const before = await inCore(o, (core) => journal(core).term());
    await loseStorage(o);
    expect((await o.get(`/secrets/${id}`)).json).toMatchObject({ version: 1, value: 'one' });
    expect(codeOf(await o.get(`/secrets/${lost.id}`))).toEqual([404, 'NOT_FOUND']);
    expect(await inCore(o, (core) => journal(core).term())).not.toBe(before);
    const { data } = (await o.get('/audit-log?action=integrity.alarm')).json;
    expect(data[0]).toMatchObject({ reason: 'gate_loaded_from_database' });
    expect(await problemOf(o)).toBe(null);
  });

  it('gives numbers again, and is found by the records: nothing of it is taken for D1', async () => {
    const o = await lagging();
    await follow(o);
    const copy = await copyStorage(o);
    await newSecret(o);
    await follow(o);
    await putBackStorage(o, copy);
    faults.fail = () => 'before';
    // D1 is away, and the storage was written lately.
    await newSecret(o);
    faults.fail = null;
    expect(await follow(o)).toBe(false);
    expect(await inGate(o, (gate) => gate.vitals())).toBe('behind');
    expect(codeOf(await o.get('/secrets'))).toEqual([503, 'UNAVAILABLE']);
  });

  it('keeps its records through evictions, in several table rows where one is long', async () => {
    const o = await lagging();
    await follow(o);
    const data = Object.fromEntries(
      Array.from({ length: 400 }, (_, n) => [`${'LONG_NAME_'.repeat(15)}${n}`, `ä${'v'.repeat(1500)}${n}`]),
    );
    faults.fail = (kind) => (kind === 'batch' ? 'before' : null);
    const body = { source: 'svc', onConflict: 'fail', data };
    expect((await o.post('/integrations/import', body)).status).toBe(200);
    const parts = () =>
      inGate(o, (_gate, { storage }) => storage.sql.exec('select count(*) n from journal').one().n);
    expect(await parts()).toBeGreaterThan(1);
    await evict(o);
    expect(await lagOf(o)).toBe(1);
    faults.fail = null;
    expect(await problemOf(o)).toBe(null);
    expect(await parts()).toBe(0);
  });
});

it('journal: usage says how far D1 is behind', async () => {
  const o = await lagging();
  await follow(o);
  await newMember(o);
  await newSecret(o);
  const { changes, changes_late_seconds } = (await o.get('')).json.usage.backlog;
  expect([changes, changes_late_seconds]).toEqual([1, 0]);
});

it('journal: D1 has its position once, and nothing of earlier releases', async () => {
  const o = await newOrg();
  await newSecret(o);
  const { results } = await db
    .prepare('select term, position, holds from journal_positions where org_id = ?')
    .bind(o.id)
    .all();
  expect(results).toEqual([
    {
      term: await inCore(o, (core) => journal(core).term()),
      position: await inCore(o, (core) => journal(core).position()),
      holds: 1,
    },
  ]);
  for (const table of ['fences', 'commits'])
    expect(await db.prepare(`select count(*) n from ${table} where org_id = ?`).bind(o.id).first('n')).toBe(
      0,
    );
});
