// Syncs over HTTP and through the queue: what is written, what stays, who may, and what of it is told.
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { SyncRow } from '../../../src/db/schema';
import { insertion } from '../../../src/gate/request/writes';
import { problemOf } from '../../model/invariants';
import { newAgent, newKey, newSession } from '../../support/credentials';
import { faults } from '../../support/faults';
import { inGate } from '../../support/gate';
import {
  askedFor,
  circleciConfig,
  herokuConfig,
  short,
  statusOf,
  syncAll,
  synced,
  type Targets,
  TOKEN,
  useTargets,
  workOn,
} from '../../support/integrations/syncs';
import { change } from '../../support/signin/browser';
import { slow } from '../../support/slow';
import { type Caller, codeOf, newOrg, newSecret, useWorld } from '../../support/world';

useWorld();

let targets: Targets;
beforeEach(() => {
  targets = useTargets();
});
afterEach(() => vi.unstubAllGlobals());

const body = { platform: 'heroku', config: herokuConfig, environmentId: 'production' };
const circle = { platform: 'circleci', config: circleciConfig };

async function filled(...names: string[]) {
  const o = await newOrg();
  const secrets = new Map<string, { id: string; value: string }>();
  for (const name of names.length ? names : ['ALPHA', 'BETA'])
    secrets.set(name, await newSecret(o, { name, value: `value of ${name}` }));
  return { o, secrets };
}

const eventsOf = async (o: Caller) =>
  (await o.get('/events?types=SYNC_COMPLETED,SYNC_FAILED&limit=100')).json.data.map(
    ({ type, data }: { type: string; data: Record<string, unknown> }) => ({
      type,
      status: data.status,
    }),
  );

