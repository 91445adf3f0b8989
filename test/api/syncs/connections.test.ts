// Stored connections of kind sync: what is stored and shown, on which environments and within whose reach
// they run, and automatic syncs.
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { GATHERED } from '../../../src/domains/syncs/gate/task';
import { newKey, newSession } from '../../support/credentials';
import { faults } from '../../support/faults';
import { inCore } from '../../support/gate';
import {
  circleciConfig,
  herokuConfig,
  short,
  statusOf,
  syncAll,
  type Targets,
  TOKEN,
  useTargets,
  workOn,
} from '../../support/integrations/syncs';
import { signIn } from '../../support/signin/browser';
import { slow } from '../../support/slow';
import { type Caller, codeOf, newOrg, newSecret, useWorld } from '../../support/world';

useWorld();

let targets: Targets;
beforeEach(() => {
  targets = useTargets();
});
afterEach(() => vi.unstubAllGlobals());

const stored = (o: Caller, fields: Record<string, unknown> = {}) =>
  o.post('/integrations', {
    kind: 'sync',
    platform: 'heroku',
    name: 'Production app',
    config: herokuConfig,
    ...fields,
  });
async function connect(o: Caller, fields: Record<string, unknown> = {}): Promise<string> {
  const { status, json, text } = await stored(o, fields);
  if (status !== 201) throw new Error(text);
  return json.id;
}
const run = async (o: Caller, integrationId: string, fields: Record<string, unknown> = {}) => {
  const { status, json, text } = await o.post('/integrations/sync', {
    integrationId,
    environmentId: 'production',
    ...fields,
  });
  if (status !== 202) throw new Error(`${status} ${text}`);
  await syncAll(o);
  return statusOf(o, json.syncId);
};

describe('sync: stored connections', () => {
  slow('sync: one is stored without its credentials shown, run, changed and removed', async () => {
    const o = await newOrg();
    await newSecret(o, { name: 'ALPHA', value: 'a' });
    const made = await stored(o, { environments: ['production'], prune: true });
    expect([made.status, made.json]).toEqual([
      201,
      {
        id: made.json.id,
        kind: 'sync',
        platform: 'heroku',
        name: 'Production app',
        config: { appName: 'demo-app' },
        environments: ['production'],
        auto: false,
        prune: true,
        revision: 1,
        createdAt: made.json.createdAt,
        updatedAt: made.json.createdAt,
      },
    ]);
    expect(made.text).not.toContain(TOKEN);
    expect((await o.get('/integrations')).json.data).toEqual([made.json]);
    const sync = await run(o, made.json.id);
    expect([sync.integrationId, short(sync)]).toEqual([made.json.id, ['ALPHA created']]);
    expect(
      (
        await o.patch(`/integrations/${made.json.id}`, {
          auto: true,
          prune: false,
          environments: ['production', 'staging'],
        })
      ).json,
    ).toMatchObject({
      auto: true,
      prune: false,
    });
    expect((await o.del(`/integrations/${made.json.id}`)).status).toBe(204);
    expect(
      codeOf(
        await o.post('/integrations/sync', { integrationId: made.json.id, environmentId: 'production' }),
      ),
    ).toEqual([404, 'NOT_FOUND']);
  });

  it('sync: fields of the other kind are refused, and so is a connection of the other kind', async () => {
    const o = await newOrg();
    expect(codeOf(await stored(o, { events: '*' }))).toEqual([400, 'VALIDATION_FAILED']);
    expect(codeOf(await stored(o, { platform: 'slack' }))).toEqual([400, 'VALIDATION_FAILED']);
    expect(codeOf(await stored(o, { environments: ['nowhere'] }))).toEqual([404, 'NOT_FOUND']);
    const id = await connect(o);
    expect(codeOf(await o.patch(`/integrations/${id}`, { events: '*' }))).toEqual([400, 'VALIDATION_FAILED']);
    expect(codeOf(await o.post('/integrations/notify', { integrationId: id }))).toEqual([
      400,
      'VALIDATION_FAILED',
    ]);
    const notify = (
      await o.post('/integrations', {
        kind: 'notify',
        platform: 'pagerduty',
        name: 'x',
        config: { routingKey: 'x' },
      })
    ).json.id;
    expect(
      codeOf(await o.post('/integrations/sync', { integrationId: notify, environmentId: 'production' })),
    ).toEqual([400, 'VALIDATION_FAILED']);
    expect(codeOf(await o.patch(`/integrations/${notify}`, { auto: true }))).toEqual([
      400,
      'VALIDATION_FAILED',
    ]);
  });

  it('sync: changing the target address requires sending the credentials again', async () => {
    const o = await newOrg();
    const id = await connect(o);
    expect(codeOf(await o.patch(`/integrations/${id}`, { config: { appName: 'of-the-attacker' } }))).toEqual([
      400,
      'VALIDATION_FAILED',
    ]);
    expect((await o.get(`/integrations/${id}`)).json.config).toEqual({ appName: 'demo-app' });
    expect(
      (await o.patch(`/integrations/${id}`, { config: { appName: 'other', token: TOKEN } })).status,
    ).toBe(200);
  });

  it('sync: it runs only on its environments', async () => {
    const o = await newOrg();
    await newSecret(o, { name: 'ALPHA', value: 'a', environment: 'staging' });
    const id = await connect(o, { environments: ['production'] });
    expect(
      codeOf(await o.post('/integrations/sync', { integrationId: id, environmentId: 'staging' })),
    ).toEqual([404, 'NOT_FOUND']);
    expect(
      codeOf(await o.post('/integrations/sync', { integrationId: id, environmentId: 'nowhere' })),
    ).toEqual([404, 'NOT_FOUND']);
    expect(targets.calls).toEqual([]);
  });
});

