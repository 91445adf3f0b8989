// A walk over every route by one root, again and again: every row that it adds, to D1 or to the gate's
// storage, is of a kind that the table of quotas names, and past the quota of the root no more are added. A
// route that adds rows of another kind fails, and so does one that is new.
import { getTableName } from 'drizzle-orm';
import { SQLiteTable } from 'drizzle-orm/sqlite-core';
import { afterEach, expect, it, vi } from 'vitest';
import { allScopes } from '../../../src/auth/scopes';
import { type RowKind, rowKinds, tableName } from '../../../src/db/rows';
import * as schema from '../../../src/db/schema';
import { routes } from '../../../src/domains';
import { incidentQuotas } from '../../../src/domains/incidents/gate/record';
import { leakQuota } from '../../../src/domains/scans/gate/leaks';
import { nameQuotas } from '../../../src/domains/syncs/gate/store';
import type { Core } from '../../../src/gate/core';
import { lastingOf, passingOf, secretsOfRoot, sessionQuotas } from '../../../src/gate/limits/quotas';
import { bodies } from '../../support/bodies';
import { newAgent, newKey, newProvider } from '../../support/credentials';
import { faults } from '../../support/faults';
import { inCore } from '../../support/gate';
import { newApprovalPolicy, newOffice } from '../../support/governance/approvals';
import { newPolicy } from '../../support/governance/policies';
import { herokuConfig, syncAll, useTargets } from '../../support/integrations/syncs';
import { newUpstream, upstreamIn } from '../../support/integrations/upstreams';
import { allOf } from '../../support/limits/quotas';
import { newGrant, newMember, newTeam } from '../../support/people';
import { newLink } from '../../support/shares';
import { newDevice } from '../../support/signin/device';
import { newIssuer, newTrust, trustIn } from '../../support/signin/issuers';
import { newIdp } from '../../support/signin/scim';
import { addConnection, newDomain } from '../../support/signin/sso';
import { slow } from '../../support/slow';
import { type Caller, db, newSecret, send, useWorld } from '../../support/world';

useWorld();
afterEach(() => vi.unstubAllGlobals());

/** What requests leave wherever they go. It leaves with time: see the page of limits. */
const OF_REQUESTS = [
  ...[
    'audit',
    'replays',
    'outbox',
    'due',
    'uses',
    'readers',
    'seals',
    'meta',
    'refused',
    'emergencies',
    'expiries',
    'rotations',
  ],
  ...[
    'checkpoints',
    'segment_ends',
    'stored_rows',
    'commits',
    'audit_segments',
    'audit_checkpoints',
    'event_segments',
    'tombstones',
  ],
  ...['deliveries', 'delivery_events', 'delivery_endpoints', 'delivery_windows', 'delivery_leases'],
  ...['log_stream_drains', 'log_stream_positions'],
];

/** How many rows a root may have in this test, and how many requests it makes to each route. */
const SCOPES = allScopes.filter((scope) => scope.endsWith(':*'));
const MOST = 3;
const TIMES = 4;

/**
 * How many rows of a kind a root has. What only administrators create is bounded for the organisation: see
 * quotas.test.ts.
 */
const counts: Record<string, (core: Core, root: string) => number> = {
  ...Object.fromEntries(
    [
      'approval',
      'credential',
      'device',
      'grant',
      'integration',
      'secret',
      'log_stream',
      'share',
      'sync',
      'webhook',
    ].map((kind) => [kind, ({ rows }: Core, root: string) => rows.stored.usage(kind as RowKind, root).count]),
  ),
  session: ({ rows }, root) => rows.sessions.of(root),
  incident: ({ rows }, root) => rows.after('incident', '', 1000).filter((row) => row.root === root).length,
  leaks: ({ storage }, root) =>
    storage.sql.exec<{ n: number }>('select count(*) n from leaks where root = ?', root).one().n,
  sync_names: ({ storage }, root) =>
    storage.sql
      .exec<{ n: number }>('select coalesce(sum(names), 0) n from sync_places where root = ?', root)
      .one().n,
};
const OF_ADMINISTRATORS = [
  'environment',
  'member',
  'team',
  'team_member',
  'policy',
  'domain',
  'former_member',
  'upstream',
];
/** Tables whose rows belong to those of another kind, with its quota. */
const parts: Record<string, string> = {
  approval_details: 'approval',
  sync_runs: 'sync',
  sync_steps: 'sync',
  sync_results: 'sync',
  sync_places: 'sync_names',
  sync_due: 'integration',
  log_stream_states: 'log_stream',
  secret_versions: 'secret',
  told: 'credential',
  former_makers: 'credential',
  ended_sessions: 'session',
  exchanged: 'session',
  proofs: 'session',
};

