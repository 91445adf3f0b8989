// A credential's limits in integrations: what lies outside its environments and names is neither shown, sent,
// pruned nor changed, with stored connections too.
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { nobody, type PermissionSet } from '../../../src/auth/authorize';
import { ownedBy, prunable } from '../../../src/domains/syncs/gate/select';
import { nameQuotas } from '../../../src/domains/syncs/gate/store';
import { newAgent, newKey, newSession } from '../../support/credentials';
import { inCore } from '../../support/gate';
import {
  circleciConfig,
  herokuConfig,
  short,
  statusOf,
  syncAll,
  synced,
  type Targets,
  TOKEN,
  useTargets,
} from '../../support/integrations/syncs';
import { slow } from '../../support/slow';
import { type Answer, type Caller, codeOf, newOrg, newSecret, useWorld } from '../../support/world';

useWorld();

let targets: Targets;
beforeEach(() => {
  targets = useTargets();
});
afterEach(() => vi.unstubAllGlobals());

const OUTSIDE = /production|staging|prod_|OUTSIDE|svc\b/;
const LIMITS = { environments: ['development'], secrets: ['dev_*'] };
const ALL = { scopes: ['integrations:*'], ...LIMITS };

async function connect(o: Caller, fields: Record<string, unknown> = {}): Promise<string> {
  const { status, json, text } = await o.post('/integrations', {
    kind: 'sync',
    platform: 'heroku',
    name: 'App',
    config: herokuConfig,
    ...fields,
  });
  if (status !== 201) throw new Error(text);
  return json.id;
}

/** Secrets within and outside the limits, and connections of an owner's key. */
async function world() {
  const o = await newOrg();
  await newSecret(o, { name: 'dev_ONE', value: 'one', environment: 'development' });
  for (const [name, environment] of [
    ['OUTSIDE_DEV', 'development'],
    ['dev_ONE', 'production'],
    ['OUTSIDE_PROD', 'production'],
  ])
    await newSecret(o, { name, value: 'secret', environment });
  const everywhere = await connect(o);
  const production = await connect(o, { environments: ['production'] });
  const shared = await connect(o, { environments: ['development', 'production'] });
  const narrow = o.as((await newKey(o, ALL)).token);
  return { o, narrow, everywhere, production, shared };
}

/** Lets an agent read all secrets. */
async function shareAll(o: Caller, agent: string) {
  for (const environment of ['development', 'production'])
    for (const { id } of (await o.get(`/secrets?environment=${environment}`)).json.data) {
      const shared = await o.post(`/secrets/${id}/share`, {
        kind: 'grant',
        grantee: { type: 'agent', id: agent },
        permission: 'read',
      });
      expect(shared.status).toBe(201);
    }
}

const start = (o: Caller, fields: Record<string, unknown>) =>
  o.post('/integrations/sync', { environmentId: 'development', ...fields });

