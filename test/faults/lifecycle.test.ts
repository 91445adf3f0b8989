// What happens in time: budgets over eviction, segments moved to D1, purges, replays, a gate that lost its
// storage, an org that ends.
import { describe, expect, it, vi } from 'vitest';
import { runTasks } from '../../src/gate/tasks/run';
import { problemOf } from '../model/invariants';
import { newKey, newSession } from '../support/credentials';
import { faults } from '../support/faults';
import { evict, inCore, inGate, loseStorage, runTasksLater } from '../support/gate';
import { newLink, view } from '../support/shares';
import { slow } from '../support/slow';
import { DAY, HOUR } from '../support/time';
import { BOOTSTRAP, callerOf, db, newOrg, newSecret, send, useWorld } from '../support/world';

useWorld();

describe('rate limit', () => {
  it('is counted exactly, and survives eviction of the gate', async () => {
    const o = await newOrg();
    const remaining = async () => Number((await o.get('/environments')).headers.get('x-ratelimit-remaining'));
    const before = await remaining();
    for (let i = 0; i < 20; i++) await o.get('/environments');
    await evict(o);
    expect(await remaining()).toBe(before - 21);
  });

  it('session tokens share that of their parent; the lower one is shown', async () => {
    const o = await newOrg();
    const token = await newSession(o);
    const first = await token.o.get('/environments');
    expect(first.headers.get('ratelimit-policy')).toBe('"credential";q=600;w=60');
    expect(first.headers.get('ratelimit')).toMatch(/^"credential";r=599;t=(60|59)$/);
    const own = Number((await o.get('/environments')).headers.get('x-ratelimit-remaining'));
    await token.o.get('/environments');
    expect(Number((await o.get('/environments')).headers.get('x-ratelimit-remaining'))).toBe(own - 2);
  });
});

describe('audit log', () => {
  it('moves closed segments to D1, and is read, filtered, streamed and verified over both', async () => {
    const o = await newOrg();
    const { id } = await newSecret(o);
    for (let i = 0; i < 11; i++) await Promise.all(Array.from({ length: 100 }, () => o.get('/environments')));
    await o.get(`/secrets/${id}`);
    await inGate(o, (gate) => gate.core.schedule.at('segments', Date.now()));
    await runTasksLater(o, 600_000);
    expect(
      (await db
        .prepare('select first_sequence, last_sequence from audit_segments where org_id = ?')
        .bind(o.id)
        .first()) as object,
    ).toEqual({ first_sequence: 1, last_sequence: 1000 });

    const sequences: number[] = [];
    for (let cursor = ''; ; ) {
      const { json } = await o.get(`/audit-log?limit=100${cursor && `&cursor=${cursor}`}`);
      sequences.push(...json.data.map((entry: { sequence: number }) => entry.sequence));
      if (!json.has_more) break;
      cursor = json.next_cursor;
    }
    expect(sequences).toEqual(Array.from({ length: sequences.length }, (_, i) => sequences.length - i));
    const found = (await o.get(`/audit-log?resource=${id}&action=secret.create`)).json.data;
    expect(found.map((entry: { sequence: number }) => entry.sequence)).toEqual([2]);
    const lines = (await o.get('/audit-log?format=ndjson')).text
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(lines.length).toBeGreaterThan(1100);

    let cursor = '';
    let checked = 0;
    do {
      const { json } = await o.get(`/audit-log/verify${cursor && `?cursor=${cursor}`}`);
      expect(json.ok).toBe(true);
      checked += json.checked_to - json.checked_from + 1;
      cursor = json.next ?? '';
    } while (cursor);
    expect(checked).toBeGreaterThan(1100);

    await db.prepare("update audit_segments set entries = 'AAAA' where org_id = ?").bind(o.id).run();
    expect((await o.get('/audit-log/verify')).json).toMatchObject({ ok: false, broken: { sequence: 1 } });
  });

  it('keeps entries that D1 rejects', async () => {
    const o = await newOrg();
    await inGate(o, ({ core }) => {
      const draft = {
        action: 'org.read',
        resource: o.id,
        environment: null,
        version: null,
        reason: null,
        ip: '',
        user_agent: null,
      };
      const actor = { kind: 'api_key', id: o.keyId, parent_id: null, name: null };
      core.storage.transactionSync(() => {
        for (let i = 0; i < 1100; i++)
          core.auditLog.append({ ...draft, actor, request_id: `req_${i}` }, 200, Date.now());
      });
      core.schedule.at('segments', Date.now());
    });
    faults.fail = (kind) => (kind === 'batch' ? 'before' : null);
    await runTasksLater(o, 600_000);
    faults.fail = null;
    const { json } = await o.get('/audit-log/verify');
    expect(json).toMatchObject({ ok: true, checked_from: 1 });
  });

  slow('counts requests over the rate limit in one entry a credential and minute', async () => {
    faults.clock = Date.now();
    const o = await newOrg();
    const key = await newKey(o);
    for (let i = 0; i < 12; i++)
      await Promise.all(Array.from({ length: 100 }, () => key.o.get('/environments')));
    for (let i = 0; i < 7; i++) expect((await key.o.get('/environments')).status).toBe(429);
    await runTasksLater(o, 120_000);
    const entries = (await o.get(`/audit-log?actor=${key.id}&outcome=denied`)).json.data as {
      status: number;
      count: number;
    }[];
    expect(entries.every(({ status }) => status === 429)).toBe(true);
    expect(entries.reduce((sum, { count }) => sum + count, 0)).toBe(7);
    expect(entries.length).toBeLessThanOrEqual(2);
  });
});