describe('sync: reach', () => {
  slow('sync: running a connection sends what its creator may read, and no more', async () => {
    const o = await newOrg();
    for (const name of ['app/ONE', 'other/TWO']) await newSecret(o, { name, value: name });
    const maker = await newKey(o, { scopes: ['integrations:write', 'secrets:read'], secrets: ['app/*'] });
    const id = await connect(o.as(maker.token));
    const runner = await newKey(o, { scopes: ['integrations:sync'] });
    const sync = await run(o.as(runner.token), id);
    expect(short(sync)).toEqual(['app/ONE created']);
  });

  it("sync: a connection stored by a session token stays within the token's reach, and is valid as long as its API key", async () => {
    const o = await newOrg();
    for (const name of ['app/ONE', 'other/TWO']) await newSecret(o, { name, value: name });
    const key = await newKey(o, { scopes: ['*'] });
    const session = await newSession(o.as(key.token), {
      scopes: ['integrations:write', 'secrets:read'],
      secrets: ['app/*'],
      ttlSeconds: 60,
    });
    const id = await connect(o.as(session.token));
    faults.clock = Date.now() + 3_600_000;
    expect(short(await run(o, id))).toEqual(['app/ONE created']);
    await o.del(`/api-keys/${key.id}`);
    expect(
      codeOf(await o.post('/integrations/sync', { integrationId: id, environmentId: 'production' })),
    ).toEqual([409, 'CONFLICT']);
  });

  it("sync: changing a connection's target gives it the reach of the caller, who reaches all that it could send", async () => {
    const o = await newOrg();
    for (const name of ['app/ONE', 'app/old/TWO', 'other/THREE']) await newSecret(o, { name, value: name });
    const of = async (secrets: string[]) =>
      o.as((await newKey(o, { scopes: ['integrations:*', 'secrets:read'], secrets })).token);
    const id = await connect(await of(['app/old/*']));
    const moved = { config: { appName: 'another', token: TOKEN } };
    expect((await (await of(['app/*'])).patch(`/integrations/${id}`, moved)).status).toBe(200);
    expect(short(await run(o, id))).toEqual(['app/ONE created', 'app/old/TWO created']);
    expect(codeOf(await (await of(['app/old/*'])).patch(`/integrations/${id}`, moved))).toEqual([
      403,
      'INSUFFICIENT_SCOPE',
    ]);
  });

  it('sync: a connection is not changed from outside its environments', async () => {
    const o = await newOrg();
    const id = await connect(o, { environments: ['production'] });
    const staging = o.as(
      (await newKey(o, { scopes: ['integrations:*', 'secrets:read'], environments: ['staging'] })).token,
    );
    for (const change of [
      { auto: true },
      { environments: ['staging'] },
      { config: { appName: 'x', token: TOKEN } },
    ])
      expect(codeOf(await staging.patch(`/integrations/${id}`, change))).toEqual([404, 'NOT_FOUND']);
    expect(
      codeOf(
        await o
          .as((await newKey(o, { scopes: ['integrations:write'] })).token)
          .post('/integrations', { kind: 'sync' }),
      ),
    ).toEqual([400, 'VALIDATION_FAILED']);
    expect(codeOf(await stored(o.as((await newKey(o, { scopes: ['integrations:write'] })).token)))).toEqual([
      403,
      'INSUFFICIENT_SCOPE',
    ]);
  });

  it('sync: a maker who ends before the work begins ends it', async () => {
    const o = await newOrg();
    await newSecret(o, { name: 'ALPHA', value: 'a' });
    const maker = await newKey(o, { scopes: ['integrations:*', 'secrets:read'] });
    const id = await connect(o.as(maker.token));
    const { json } = await o.post('/integrations/sync', { integrationId: id, environmentId: 'production' });
    await o.del(`/api-keys/${maker.id}`);
    await syncAll(o);
    expect(short(await statusOf(o, json.syncId))).toEqual(['ALPHA failed CALLER_REVOKED']);
    expect(targets.calls).toEqual([]);
  });

  it("sync: after a panic, a member's connection sends nothing until it is updated again", async () => {
    const o = await newOrg();
    await newSecret(o, { name: 'ALPHA', value: 'a' });
    const { o: member } = await signIn(o, 'owner');
    const ofMember = await connect(member, { auto: true });
    const ofKey = await connect(o);
    expect(short(await run(o, ofMember))).toEqual(['ALPHA created']);
    const asked = (
      await o.post('/integrations/sync', { integrationId: ofMember, environmentId: 'production' })
    ).json.syncId;
    await o.post('/panic', { reason: 'a laptop was stolen' });
    targets.calls.length = 0;
    // What was asked before, what a change asks for, and whoever may run the connection.
    await newSecret(o, { name: 'BETA', value: 'b' });
    faults.clock = Date.now() + GATHERED;
    await syncAll(o);
    expect(targets.calls).toEqual([]);
    expect(short(await statusOf(o, asked))).toEqual([
      'ALPHA failed CALLER_REVOKED',
      'BETA failed CALLER_REVOKED',
    ]);
    const again = () =>
      o.post('/integrations/sync', { integrationId: ofMember, environmentId: 'production' });
    expect(codeOf(await again())).toEqual([409, 'CONFLICT']);
    // Another name for it is no consent to where it points.
    expect((await o.patch(`/integrations/${ofMember}`, { name: 'Renamed', auto: false })).status).toBe(200);
    expect(codeOf(await again())).toEqual([409, 'CONFLICT']);
    // An API key outlives the panic, and so does what it stored.
    expect(short(await run(o, ofKey))).toEqual(['ALPHA unchanged', 'BETA created']);
    expect((await o.patch(`/integrations/${ofMember}`, { config: herokuConfig })).status).toBe(200);
    expect(short(await run(o, ofMember))).toEqual(['ALPHA unchanged', 'BETA unchanged']);
  });

  it('sync: a connection that is removed before the work begins sends nothing', async () => {
    const o = await newOrg();
    await newSecret(o, { name: 'ALPHA', value: 'a' });
    const id = await connect(o);
    const { json } = await o.post('/integrations/sync', { integrationId: id, environmentId: 'production' });
    await o.del(`/integrations/${id}`);
    await syncAll(o);
    expect((await statusOf(o, json.syncId)).status).toBe('failed');
    expect(targets.calls).toEqual([]);
  });
});

