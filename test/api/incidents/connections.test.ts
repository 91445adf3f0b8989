// What a contained credential sends elsewhere: its connections and syncs are in the report, with what the
// caller may see of them.
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { contain, newKey, newSession } from '../../support/credentials';
import { faults } from '../../support/faults';
import { inGate } from '../../support/gate';
import { circleciConfig, herokuConfig, syncAll, TOKEN, useTargets } from '../../support/integrations/syncs';
import { begin, newUpstream, tell } from '../../support/integrations/upstreams';
import { slow } from '../../support/slow';
import { moveLog } from '../../support/storage/planted';
import { type Caller, newOrg, newSecret, useWorld } from '../../support/world';

useWorld();
beforeEach(() => void useTargets());
afterEach(() => vi.unstubAllGlobals());

const connect = async (o: Caller, name: string) =>
  (await o.post('/integrations', { kind: 'sync', platform: 'heroku', name, config: herokuConfig })).json
    .id as string;
const sync = async (o: Caller, fields: object) =>
  (await o.post('/integrations/sync', { environmentId: 'production', ...fields })).json.syncId as string;
const times = ({ time }: { time: string }) => Date.parse(time) > 0;

/** A key whose session created a connection, changed another, and ran both and a config of its own. */
async function leaked(o: Caller) {
  await newSecret(o, { name: 'A' });
  const key = await newKey(o);
  const session = await newSession(key.o);
  const own = await connect(session.o, 'own');
  const others = await connect(o, 'others');
  const untouched = await connect(o, 'untouched');
  await session.o.patch(`/integrations/${others}`, { name: 'taken over' });
  await session.o.patch(`/integrations/${own}`, { name: 'own again' });
  await session.o.post('/integrations/sync', {
    integrationId: own,
    environmentId: 'production',
    dryRun: true,
  });
  const stored = await sync(session.o, { integrationId: own });
  const inline = await sync(key.o, { platform: 'circleci', config: circleciConfig });
  await sync(o, { integrationId: untouched });
  return { key, session, own, others, stored, inline };
}

slow('contain: lists the connections that it created or changed, and the syncs that it started', async () => {
  const o = await newOrg();
  const { key, session, own, others, stored, inline } = await leaked(o);
  const connections = [
    { id: own, kind: 'sync', platform: 'heroku', name: 'own again', action: 'integration.create' },
    { id: others, kind: 'sync', platform: 'heroku', name: 'taken over', action: 'integration.update' },
  ];
  const syncs = [
    { id: stored, platform: 'heroku', integration_id: own, environment: 'production', status: 'queued' },
    { id: inline, platform: 'circleci', integration_id: null, environment: 'production', status: 'queued' },
  ];
  const foreseen = (await contain(o, key.id, { dry_run: true })).json;
  expect(foreseen).toMatchObject({ connections, syncs });
  expect([foreseen.connections.length, foreseen.syncs.length]).toEqual([2, 2]);
  expect([...foreseen.connections, ...foreseen.syncs].every(times)).toBe(true);
  // Of the session alone, not what its key did.
  expect((await contain(o, session.id, { dry_run: true })).json.syncs).toMatchObject([{ id: stored }]);
  const answer = (await contain(o, key.id)).json;
  expect([answer.connections, answer.syncs]).toEqual([foreseen.connections, foreseen.syncs]);
  await syncAll(o);
  expect((await contain(o, key.id)).json.syncs.map(({ status }: { status: string }) => status)).toEqual([
    'failed',
    'failed',
  ]);
  // The connections stay, for somebody to look through.
  expect((await o.get(`/integrations/${own}`)).status).toBe(200);
  await o.del(`/integrations/${own}`);
  await moveLog(o, 2);
  const { report } = (await o.get(`/incidents/${answer.incident_id}`)).json;
  expect(report.connections).toMatchObject([
    { id: own, kind: null, platform: null, name: null },
    connections[1],
  ]);
  expect(report.syncs).toMatchObject([{ id: stored }, { id: inline }]);
});

it('contain: shows only the ids of connections and syncs that the caller may not list', async () => {
  const o = await newOrg();
  const { key, own, others, stored, inline } = await leaked(o);
  const unknown = { platform: null };
  const seenBy = async (fields: Record<string, unknown>) =>
    (await contain((await newKey(o, fields)).o, key.id, { dry_run: true })).json;
  const blind = await seenBy({ scopes: ['tokens:write'] });
  expect(blind.connections).toMatchObject([
    { id: own, kind: null, name: null, ...unknown },
    { id: others, kind: null, name: null, ...unknown },
  ]);
  expect(blind.syncs).toMatchObject([
    { id: stored, integration_id: null, environment: null, status: null, ...unknown },
    { id: inline, environment: null, status: null, ...unknown },
  ]);
  const running = await seenBy({ scopes: ['tokens:write', 'integrations:sync'] });
  expect([running.connections[0].name, running.syncs[0].platform]).toEqual([null, 'heroku']);
  // Connections of production alone do not exist for somebody in another environment.
  for (const id of [own, others]) await o.patch(`/integrations/${id}`, { environments: ['production'] });
  const elsewhere = await seenBy({
    scopes: ['tokens:write', 'integrations:read', 'secrets:read'],
    environments: ['staging'],
  });
  expect([elsewhere.connections[0].name, elsewhere.syncs[0].platform]).toEqual([null, null]);
});