describe('expiry and purge', () => {
  it('revocation: a credential is refused when its time is over, before its row is purged', async () => {
    const o = await newOrg();
    const { id } = await newSecret(o, { ttlSeconds: 60 });
    const token = await newSession(o, { ttlSeconds: 60 });
    expect((await token.o.get(`/secrets/${id}`)).status).toBe(200);
    faults.clock = Date.now() + 61_000;
    expect((await token.o.get(`/secrets/${id}`)).json.error.code).toBe('TOKEN_EXPIRED');
    expect((await o.get(`/secrets/${id}`)).json.error.code).toBe('SECRET_EXPIRED');
    expect((await o.get('/environments/production/values')).json.values).toEqual({});
  });

  it('revocation: a credential stays revoked after the clock is set back', async () => {
    const o = await newOrg();
    const key = await newKey(o);
    const token = await newSession(o);
    const { id } = await newSecret(o);
    const link = await newLink(o, id);
    await o.del(`/api-keys/${key.id}`);
    await o.del(`/access-tokens/${token.id}`);
    faults.clock = Date.now() - DAY;
    expect((await key.o.get('/secrets')).json.error.code).toBe('TOKEN_REVOKED');
    expect((await token.o.get('/secrets')).json.error.code).toBe('TOKEN_REVOKED');
    // A panic ends links that were made before it, at a later time of the clock.
    expect((await o.post('/panic', { reason: 'a laptop was stolen' })).status).toBe(200);
    expect((await view(link)).status).toBe(410);
    await evict(o);
    expect((await key.o.get('/secrets')).json.error.code).toBe('TOKEN_REVOKED');
  });

  it('retention: a clock that leaps forward deletes no more than a day of data each hour', async () => {
    const o = await newOrg();
    const { id } = await newSecret(o);
    const key = await newKey(o);
    await o.del(`/secrets/${id}`);
    await o.del(`/api-keys/${key.id}`);
    await send('POST', `/api/v1/orgs/${o.id}/audit-log/archive`, { token: BOOTSTRAP, body: {} });
    const run = (at: number) =>
      inCore(o, async (core) => {
        faults.clock = at;
        for (let i = 0; i < 6; i++) {
          for (const task of ['retention', 'rows', 'past']) core.schedule.at(task, 1);
          await runTasks(core);
        }
      });
    const warn = vi.spyOn(console, 'warn').mockImplementation(() => {});
    const start = Date.now();
    const leap = Date.now() + 3650 * DAY;
    const kept = async () => {
      const gate = await inCore(o, ({ rows }) =>
        [rows.get('secret', id), rows.get('credential', key.id)].map((row) => row !== null),
      );
      return [
        ...gate,
        (await db.prepare('select count(*) n from audit_segments where org_id = ?').bind(o.id).first('n')) ===
          1,
      ];
    };
    await run(start);
    for (let hour = 0; hour < 3; hour++) await run(leap + hour * HOUR);
    expect(await kept()).toEqual([true, true, true]);
    expect(warn.mock.calls.flat()).toContainEqual(expect.stringContaining('retention_held_back'));
    warn.mockRestore();
    // Once the clock is right, everything goes on from there: the secret can be restored.
    await run(start + HOUR);
    faults.clock = null;
    expect((await o.post(`/secrets/${id}/restore`)).status).toBe(200);
    // Where the clock was right, a gate that stood still catches up.
    await o.del(`/secrets/${id}`);
    for (let hour = 0; hour < 12; hour++) await run(start + 20 * DAY + hour * HOUR);
    expect(await kept()).toEqual([false, true, true]);
  });

  it('revocation: credentials created by a session token are revoked with it', async () => {
    const o = await newOrg();
    const token = await newSession(o);
    const made = await newKey(token.o);
    expect((await made.o.get('/secrets')).status).toBe(200);
    await o.del(`/access-tokens/${token.id}`);
    expect((await made.o.get('/secrets')).json.error.code).toBe('TOKEN_REVOKED');
  });

  slow('purge: a deleted secret leaves D1, though D1 was unavailable when it was due', async () => {
    const o = await newOrg();
    const { id } = await newSecret(o);
    await o.del(`/secrets/${id}`);
    faults.fail = (kind) => (kind === 'batch' ? 'before' : null);
    await runTasksLater(o, 7 * DAY + 1000);
    faults.fail = null;
    await runTasksLater(o, 7 * DAY + 60_000);
    expect(await problemOf(o)).toBe(null);
  });

  it('restore: a deleted secret can be restored for exactly seven days, whenever it is purged', async () => {
    const o = await newOrg();
    const { id, value } = await newSecret(o);
    await o.del(`/secrets/${id}`);
    faults.clock = Date.now() + 7 * DAY + 1000;
    expect((await o.post(`/secrets/${id}/restore`)).json.error.code).toBe('NOT_FOUND');
    faults.clock = null;
    await runTasksLater(o, 7 * DAY - 60_000);
    expect((await o.post(`/secrets/${id}/restore`)).status).toBe(200);
    expect((await o.get(`/secrets/${id}`)).json.value).toBe(value);
  });

  it('purge: a deleted secret after seven days, a session token when it is over, an ended key after ninety days', async () => {
    const o = await newOrg();
    const { id } = await newSecret(o);
    await o.del(`/secrets/${id}`);
    const token = await newSession(o);
    const key = await newKey(o);
    await o.del(`/api-keys/${key.id}`);
    await runTasksLater(o, 7 * DAY + 1000);
    expect(
      await db.prepare('select count(*) n from secret_versions where secret_id = ?').bind(id).first('n'),
    ).toBe(0);
    expect((await o.post(`/secrets/${id}/restore`)).status).toBe(404);
    expect(await inGate(o, (gate) => gate.core.rows.get('credential', token.id))).toBe(null);
    expect((await key.o.get('/secrets')).json.error.code).toBe('TOKEN_REVOKED');
    await runTasksLater(o, 91 * DAY);
    expect((await key.o.get('/secrets')).json.error.code).toBe('UNAUTHENTICATED');
  });
});