describe('sync: writes', () => {
  slow('sync: the secrets of an environment are written, and a repeat writes nothing', async () => {
    const { o } = await filled();
    const asked = await o.post('/integrations/sync', body);
    expect([asked.status, asked.json]).toEqual([202, { syncId: asked.json.syncId, status: 'queued' }]);
    expect(await statusOf(o, asked.json.syncId)).toMatchObject({
      status: 'queued',
      results: [],
      startedAt: null,
      finishedAt: null,
    });
    expect(targets.calls).toEqual([]);
    await syncAll(o);
    expect(targets.heroku).toEqual({ ALPHA: 'value of ALPHA', BETA: 'value of BETA' });
    const sync = await statusOf(o, asked.json.syncId);
    expect(sync).toMatchObject({
      platform: 'heroku',
      integrationId: null,
      status: 'completed',
      redeployRequired: false,
      retryAfter: null,
    });
    expect(sync.results).toEqual([
      { name: 'ALPHA', targetName: 'ALPHA', action: 'created' },
      { name: 'BETA', targetName: 'BETA', action: 'created' },
    ]);
    expect(Object.keys(sync).sort()).toEqual([
      'createdAt',
      'environmentId',
      'finishedAt',
      'id',
      'integrationId',
      'platform',
      'redeployRequired',
      'results',
      'retryAfter',
      'startedAt',
      'status',
    ]);
    expect(short(await synced(o))).toEqual(['ALPHA unchanged', 'BETA unchanged']);
    expect(targets.writes()).toHaveLength(1);
    expect(await eventsOf(o)).toEqual([
      { type: 'SYNC_COMPLETED', status: 'completed' },
      { type: 'SYNC_COMPLETED', status: 'completed' },
    ]);
    expect(await problemOf(o)).toBe(null);
  });

  slow('sync: name by name, masked values are compared by the digest of the last write', async () => {
    const { o, secrets } = await filled();
    await synced(o, circle);
    expect(short(await synced(o, circle))).toEqual(['ALPHA unchanged', 'BETA unchanged']);
    await o.patch(`/secrets/${secrets.get('ALPHA')?.id}`, { value: 'another' });
    expect(short(await synced(o, circle))).toEqual(['ALPHA updated', 'BETA unchanged']);
    expect(targets.circleci).toEqual({ ALPHA: 'another', BETA: 'value of BETA' });
    expect(targets.writes()).toHaveLength(3);
  });

  it('sync: prune deletes names written by this service from this environment, and nothing else', async () => {
    const { o, secrets } = await filled();
    targets.heroku = { FOREIGN: 'theirs' };
    await synced(o);
    await o.del(`/secrets/${secrets.get('BETA')?.id}`);
    expect(short(await synced(o))).toEqual(['ALPHA unchanged']);
    expect(targets.heroku).toHaveProperty('BETA');
    const pruned = await synced(o, { prune: true });
    expect(pruned.results).toEqual([
      { name: 'ALPHA', targetName: 'ALPHA', action: 'unchanged' },
      { name: 'BETA', targetName: 'BETA', action: 'deleted' },
    ]);
    expect(targets.heroku).toEqual({ FOREIGN: 'theirs', ALPHA: 'value of ALPHA' });
  });

  slow('sync: prune stays within names, and within earlier writes to exactly this target', async () => {
    const { o, secrets } = await filled('ALPHA', 'BETA', 'GAMMA');
    await synced(o);
    for (const name of ['BETA', 'GAMMA']) await o.del(`/secrets/${secrets.get(name)?.id}`);
    expect(short(await synced(o, { prune: true, names: ['ALPHA', 'BETA'] }))).toEqual([
      'ALPHA unchanged',
      'BETA deleted',
    ]);
    expect(Object.keys(targets.heroku)).toEqual(['ALPHA', 'GAMMA']);
    expect(
      short(await synced(o, { prune: true, config: { ...herokuConfig, appName: 'other-app' } })),
    ).toEqual(['ALPHA unchanged']);
    expect(short(await synced(o, { prune: true, config: { ...herokuConfig, token: TOKEN } }))).toEqual([
      'ALPHA unchanged',
      'GAMMA deleted',
    ]);
  });

  slow('sync: names that are not there or not active are skipped', async () => {
    const { o } = await filled();
    await newSecret(o, { name: 'OLD', value: 'x', expires_at: undefined, ttlSeconds: 60 });
    faults.clock = Date.now() + 3_600_000;
    const sync = await synced(o, { names: ['ALPHA', 'NOPE', 'OLD'] });
    expect(short(sync)).toEqual(['ALPHA created', 'NOPE skipped NOT_FOUND', 'OLD skipped SECRET_EXPIRED']);
    expect(sync.status).toBe('completed');
  });

  it('sync: a name that the target does not accept fails on its own, and two that map to one name both fail', async () => {
    const { o } = await filled('GOOD', '__BAD', 'a-b', 'a.b', '1X');
    const sync = await synced(o);
    expect(short(sync)).toEqual([
      '1X failed NAME_INVALID',
      'GOOD created',
      '__BAD failed NAME_INVALID',
      'a-b failed NAME_COLLISION',
      'a.b failed NAME_COLLISION',
    ]);
    expect(sync.status).toBe('partial');
    expect(await eventsOf(o)).toEqual([{ type: 'SYNC_FAILED', status: 'partial' }]);
  });
});

describe('sync: dry runs', () => {
  slow('sync: a dry run reports what would happen, and leaves no trace', async () => {
    const { o, secrets } = await filled();
    const dry = await o.post('/integrations/sync', { ...body, dryRun: true });
    expect(dry.status).toBe(200);
    expect(short(dry.json)).toEqual(['ALPHA created', 'BETA created']);
    expect(dry.json).toMatchObject({ platform: 'heroku', dryRun: true, redeployRequired: false });
    expect(targets.writes()).toEqual([]);
    expect((await o.get('/integrations/syncs')).json.data).toEqual([]);
    await synced(o);
    await o.del(`/secrets/${secrets.get('BETA')?.id}`);
    await o.patch(`/secrets/${secrets.get('ALPHA')?.id}`, { value: 'new' });
    expect(short((await o.post('/integrations/sync', { ...body, dryRun: true, prune: true })).json)).toEqual([
      'ALPHA updated',
      'BETA deleted',
    ]);
    expect(targets.heroku).toHaveProperty('BETA');
  });

  it('idempotency: a dry run is made again under the same key, for whoever asks', async () => {
    const { o } = await filled('dev_ONE', 'ALPHA');
    const scopes = ['integrations:sync', 'secrets:read'];
    const key = await newKey(o, { scopes });
    const session = await newSession(key.o, { scopes, secrets: ['dev_*'], ttlSeconds: 600 });
    const dry = (token: string) =>
      o.as(token).post('/integrations/sync', { ...body, dryRun: true }, { 'Idempotency-Key': 'dry' });
    expect(short((await dry(key.token)).json)).toEqual(['ALPHA created', 'dev_ONE created']);
    const narrower = await dry(session.token);
    expect(short(narrower.json)).toEqual(['dev_ONE created']);
    expect(narrower.headers.get('idempotency-replayed')).toBe(null);
  });

  slow('sync: a dry run tries once, and tells why the target refuses', async () => {
    const { o } = await filled();
    targets.before = () => new Response('', { status: 503 });
    const dry = await o.post('/integrations/sync', { ...body, dryRun: true });
    expect([dry.status, short(dry.json)]).toEqual([
      200,
      ['ALPHA failed TARGET_REJECTED', 'BETA failed TARGET_REJECTED'],
    ]);
    expect(targets.calls).toHaveLength(1);
  });
});