function lowerQuotas(): () => void {
  const kept: [object, object][] = [];
  const lower = (bounds: object, fields: object) => {
    kept.push([bounds, { ...bounds }]);
    Object.assign(bounds, fields);
  };
  for (const quota of Object.values(allOf(lastingOf))) if ('root' in quota) lower(quota, { root: MOST });
  for (const { root } of Object.values(allOf(passingOf))) lower(root, { count: MOST });
  lower(secretsOfRoot, { count: MOST });
  lower(sessionQuotas, { root: MOST });
  lower(incidentQuotas, { root: MOST });
  lower(leakQuota, { root: MOST });
  lower(nameQuotas.root, { names: MOST });
  return () => {
    for (const [bounds, before] of kept) Object.assign(bounds, before);
  };
}

/** What each route adds. A route that reads has no line where it adds nothing; any other has one. */
const adds: Record<string, string[]> = {
  'POST /orgs/{org_id}/environments': ['environment'],
  'POST /orgs/{org_id}/environments/{environment}/promote': ['secret', 'secret_versions'],
  'POST /orgs/{org_id}/members': ['member'],
  'POST /orgs/{org_id}/teams': ['team'],
  'POST /orgs/{org_id}/teams/{id}/members': ['team_member'],
  'POST /orgs/{org_id}/policies': ['policy'],
  'POST /orgs/{org_id}/domains': ['domain'],
  'POST /orgs/{org_id}/domains/{id}/verify': [],
  'POST /orgs/{org_id}/sso-connections': [],
  'POST /orgs/{org_id}/grants': ['grant'],
  'POST /orgs/{org_id}/api-keys': ['credential'],
  'POST /orgs/{org_id}/api-keys/{id}/rotate': ['credential'],
  'POST /orgs/{org_id}/access-tokens': ['session'],
  'POST /auth/aws': ['session'],
  'POST /orgs/{org_id}/agent-credentials': ['credential'],
  'POST /orgs/{org_id}/provider-tokens': ['approval', 'approval_details'],
  'POST /orgs/{org_id}/break-glass-tokens': ['credential'],
  'POST /orgs/{org_id}/trusts': ['credential'],
  'PUT /orgs/{org_id}/secrets/by-name/{name}': ['secret', 'secret_versions'],
  'POST /orgs/{org_id}/secrets': ['secret', 'secret_versions'],
  'PATCH /orgs/{org_id}/secrets/{id}': ['approval', 'approval_details'],
  'POST /orgs/{org_id}/secrets/{id}/rotate': ['secret_versions'],
  'POST /orgs/{org_id}/secrets/{id}/rollback': ['secret_versions'],
  'POST /orgs/{org_id}/secrets/{id}/share': ['share'],
  'POST /provider/issue': ['secret', 'secret_versions'],
  'POST /orgs/{org_id}/devices': ['device'],
  'POST /orgs/{org_id}/webhooks': ['webhook'],
  'POST /orgs/{org_id}/log-streams': ['log_stream', 'log_stream_states'],
  'POST /orgs/{org_id}/upstreams': ['upstream'],
  'POST /orgs/{org_id}/integrations': ['integration'],
  'POST /orgs/{org_id}/integrations/import': ['secret', 'secret_versions'],
  'POST /orgs/{org_id}/integrations/sync': ['sync', 'sync_names', 'sync_places', 'sync_results', 'sync_runs'],
  'POST /orgs/{org_id}/scans': ['leaks'],
  'POST /orgs/{org_id}/credentials/{id}/contain': ['incident', 'told'],
  'POST /orgs/{org_id}/panic': ['incident'],
  'DELETE /orgs/{org_id}/members/{id}': ['former_member'],
};
/**
 * Routes that add only for an owner, a person with a passkey, or with the token of an issuer; and what that
 * is.
 */