describe('idempotency: a stored response', () => {
  it('is replayed in full to the token that made the call, and with null for its one-time value to another of the same key', async () => {
    const o = await newOrg();
    const body = { name: 'k', scopes: ['org:read'] };
    const first = await o.post('/api-keys', body, { 'Idempotency-Key': '"quoted"' });
    const again = await o.post('/api-keys', body, { 'Idempotency-Key': 'quoted' });
    expect([again.status, again.text, again.headers.get('idempotency-replayed')]).toEqual([
      201,
      first.text,
      'true',
    ]);
    const child = await newSession(o);
    const theirs = await child.o.post('/api-keys', body, { 'Idempotency-Key': 'quoted' });
    expect([theirs.status, theirs.json.id, theirs.json.token]).toEqual([201, first.json.id, null]);
    const weak = await newSession(o, { scopes: ['tokens:write'] });
    const stranger = await newKey(o);
    const apart = await stranger.o.post('/api-keys', body, { 'Idempotency-Key': 'quoted' });
    expect([apart.status, apart.json.id === first.json.id]).toEqual([201, false]);
    expect((await weak.o.post('/api-keys', body, { 'Idempotency-Key': 'quoted' })).json.error.code).toBe(
      'SCOPE_EXCEEDS_PARENT',
    );
    expect(
      (await o.post('/api-keys', { ...body, name: 'other' }, { 'Idempotency-Key': 'quoted' })).json.error
        .code,
    ).toBe('IDEMPOTENCY_KEY_REUSED');
  });

  it('of POST /orgs creates one org, and returns its key to the bootstrap token', async () => {
    const body = { name: 'Once', owner: { email: 'a@example.com', name: 'A' } };
    const found = (payload = body) =>
      send('POST', '/api/v1/orgs', {
        token: BOOTSTRAP,
        body: payload,
        headers: { 'Idempotency-Key': 'found' },
      });
    const first = await found();
    const again = await found();
    expect([again.status, again.text]).toEqual([201, first.text]);
    expect((await found({ ...body, name: 'Other' })).json.error.code).toBe('IDEMPOTENCY_KEY_REUSED');
  });

  it('loses its generated value when the secret is purged', async () => {
    const o = await newOrg();
    const { id } = await newSecret(o, { type: 'password' });
    const rotate = () => o.post(`/secrets/${id}/rotate`, {}, { 'Idempotency-Key': 'r' });
    const { value } = (await rotate()).json;
    expect((await rotate()).json.value).toBe(value);
    await o.del(`/secrets/${id}?permanent=true`);
    expect((await rotate()).json.value).toBe(null);
  });
});