it('contain: names upstreams only to callers that may see them', async () => {
  const o = await newOrg();
  const key = await newKey(o);
  const { id, name } = await newUpstream(key.o);
  const seenBy = async (fields: object) => {
    const { o: looking } = await newKey(o, { scopes: ['tokens:write', 'upstreams:read'], ...fields });
    return (await contain(looking, key.id, { dry_run: true })).json.upstreams;
  };
  const elsewhere = { environments: ['staging'] };
  expect([await seenBy({}), await seenBy(elsewhere)]).toMatchObject([[{ id, name }], [{ id, name: null }]]);
  await o.del(`/upstreams/${id}`);
  expect([await seenBy({}), await seenBy(elsewhere)]).toMatchObject([[{ id, name }], [{ id, name: null }]]);
});

slow('contain: connections and syncs since a time, and of the many the newest', async () => {
  const o = await newOrg();
  const { key, own } = await leaked(o);
  expect((await contain(o, key.id, { dry_run: true, since: '2090-01-01T00:00:00.000Z' })).json).toMatchObject(
    {
      connections: [],
      syncs: [],
    },
  );
  await inGate(o, ({ core }) => {
    const draft = {
      actor: { kind: 'api_key', id: key.id, parent_id: null, name: 'k' },
      action: 'integration.create',
      environment: null,
      reason: null,
      request_id: 'req_x',
      ip: '',
      user_agent: null,
      version: null,
    } as const;
    core.storage.transactionSync(() => {
      for (let i = 0; i < 10_001; i++)
        core.auditLog.append({ ...draft, resource: `int_${i}` }, 201, Date.now());
      for (let i = 0; i < 10_001; i++)
        core.auditLog.append({ ...draft, action: 'upstream.create', resource: `ups_${i}` }, 201, Date.now());
    });
  });
  // What goes through one that is no longer listed counts.
  const placed = await newSecret(o);
  const { id, name } = await newUpstream(o, {}, placed.name);
  const intent = (await begin(o, name)).data?.intent as string;
  await tell(o, 'answered', { intent, status: 200, code: null, request_bytes: 12 });
  await tell(o, 'ended', { intent, response_bytes: 7, how: 'complete', isNoted: false });
  const { connections, upstreams, used } = (await contain(o, key.id, { dry_run: true })).json;
  expect(upstreams.some((one: { id: string }) => one.id === id)).toBe(false);
  expect(used).toMatchObject([{ secret_id: placed.id }]);
  expect(connections).toHaveLength(10_000);
  expect([connections.at(-1).id, connections.some(({ id }: { id: string }) => id === own)]).toEqual([
    'int_10000',
    false,
  ]);
});

it('contain: counts what others, and automatic syncs, send through a connection that it changed', async () => {
  const o = await newOrg();
  await newSecret(o, { name: 'BEFORE' });
  const key = await newKey(o, { scopes: ['integrations:*', 'secrets:read', 'tokens:write'] });
  const auto = {
    kind: 'sync',
    platform: 'heroku',
    config: herokuConfig,
    auto: true,
    environments: ['production'],
  };
  const [taken, untouched] = await Promise.all(
    ['taken', 'untouched'].map(
      async (name) => (await o.post('/integrations', { ...auto, name })).json.id as string,
    ),
  );
  await sync(o, { integrationId: taken, names: ['BEFORE'] });
  await syncAll(o);
  const session = await newSession(key.o);
  expect((await session.o.patch(`/integrations/${taken}`, { config: { token: TOKEN } })).status).toBe(200);
  const read = async (id: string) =>
    (await contain(o, id, { dry_run: true })).json.read.map(({ name }: { name: string }) => name).sort();
  expect(await read(key.id)).toEqual([]);
  await newSecret(o, { name: 'OTHER' });
  await sync(o, { integrationId: untouched, names: ['OTHER'] });
  await sync(o, { integrationId: taken, names: ['BEFORE'] });
  await syncAll(o);
  expect(await read(key.id)).toEqual(['BEFORE']);
  await moveLog(o, 3);
  expect(await read(session.id)).toEqual(['BEFORE']);
  await newSecret(o, { name: 'LATER' });
  faults.clock = Date.now() + 10_000;
  await syncAll(o);
  expect(await read(session.id)).toEqual(['BEFORE', 'LATER', 'OTHER']);
  const sent = (await o.get('/audit-log?action=integration.sync_run&limit=100')).json.data.map(
    (one: { sent: object }) => one.sent,
  );
  expect(sent).toContainEqual({ integration_id: taken, platform: 'heroku', secrets: 1 });
});
