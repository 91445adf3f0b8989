// A walk over every route by callers that hold every scope, limited in environments and names: they learn
// nothing of what lies outside, in no answer, header or audit entry, and change none of it. A member's role
// is limited to environments alone.
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { routes } from '../../../src/domains';
import { shows } from '../../../src/domains/audit/view';
import { bodies } from '../../support/bodies';
import { newAgent, newBreakGlass, newKey, newProvider, newSession } from '../../support/credentials';
import { newOffice } from '../../support/governance/approvals';
import { newPolicy } from '../../support/governance/policies';
import { herokuConfig, syncAll, type Targets, useTargets } from '../../support/integrations/syncs';
import { newUpstream } from '../../support/integrations/upstreams';
import { newGrant, newMember, newTeam } from '../../support/people';
import { signIn } from '../../support/signin/browser';
import { newDevice } from '../../support/signin/device';
import { newIssuer, newTrust } from '../../support/signin/issuers';
import { addConnection, newDomain } from '../../support/signin/sso';
import { few, slow } from '../../support/slow';
import { type Answer, BOOTSTRAP, type Caller, db, newSecret, send, useWorld } from '../../support/world';

useWorld();

let targets: Targets;
beforeEach(() => {
  targets = useTargets();
});
afterEach(() => vi.unstubAllGlobals());

const LIMITS = { environments: ['development'], secrets: ['dev_*'] };

/**
 * An organisation in which things of every kind concern an environment outside the limits, and, for `byName`,
 * names outside them.
 */
async function furnish(byName = true) {
  const { o, ann, bob } = await newOffice();
  const admin = await signIn(o, 'admin', { environments: LIMITS.environments });
  const environment = (await o.post('/environments', { name: 'Hidden place', slug: 'hidden-place' })).json
    .id as string;
  const make = (name: string, where: string) =>
    newSecret(o, {
      name,
      value: `hidden value of ${name}`,
      environment: where,
      description: 'hidden description',
      tags: { of: 'hidden' },
    });
  const secret = await make('HIDDEN_ONE', environment);
  const near = byName ? 'development' : environment;
  const beside = await make('HIDDEN_BESIDE', near);
  await newSecret(o, { name: 'dev_ONE', value: 'mine', environment: 'development' });
  const renamed = await newSecret(o, { name: 'HIDDEN_BEFORE', value: 'x', environment: near });
  await o.patch(`/secrets/${renamed.id}`, { name: 'dev_RENAMED' });
  const within = { environments: [environment], secrets: ['HIDDEN_*'] };
  const of = { environments: [environment], names: ['HIDDEN_*'] };
  const member = (await newMember(o, 'viewer', { environments: [environment] })).id;
  const wide = await newKey(o, { name: 'wide', scopes: ['*'] });
  const key = await newKey(o, { name: 'apart', scopes: ['*'], ...within });
  await key.o.get(`/secrets/${secret.id}`);
  const connection = { kind: 'sync', platform: 'heroku', name: 'App', config: herokuConfig };
  const integration = (await o.post('/integrations', { ...connection, environments: [environment] })).json
    .id as string;
  const everywhere = (await o.post('/integrations', connection)).json.id as string;
  const syncs: string[] = [];
  for (const environmentId of [environment, 'development'])
    syncs.push(
      (await o.post('/integrations/sync', { integrationId: everywhere, environmentId })).json.syncId,
    );
  await syncAll(o);
  const link = (await o.post(`/secrets/${secret.id}/share`, { kind: 'link', expires_in: 3600, max_views: 3 }))
    .json;
  await o.post('/integrations/import', {
    source: 'svc',
    onConflict: 'skip',
    environmentId: environment,
    data: { HIDDEN_IMPORTED: 'x' },
  });
  await o.get(`/environments/${environment}/values`);
  await o.post('/integrations/generate', { format: 'json', environmentId: 'development' });
  await o.get(`/secrets/by-name/HIDDEN_ONE?environment=hidden-place`);
  await o.post('/scans', { text: 'hidden value of HIDDEN_ONE' });
  const old = await newKey(o, { name: 'old', scopes: ['*'], ...within });
  await old.o.get(`/secrets/${secret.id}`);
  const incident =
    (await o.post(`/credentials/${old.id}/contain`, {})).json?.incident?.id ??
    (await o.get('/incidents')).json.data[0]?.id;
  const ids: Record<string, string> = {
    environments: environment,
    secrets: secret.id,
    'api-keys': key.id,
    'access-tokens': (await newSession(key.o)).id,
    'agent-credentials': (await newAgent(o, within)).id,
    'provider-tokens': (await newProvider(o, within)).id,
    'break-glass-tokens': (await newBreakGlass(o)).id,
    members: member,
    teams: await newTeam(o, member),
    domains: (await newDomain(o)).id,
    'sso-connections': await addConnection(o),
    devices: (await newDevice(o)).id,
    grants: (await newGrant(o, 'member', member, within)).id,
    policies: (await newPolicy(o, 'naming', { pattern: '.' }, { applies_to: of })).id,
    credentials: key.id,
    trusts: (await newTrust(o, await newIssuer(), within)).id,
    incidents: incident,
    integrations: integration,
    syncs: syncs[0] as string,
    shares: link.share?.id ?? link.id,
    webhooks: (await o.post('/webhooks', { url: 'https://hooks.example.com/in', events: '*' })).json.id,
    'log-streams': (
      await o.post('/log-streams', { name: 'x', kind: 'https', config: { url: 'https://siem.example.com' } })
    ).json.id,
    upstreams: (await newUpstream(o, { environment }, secret.name)).id,
    '{environment}': environment,
    '{name}': 'dev_UNKNOWN',
    '{member_id}': member,
    '{passkey_id}': 'psk_0',
    '{delivery_id}': 'dlv_0',
  };
  await newPolicy(
    o,
    'approval',
    { operations: ['secret.delete'], required: 1, approvers: { role: 'admin' } },
    { applies_to: of },
  );
  const approval = (await wide.o.del(`/secrets/${secret.id}`)).json.error.approval.id as string;
  ids.approvals = approval;
  expect(Object.entries(ids).filter(([, id]) => !id)).toEqual([]);
  return { o, ann, bob, admin, environment, secret, beside, renamed, ids, everywhere, syncs };
}
type World = Awaited<ReturnType<typeof furnish>>;