describe('sync: who may', () => {
  it('sync: the scopes are judged in their order, and the reach of the caller holds', async () => {
    const { o } = await filled('app/ONE', 'ALPHA');
    const as = async (fields: Record<string, unknown>) => o.as((await newKey(o, fields)).token);
    expect(codeOf(await (await as({ scopes: ['secrets:read'] })).post('/integrations/sync', body))).toEqual([
      403,
      'INSUFFICIENT_SCOPE',
    ]);
    const unreading = await (await as({ scopes: ['integrations:sync'] })).post('/integrations/sync', body);
    expect(codeOf(unreading)).toEqual([403, 'INSUFFICIENT_SCOPE']);
    expect(unreading.json.error.message).toContain('secrets:read');
    const narrow = await as({ scopes: ['integrations:sync', 'secrets:read'], secrets: ['app/*'] });
    const asked = await narrow.post('/integrations/sync', { ...body, names: ['app/ONE', 'ALPHA'] });
    await syncAll(o);
    expect(short(await statusOf(o, asked.json.syncId))).toEqual([
      'ALPHA skipped NOT_FOUND',
      'app/ONE created',
    ]);
    const elsewhere = await as({ scopes: ['integrations:sync', 'secrets:read'], environments: ['staging'] });
    expect(codeOf(await elsewhere.post('/integrations/sync', body))).toEqual([404, 'NOT_FOUND']);
    const agent = o.as((await newAgent(o, { scopes: ['integrations:sync'] })).token);
    expect(codeOf(await agent.post('/integrations/sync', body))).toEqual([403, 'SECRET_ACCESS_DENIED']);
    expect(codeOf(await o.post('/integrations/sync', { ...body, environmentId: 'nowhere' }))).toEqual([
      404,
      'NOT_FOUND',
    ]);
  });

  it('sync: a caller whose credential ends before the work begins sends nothing', async () => {
    const { o } = await filled();
    const key = await newKey(o, { scopes: ['integrations:sync', 'secrets:read'] });
    const { json } = await o.as(key.token).post('/integrations/sync', body);
    await o.del(`/api-keys/${key.id}`);
    await syncAll(o);
    const sync = await statusOf(o, json.syncId);
    expect([sync.status, short(sync)]).toEqual([
      'failed',
      ['ALPHA failed CALLER_REVOKED', 'BETA failed CALLER_REVOKED'],
    ]);
    expect(targets.calls).toEqual([]);
  });

  it('sync: a caller whose credential ends in the middle sends nothing more', async () => {
    const names = Array.from({ length: 60 }, (_, i) => `NAME_${String(i).padStart(2, '0')}`);
    const { o } = await filled(...names);
    const key = await newKey(o, { scopes: ['integrations:sync', 'secrets:read'] });
    const { json } = await o
      .as(key.token)
      .post('/integrations/sync', { ...circle, environmentId: 'production' });
    targets.before = async ({ method }) => {
      if (method === 'POST' && targets.writes().length === 5) await o.del(`/api-keys/${key.id}`);
      return null;
    };
    await syncAll(o);
    const sync = await statusOf(o, json.syncId);
    const written = short(sync).filter((line) => line.endsWith('created'));
    expect(written).toHaveLength(Object.keys(targets.circleci).length);
    expect(written.length).toBeLessThan(60);
    expect(short(sync).filter((line) => line.endsWith('CALLER_REVOKED'))).toHaveLength(60 - written.length);
    expect(sync.status).toBe('partial');
  });

  slow('sync: every invalid request is refused, and nothing is stored', async () => {
    const { o } = await filled();
    for (const wrong of [
      {},
      { ...body, integrationId: 'int_x' },
      { environmentId: 'production', platform: 'heroku' },
      { ...body, platform: 'slack' },
      { ...body, platform: 'nope' },
      { ...body, config: {} },
      { ...body, config: { ...herokuConfig, more: 1 } },
      { ...body, config: { ...herokuConfig, token: '' } },
      { ...body, names: [] },
      { ...body, names: Array.from({ length: 1001 }, (_, i) => `N${i}`) },
      { ...body, prune: 'yes' },
      { ...body, extra: true },
    ])
      expect(codeOf(await o.post('/integrations/sync', wrong))).toEqual([400, 'VALIDATION_FAILED']);
    expect(
      codeOf(
        await o.post('/integrations/sync', {
          integrationId: 'int_01M9xQeKcX3vTz6nWJfQ4b',
          environmentId: 'production',
        }),
      ),
    ).toEqual([404, 'NOT_FOUND']);
    expect((await o.get('/integrations/syncs')).json.data).toEqual([]);
  });
});