const OF_PEOPLE: Record<string, string> = {
  'POST /auth/enrol': 'session',
  'POST /auth/login': 'session',
  'POST /auth/sso/link': 'session',
  'POST /auth/device/token': 'session',
  'POST /auth/exchange': 'session',
  'POST /orgs/{org_id}/scim-tokens': 'credential',
  'POST /orgs/{org_id}/members/{id}/passkeys': 'member',
};
/** Routes that change or end what is there. A new one has a line here or above. */
const ADDS_NOTHING =
  /^(PATCH|DELETE) |\/(restore|revoke|readmit|suspend|resume|assign|block|cancel|approve|reject|confirm|test|redeliver|rotate-secret|seek|enrolments|rotate|notify|generate|contain|logout|refresh|start|options|lookup|deny|device|archive|recovery|adopt|accept|reset|rewrap|\{id\})$|^POST \/orgs$/;

/** An organisation in which there is something of every kind, that others than the walking root created. */
async function furnish() {
  useTargets();
  const { o } = await newOffice();
  const secret = await newSecret(o, { value: 'first' });
  await o.patch(`/secrets/${secret.id}`, { value: 'second' });
  const leaking = await newSecret(o, { value: 'a-value-that-leaks-4711' });
  const held = await newSecret(o, { name: 'held/one' });
  for (let n = 0; n < TIMES; n++) await newSecret(o, { name: `D_${n}`, environment: 'development' });

  await newApprovalPolicy(o, ['secret.update'], { applies_to: { names: ['held/*'] } });
  const member = await newMember(o, 'viewer');
  const connection = (name: string) =>
    o.post('/integrations', {
      kind: 'sync',
      platform: 'heroku',
      name,
      config: herokuConfig,
      environments: ['production'],
    });
  const integration = (await connection('of others')).json.id as string;
  const issuer = await newIssuer();
  const contained: string[] = [];
  for (let n = 0; n < TIMES; n++) {
    const agent = await newAgent(o);
    await agent.o.get(`/secrets/${secret.id}`);
    contained.push(agent.id);
  }
  const ids: Record<string, string> = {
    environments: (await o.post('/environments', { name: 'Spare', slug: 'spare' })).json.id,
    secrets: secret.id,
    'api-keys': (await newKey(o, { scopes: ['secrets:read'] })).id,
    'agent-credentials': (await newAgent(o)).id,
    members: member.id,
    teams: await newTeam(o),
    domains: (await newDomain(o)).id,
    'sso-connections': await addConnection(o),
    devices: (await newDevice(o)).id,
    grants: (await newGrant(o, 'member', member.id)).id,
    policies: (await newPolicy(o, 'naming', { pattern: '.' })).id,
    trusts: (await newTrust(o, issuer)).id,
    'scim-tokens': (await newIdp(o)).id,
    integrations: integration,
    webhooks: (await o.post('/webhooks', { url: 'https://hooks.example.com/in', events: '*' })).json.id,
    'log-streams': (
      await o.post('/log-streams', { name: 'x', kind: 'https', config: { url: 'https://siem.example.com' } })
    ).json.id,
    upstreams: (await newUpstream(o, {}, secret.name)).id,
    shares: (await newLink(o, secret.id)).id,
    '{environment}': 'production',
  };
  return { o, ids, secret, leaking, held, member, issuer, contained };
}
type World = Awaited<ReturnType<typeof furnish>>;

/** One request of the walk. `n`: the number of the request, so that each creates something else. */
interface Turn {
  world: World;
  by: Caller;
  n: string;
}