const pathOf = (path: string, { o, ids }: World, other: Record<string, string>) =>
  path
    .replace('{org_id}', o.id)
    .replace(
      /([a-z-]+)\/\{(\w+)\}/g,
      (_, collection, parameter) =>
        `${collection}/${other[collection] ?? ids[`{${parameter}}`] ?? ids[collection] ?? 'none'}`,
    );

/** Bodies that name by id what is outside, besides those that name nothing. */
const reaching = ({ environment, secret, ids, everywhere }: World): Record<string, unknown[]> => ({
  'POST /orgs/{org_id}/secrets': [{ name: 'dev_X', type: 'generic', value: 'v', environment }],
  'POST /orgs/{org_id}/api-keys': [{ name: 'k', scopes: ['secrets:read'], environments: [environment] }],
  'POST /orgs/{org_id}/agent-credentials': [
    { name: 'a', scopes: ['secrets:read'], environments: [environment] },
  ],
  'POST /orgs/{org_id}/provider-tokens': [{ name: 'p', scopes: ['issue'], environments: [environment] }],
  'POST /orgs/{org_id}/access-tokens': [{ ttlSeconds: 60, environments: [environment] }],
  'POST /orgs/{org_id}/members': [
    { email: 'x@example.com', name: 'x', role: 'viewer', environments: [environment] },
    { email: 'y@example.com', name: 'y', role: 'viewer', environments: ['development'] },
  ],
  'PATCH /orgs/{org_id}/members/{id}': [
    { environments: ['development'] },
    { environments: [environment] },
    { environments: null },
  ],
  'POST /orgs/{org_id}/grants': [
    { grantee: { type: 'member', id: ids.members }, permission: 'read', environments: [environment] },
  ],
  'POST /orgs/{org_id}/integrations': [
    { kind: 'sync', platform: 'heroku', name: 'x', config: herokuConfig },
    { kind: 'sync', platform: 'heroku', name: 'x', config: herokuConfig, environments: [environment] },
  ],
  'PATCH /orgs/{org_id}/integrations/{id}': [
    { auto: true },
    { prune: true },
    { environments: ['development'] },
  ],
  'POST /orgs/{org_id}/integrations/sync': [environment, 'development'].flatMap((environmentId) =>
    [{}, { prune: true }, { dryRun: true, prune: true }].flatMap((more) => [
      { integrationId: everywhere, environmentId, ...more },
      { integrationId: ids.integrations, environmentId, ...more },
      { platform: 'heroku', config: herokuConfig, environmentId, ...more },
    ]),
  ),
  'POST /orgs/{org_id}/integrations/generate': [environment, 'development'].map((environmentId) => ({
    format: 'json',
    environmentId,
  })),
  'POST /orgs/{org_id}/integrations/import': [environment, 'development'].flatMap((environmentId) =>
    ['skip', 'overwrite', 'fail'].map((onConflict) => ({
      source: 'svc',
      onConflict,
      environmentId,
      data: { dev_ONE: 'mine' },
    })),
  ),
  'POST /orgs/{org_id}/environments/{environment}/promote': [environment, 'development'].flatMap((from) =>
    [{}, { names: ['dev_ONE', 'HIDDEN_ONE'] }, { prune: true }, { prune: true, dryRun: true }].map(
      (more) => ({
        from,
        ...more,
      }),
    ),
  ),
  'POST /orgs/{org_id}/trusts': [
    {
      name: 'x',
      issuer: 'https://issuer.example.com',
      claims: { sub: 'x' },
      scopes: ['scans:read'],
      environments: [environment],
    },
  ],
  'POST /orgs/{org_id}/scans': [{ text: `hid${'den value of HIDDEN_ONE'}` }, { text: secret.value }],
});