describe('sync: order, repeats and cancelling', () => {
  it('sync: two of one place run one after the other, the later with the newer values', async () => {
    const { o, secrets } = await filled('ALPHA');
    const first = (await o.post('/integrations/sync', body)).json.syncId;
    const second = (await o.post('/integrations/sync', body)).json.syncId;
    const other = (await o.post('/integrations/sync', { ...circle, environmentId: 'production' })).json
      .syncId;
    expect(await askedFor(o)).toEqual([first, other]);
    await workOn(o, second);
    expect((await statusOf(o, second)).status).toBe('queued');
    await workOn(o, first);
    await o.patch(`/secrets/${secrets.get('ALPHA')?.id}`, { value: 'newer' });
    await syncAll(o);
    expect(short(await statusOf(o, second))).toEqual(['ALPHA updated']);
    expect(targets.heroku).toEqual({ ALPHA: 'newer' });
  });

  it('sync: a message that is delivered twice writes nothing twice', async () => {
    const { o } = await filled();
    const { syncId } = (await o.post('/integrations/sync', body)).json;
    await Promise.all([workOn(o, syncId), workOn(o, syncId), workOn(o, syncId)]);
    await workOn(o, syncId);
    expect(targets.writes()).toHaveLength(1);
    expect(await eventsOf(o)).toHaveLength(1);
  });

  slow('idempotency: a repeated request begins one sync', async () => {
    const { o } = await filled();
    const key = { 'Idempotency-Key': 'sync-once' };
    const one = await o.post('/integrations/sync', body, key);
    const two = await o.post('/integrations/sync', body, key);
    expect(two.json).toEqual(one.json);
    expect((await o.get('/integrations/syncs')).json.data).toHaveLength(1);
  });

  slow('sync: one that is cancelled attempts nothing more; one that has ended cannot be', async () => {
    const { o } = await filled();
    const { syncId } = (await o.post('/integrations/sync', body)).json;
    expect((await o.post(`/integrations/syncs/${syncId}/cancel`)).status).toBe(200);
    await syncAll(o);
    const sync = await statusOf(o, syncId);
    expect([sync.status, short(sync)]).toEqual([
      'failed',
      ['ALPHA failed NOT_ATTEMPTED', 'BETA failed NOT_ATTEMPTED'],
    ]);
    expect(targets.calls).toEqual([]);
    expect(codeOf(await o.post(`/integrations/syncs/${syncId}/cancel`))).toEqual([409, 'SYNC_ENDED']);
    expect(codeOf(await o.post('/integrations/syncs/syn_01M9xQeKcX3vTz6nWJfQ4b/cancel'))).toEqual([
      404,
      'NOT_FOUND',
    ]);
  });

  it('sync: one that is cancelled while it waits for another ends at once', async () => {
    const { o } = await filled();
    const first = (await o.post('/integrations/sync', body)).json.syncId;
    const second = (await o.post('/integrations/sync', { ...body, names: ['ALPHA', 'BETA'] })).json.syncId;
    const third = (await o.post('/integrations/sync', body)).json.syncId;
    targets.before = async ({ method }) => {
      if (method !== 'PATCH') return null;
      expect((await o.post(`/integrations/syncs/${second}/cancel`)).status).toBe(200);
      expect(await askedFor(o)).toEqual([second]);
      const calls = targets.calls.length;
      await workOn(o, second);
      expect(short(await statusOf(o, second))).toEqual([
        'ALPHA failed NOT_ATTEMPTED',
        'BETA failed NOT_ATTEMPTED',
      ]);
      expect([targets.calls.length - calls, (await statusOf(o, second)).status]).toEqual([0, 'failed']);
      // The next still waits for the first.
      await workOn(o, third);
      expect((await statusOf(o, third)).status).toBe('queued');
      return null;
    };
    await workOn(o, first);
    targets.before = null;
    await syncAll(o);
    expect([(await statusOf(o, first)).status, (await statusOf(o, third)).status]).toEqual([
      'completed',
      'completed',
    ]);
  });

  it('sync: one that has begun is not overtaken by one of a clock that is behind', async () => {
    const { o } = await filled();
    const first = (await o.post('/integrations/sync', body)).json.syncId;
    const earlier = `syn_0${'1'.repeat(21)}`;
    targets.before = async ({ method }) => {
      if (method !== 'PATCH') return null;
      await change(o.id, (call) => {
        const { revision, mac, ...row } = call.core.rows.get('sync', first) as SyncRow;
        return { status: 200, data: null, writes: [insertion(call, 'sync', { ...row, id: earlier })] };
      });
      await workOn(o, earlier);
      expect((await statusOf(o, earlier)).status).toBe('queued');
      return null;
    };
    await workOn(o, first);
    expect((await statusOf(o, first)).status).toBe('completed');
    expect(await askedFor(o)).toEqual([earlier]);
  });

  slow('sync: one that is cancelled midway finishes the names it has begun', async () => {
    const names = Array.from({ length: 60 }, (_, i) => `NAME_${String(i).padStart(2, '0')}`);
    const { o } = await filled(...names);
    const { syncId } = (await o.post('/integrations/sync', { ...circle, environmentId: 'production' })).json;
    let answer: { status: number; json: { results: { code?: string }[] } } | null = null;
    targets.before = async ({ method }) => {
      if (method === 'POST' && targets.writes().length === 3)
        answer = await o.post(`/integrations/syncs/${syncId}/cancel`);
      return null;
    };
    await syncAll(o);
    expect(answer).toMatchObject({ status: 200 });
    const sync = await statusOf(o, syncId);
    const written = short(sync).filter((line) => line.endsWith('created')).length;
    expect(written).toBe(Object.keys(targets.circleci).length);
    expect(short(sync).filter((line) => line.endsWith('NOT_ATTEMPTED'))).toHaveLength(60 - written);
    expect(written).toBeLessThan(60);
  });

  slow('sync: the list is newest first, page by page', async () => {
    const { o } = await filled('ALPHA');
    const ids: string[] = [];
    for (let i = 0; i < 5; i++) ids.push((await synced(o)).id);
    const first = (await o.get('/integrations/syncs?limit=2')).json;
    expect(first.data.map(({ id }: { id: string }) => id)).toEqual([ids[4], ids[3]]);
    const second = (
      await o.get(`/integrations/syncs?limit=2&cursor=${encodeURIComponent(first.next_cursor)}`)
    ).json;
    expect(second.data.map(({ id }: { id: string }) => id)).toEqual([ids[2], ids[1]]);
  });
});

it('sync: the row of one that names many secrets is not kept in memory', async () => {
  const o = await newOrg();
  const ask = async (names: string[]) =>
    (
      await o.post('/integrations/sync', {
        platform: 'heroku',
        config: herokuConfig,
        environmentId: 'production',
        names,
      })
    ).json.syncId;
  const ids = [await ask(['ALPHA']), await ask(Array.from({ length: 1000 }, (_, n) => `NAME_${n}`))];
  // A row that is kept is the same object each time.
  const twice = await inGate(o, ({ core }) =>
    ids.map((id) => new Set([core.rows.get('sync', id), core.rows.get('sync', id)]).size),
  );
  expect(twice).toEqual([1, 2]);
});
