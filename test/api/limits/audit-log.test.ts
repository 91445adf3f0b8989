// The audit log under a caller who tries to fill it: entries hold only what is bounded, every entry can move
// to D1, one that cannot holds up no other, and what ends credentials works while the log is full.
import { describe, expect, it } from 'vitest';
import type { Core } from '../../../src/gate/core';
import { runTasks } from '../../../src/gate/tasks/run';
import { newAgent, newKey } from '../../support/credentials';
import { faults } from '../../support/faults';
import { inCore, loseStorage } from '../../support/gate';
import { append } from '../../support/governance/audit';
import { slow } from '../../support/slow';
import {
  type Answer,
  BOOTSTRAP,
  type Caller,
  db,
  newOrg,
  newSecret,
  send,
  useWorld,
} from '../../support/world';

useWorld();

/** Runs the task that moves segments, ten minutes later, until it has no more to do. */
const moveAll = (o: Caller) =>
  inCore(o, async (core) => {
    const now = Date.now() + 600_000;
    core.schedule.at('segments', now);
    faults.clock = now;
    for (let runs = 0; runs < 200 && core.schedule.now(now).includes('segments'); runs++)
      await runTasks(core, now);
    faults.clock = null;
  });

const segmentsOf = async (o: Caller) =>
  (
    await db
      .prepare(
        'select first_sequence, last_sequence, length(entries) + length(resources) + length(actors) bytes from audit_segments where org_id = ? order by 1',
      )
      .bind(o.id)
      .all<{ first_sequence: number; last_sequence: number; bytes: number }>()
  ).results;

async function verify(o: Caller) {
  const missing: unknown[] = [];
  for (let cursor = ''; ; ) {
    const { json } = await o.get(`/audit-log/verify${cursor && `?cursor=${encodeURIComponent(cursor)}`}`);
    missing.push(...(json.missing ?? []));
    if (!json.ok || json.next === null) return { ...json, missing };
    cursor = json.next;
  }
}

async function sequences(o: Caller, query = '') {
  const found: number[] = [];
  for (let cursor = ''; ; ) {
    const { json } = await o.get(
      `/audit-log?limit=100${query}${cursor && `&cursor=${encodeURIComponent(cursor)}`}`,
    );
    found.push(...json.data.map(({ sequence }: { sequence: number }) => sequence));
    if (!json.has_more) return found;
    cursor = json.next_cursor;
  }
}

describe('audit log: names in a path', () => {
  slow('are recorded only if they are well-formed, regardless of their length', async () => {
    const o = await newOrg();
    const low = await newKey(o, { scopes: ['secrets:list'] });
    const long = 'A'.repeat(15_000);
    for (const path of [
      `/secrets/${long}/versions`,
      `/secrets/${long}`,
      `/secrets/by-name/${long}`,
      `/environments/${long}/values`,
    ])
      expect([path.length, (await low.o.get(path)).status]).toEqual([
        path.length,
        expect.toSatisfy((status) => [403, 404].includes(status)),
      ]);
    const entries = (await o.get(`/audit-log?actor=${low.id}`)).json.data;
    expect(entries).toHaveLength(4);
    for (const entry of entries) expect(JSON.stringify(entry).length).toBeLessThan(1500);
    expect(entries.map(({ resource }: { resource: string | null }) => resource)).toEqual([
      null,
      null,
      null,
      null,
    ]);
  });

  slow('a well-formed id of nothing is recorded', async () => {
    const o = await newOrg();
    const { id } = await newSecret(await newOrg());
    expect((await o.get(`/secrets/${id}`)).status).toBe(404);
    expect((await o.get('/audit-log?limit=1&action=secret.read')).json.data[0]).toMatchObject({
      resource: id,
      status: 404,
    });
  });

  it('a read by name records the name, also if it was refused or not found', async () => {
    const o = await newOrg();
    const agent = await newAgent(o, { secrets: ['app/*'] });
    await newSecret(o, { name: 'other' });
    expect((await agent.o.get('/secrets/by-name/other')).status).toBe(403);
    expect((await agent.o.get('/secrets/by-name/app/none')).status).toBe(404);
    const names = (await o.get(`/audit-log?actor=${agent.id}`)).json.data.map(
      (entry: { resource_name: string }) => entry.resource_name,
    );
    expect(names).toEqual(['app/none', 'other']);
  });
});