const queries: Record<string, string[]> = {
  '/orgs/{org_id}/secrets': [
    '?environment=ENV',
    '?delimiter=/',
    '?environment=development&delimiter=/',
    '?sort=name',
    '?id=SECRET',
  ],
  '/orgs/{org_id}/secrets/by-name/{name}': ['?environment=ENV'],
  '/orgs/{org_id}/audit-log': [
    '?format=ndjson',
    '?resource=SECRET',
    '?resource=ENV',
    '?action=secret.read',
    '?actor=system',
  ],
  '/orgs/{org_id}/members/{id}/access': ['?action=secrets:read&environment=ENV&secret=dev_ONE'],
  '/orgs/{org_id}/environments/compare': [
    '?environments=ENV,development',
    '?environments=development,production',
  ],
  '/orgs/{org_id}/events': ['?limit=100'],
  '/orgs/{org_id}/search': ['?q=e', '?q=o', '?q=_'],
  '/orgs/{org_id}/audit-log/histogram': ['?buckets=400', '?resource=SECRET'],
  '/orgs/{org_id}/integrations/syncs': ['?limit=1'],
};

interface Asked {
  name: string;
  request: string;
  answer: Answer;
}

/** Every request of the walk, those that end things last. */
async function* walk(world: World, caller: Caller): AsyncGenerator<Asked> {
  const { environment, beside, renamed, everywhere, syncs, ids } = world;
  const order = ['get', 'put', 'post', 'patch', 'delete'];
  const others: Record<string, string>[] = [
    {},
    { secrets: beside.id, integrations: everywhere, syncs: syncs[1] as string },
    { secrets: renamed.id },
  ];
  const more = reaching(world);
  for (const route of [...routes].sort((a, b) => order.indexOf(a.method) - order.indexOf(b.method))) {
    if (route.path.startsWith('/auth') || route.path.endsWith('/stream') || route.path === '/orgs') continue;
    const name = `${route.method.toUpperCase()} ${route.path}`;
    for (const [n, other] of others.entries()) {
      if (n > 0 && !Object.keys(other).some((collection) => route.path.includes(`${collection}/{id}`)))
        continue;
      for (const body of [bodies[name], ...(more[name] ?? [])])
        for (const query of ['', ...(queries[route.path] ?? [])]) {
          const path = `${route.isPage ? '' : '/api/v1'}${pathOf(route.path, world, other)}${query.replace('ENV', environment).replace('SECRET', ids.secrets as string)}`;
          const answer = await send(route.method.toUpperCase(), path, { token: caller.token, body });
          yield { name, request: `${name} ${path} ${JSON.stringify(body)}`, answer };
        }
    }
  }
}

const told = ({ text, headers }: Answer) => `${text}\n${JSON.stringify([...headers])}`;