describe('recovery: a gate that lost its storage', () => {
  slow('starts from D1: secrets, credentials and revocations stay', async () => {
    const o = await newOrg();
    const { id, value } = await newSecret(o);
    const dead = await newKey(o);
    await o.del(`/api-keys/${dead.id}`);
    await loseStorage(o);
    expect((await o.get(`/secrets/${id}`)).json.value).toBe(value);
    expect((await dead.o.get('/secrets')).json.error.code).toBe('TOKEN_REVOKED');
    expect((await o.patch(`/secrets/${id}`, { value: 'two' })).json.version).toBe(2);
  });

  it('ignores batches of its earlier life that arrive later', async () => {
    const o = await newOrg();
    const { id, value } = await newSecret(o);
    let batches = 0;
    faults.fail = (kind) => (kind === 'batch' && ++batches === 1 ? 'late' : 'before');
    expect((await o.patch(`/secrets/${id}`, { value: 'two' })).status).toBe(200);
    faults.fail = null;
    await loseStorage(o);
    expect((await o.get(`/secrets/${id}`)).json.value).toBe(value);
    for (const land of faults.orphans) await land().catch(() => {});
    expect(await problemOf(o)).toBe(null);
    expect((await o.get(`/secrets/${id}`)).json).toMatchObject({ version: 1, value });
  });

  it('does not begin a second time when the request that created it is repeated', async () => {
    const create = () =>
      send('POST', '/api/v1/orgs', {
        token: BOOTSTRAP,
        body: { name: 'Once', owner: { email: 'a@example.com', name: 'A' } },
        headers: { 'Idempotency-Key': 'created twice' },
      });
    const { org, api_key } = (await create()).json;
    const o = callerOf(org.id, api_key.token);
    await loseStorage(o);
    expect((await create()).status).not.toBe(201);
    expect((await o.get('')).json.name).toBe('Once');
    expect((await o.patch('', { name: 'Renamed' })).status).toBe(200);
    expect(await problemOf(o)).toBe(null);
  });

  it('does not start empty when D1 lost the organisation too: it answers as soon as D1 has it', async () => {
    const o = await newOrg();
    const { id, value } = await newSecret(o);
    await db.prepare("update orgs set id = 'elsewhere' where id = ?").bind(o.id).run();
    await loseStorage(o);
    expect((await o.get(`/secrets/${id}`)).status).toBe(503);
    await db.prepare("update orgs set id = ? where id = 'elsewhere'").bind(o.id).run();
    expect((await o.get(`/secrets/${id}`)).json.value).toBe(value);
  });
});