describe('audit log: segments', () => {
  slow(
    'are cut by the size of the whole row; entries of an earlier release with resources of 15,000 characters move too',
    async () => {
      const o = await newOrg();
      await append(o, 1200, (n) => ({ resource: `${n}-${'x'.repeat(15_000)}` }));
      await moveAll(o);
      const segments = await segmentsOf(o);
      expect(segments.length).toBeGreaterThan(5);
      for (const { bytes } of segments) expect(bytes).toBeLessThan(1_000_000);
      for (const [at, { first_sequence }] of segments.entries())
        if (at) expect(first_sequence).toBe((segments[at - 1]?.last_sequence ?? 0) + 1);
      expect(await verify(o)).toMatchObject({ ok: true, missing: [] });
    },
  );

  slow(
    'are split when the database refuses them; one entry that it never accepts stays, and all others move',
    async () => {
      const o = await newOrg();
      await append(o, 2500);
      await inCore(
        o,
        refusing(({ first, last }) => first <= 777 && last >= 777),
      );
      await moveAll(o);
      await inCore(o, restoreDatabase);
      expect(await inCore(o, ({ auditLog }) => auditLog.held().map(({ sequence }) => sequence))).toEqual([
        777,
      ]);
      const segments = await segmentsOf(o);
      expect(segments.some(({ first_sequence: a, last_sequence: b }) => a <= 777 && b >= 777)).toBe(false);
      expect(segments.some(({ first_sequence }) => first_sequence === 778)).toBe(true);
      expect(await verify(o)).toMatchObject({ ok: true, missing: [] });
      const listed = await sequences(o);
      const head = listed[0] as number;
      expect(listed).toEqual(Array.from({ length: head }, (_, at) => head - at));
      // The entry is one of those that a filter finds.
      expect(await sequences(o, '&action=secret.list')).toContain(777);
    },
  );

  slow(
    'a move that was interrupted between database and gate continues: no entry is lost or repeated',
    async () => {
      const o = await newOrg();
      await append(o, 300);
      const before = await inCore(o, ({ auditLog }) => auditLog.oldest());
      // The reply of the first move is lost: the gate does not know that the database has the row.
      Object.assign(faults, { d1: 0, fail: (_: string, n: number) => (n === 1 ? 'after' : null) });
      const { status } = await send('POST', `/api/v1/orgs/${o.id}/audit-log/archive`, { token: BOOTSTRAP });
      faults.fail = null;
      expect([status, await inCore(o, ({ auditLog }) => auditLog.oldest())]).toEqual([503, before]);
      await append(o, 900);
      await moveAll(o);
      expect(
        (await send('POST', `/api/v1/orgs/${o.id}/audit-log/archive`, { token: BOOTSTRAP })).status,
      ).toBe(200);
      expect(await verify(o)).toMatchObject({ ok: true, missing: [] });
      const listed = await sequences(o);
      expect(new Set(listed).size).toBe(listed.length);
    },
  );

  slow('verify checks entries of the largest size in bounded parts', async () => {
    const o = await newOrg();
    const text = 'ü'.repeat(1000);
    await append(o, 2500, (n) => ({
      reason: text,
      user_agent: text,
      actor: { kind: 'api_key', id: `key_${n}`, parent_id: null, name: text },
    }));
    expect(await verify(o)).toMatchObject({ ok: true, missing: [] });
    const part = await inCore(o, ({ auditLog }) => JSON.stringify(auditLog.from(1, 2500).entries).length);
    expect(part).toBeLessThan(5_000_000);
    await moveAll(o);
    expect(await verify(o)).toMatchObject({ ok: true, missing: [] });
  });
});

type Span = { first: number; last: number };
let realWrite: Core['database']['write'] | null = null;

/** Has the database refuse segments that `refuses` names, as D1 refuses a row that is too large. */
const refusing = (refuses: (span: Span) => boolean) => (core: Core) => {
  const write = core.database.write;
  realWrite = write;
  core.database.write = async (statements) => {
    const segment = statements.find(({ sql }) => sql.includes('into audit_segments'));
    const [, first, last] = (segment?.params ?? []) as [string, number, number];
    if (segment && refuses({ first, last }))
      return { end: 'refused', why: 'D1_ERROR: string or blob too big: SQLITE_TOOBIG' };
    return write(statements);
  };
};
const restoreDatabase = (core: Core) => {
  if (realWrite) core.database.write = realWrite;
};

