// What a gate stores goes forward one version at a time; storage of a newer release is refused, and left as
// it is.
import { describe, expect, it } from 'vitest';
import { createOutbox } from '../../src/gate/outbox';
import { isNewer, STORAGE_VERSION, upgrade } from '../../src/gate/storage-version';
import { evict, inGate } from '../support/gate';
import { slow } from '../support/slow';
import { newOrg, newSecret, useWorld } from '../support/world';

useWorld();

describe('storage version: upgrade of a gate', () => {
  slow('runs each step once, from any version', async () => {
    const o = await newOrg();
    const taken = await inGate(o, ({ core }) => {
      const taken: number[] = [];
      const ways = [1, 2, 3].map((from) => () => void taken.push(from));
      core.meta.set('schema', '1');
      upgrade(core.storage, core.meta, ways.slice(0, 1));
      upgrade(core.storage, core.meta, ways);
      upgrade(core.storage, core.meta, ways);
      return { taken, at: core.meta.get('schema') };
    });
    expect(taken).toEqual({ taken: [1, 2, 3], at: '4' });
  });

  it('changes nothing if a step fails', async () => {
    const o = await newOrg();
    const ways = [
      (sql: SqlStorage) => void sql.exec('create table half (done integer)'),
      (sql: SqlStorage) => {
        sql.exec('create table other (done integer)');
        throw new Error('no');
      },
    ];
    const attempt = inGate(o, ({ core }) => {
      core.meta.set('schema', '1');
      upgrade(core.storage, core.meta, ways);
    });
    await expect(attempt).rejects.toThrow();
    const after = await inGate(o, ({ core }, { storage }) => ({
      at: core.meta.get('schema'),
      tables: storage.sql
        .exec<{ name: string }>("select name from sqlite_master where name in ('half', 'other')")
        .toArray()
        .map(({ name }) => name),
    }));
    // The failed transaction resets the gate; what was not durable yet may go with it, a half step never
    // stays.
    expect([
      { at: '2', tables: ['half'] },
      { at: String(STORAGE_VERSION), tables: [] },
    ]).toContainEqual(after);
  });

  it('numbers the events of a release before, in their order', async () => {
    const o = await newOrg();
    const events = await inGate(o, ({ core }, { storage }) => {
      storage.sql.exec('drop table outbox');
      storage.sql.exec(
        'create table outbox (id text primary key, type text not null, at integer not null, data text not null) without rowid',
      );
      for (const id of ['evt_c', 'evt_a', 'evt_b'])
        storage.sql.exec("insert into outbox values (?, 'DEVICE_BLOCKED', 1, '{}')", id);
      core.meta.set('schema', '4');
      upgrade(core.storage, core.meta);
      return createOutbox(storage.sql, core.meta).oldest(10);
    });
    expect(events.map(({ sequence, id }) => [sequence, id])).toEqual([
      [1, 'evt_a'],
      [2, 'evt_b'],
      [3, 'evt_c'],
    ]);
  });

  it('refuses storage of a newer release and leaves it untouched for that release', async () => {
    const o = await newOrg();
    const { id, value } = await newSecret(o);
    const before = await inGate(o, ({ core }, { storage }) => {
      core.meta.set('schema', String(STORAGE_VERSION + 1));
      return [isNewer(storage.sql), isNewer(storage.sql, STORAGE_VERSION + 1), core.auditLog.head().sequence];
    });
    expect(before.slice(0, 2)).toEqual([true, false]);
    await evict(o);
    const refused = await o.get(`/secrets/${id}`);
    expect([refused.status, refused.json.error.code]).toEqual([503, 'UNAVAILABLE']);
    expect(refused.json.error.message).toContain('newer release');
    expect((await o.patch(`/secrets/${id}`, { value: 'x' })).status).toBe(503);
    await inGate(o, (_gate, { storage }) => {
      const last = storage.sql.exec<{ n: number }>('select max(sequence) n from audit').one().n;
      expect(last).toBe(before[2]);
      storage.sql.exec("update meta set value = ? where key = 'schema'", String(STORAGE_VERSION));
    });
    await evict(o);
    expect((await o.get(`/secrets/${id}`)).json.value).toBe(value);
  });
});