const made: Record<string, (turn: Turn) => unknown> = {
  'PATCH /orgs/{org_id}/secrets/{id}': ({ n }) => ({ value: `v ${n}` }),
  'POST /orgs/{org_id}/provider-tokens': ({ n }) => ({ name: `p ${n}`, scopes: ['rotate'] }),
  'POST /orgs/{org_id}/credentials/{id}/contain': () => ({ rotate: 'generated' }),
  'POST /orgs/{org_id}/environments/{environment}/promote': ({ n }) => ({
    from: 'development',
    names: [`D_${n.split('-').at(-1)}`],
  }),
  'POST /orgs/{org_id}/environments': ({ n }) => ({ name: `E ${n}`, slug: `e-${n}` }),
  'POST /orgs/{org_id}/members': ({ n }) => ({ email: `m${n}@example.com`, name: 'M', role: 'viewer' }),
  'POST /orgs/{org_id}/teams/{id}/members': ({ world }) => ({ member_id: world.member.id }),
  'POST /orgs/{org_id}/grants': ({ n, world }) => ({
    grantee: { type: 'member', id: world.member.id },
    permission: 'read',
    secrets: [`g${n}`],
  }),
  'POST /orgs/{org_id}/secrets': ({ n }) => ({ name: `S_${n}`, type: 'generic', value: 'v' }),
  'POST /orgs/{org_id}/log-streams': ({ n }) => ({
    name: n,
    kind: 'https',
    config: { url: 'https://siem.example.com/audit' },
  }),
  'POST /orgs/{org_id}/upstreams': ({ n, world }) =>
    upstreamIn(world.secret.name, { name: `u-${n}`.toLowerCase() }),
  'POST /orgs/{org_id}/integrations': ({ n }) => ({
    kind: 'sync',
    platform: 'heroku',
    name: `c ${n}`,
    config: herokuConfig,
    environments: ['production'],
  }),
  'POST /orgs/{org_id}/integrations/import': ({ n }) => ({
    source: 'svc',
    onConflict: 'overwrite',
    data: { [`I_${n}`]: 'x' },
  }),
  'POST /orgs/{org_id}/integrations/sync': ({ n, world }) => ({
    platform: 'heroku',
    config: { ...herokuConfig, appName: `app-${n}` },
    environmentId: 'production',
    names: [world.secret.name],
  }),
  'POST /orgs/{org_id}/domains': ({ n }) => ({ domain: `d${n}.example.com` }),
  'POST /orgs/{org_id}/scans': ({ n, world }) => ({
    files: [{ path: `f-${n}`, content: `x = "${world.leaking.value}"` }],
  }),
  'POST /orgs/{org_id}/trusts': ({ world }) => trustIn(world.issuer),
  'POST /orgs/{org_id}/integrations/notify': ({ world }) => ({ integrationId: world.ids.integrations }),
  'POST /orgs/{org_id}/secrets/{id}/share': () => ({ kind: 'link', expires_in: 60, max_views: 1 }),
  'POST /provider/issue': ({ n }) => ({
    secretName: `P_${n}`,
    environment: 'production',
    value: 'v',
    ttlSeconds: 60,
  }),
};

/** Routes whose target is another for each request. */
const targets: Record<string, (turn: Turn) => Record<string, string>> = {
  'PUT /orgs/{org_id}/secrets/by-name/{name}': ({ n }) => ({ '{name}': `P_${n}` }),
  'PATCH /orgs/{org_id}/secrets/{id}': ({ world }) => ({ secrets: world.held.id }),
  'POST /orgs/{org_id}/credentials/{id}/contain': ({ world, n }) => ({
    credentials: world.contained[Number(n.split('-')[1])] as string,
  }),
};

/** Session tokens leave the gate before D1. */
const BRIEF = " and kind not in ('session', 'browser')";

/** The rows that are stored, by table of D1 and of the gate, and by kind in the table of rows. */
async function stored(o: Caller): Promise<Map<string, number>> {
  const tables = Object.values(schema).flatMap((one) => (one instanceof SQLiteTable ? [one] : []));
  const named = tables
    .map(getTableName)
    .filter((name) => !['deployment_keys', 'signing_keys', 'org_keys', 'orgs', 'fences'].includes(name));
  const inD1 = await db.batch<{ n: number }>(
    named.map((name) =>
      db
        .prepare(`select count(*) n from ${name} where org_id = ?${name === 'credentials' ? BRIEF : ''}`)
        .bind(o.id),
    ),
  );
  const kindOf = Object.fromEntries(rowKinds().map((kind) => [tableName(kind), kind]));
  const inGate = await inCore(o, ({ storage: { sql } }) => {
    const of = sql
      .exec<{ name: string }>(
        "select name from sqlite_master where type = 'table' and name not like '\\_cf%' escape '\\' and name <> 'rows'",
      )
      .toArray()
      .map(({ name }) => [name, sql.exec<{ n: number }>(`select count(*) n from ${name}`).one().n] as const);
    const kinds = sql
      .exec<{ kind: string; n: number }>(
        "select case when body is null then 'tombstones' when space = 'session' then 'session' else kind end kind, count(*) n from rows group by 1",
      )
      .toArray()
      .map(({ kind, n }) => [kind, n] as const);
    return [...of, ...kinds];
  });
  const found = new Map<string, number>();
  const add = (name: string, n: number) => found.set(name, (found.get(name) ?? 0) + n);
  for (const [at, name] of named.entries()) add(kindOf[name] ?? name, inD1[at]?.results[0]?.n ?? 0);
  for (const [name, n] of inGate) add(name, n);
  return found;
}