describe('audit log: while it is full', () => {
  /** Says that the log holds so many entries. */
  const fill = (o: Caller, size: number) =>
    inCore(o, ({ auditLog }) => {
      const real = auditLog.head().sequence;
      auditLog.size = () => size + auditLog.head().sequence - real;
    });

  slow(
    'requests are refused with 503, except revoke, contain, remove a member, panic, recover and adopt',
    async () => {
      const o = await newOrg();
      const revoked = await newKey(o);
      const contained = await newKey(o);
      const child = await newKey(contained.o);
      const { id: member } = (await o.post('/members', { email: 'm@example.com', name: 'M', role: 'viewer' }))
        .json;
      await fill(o, 100_000);
      expect((await o.get('/secrets')).status).toBe(503);
      expect((await o.post('/secrets', { name: 'a', type: 'generic', value: 'v' })).json.error).toMatchObject(
        {
          code: 'UNAVAILABLE',
          retry_after: 30,
        },
      );
      expect((await o.del(`/api-keys/${revoked.id}`)).status).toBe(204);
      const { status, json } = await o.post(`/credentials/${contained.id}/contain`, {});
      expect([status, json.revoked.map(({ id }: { id: string }) => id).sort()]).toEqual([
        200,
        [contained.id, child.id].sort(),
      ]);
      expect((await o.del(`/members/${member}`)).status).toBe(200);
      const path = `/api/v1/orgs/${o.id}`;
      expect(
        (await send('POST', `${path}/recovery`, { token: BOOTSTRAP, body: { reason: 'the log is full' } }))
          .status,
      ).toBe(201);
      expect(
        (await send('POST', `${path}/adopt`, { token: BOOTSTRAP, body: { reason: 'the log is full' } }))
          .status,
      ).toBe(200);
      expect((await o.post('/panic', { reason: 'the log is full' })).status).toBe(200);
    },
  );

  it('refusals record nothing: callers without permission cannot use up the remaining space', async () => {
    const o = await newOrg();
    const low = await newKey(o, { scopes: ['secrets:list'] });
    const session = (await low.o.post('/access-tokens', { ttlSeconds: 600 })).json;
    await fill(o, 100_000);
    const head = await inCore(o, ({ auditLog }) => auditLog.head().sequence);
    const tries: (() => Promise<Answer>)[] = [
      () => low.o.del(`/api-keys/${low.id}`),
      () => low.o.del(`/access-tokens/${session.id}`),
      () => low.o.post(`/credentials/${low.id}/contain`, {}),
      () => low.o.post('/panic', { reason: 'x' }),
    ];
    for (const attempt of tries) expect((await attempt()).status).toBe(503);
    expect(await inCore(o, ({ auditLog }) => auditLog.head().sequence)).toBe(head);
  });
});