describe('sync: limits of the caller', () => {
  it('sync: a run of a stored connection sends, shows and prunes only what its requester reaches', async () => {
    const { o, narrow, everywhere } = await world();
    const gone = await newSecret(o, { name: 'OUTSIDE_GONE', value: 'x', environment: 'development' });
    const mine = await newSecret(o, { name: 'dev_GONE', value: 'x', environment: 'development' });
    await synced(o, {
      integrationId: everywhere,
      environmentId: 'development',
      platform: undefined,
      config: undefined,
    });
    expect(Object.keys(targets.heroku).sort()).toEqual([
      'OUTSIDE_DEV',
      'OUTSIDE_GONE',
      'dev_GONE',
      'dev_ONE',
    ]);
    for (const { id } of [gone, mine]) await o.del(`/secrets/${id}`);
    await o.patch(
      `/secrets/${(await o.get('/secrets?environment=development&prefix=OUTSIDE_DEV')).json.data[0].id}`,
      { value: 'newer' },
    );

    const dry = await start(narrow, { integrationId: everywhere, prune: true, dryRun: true });
    expect([dry.status, short(dry.json)]).toEqual([200, ['dev_GONE deleted', 'dev_ONE unchanged']]);
    const asked = await start(narrow, { integrationId: everywhere, prune: true });
    await syncAll(o);
    expect(short(await statusOf(o, asked.json.syncId))).toEqual(['dev_GONE deleted', 'dev_ONE unchanged']);
    expect(targets.heroku).toEqual({ OUTSIDE_DEV: 'secret', OUTSIDE_GONE: 'x', dev_ONE: 'one' });
    for (const environmentId of ['production', 'staging', 'nowhere'])
      for (const dryRun of [true, false])
        expect(codeOf(await start(narrow, { integrationId: everywhere, environmentId, dryRun }))).toEqual([
          404,
          'NOT_FOUND',
        ]);
  });

  it('sync: a session token, and an agent beyond its own scopes, stay within their limits too', async () => {
    const { o, everywhere } = await world();
    const key = await newKey(o, { scopes: ['integrations:sync'] });
    const session = await newSession(key.o, { scopes: ['integrations:sync'], ...LIMITS, ttlSeconds: 600 });
    expect(
      short((await start(o.as(session.token), { integrationId: everywhere, dryRun: true })).json),
    ).toEqual(['dev_ONE created']);
    const agent = await newAgent(o, { scopes: ['integrations:sync', 'integrations:generate'], ...LIMITS });
    await shareAll(o, agent.id);
    const inline = { platform: 'circleci', config: circleciConfig };
    expect(short((await start(o.as(agent.token), { ...inline, dryRun: true })).json)).toEqual([
      'dev_ONE created',
    ]);
    expect(codeOf(await start(o.as(agent.token), { ...inline, environmentId: 'production' }))).toEqual([
      403,
      'SECRET_ACCESS_DENIED',
    ]);
    const file = (environmentId: string, names?: string[]) =>
      o
        .as(agent.token)
        .post('/integrations/generate', { format: 'json', environmentId, ...(names && { names }) });
    expect(JSON.parse((await file('development')).json.content)).toEqual({ dev_ONE: 'one' });
    expect(codeOf(await file('development', ['OUTSIDE_DEV']))).toEqual([403, 'SECRET_ACCESS_DENIED']);
    expect(codeOf(await file('production'))).toEqual([403, 'SECRET_ACCESS_DENIED']);
  });

  it('sync: an agent stores no connection beyond the limits of integrations:write, whatever it may read', async () => {
    const { o } = await world();
    const agent = await newAgent(o, { scopes: ['integrations:*'], ...LIMITS });
    await shareAll(o, agent.id);
    const made = (fields: Record<string, unknown>) =>
      o.as(agent.token).post('/integrations', {
        kind: 'sync',
        platform: 'circleci',
        name: 'x',
        config: circleciConfig,
        ...fields,
      });
    expect(codeOf(await made({ environments: ['production'] }))).toEqual([403, 'SECRET_ACCESS_DENIED']);
    const { id } = (await made({ auto: true })).json;
    expect(short((await start(o, { integrationId: id, dryRun: true })).json)).toEqual(['dev_ONE created']);
    expect(codeOf(await start(o, { integrationId: id, environmentId: 'production' }))).toEqual([
      404,
      'NOT_FOUND',
    ]);
  });

  it('sync: syncs outside the limits are neither shown nor cancelled', async () => {
    const { o, narrow, everywhere } = await world();
    const body = { integrationId: everywhere, platform: undefined, config: undefined };
    const dev = await synced(o, { ...body, environmentId: 'development' });
    const prod = await synced(o, body);
    const list = await narrow.get('/integrations/syncs');
    expect(list.json.data.map(({ id }: { id: string }) => id)).toEqual([dev.id]);
    expect(short(list.json.data[0])).toEqual(['dev_ONE created']);
    expect(short((await narrow.get(`/integrations/syncs/${dev.id}`)).json)).toEqual(['dev_ONE created']);
    expect(list.text).not.toMatch(OUTSIDE);
    expect(codeOf(await narrow.get(`/integrations/syncs/${prod.id}`))).toEqual([404, 'NOT_FOUND']);
    const waiting = async (fields: Record<string, unknown>) =>
      (await start(o, { integrationId: everywhere, ...fields })).json.syncId;
    const cancel = (id: string) => narrow.post(`/integrations/syncs/${id}/cancel`);
    expect(codeOf(await cancel(await waiting({ environmentId: 'production' })))).toEqual([404, 'NOT_FOUND']);
    expect(codeOf(await cancel(await waiting({})))).toEqual([403, 'INSUFFICIENT_SCOPE']);
    expect(codeOf(await cancel(await waiting({ names: ['dev_ONE', 'OUTSIDE_DEV'] })))).toEqual([
      403,
      'INSUFFICIENT_SCOPE',
    ]);
    expect((await cancel(await waiting({ names: ['dev_ONE'] }))).status).toBe(200);
    // Its own sync is not larger than itself, and tells of what it named.
    const own = await start(narrow, { integrationId: everywhere, names: ['dev_ONE', 'OUTSIDE_DEV'] });
    await syncAll(o);
    expect(short((await narrow.get(`/integrations/syncs/${own.json.syncId}`)).json)).toEqual([
      'OUTSIDE_DEV skipped NOT_FOUND',
      'dev_ONE unchanged',
    ]);
    const above = await newKey(o, { scopes: ['*'], ...LIMITS });
    const ofSession = (await start((await newSession(above.o)).o, { integrationId: everywhere })).json.syncId;
    expect(codeOf(await cancel(ofSession))).toEqual([403, 'INSUFFICIENT_SCOPE']);
    expect((await above.o.post(`/integrations/syncs/${ofSession}/cancel`)).status).toBe(200);
    const again = await start(narrow, { integrationId: everywhere });
    expect((await cancel(again.json.syncId)).status).toBe(200);
  });

  slow('sync: pages of the list are complete where rows in between are hidden', async () => {
    const { o, narrow, everywhere } = await world();
    const ids: string[] = [];
    for (const environmentId of ['development', 'production', 'production', 'development', 'production'])
      ids.unshift((await start(o, { integrationId: everywhere, environmentId })).json.syncId);
    const seen: string[] = [];
    for (let cursor = ''; ; ) {
      const { json } = await narrow.get(`/integrations/syncs?limit=1${cursor && `&cursor=${cursor}`}`);
      seen.push(...json.data.map(({ id }: { id: string }) => id));
      if (!json.has_more) break;
      cursor = json.next_cursor;
    }
    expect(seen).toEqual([ids[1], ids[4]]);
  });
});