/** Calls a route as a root; answers how. */
async function callRoute(
  world: World,
  route: (typeof routes)[number],
  by: Caller,
  at: number,
): Promise<number[]> {
  const name = nameOf(route);
  const statuses: number[] = [];
  for (let n = 0; n < (route.method === 'get' ? 1 : TIMES); n++) {
    const turn = { world, by, n: `${at}-${n}` };
    const ids = { ...world.ids, ...targets[name]?.(turn) };
    const path = route.path
      .replace('{org_id}', world.o.id)
      .replace(
        /([a-z-]+)\/\{(\w+)\}/g,
        (_, collection, parameter) => `${collection}/${ids[`{${parameter}}`] ?? ids[collection] ?? 'none'}`,
      );
    const body = made[name] ? made[name](turn) : bodies[name];
    const answer = await send(route.method.toUpperCase(), `${route.isPage ? '' : '/api/v1'}${path}`, {
      token: by.token,
      body,
    });
    statuses.push(answer.status);
  }
  if (route.path.endsWith('/integrations/sync')) await syncAll(world.o);
  return statuses;
}

const nameOf = ({ method, path }: { method: string; path: string }) => `${method.toUpperCase()} ${path}`;
const walked = routes.filter(({ path }) => !path.endsWith('/stream'));

it('quotas: each route that writes says what it adds, and each such kind has a quota of the root', () => {
  const writing = walked.filter(({ method }) => method !== 'get').map(nameOf);
  expect(writing.filter((name) => !adds[name] && !OF_PEOPLE[name] && !ADDS_NOTHING.test(name))).toEqual([]);
  const kinds = [...Object.values(adds).flat(), ...Object.values(OF_PEOPLE)];
  expect(
    kinds.filter(
      (kind) => !counts[kind] && !OF_ADMINISTRATORS.includes(kind) && !(parts[kind] && counts[parts[kind]]),
    ),
  ).toEqual([]);
});

slow(
  'quotas: whatever one root calls, again and again, each row that it adds is of such a kind, and within its quota',
  {
    timeout: 240_000,
  },
  async () => {
    const world = await furnish();
    const { o } = world;
    const mend = lowerQuotas();
    const found: string[] = [];
    const last = /panic|DELETE|recovery|adopt|reset/;
    const writing = walked.filter(({ method }) => method !== 'get');
    const groups = [
      walked.filter(({ method }) => method === 'get'),
      ...writing.filter((route) => !last.test(nameOf(route))).map((route) => [route]),
      ...writing.filter((route) => last.test(nameOf(route))).map((route) => [route]),
    ];
    try {
      for (const [at, group] of groups.entries()) {
        const name = group.map(nameOf).join(', ');
        faults.clock = (faults.clock ?? Date.now()) + 1000;
        // The root does not act as an owner, except where only owners may.
        const root = await newKey(o, {
          scopes: /break-glass|panic|DELETE \/orgs\/\{org_id\}$/.test(name) ? ['*'] : SCOPES,
        });
        const by = name.includes('/provider/') ? (await newProvider(root.o, { secrets: ['P_*'] })).o : root.o;
        const before = await stored(o);
        const statuses: number[] = [];
        for (const route of group) statuses.push(...(await callRoute(world, route, by, at)));
        const after = await stored(o);
        const grown = [...after]
          .filter(([kind, n]) => n > (before.get(kind) ?? 0) && !OF_REQUESTS.includes(kind))
          .map(([kind]) => kind);
        if (`${grown.sort()}` !== `${(adds[name] ?? []).toSorted()}`)
          found.push(`${name} (${statuses}) adds ${grown}`);
        // The root itself is a credential.
        const over = await inCore(o, (core) =>
          Object.entries(counts)
            .filter(([, count]) => count(core, root.id) > MOST)
            .map(([kind]) => kind),
        );
        if (over.length) found.push(`${name} (${statuses}) exceeds the quota of ${over}`);
      }
    } finally {
      mend();
    }
    expect(found).toEqual([]);
  },
);