/** What D1 and the target hold of what lies outside. */
async function outsideOf({ o, environment, beside, secret, ids, everywhere, syncs }: World) {
  const all = async (query: string, ...values: string[]) =>
    (
      await db
        .prepare(query)
        .bind(o.id, ...values)
        .all()
    ).results;
  const secrets = [secret.id, beside.id];
  return {
    environments: await all('select * from environments where org_id = ? and id = ?', environment),
    secrets: await all(
      "select * from secrets where org_id = ? and (environment_id = ? or name not like 'dev_%') order by id",
      environment,
    ),
    versions: await all(
      'select * from secret_versions where org_id = ? and secret_id in (?, ?) order by secret_id, version',
      ...secrets,
    ),
    integrations: await all(
      'select * from integrations where org_id = ? and id in (?, ?)',
      ids.integrations as string,
      everywhere,
    ),
    syncs: await all('select * from syncs where org_id = ? and id in (?, ?)', ...syncs),
    policies: await all('select * from policies where org_id = ? order by id'),
    approvals: await all('select * from approvals where org_id = ? and id = ?', ids.approvals as string),
    members: await all('select id, role, environments from members where org_id = ? order by id'),
    shares: await all('select * from shares where org_id = ? order by id'),
    target: Object.entries(targets.heroku).filter(([name]) => !name.startsWith('dev_')),
  };
}

const kinds: Record<string, (world: World) => Promise<Caller>> = {
  'an API key': async ({ o }) => (await newKey(o, { name: 'narrow', scopes: ['*'], ...LIMITS })).o,
  'an agent': async ({ o }) => o.as((await newAgent(o, { name: 'narrow', scopes: ['*'], ...LIMITS })).token),
  'an admin': async ({ admin }) => admin.o,
};

