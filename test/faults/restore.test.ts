// A database put back from a backup, under a gate that has lived on: refused until it is adopted, and then
// neither more nor less than what the backup holds is readable, and nothing that has ended since is alive
// again.
import { describe, expect, it } from 'vitest';
import { hashOf } from '../../src/gate/audit/chain';
import { ciphertexts } from '../../src/gate/journal/ciphertexts';
import { runTasks } from '../../src/gate/tasks/run';
import { problemOf } from '../model/invariants';
import { newKey, newSession } from '../support/credentials';
import { faults, reset } from '../support/faults';
import { evict, inGate, loseStorage } from '../support/gate';
import { newPolicy } from '../support/governance/policies';
import { slow } from '../support/slow';
import { BOOTSTRAP, type Caller, codeOf, db, newOrg, newSecret, send, useWorld } from '../support/world';

useWorld();

const TABLES = [
  'orgs',
  'org_keys',
  'environments',
  'members',
  'credentials',
  'secrets',
  'secret_versions',
  'policies',
  'audit_segments',
  'audit_checkpoints',
  'journal_positions',
];

interface Row {
  id: string;
  name: string;
}

type Backup = Record<string, Record<string, unknown>[]>;

async function backUp(): Promise<Backup> {
  const found = await db.batch<Record<string, unknown>>(
    TABLES.map((table) => db.prepare(`select * from ${table}`)),
  );
  return Object.fromEntries(TABLES.map((table, i) => [table, found[i]?.results ?? []]));
}

async function putBack(backup: Backup): Promise<void> {
  const statements = TABLES.flatMap((table) => [
    db.prepare(`delete from ${table}`),
    ...(backup[table] ?? []).map((row) => {
      const columns = Object.keys(row);
      return db
        .prepare(`insert into ${table} (${columns}) values (${columns.map(() => '?')})`)
        .bind(...Object.values(row));
    }),
  ]);
  await db.batch(statements);
}

const adopt = (o: Caller, reason = 'restored after a loss') =>
  send('POST', `/api/v1/orgs/${o.id}/adopt`, { token: BOOTSTRAP, body: { reason } });
const read = async (o: Caller, id: string) => {
  const { status, json } = await o.get(`/secrets/${id}`);
  return status === 200 ? json.value : status;
};
const coldCiphertexts = (o: Caller) => inGate(o, ({ core }) => ciphertexts(core).clear());

/** An org with a backup, and everything that may have happened since. */
async function drill() {
  const o = await newOrg();
  const names = ['same', 'changed', 'renamed', 'deleted', 'destroyed', 'shortened'] as const;
  const ids = {} as Record<(typeof names)[number] | 'new', string>;
  for (const name of names) ids[name] = (await newSecret(o, { name, value: `${name}: first` })).id;
  await o.patch(`/secrets/${ids.changed}`, { value: 'changed: second' });
  const key = await newKey(o);
  const narrowed = await newKey(o);
  const session = await newSession(o);
  const backup = await backUp();

  await o.patch(`/secrets/${ids.changed}`, { value: 'changed: third' });
  await o.patch(`/secrets/${ids.changed}`, { value: 'changed: fourth' });
  await o.patch(`/secrets/${ids.renamed}`, { name: 'another' });
  await o.del(`/secrets/${ids.deleted}`);
  await o.del(`/secrets/${ids.destroyed}?permanent=true`);
  await o.patch(`/secrets/${ids.shortened}`, { ttlSeconds: 1000 });
  ids.new = (await newSecret(o, { name: 'new', value: 'new: first' })).id;
  await o.del(`/api-keys/${key.id}`);
  await o.del(`/access-tokens/${session.id}`);
  await o.patch(`/api-keys/${narrowed.id}`, { allowed_addresses: ['198.51.100.1'] });
  const later = await newKey(o);
  return { o, ids, key, narrowed, session, later, backup };
}