describe('sync: connections outside the limits', () => {
  const changes = [
    { name: 'x' },
    { auto: true },
    { prune: true },
    { environments: ['development'] },
    { config: { appName: 'x', token: TOKEN } },
  ];

  it('sync: a connection outside them looks non-existent, and one that reaches beyond them is not changed', async () => {
    const { o, everywhere, production, shared } = await world();
    const before = (await o.get('/integrations')).text;
    const narrow = o.as((await newKey(o, { scopes: ['integrations:*', 'secrets:read'], ...LIMITS })).token);
    const list = await narrow.get('/integrations');
    expect(
      list.json.data.map(({ id, environments }: { id: string; environments: unknown }) => [id, environments]),
    ).toEqual([
      [everywhere, null],
      [shared, ['development']],
    ]);
    expect((await narrow.get(`/integrations/${shared}`)).json.environments).toEqual(['development']);
    const tried = async (id: string): Promise<Answer[]> => [
      ...(await Promise.all(changes.map((change) => narrow.patch(`/integrations/${id}`, change)))),
      await narrow.del(`/integrations/${id}`),
    ];
    for (const answer of await tried(production)) expect(codeOf(answer)).toEqual([404, 'NOT_FOUND']);
    expect(codeOf(await narrow.get(`/integrations/${production}`))).toEqual([404, 'NOT_FOUND']);
    expect(codeOf(await start(narrow, { integrationId: production }))).toEqual([404, 'NOT_FOUND']);
    for (const id of [everywhere, shared])
      for (const answer of await tried(id)) expect(codeOf(answer)).toEqual([403, 'INSUFFICIENT_SCOPE']);
    // The environment is within the limits, but not all of its names.
    const ofNames = await connect(o, { environments: ['development'] });
    for (const answer of await tried(ofNames)) expect(codeOf(answer)).toEqual([403, 'INSUFFICIENT_SCOPE']);
    await o.del(`/integrations/${ofNames}`);
    expect((await o.get('/integrations')).text).toBe(before);
  });

  slow(
    'sync: its own connection, within its limits, it changes and removes; another key with other names does not',
    async () => {
      const { o } = await world();
      const of = async (secrets: string[]) =>
        o.as((await newKey(o, { scopes: ['integrations:*', 'secrets:read'], ...LIMITS, secrets })).token);
      const own = await of(['dev_*']);
      const wider = await of(['d*']);
      const other = await of(['dev_O*']);
      const id = await connect(own, { platform: 'circleci', config: circleciConfig });
      expect(codeOf(await other.patch(`/integrations/${id}`, { auto: true }))).toEqual([
        403,
        'INSUFFICIENT_SCOPE',
      ]);
      expect(codeOf(await other.del(`/integrations/${id}`))).toEqual([403, 'INSUFFICIENT_SCOPE']);
      expect((await own.patch(`/integrations/${id}`, { auto: true })).status).toBe(200);
      expect((await wider.patch(`/integrations/${id}`, { auto: false })).status).toBe(200);
      expect((await own.del(`/integrations/${id}`)).status).toBe(204);
    },
  );

  it('sync: a name that holds the value of another secret is not overwritten', async () => {
    const o = await newOrg();
    const victim = await newSecret(o, { name: 'app.KEY', value: 'genuine' });
    const integrationId = await connect(o);
    const run = { platform: undefined, config: undefined, integrationId };
    expect(short(await synced(o, run))).toEqual(['app.KEY created']);
    const agent = await newAgent(o, {
      scopes: ['integrations:sync', 'integrations:read', 'secrets:write', 'secrets:delete'],
      environments: ['production'],
      secrets: ['app-*'],
    });
    // Both names become app_KEY.
    const own = await newSecret(agent.o, { name: 'app-KEY', value: 'forged' });
    for (const names of [undefined, ['app-KEY']]) {
      expect(short(await synced(agent.o, { ...run, names }))).toEqual(['app-KEY failed NAME_COLLISION']);
      const dry = await agent.o.post('/integrations/sync', {
        integrationId,
        environmentId: 'production',
        dryRun: true,
        names,
      });
      expect(short(dry.json)).toEqual(['app-KEY failed NAME_COLLISION']);
    }
    // Whoever reaches both does not exchange them by naming one either, as long as both are active.
    expect(short(await synced(o, { ...run, names: ['app-KEY'] }))).toEqual(['app-KEY failed NAME_COLLISION']);
    expect((await o.del(`/secrets/${victim.id}`)).status).toBe(204);
    expect(short(await synced(agent.o, { ...run, prune: true }))).toEqual(['app-KEY failed NAME_COLLISION']);
    expect(targets.heroku).toEqual({ app_KEY: 'genuine' });
    expect(short(await synced(o, run))).toEqual(['app-KEY updated']);
    expect((await o.del(`/secrets/${own.id}`)).status).toBe(204);
    expect(short(await synced(agent.o, { ...run, prune: true }))).toEqual(['app-KEY deleted']);
  });

  it('sync: a name that was found equal at the target holds the value of its secret too, and is not pruned', async () => {
    const o = await newOrg();
    const victim = await newSecret(o, { name: 'app.KEY', value: 'genuine' });
    targets.heroku = { app_KEY: 'genuine' };
    const run = { platform: undefined, config: undefined, integrationId: await connect(o) };
    expect(short(await synced(o, run))).toEqual(['app.KEY unchanged']);
    const key = await newKey(o, { scopes: ['integrations:sync', 'secrets:write'], secrets: ['app-*'] });
    await newSecret(key.o, { name: 'app-KEY', value: 'forged' });
    for (const names of [undefined, ['app-KEY']])
      expect(short(await synced(key.o, { ...run, names }))).toEqual(['app-KEY failed NAME_COLLISION']);
    await o.del(`/secrets/${victim.id}`);
    await syncAll(o);
    expect(short(await synced(o, { ...run, names: ['app.KEY'], prune: true }))).toEqual([
      'app.KEY skipped NOT_FOUND',
    ]);
    expect(targets.heroku).toEqual({ app_KEY: 'genuine' });
  });

  it('bounds: however many secrets are gone, their names are compared with patterns for a bounded time', async () => {
    const o = await newOrg();
    const MANY = 1000;
    const permissions: [PermissionSet] = [
      {
        scopes: ['secrets:read'],
        environments: null,
        secrets: [...Array.from({ length: 99 }, (_, n) => `${n}*`.padEnd(40, 'a')), 'n*'],
        upstreams: null,
        expires_at: null,
      },
    ];
    const found = await inCore(o, (core) => {
      const environment_id = core.rows.within('environment', '')[0]?.id as string;
      const sync = {
        platform: 'heroku',
        environment_id,
        place: `there:${environment_id}`,
        names: null,
        selected: [],
      };
      for (let n = 0; n < MANY; n++)
        core.storage.sql.exec(
          'insert into sync_names values (?, ?, ?, ?, ?)',
          ...['there', `T${n}`, `n${n}`.padEnd(250, 'a'), 'digest', environment_id],
        );
      const callers = [{ ...nobody, permissions }];
      return [
        prunable(core, callers, sync, core.now()).length,
        ownedBy(core, callers, sync, core.now()).filter(({ isTaken }) => !isTaken).length,
      ];
    });
    for (const n of found) expect([n > 0, n < MANY]).toEqual([true, true]);
  });

  it('bounds: however many names are recorded, the rows of a bounded number of secrets are looked at', async () => {
    const o = await newOrg();
    await newSecret(o, { name: 'EXPIRED', ttlSeconds: 60 });
    const MANY = 10_500;
    const found = await inCore(o, (core) => {
      const environment_id = core.rows.within('environment', '').find(({ slug }) => slug === 'production')
        ?.id as string;
      const sync = { platform: 'heroku', environment_id, place: `there:${environment_id}`, names: null };
      for (let n = 0; n < MANY; n++)
        core.storage.sql.exec(
          'insert into sync_names values (?, ?, ?, ?, ?)',
          ...['there', `T${n}`, 'EXPIRED', 'digest', environment_id],
        );
      const permissions: [PermissionSet] = [
        { scopes: ['secrets:read'], environments: null, secrets: null, upstreams: null, expires_at: null },
      ];
      const later = core.now() + 3_600_000;
      return prunable(core, [{ ...nobody, permissions }], { ...sync, selected: [] }, later).length;
    });
    expect([found > 0, found < MANY]).toEqual([true, true]);
  });

  it('sync: whoever runs a connection does not push what it wrote out of the record', async () => {
    const o = await newOrg();
    await newSecret(o, { name: 'app.KEY', value: 'genuine' });
    const run = { platform: undefined, config: undefined, integrationId: await connect(o) };
    expect(short(await synced(o, run))).toEqual(['app.KEY created']);
    const key = await newKey(o, {
      scopes: ['integrations:sync', 'secrets:read', 'secrets:write'],
      secrets: ['app-*'],
    });
    await newSecret(key.o, { name: 'app-OTHER', value: 'x' });
    await synced(key.o, run);
    // The same target in a request of their own, without the credential for it.
    const wrong = { ...herokuConfig, token: 'another' };
    expect(short(await synced(key.o, { config: wrong }))).toEqual(['app-OTHER failed TARGET_AUTH']);
    const before = { ...nameQuotas.root };
    nameQuotas.root.places = 1;
    try {
      const config = { ...circleciConfig, projectSlug: 'gh/demo/other' };
      await synced(key.o, { platform: 'circleci', config });
    } finally {
      Object.assign(nameQuotas.root, before);
    }
    await newSecret(key.o, { name: 'app-KEY', value: 'forged' });
    expect(short(await synced(key.o, { ...run, names: ['app-KEY'] }))).toEqual([
      'app-KEY failed NAME_COLLISION',
    ]);
  });

  slow(
    'notify: a credential with limits removes no connection that receives events of the whole organisation',
    async () => {
      const { o, narrow } = await world();
      const { id } = (
        await o.post('/integrations', {
          kind: 'notify',
          platform: 'pagerduty',
          name: 'x',
          config: { routingKey: 'x' },
        })
      ).json;
      expect(codeOf(await narrow.del(`/integrations/${id}`))).toEqual([403, 'INSUFFICIENT_SCOPE']);
      expect(codeOf(await narrow.patch(`/integrations/${id}`, { name: 'y' }))).toEqual([
        403,
        'INSUFFICIENT_SCOPE',
      ]);
      expect(codeOf(await narrow.del('/integrations/int_01M9xQeKcX3vTz6nWJfQ4b'))).toEqual([
        404,
        'NOT_FOUND',
      ]);
    },
  );
});