slow('sync: a connection removed during a sync leaves the results of written names', async () => {
  const o = await newOrg();
  for (let i = 0; i < 40; i++) await newSecret(o, { name: `NAME_${i}`, value: `${i}` });
  const id = await connect(o, { platform: 'circleci', config: circleciConfig });
  const { json } = await o.post('/integrations/sync', { integrationId: id, environmentId: 'production' });
  targets.before = async ({ method }) => {
    if (method === 'POST' && targets.writes().length === 1) await o.del(`/integrations/${id}`);
    return null;
  };
  await syncAll(o);
  const sync = await statusOf(o, json.syncId);
  const written = short(sync).filter((line) => line.endsWith('created'));
  expect(written).toHaveLength(Object.keys(targets.circleci).length);
  expect(written.length).toBeGreaterThan(0);
  expect([sync.results.length, sync.status]).toEqual([40, 'partial']);
});

describe('sync: automatic', () => {
  const START = Date.parse('2027-01-01T00:00:00.000Z');
  const later = (ms: number) => {
    faults.clock = (faults.clock ?? START) + ms;
  };
  beforeEach(() => {
    faults.clock = START;
  });
  const list = async (o: Caller) => (await o.get('/integrations/syncs')).json.data;

  slow('sync: changes within a few seconds are one sync, only of their environment', async () => {
    const o = await newOrg();
    await connect(o, { auto: true });
    await connect(o, { platform: 'circleci', config: circleciConfig });
    await newSecret(o, { name: 'ALPHA', value: 'a' });
    later(1000);
    const beta = await newSecret(o, { name: 'BETA', value: 'b' });
    await syncAll(o);
    expect(targets.calls).toEqual([]);
    later(GATHERED);
    await syncAll(o);
    expect(targets.heroku).toEqual({ ALPHA: 'a', BETA: 'b' });
    expect(targets.circleci).toEqual({});
    expect(await list(o)).toHaveLength(1);
    later(1000);
    await o.del(`/secrets/${beta.id}`);
    later(GATHERED);
    await syncAll(o);
    // Without prune what is deleted here stays there.
    expect(targets.heroku).toEqual({ ALPHA: 'a', BETA: 'b' });
    expect(await list(o)).toHaveLength(2);
    later(60_000);
    await syncAll(o);
    expect(await list(o)).toHaveLength(2);
  });

  slow('sync: with prune, a deleted secret is deleted there', async () => {
    const o = await newOrg();
    await connect(o, { auto: true, prune: true });
    const alpha = await newSecret(o, { name: 'ALPHA', value: 'a' });
    later(GATHERED);
    await syncAll(o);
    await o.del(`/secrets/${alpha.id}`);
    later(GATHERED);
    await syncAll(o);
    expect(targets.heroku).toEqual({});
  });

  it('sync: a change while a cancelled sync has not ended yet is not lost', async () => {
    const o = await newOrg();
    const integrationId = await connect(o, { auto: true });
    const body = { integrationId, environmentId: 'production' };
    const first = (await o.post('/integrations/sync', body)).json.syncId;
    await newSecret(o, { name: 'ALPHA', value: 'a' });
    later(GATHERED);
    await workOn(o, null);
    // The automatic one waits for the one that was asked for, and is cancelled meanwhile.
    const [waiting] = await list(o);
    expect([waiting.status, waiting.id === first]).toEqual(['queued', false]);
    await workOn(o, first);
    expect((await o.post(`/integrations/syncs/${waiting.id}/cancel`)).status).toBe(200);
    await newSecret(o, { name: 'BETA', value: 'b' });
    later(GATHERED);
    await workOn(o, null);
    await syncAll(o);
    expect(targets.heroku).toEqual({ ALPHA: 'a', BETA: 'b' });
  });

  slow('sync: a change while a sync is under way is not lost', async () => {
    const o = await newOrg();
    await connect(o, { auto: true });
    const alpha = await newSecret(o, { name: 'ALPHA', value: 'a' });
    later(GATHERED);
    targets.before = async ({ method }) => {
      if (method === 'PATCH')
        await o.patch(`/secrets/${alpha.id}`, { value: 'changed while the first value is on its way' });
      return null;
    };
    await syncAll(o);
    targets.before = null;
    later(GATHERED);
    await syncAll(o);
    expect(targets.heroku).toEqual({ ALPHA: 'changed while the first value is on its way' });
  });

  slow(
    'sync: a platform that is away is tried again later, and a change does not wait for that',
    async () => {
      const o = await newOrg();
      await connect(o, { auto: true });
      await newSecret(o, { name: 'ALPHA', value: 'a' });
      targets.before = () => new Response('', { status: 503 });
      for (const wait of [GATHERED, 5 * 60_000, 10 * 60_000]) {
        later(wait);
        await syncAll(o);
      }
      expect((await list(o)).map(({ status }: { status: string }) => status)).toEqual([
        'failed',
        'failed',
        'failed',
      ]);
      targets.before = null;
      later(19 * 60_000);
      await syncAll(o);
      expect(targets.heroku).toEqual({});
      later(60_000);
      await syncAll(o);
      expect(targets.heroku).toEqual({ ALPHA: 'a' });

      targets.before = () => new Response('', { status: 503 });
      await newSecret(o, { name: 'BETA', value: 'b' });
      later(GATHERED);
      await syncAll(o);
      targets.before = null;
      await newSecret(o, { name: 'GAMMA', value: 'c' });
      later(GATHERED);
      await syncAll(o);
      expect(targets.heroku).toEqual({ ALPHA: 'a', BETA: 'b', GAMMA: 'c' });
      const made = await list(o);
      later(86_400_000);
      await syncAll(o);
      expect(await list(o)).toHaveLength(made.length);
    },
  );

  slow('sync: tries of a platform that stays away end, and one that refuses is not tried again', async () => {
    const o = await newOrg();
    await connect(o, { auto: true });
    await newSecret(o, { name: 'ALPHA', value: 'a' });
    targets.before = () => new Response('', { status: 503 });
    for (let n = 0; n < 20; n++) {
      later(6 * 3_600_000);
      await syncAll(o);
    }
    expect(await list(o)).toHaveLength(14);
    targets.before = () => Response.json({ id: 'unauthorized' }, { status: 401 });
    await newSecret(o, { name: 'BETA', value: 'b' });
    for (let n = 0; n < 3; n++) {
      later(6 * 3_600_000);
      await syncAll(o);
    }
    expect(await list(o)).toHaveLength(15);
  });

  it('sync: nothing is kept of tries once the connection or the environment is gone', async () => {
    const o = await newOrg();
    const environment = (await o.post('/environments', { name: 'Brief', slug: 'brief' })).json.id;
    const id = await connect(o, { auto: true, environments: ['brief', 'production'] });
    const brief = await newSecret(o, { name: 'ALPHA', value: 'a', environment: 'brief' });
    targets.before = () => new Response('', { status: 503 });
    later(GATHERED);
    await syncAll(o);
    const left = () =>
      inCore(o, ({ storage }) =>
        ["meta where key like 'sync_tries:%'", 'sync_due'].map(
          (table) => storage.sql.exec<{ n: number }>(`select count(*) n from ${table}`).one().n,
        ),
      );
    expect(await left()).toEqual([1, 1]);
    await o.del(`/secrets/${brief.id}`);
    expect((await o.del(`/environments/${environment}`)).status).toBe(204);
    expect(await left()).toEqual([0, 0]);
    await newSecret(o, { name: 'ALPHA', value: 'a' });
    targets.before = async () => {
      await o.del(`/integrations/${id}`);
      return new Response('', { status: 503 });
    };
    later(GATHERED);
    await syncAll(o);
    expect(await left()).toEqual([0, 0]);
  });

  slow('sync: a week without a queue is caught up with', async () => {
    const o = await newOrg();
    await connect(o, { auto: true });
    await newSecret(o, { name: 'ALPHA', value: 'a' });
    later(7 * 86_400_000);
    await syncAll(o);
    expect(targets.heroku).toEqual({ ALPHA: 'a' });
  });
});