describe('audit log: archive, and a gate that lost its storage', () => {
  slow('archive moves every entry to the database, and rate limits still count the last minute', async () => {
    const o = await newOrg();
    const key = await newKey(o);
    for (let n = 0; n < 5; n++) await key.o.get('/secrets');
    const { status, json } = await send('POST', `/api/v1/orgs/${o.id}/audit-log/archive`, {
      token: BOOTSTRAP,
    });
    expect([status, json.archived]).toEqual([200, json.head]);
    // What is left is the entry of that very call.
    expect(await inCore(o, ({ auditLog }) => auditLog.size())).toBe(1);
    const times = await inCore(
      o,
      ({ auditLog }) =>
        [...auditLog.since(Date.now() - 60_000, Date.now())].filter(({ actor }) => actor === key.id).length,
    );
    expect(times).toBe(5);
    expect(await verify(o)).toMatchObject({ ok: true, missing: [] });
    // Again, it moves what came since: its own entry and those of the check.
    expect(
      (await send('POST', `/api/v1/orgs/${o.id}/audit-log/archive`, { token: BOOTSTRAP })).json.archived,
    ).toBeGreaterThan(0);
    expect(await inCore(o, ({ auditLog }) => auditLog.size())).toBe(1);
  });

  slow(
    'after the gate lost its storage, the log contains everything up to the backup, and reports what may be lost',
    async () => {
      const o = await newOrg();
      await newSecret(o, { name: 'KEPT' });
      const { head } = (await send('POST', `/api/v1/orgs/${o.id}/audit-log/archive`, { token: BOOTSTRAP }))
        .json;
      await o.get('/secrets');
      await loseStorage(o);
      expect((await o.get('/secrets')).status).toBe(200);
      const verdict = await verify(o);
      expect(verdict).toMatchObject({
        ok: true,
        missing: [{ from: head + 1, to: head + 110_000, reason: 'gate_lost' }],
      });
      const { data } = (await o.get('/audit-log?limit=100')).json;
      expect(data.find(({ action }: { action: string }) => action === 'secret.create')).toMatchObject({
        resource_name: 'KEPT',
      });
      expect(data.find(({ action }: { action: string }) => action === 'integrity.alarm')).toMatchObject({
        sequence: head + 110_001,
        reason: 'gate_loaded_from_database',
      });
      // Lost again, it still knows what was lost before.
      await send('POST', `/api/v1/orgs/${o.id}/audit-log/archive`, { token: BOOTSTRAP });
      await loseStorage(o);
      expect((await verify(o)).ok).toBe(true);
      expect((await verify(o)).missing).toHaveLength(2);
    },
  );

  it('permission: only the bootstrap token can archive', async () => {
    const o = await newOrg();
    expect((await o.post('/audit-log/archive')).json.error.code).toBe('CREDENTIAL_KIND_NOT_ALLOWED');
  });
});

describe('audit log: permission of a limited credential', () => {
  const entriesOf = async (o: Caller) =>
    (await o.get('/audit-log?limit=100')).json.data as {
      actor: { id: string };
      environment: string;
      resource_name: string;
      action: string;
    }[];

  it('sees the entries of its environments and its own, in the gate and in segments', async () => {
    const o = await newOrg();
    const limited = await newKey(o, { scopes: ['audit:read', 'secrets:read'], environments: ['staging'] });
    await newSecret(o, { name: 'IN_STAGING', environment: 'staging' });
    await newSecret(o, { name: 'IN_PRODUCTION', environment: 'production' });
    await newKey(o);
    await limited.o.get('/secrets/by-name/IN_PRODUCTION?environment=production');
    const check = async () => {
      const entries = await entriesOf(limited.o);
      expect(entries.map(({ resource_name }) => resource_name)).toContain('IN_STAGING');
      for (const { environment, actor } of entries)
        expect(environment === 'staging' || actor.id === limited.id).toBe(true);
      expect(entries.filter(({ action }) => action === 'api_key.create')).toEqual([]);
      expect(entries.some(({ actor, action }) => actor.id === limited.id && action === 'secret.read')).toBe(
        true,
      );
      expect((await limited.o.get('/audit-log?format=ndjson')).text).not.toContain('api_key.create');
    };
    await check();
    await send('POST', `/api/v1/orgs/${o.id}/audit-log/archive`, { token: BOOTSTRAP });
    await check();
  });

  it('sees only the entries of its names', async () => {
    const o = await newOrg();
    const limited = await newKey(o, { scopes: ['audit:read'], secrets: ['app/*'] });
    await newSecret(o, { name: 'app/db' });
    await newSecret(o, { name: 'billing/db' });
    await o.get('/environments/production/values');
    const others = (await entriesOf(limited.o)).filter(({ actor }) => actor.id !== limited.id);
    expect(others.map(({ resource_name }) => resource_name)).toEqual(['app/db']);
  });
});

slow('audit log: admits no more concurrent requests than it has room for', async () => {
  const o = await newOrg();
  const size = await inCore(o, ({ auditLog }) => auditLog.size());
  await append(o, 100_000 - 3 - size);
  faults.delay = 5;
  const answers = await Promise.all(
    Array.from({ length: 10 }, (_, n) => o.post('/secrets', { name: `s-${n}`, type: 'generic', value: 'v' })),
  );
  faults.delay = 0;
  expect(answers.map(({ status }) => status).sort()).toEqual([
    201,
    201,
    201,
    ...Array.from({ length: 7 }, () => 503),
  ]);
  expect(await inCore(o, ({ auditLog }) => auditLog.size())).toBe(100_000);
});