describe('journal: a record of which the gate does not know whether D1 has it', () => {
  slow('for more than a day, because D1 takes batches but answers no query, is taken once', async () => {
    const o = await newOrg();
    const { id } = await newSecret(o);
    let batches = 0;
    faults.fail = (kind) => (kind === 'read' ? 'before' : ++batches === 1 ? 'after' : null);
    expect((await o.patch(`/secrets/${id}`, { value: 'two' })).status).toBe(200);
    await runTasksLater(o, 2 * DAY);
    faults.fail = null;
    expect((await o.get(`/secrets/${id}`)).json).toMatchObject({ version: 2, value: 'two' });
    expect(await problemOf(o)).toBe(null);
  });
});

describe('organisation: deletion', () => {
  it('refuses its credentials and destroys its key immediately, and purges the rest later', async () => {
    const o = await newOrg();
    await newSecret(o);
    const { name } = (await o.get('')).json;
    expect((await o.del('', { confirm: 'wrong' })).json.error.code).toBe('VALIDATION_FAILED');
    expect((await o.del('', { confirm: name })).status).toBe(204);
    expect((await o.get('/secrets')).json.error.code).toBe('TOKEN_REVOKED');
    // What remains for now is ciphertext without a key, and the entry that says who ended it.
    expect(await db.prepare('select count(*) n from org_keys where org_id = ?').bind(o.id).first('n')).toBe(
      0,
    );
    expect(
      await db.prepare('select count(*) n from secret_versions where org_id = ?').bind(o.id).first('n'),
    ).toBe(1);
    const last = await inGate(
      o,
      ({ core }) =>
        core.auditLog.newest({ action: 'org.delete', outcome: 'success' }, Number.MAX_SAFE_INTEGER, 1)
          .entries[0],
    );
    expect(last).toMatchObject({ status: 204, actor: { id: o.keyId } });
    for (let i = 0; i < 3; i++) await runTasksLater(o, 60_000 * (i + 1));
    expect(await db.prepare('select count(*) n from secrets where org_id = ?').bind(o.id).first('n')).toBe(0);
    const list = (await send('GET', '/api/v1/orgs?limit=100', { token: BOOTSTRAP })).json.data as {
      id: string;
    }[];
    expect(list.some(({ id }) => id === o.id)).toBe(false);
  });

  it('recovery: the bootstrap token creates a new first key, and the audit log says why', async () => {
    const o = await newOrg();
    await o.del(`/api-keys/${o.keyId}`);
    const { json, status } = await send('POST', `/api/v1/orgs/${o.id}/recovery`, {
      token: BOOTSTRAP,
      body: { reason: 'the key was lost' },
    });
    expect(status).toBe(201);
    const entries = (await o.as(json.api_key.token).get('/audit-log?action=org.recover')).json.data;
    expect(entries[0]).toMatchObject({ reason: 'the key was lost', actor: { kind: 'system' } });
  });
});