describe('restore: a database from a backup', () => {
  slow('is refused before it is adopted: no change happens, and no older value is returned', async () => {
    const { o, ids, key, backup } = await drill();
    await coldCiphertexts(o);
    await putBack(backup);
    // A restore restarts the service.
    await evict(o);
    expect((await o.patch(`/secrets/${ids.changed}`, { value: 'x' })).json.error.code).toBe('UNAVAILABLE');
    expect(await read(o, ids.changed)).toBe(500);
    expect((await key.o.get('/secrets')).json.error.code).toBe('TOKEN_REVOKED');
    expect((await o.get('/audit-log?action=integrity.alarm')).json.data.length).toBeGreaterThan(0);
  });

  slow('does not bring back earlier policies: those of the gate apply, and are written back', async () => {
    const o = await newOrg();
    const strict = await newPolicy(o, 'naming', { pattern: '.' });
    const retired = await newPolicy(o, 'naming', { pattern: '^[A-Z]' });
    const backup = await backUp();
    await o.patch(`/policies/${strict.id}`, { config: { pattern: '^[a-z]' } });
    await o.del(`/policies/${retired.id}`);
    const { id: later } = await newPolicy(o, 'naming', { pattern: '[a-z]$' });
    await putBack(backup);
    expect((await adopt(o)).status).toBe(200);
    const listed = (await o.get('/policies')).json.data as { id: string; config: { pattern: string } }[];
    expect(listed.map(({ id, config }) => [id, config.pattern])).toEqual([
      [strict.id, '^[a-z]'],
      [later, '[a-z]$'],
    ]);
    const named = async (name: string) =>
      (await o.post('/secrets', { name, type: 'generic', value: 'v' })).status;
    expect([await named('A'), await named('a1'), await named('a')]).toEqual([422, 422, 201]);
    expect(codeOf(await o.patch(`/policies/${strict.id}`, { enabled: false }))).toEqual([200, undefined]);
    expect(await problemOf(o)).toBeNull();
  });

  it('counts for secrets once it is adopted, and for nothing else', async () => {
    const { o, ids, key, narrowed, session, later, backup } = await drill();
    await putBack(backup);
    const adopted = await adopt(o);
    const counts = { restored: 3, ended: 2, lost: 1, refused: 0, audit_entries_lost: 0 };
    expect([adopted.status, adopted.json]).toEqual([200, expect.objectContaining(counts)]);

    expect(await read(o, ids.same)).toBe('same: first');
    expect(await read(o, ids.changed)).toBe('changed: second');
    expect((await o.get('/secrets/by-name/renamed')).json.value).toBe('renamed: first');
    expect(await read(o, ids.deleted)).toBe(404);
    expect(await read(o, ids.destroyed)).toBe(404);
    expect((await o.post(`/secrets/${ids.destroyed}/restore`)).status).toBe(404);
    expect((await o.get(`/secrets/${ids.shortened}`)).json.expires_at).not.toBe(null);
    expect(await read(o, ids.new)).toBe(404);
    expect(Object.keys((await o.get('/environments/production/values')).json.values).sort()).toEqual([
      'changed',
      'renamed',
      'same',
      'shortened',
    ]);

    for (const ended of [key, session])
      expect((await ended.o.get('/secrets')).json.error.code).toBe('TOKEN_REVOKED');
    expect((await narrowed.o.get('/secrets')).json.error.code).toBe('ADDRESS_NOT_ALLOWED');
    expect((await later.o.get('/secrets')).status).toBe(200);
    expect(await problemOf(o)).toBe(null);
  });

  slow(
    'names what is lost and what stays revoked, in the response, in its audit entry and when it is repeated',
    async () => {
      const { o, ids, key, backup } = await drill();
      await putBack(backup);
      const { json } = await adopt(o);
      const at = { environment: 'production' };
      expect(json).toMatchObject({
        lost_secrets: [{ id: ids.new, name: 'new', ...at, version: 1 }],
        lost_versions: [{ id: ids.changed, name: 'changed', ...at, from: 3, to: 4 }],
        kept_revocations: [{ id: key.id, kind: 'api_key' }],
        unnamed: 0,
        gate_loaded_at: null,
      });
      const { adopted_at, gate_loaded_at: _, ...counted } = json;
      const [entry] = (await o.get('/audit-log?action=org.adopt')).json.data;
      expect(entry.adopted).toEqual(counted);
      expect(hashOf(entry)).toBe(entry.hash);
      const again = await adopt(o, 'to see it again');
      expect(again.json).toEqual({ ...json, adopted_at });
      // What another restore loses replaces it.
      await putBack(backup);
      expect((await adopt(o)).json).toMatchObject({ lost: 0, lost_versions: [{ from: 3, to: 5 }] });
      expect((await o.get('/audit-log/verify')).json.ok).toBe(true);
    },
  );

  it('names secrets whose name an earlier one had, and uses none of their version numbers twice', async () => {
    const o = await newOrg();
    const made = await Promise.all(
      Array.from({ length: 210 }, async (_, i) => ({
        id: (await newSecret(o, { name: `n${i}`, value: 'one' })).id,
        name: `n${i}`,
      })),
    );
    made.sort((a, b) => (a.id < b.id ? -1 : 1));
    // They are restored in different batches.
    const [first, second, last] = [made[0], made[1], made[209]] as [Row, Row, Row];
    const backup = await backUp();
    await o.patch(`/secrets/${first.id}`, { name: 'another' });
    await o.patch(`/secrets/${last.id}`, { name: first.name, value: 'two' });
    await o.patch(`/secrets/${second.id}`, { name: 'one-more' });
    const { id } = await newSecret(o, { name: second.name, value: 'new' });
    await putBack(backup);
    expect((await adopt(o)).json).toMatchObject({
      restored: 3,
      lost: 1,
      lost_secrets: [{ id, name: second.name }],
      lost_versions: [{ id: last.id, name: last.name, from: 2, to: 2 }],
    });
    expect((await o.get(`/secrets/${last.id}`)).json).toMatchObject({ version: 3, value: 'one' });
    expect(await read(o, id)).toBe(404);
    expect(await problemOf(o)).toBe(null);
  });

  it('names single versions that the database lost', async () => {
    const o = await newOrg();
    const { id } = await newSecret(o, { name: 'holed', value: '1' });
    for (const value of ['2', '3', '4', '5']) await o.patch(`/secrets/${id}`, { value });
    await backUp();
    await db
      .prepare('delete from secret_versions where secret_id = ? and version in (2, 3, 5)')
      .bind(id)
      .run();
    const { json } = await adopt(o);
    const holed = { id, name: 'holed', environment: 'production' };
    expect(json).toMatchObject({
      lost: 0,
      lost_versions: [
        { ...holed, from: 2, to: 3 },
        { ...holed, from: 5, to: 5 },
      ],
    });
    const [entry] = (await o.get('/audit-log?action=org.adopt')).json.data;
    expect(entry.adopted.lost_versions).toEqual(json.lost_versions);
  });

  slow('says that a gate began again from the database, and so knows of no later revocation', async () => {
    const { o, key, backup } = await drill();
    await putBack(backup);
    await loseStorage(o);
    expect((await adopt(o)).json).toMatchObject({
      kept_revocations: [],
      gate_loaded_at: expect.stringMatching(/^\d{4}-/),
    });
    expect((await key.o.get('/secrets')).status).toBe(200);
  });

  slow('names as much as an audit entry holds, and counts the rest', async () => {
    const o = await newOrg();
    const backup = await backUp();
    const name = (i: number) => `${'n'.repeat(240)}${i}`;
    await Promise.all(Array.from({ length: 350 }, (_, i) => newSecret(o, { name: name(i), value: 'v' })));
    await putBack(backup);
    const { json } = await adopt(o);
    expect(json.lost).toBe(350);
    expect(json.lost_secrets.length + json.unnamed).toBe(350);
    expect(json.lost_secrets.length).toBeGreaterThan(200);
    expect(json.unnamed).toBeGreaterThan(0);
  });

  it('uses no version number twice, and reports the lost ones', async () => {
    const { o, ids, backup } = await drill();
    await putBack(backup);
    await adopt(o);
    // Versions 3 and 4 are lost; what the backup holds is put back as version 5.
    expect((await o.get(`/secrets/${ids.changed}`)).json.version).toBe(5);
    expect((await o.get(`/secrets/${ids.changed}?version=3`)).status).toBe(404);
    expect((await o.get(`/secrets/${ids.changed}?version=1`)).json.value).toBe('changed: first');
    const versions = (await o.get(`/secrets/${ids.changed}/versions`)).json.data as { version: number }[];
    expect(versions.map(({ version }) => version)).toEqual([5, 2, 1]);
    expect((await o.post(`/secrets/${ids.changed}/rollback`, { version: 4 })).status).toBe(404);
    expect((await o.patch(`/secrets/${ids.changed}`, { value: 'changed: fifth' })).json.version).toBe(6);
  });

  slow(
    'stays adopted after eviction, with an empty ciphertext cache, and after the gate lost its storage',
    async () => {
      const { o, ids, backup } = await drill();
      await putBack(backup);
      await adopt(o);
      await coldCiphertexts(o);
      await evict(o);
      expect(await read(o, ids.changed)).toBe('changed: second');
      await loseStorage(o);
      expect(await read(o, ids.changed)).toBe('changed: second');
      expect(await read(o, ids.destroyed)).toBe(404);
    },
  );

  slow('a second adoption has no effect, also after an interruption anywhere', async () => {
    const { o, ids, backup } = await drill();
    await putBack(backup);
    for (const fate of ['before', 'after', 'reset before', 'reset after', 'late', 'reset late'] as const) {
      for (let n = 1; n <= 9; n++) {
        faults.d1 = 0;
        faults.fail = (_, at) => (at === n ? fate : null);
        await adopt(o);
        const { orphans } = faults;
        reset();
        for (const land of orphans) await land().catch(() => {});
      }
    }
    expect((await adopt(o)).status).toBe(200);
    const told = (await adopt(o)).json;
    expect(told).toMatchObject({
      restored: 3,
      lost: 1,
      lost_versions: [{ id: ids.changed, from: 3, to: 4 }],
    });
    expect((await adopt(o)).json).toEqual(told);
    expect((await o.get('/audit-log?action=org.adopt')).json.data[0].adopted).toBe(undefined);
    expect(await read(o, ids.changed)).toBe('changed: second');
    expect(await read(o, ids.deleted)).toBe(404);
    expect(await problemOf(o)).toBe(null);
    expect((await o.patch(`/secrets/${ids.changed}`, { value: 'x' })).status).toBe(200);
  });

  it('gives up nothing of a database that is right and does not respond: it is sent once it does', async () => {
    for (const isAway of [() => true, (n: number) => n > 1, (n: number) => n === 1]) {
      const o = await newOrg();
      faults.lags = true;
      faults.isAlarmHeld = true;
      const { id } = await newSecret(o, { value: 'kept' });
      let batches = 0;
      // Every batch fails, all that come after that of the journal, or that one alone.
      faults.fail = (kind) => (kind === 'batch' && isAway(++batches) ? 'before' : null);
      expect(codeOf(await adopt(o))).toEqual([503, 'UNAVAILABLE']);
      reset();
      expect((await adopt(o)).json.lost).toBe(0);
      expect(await read(o, id)).toBe('kept');
      expect(await problemOf(o)).toBe(null);
    }
  });

  it('accepts no row that the organisation never wrote', async () => {
    const { o, ids, backup } = await drill();
    const forged = structuredClone(backup);
    for (const row of forged.secrets ?? []) if (row.id === ids.same) row.name = 'forged';
    for (const row of forged.credentials ?? []) if (row.org_id === o.id) row.revoked_at = null;
    await putBack(forged);
    const { json } = await adopt(o);
    expect(json.refused).toBe(1);
    // The gate's own row stands.
    expect(await read(o, ids.same)).toBe('same: first');
    expect((await o.get('/secrets/by-name/forged')).status).toBe(404);
    expect(await problemOf(o)).toBe(null);
  });

  slow(
    'audit log: the adoption is recorded with its reason, and verify reports the lost entries',
    async () => {
      const o = await newOrg();
      const backup = await backUp();
      for (let i = 0; i < 11; i++)
        await Promise.all(Array.from({ length: 100 }, () => o.get('/environments')));
      await inGate(o, async ({ core }) => {
        core.schedule.at('segments', Date.now());
        core.now = () => Date.now() + 600_000;
        for (let i = 0; i < 5; i++) await runTasks(core);
        core.now = () => Date.now();
      });
      const moved = await inGate(o, ({ core }) => core.auditLog.oldest() - 1);
      expect(moved).toBeGreaterThan(0);
      await putBack(backup);
      expect((await o.get('/audit-log/verify')).json.ok).toBe(false);
      expect((await adopt(o, 'the disk was lost')).json.audit_entries_lost).toBe(moved);
      const entry = (await o.get('/audit-log?action=org.adopt')).json.data[0];
      expect(entry).toMatchObject({ reason: 'the disk was lost', actor: { kind: 'system' }, status: 200 });

      let cursor = '';
      let lost = [] as unknown[];
      do {
        const { json } = await o.get(`/audit-log/verify${cursor && `?cursor=${cursor}`}`);
        expect(json.ok).toBe(true);
        lost = [...lost, ...json.missing];
        cursor = json.next ?? '';
      } while (cursor);
      expect(lost).toMatchObject([{ from: 1, to: moved, reason: 'restore' }]);
      expect(entry.missing).toEqual([{ from: 1, reason: 'restore', to: moved }]);
    },
  );

  it('concurrency: no change happens during the adoption', async () => {
    const { o, ids, backup } = await drill();
    await putBack(backup);
    faults.delay = 5;
    const [adopted, ...changes] = await Promise.all([
      adopt(o),
      ...Array.from({ length: 10 }, (_, i) =>
        o.patch(`/secrets/${ids.changed}`, { value: `meanwhile ${i}` }),
      ),
    ]);
    reset();
    expect(adopted.status).toBe(200);
    for (const { status } of changes) expect([200, 503]).toContain(status);
    expect(await problemOf(o)).toBe(null);
  });
});