it.each(few(Object.keys(kinds), 1))(
  'limits: %s with every scope learns and changes nothing outside its limits',
  { timeout: 600_000 },
  async (kind) => {
    const world = await furnish(kind !== 'an admin');
    const caller = await (kinds[kind] as (typeof kinds)[string])(world);
    const before = await outsideOf(world);
    expect(Object.entries(before).filter(([, rows]) => rows.length === 0)).toEqual([]);
    const found: string[] = [];
    const statuses = new Map<string, number>();
    const look = ({ name, request, answer }: Asked) => {
      statuses.set(name, Math.min(answer.status, statuses.get(name) ?? 999));
      // What the request itself says is no news.
      const texts = told(answer).match(/[\w/-]*hidden[\w/*-]*/gi) ?? [];
      const news = texts.filter((text) => !request.includes(text));
      if (news.length)
        found.push(`${answer.status} ${request.slice(0, 200)}: ${[...new Set(news)].join(' ')}`);
    };
    for await (const asked of walk(world, caller)) look(asked);
    await syncAll(world.o);
    // What it did is in the log, and in what it can list of it, also once the log has moved to D1.
    for (const path of [
      '/audit-log?limit=100',
      '/audit-log?format=ndjson',
      '/integrations/syncs',
      '/events?limit=100',
    ])
      look({ name: path, request: path, answer: await caller.get(path) });
    await send('POST', `/api/v1/orgs/${world.o.id}/audit-log/archive`, { token: BOOTSTRAP, body: {} });
    look({ name: 'archived', request: '/audit-log', answer: await caller.get('/audit-log?format=ndjson') });
    expect(found.join('\n')).toBe('');
    expect(await outsideOf(world)).toEqual(before);
    // The walk is one: it is let through where nothing lies outside.
    const passed = [...statuses.values()].filter((status) => status < 300).length;
    expect(passed).toBeGreaterThan(40);
  },
);

it('limits: what others are limited to is shown as far as the caller reaches, and its own in full', async () => {
  const { o, ids } = await furnish();
  const narrow = await newKey(o, { scopes: ['*'], environments: ['development'], secrets: ['dev_*'] });
  const child = await newAgent(narrow.o, {
    scopes: ['secrets:read'],
    environments: ['development'],
    secrets: ['dev_API_*', 'dev_?'],
  });
  const limitsIn = ({ json }: Answer) => [json.environments, json.secrets];
  expect(limitsIn(await narrow.o.get(`/agent-credentials/${child.id}`))).toEqual([
    ['development'],
    ['dev_API_*', 'dev_?'],
  ]);
  expect(limitsIn(await narrow.o.get(`/api-keys/${narrow.id}`))).toEqual([['development'], ['dev_*']]);
  expect(limitsIn(await narrow.o.get(`/api-keys/${ids['api-keys']}`))).toEqual([[], []]);
  expect(limitsIn(await o.get(`/api-keys/${ids['api-keys']}`))).toEqual([['hidden-place'], ['HIDDEN_*']]);
  const wide = await newKey(o, { scopes: ['*'] });
  expect(limitsIn(await narrow.o.get(`/api-keys/${wide.id}`))).toEqual([null, null]);
  // Of what a credential reaches, the caller counts what it reaches itself.
  const reach = async (by: Caller) => (await by.get(`/credentials/${wide.id}/graph`)).json.reach.environments;
  expect(await reach(narrow.o)).toEqual([{ environment: 'development', secrets: 2 }]);
  expect(
    (await reach(o)).find(({ environment }: { environment: string }) => environment === 'development')
      .secrets,
  ).toBe(3);
});

slow(
  'limits: a limited key renames members, and narrows and ends what reaches further; it widens nothing and removes nobody',
  async () => {
    const { o } = await newOffice();
    const narrow = (await newKey(o, { scopes: ['*'], ...LIMITS })).o;
    const member = await newMember(o, 'viewer');
    const key = await newKey(o, { scopes: ['*'] });
    const agent = await newAgent(o, { scopes: ['secrets:*'], rate_limit: 60 });
    const statuses = async (...calls: Promise<Answer>[]) =>
      (await Promise.all(calls)).map(({ status }) => status);
    const at = `/members/${member.id}`;
    expect(
      await statuses(
        narrow.patch(at, { name: 'Renamed' }),
        narrow.patch(at, { email: 'renamed@example.com' }),
      ),
    ).toEqual([200, 200]);
    expect((await o.get(at)).json).toMatchObject({ name: 'Renamed', email: 'renamed@example.com' });
    expect(await statuses(narrow.patch(at, { role: 'auditor' }), narrow.del(at))).toEqual([403, 403]);
    const invitation = { email: 'new@example.com', name: 'New', role: 'viewer' };
    expect((await narrow.post('/members', invitation)).status).toBe(403);
    const of = `/agent-credentials/${agent.id}`;
    expect((await narrow.patch(of, { scopes: ['secrets:read'], secrets: ['app_*'] })).status).toBe(200);
    for (const more of [{ scopes: ['*'] }, { secrets: null }, { rate_limit: 1000 }])
      expect((await narrow.patch(of, more)).status).toBe(403);
    expect((await narrow.post(`/api-keys/${key.id}/rotate`, {})).status).toBe(403);
    expect(await statuses(narrow.del(of), narrow.post(`/credentials/${key.id}/contain`, {}))).toEqual([
      204, 200,
    ]);
    for (const ended of [agent, key]) expect((await ended.o.get('/secrets')).status).toBe(401);
  },
);

it('limits: a caller sees that it was refused, and neither the name nor the environment of what it asked for by id', async () => {
  const { o, secret, beside } = await furnish();
  const narrow = await newKey(o, { scopes: ['*'], ...LIMITS });
  for (const { id } of [secret, beside]) await narrow.o.get(`/secrets/${id}`);
  await narrow.o.get('/secrets/by-name/dev_ONE?environment=development');
  const entries = async (by: Caller) =>
    (await by.get(`/audit-log?actor=${narrow.id}&action=secret.read`)).json.data;
  const [ok, ...refused] = await entries(narrow.o);
  expect([ok.resource_name, ok.environment, ok.hash.length]).toEqual(['dev_ONE', 'development', 64]);
  expect(
    refused.map(({ resource, resource_name, environment, id, hash, status }: Record<string, unknown>) => [
      resource,
      resource_name,
      environment,
      hash,
      status,
      String(id).startsWith('withheld:'),
    ]),
  ).toEqual([beside, secret].map(({ id }) => [id, null, null, 'withheld', 403, true]));
  // Others who may see it see it.
  expect((await entries(o)).map(({ resource_name }: Record<string, unknown>) => resource_name)).toEqual([
    'dev_ONE',
    'HIDDEN_BESIDE',
    'HIDDEN_ONE',
  ]);
});

it('limits: an entry is shown only to who reaches the former name of its secret too', () => {
  const view = { own: [], places: [{ environments: ['development'], secrets: ['dev_*'] }] };
  const entry = {
    actor: { kind: 'api_key', id: 'key_1', parent_id: null, name: null },
    environment: 'development',
    resource_name: 'dev_A',
  };
  expect(
    ['dev_B', 'HIDDEN', undefined].map((former_name) =>
      shows(view, { ...entry, ...(former_name && { former_name }) }),
    ),
  ).toEqual([true, false, true]);
});
