// A flood: every route, with every field of a request at its largest, under one low-privilege credential,
// many times. What is kept of a request and the work that it causes have bounds, nobody else's requests cost
// more for it, and the credential can be ended. FLOOD=1000 in the environment says how often each route is
// asked; `npm run test:long` does.
import { env } from 'cloudflare:workers';
import { getTableConfig, SQLiteTable } from 'drizzle-orm/sqlite-core';
import { describe, expect, it } from 'vitest';
import { newId, type Prefix } from '../../../src/db/ids';
import * as schema from '../../../src/db/schema';
import { routes } from '../../../src/domains';
import { runTasks } from '../../../src/gate/tasks/run';
import type { Route } from '../../../src/http/route';
import { newAgent, newKey, newProvider, newSession } from '../../support/credentials';
import { faults } from '../../support/faults';
import { inCore } from '../../support/gate';
import { largestUpstream } from '../../support/integrations/upstreams';
import { largest, PATTERNS } from '../../support/limits/largest';
import {
  chainOf,
  MOST_WORK,
  PLANTED,
  plant,
  useComparisons,
  type Work,
  workOf,
} from '../../support/limits/work';
import { newGrant, newMember, newTeam } from '../../support/people';
import { slow } from '../../support/slow';
import { type Caller, codeOf, db, newOrg, newSecret, send, useWorld } from '../../support/world';

useWorld();
useComparisons();

const ROUNDS = Number((env as unknown as { FLOOD?: string }).FLOOD || 1);

/**
 * What one request of a low-privilege credential may leave behind, in bytes of rows: the largest is a new
 * session token.
 */
const MOST_KEPT = { gate: 16_384, d1: 12_288 };
/**
 * And on average over all routes, where nearly all are refused: an audit entry, and the response under an
 * Idempotency-Key. `file` counts whole pages and indexes.
 */
const MEAN_KEPT = { gate: 3072, d1: 1024, file: 4096 };
/** Bytes of an answer: a page of 100 secrets. */
const MOST_ANSWER = 262_144;

// ---------------------------------------------------------------- what is counted

/** What a request causes, whatever the machine: counts, no times. */
const bytesIn = (columns: string[]) =>
  columns.map((column) => `coalesce(length(cast("${column}" as blob)), 0)`).join(' + ');

/** Bytes of all rows that a gate stores, in whatever tables; and of its file. */
const gateBytes = (o: Caller) =>
  inCore(o, ({ storage: { sql } }) => {
    const tables = sql
      .exec<{ name: string }>("select name from sqlite_master where type = 'table'")
      .toArray();
    let rows = 0;
    for (const { name } of tables.filter((table) => !/^(_cf|sqlite)_/.test(table.name))) {
      const columns = sql.exec<{ name: string }>(`pragma table_info("${name}")`).toArray();
      rows += sql
        .exec<{ n: number }>(
          `select coalesce(sum(${bytesIn(columns.map((column) => column.name))}), 0) n from "${name}"`,
        )
        .one().n;
    }
    return { rows, file: sql.databaseSize };
  });

const sums = Object.values(schema)
  .filter((table) => table instanceof SQLiteTable)
  .map((table) => getTableConfig(table))
  .flatMap(({ name, columns }) => {
    const own = name === 'orgs' ? 'id' : columns.some((column) => column.name === 'org_id') ? 'org_id' : null;
    const bytes = bytesIn(columns.map((column) => column.name));
    return own ? [`select coalesce(sum(${bytes}), 0) n from "${name}" where ${own} = ?`] : [];
  });
/** Bytes of all rows that D1 holds of an organisation. */
async function d1Bytes(o: Caller): Promise<number> {
  const results = await db.batch<{ n: number }>(sums.map((sum) => db.prepare(sum).bind(o.id)));
  return results.reduce((total, { results: [row] }) => total + (row?.n ?? 0), 0);
}

const held = async (o: Caller) => {
  const { rows, file } = await gateBytes(o);
  const d1 = await d1Bytes(o);
  return { gate: rows, file, d1 };
};

// ---------------------------------------------------------------- requests

interface Request {
  label: string;
  method: string;
  path: string;
  body?: unknown;
  headers: Record<string, string>;
}

/**
 * The widest headers. A quote takes two bytes in JSON; the runtime of the tests prints a warning for each
 * header that is not ASCII.
 */
const wide = () => ({
  'Idempotency-Key': String(++sent).padEnd(255, 'k'),
  'X-Access-Reason': '"'.repeat(256),
  'User-Agent': '"'.repeat(4000),
});
const EMOJI = '👍';
let sent = 0;

/** What a path names, by the collection that it stands in. */
type Ids = Record<string, string>;
const prefixes: Record<string, Prefix> = {
  environments: 'env',
  secrets: 'sec',
  'api-keys': 'key',
  'access-tokens': 'tok',
  'agent-credentials': 'agt',
  credentials: 'key',
  'provider-tokens': 'prv',
  'break-glass-tokens': 'bgt',
  members: 'mem',
  teams: 'team',
  grants: 'grt',
  passkeys: 'psk',
  sessions: 'ses',
};

const pathOf = (route: Route, o: Caller, named: (collection: string, parameter: string) => string) =>
  `/api/v1${route.path.replace(/([a-z-]+)\/\{(\w+)\}/g, (_, collection, parameter) => `${collection}/${parameter === 'org_id' ? o.id : named(collection, parameter)}`)}`;

const searchOf = (query: unknown) => {
  const text = new URLSearchParams(
    Object.entries((query ?? {}) as Record<string, string>).map(([name, value]) => [name, String(value)]),
  ).toString();
  return text && `?${text}`;
};

interface Parts {
  id(collection: string, parameter: string): string;
  query: unknown;
  body: unknown;
  headers: Record<string, string>;
}

const fieldsOf = (of: unknown) => Object.keys((of as { shape?: object } | undefined)?.shape ?? { field: 0 });
const spread = (names: string[], value: (n: number) => unknown) =>
  Object.fromEntries(names.map((name, n) => [name, value(n)]));

/** The ways in which a request can be large. Each goes for every route. */
const ways: Record<
  string,
  (route: Route, ids: Ids, full: { query: Record<string, unknown>; body: unknown }) => Parts
> = {
  'of things that exist': (_route, ids, { query: { cursor: _, ...query }, body }) => ({
    id: (collection, parameter) =>
      parameter === 'name'
        ? 'KEPT'
        : parameter === 'environment'
          ? 'production'
          : (ids[collection] ?? newId(prefixes[collection] as Prefix)),
    query,
    body,
    headers: {},
  }),
  'of things that do not exist': (_route, _ids, { query, body }) => ({
    id: (collection, parameter) =>
      parameter === 'name'
        ? `${'n/'.repeat(127)}n`
        : parameter === 'environment'
          ? 'e'.repeat(63)
          : newId(prefixes[collection] as Prefix),
    query,
    body,
    headers: { 'If-Match': '"v1",'.repeat(200).slice(0, 1000) },
  }),
  'with fields that nobody knows': (_route, ids) => ({
    id: (collection) => ids[collection] ?? 'x',
    query: spread(
      Array.from({ length: 50 }, (_, n) => `${n}${EMOJI.repeat(50)}`),
      () => 'x'.repeat(200),
    ),
    body: spread(
      Array.from({ length: 100 }, (_, n) => `${n}${EMOJI.repeat(2500)}`),
      (n) => n,
    ),
    headers: {},
  }),
  'with texts beyond their bounds': (route) => ({
    id: () => 'A'.repeat(15_000),
    query: spread(fieldsOf(route.query), () => 'x'.repeat(2000)),
    body: spread(fieldsOf(route.body?.schema), () =>
      'x'.repeat(Math.floor(1_000_000 / fieldsOf(route.body?.schema).length)),
    ),
    headers: { 'X-Access-Reason': 'x'.repeat(5000), 'If-Match': '"v1",'.repeat(1000) },
  }),
  'with lists beyond their bounds': (route) => ({
    id: () => '%2e'.repeat(1000),
    query: spread(fieldsOf(route.query), () => EMOJI.repeat(100)),
    body: spread(fieldsOf(route.body?.schema), () =>
      Array.from({ length: Math.floor(1900 / fieldsOf(route.body?.schema).length / 2) }, () =>
        EMOJI.repeat(100),
      ),
    ),
    headers: { 'If-None-Match': '"v1",'.repeat(200) },
  }),
};
const wayNames = Object.keys(ways);

const full = new Map<Route, { query: Record<string, unknown>; body: unknown }>();
function fullOf(route: Route) {
  const known = full.get(route) ?? {
    query: (route.query ? largest(route.query) : {}) as Record<string, unknown>,
    body: route.path.includes('/upstreams')
      ? route.body && { ...largestUpstream(), ...(route.method === 'post' && { environment: 'production' }) }
      : route.body && largest(route.body.schema),
  };
  full.set(route, known);
  return known;
}

function requestOf(route: Route, way: string, o: Caller, ids: Ids): Request {
  const { id, query, body, headers } = (ways[way] as NonNullable<(typeof ways)[string]>)(
    route,
    ids,
    fullOf(route),
  );
  const method = route.method.toUpperCase();
  return {
    label: `${method} ${route.path} ${way}`,
    method,
    path: pathOf(route, o, id) + searchOf(query),
    ...(method !== 'GET' && body !== undefined && { body }),
    headers: { ...wide(), ...headers },
  };
}

/** What a credential of little permission may do, as large as it can be. */
const allowed = (o: Caller, environments: string[]): Request[] =>
  (
    [
      [
        'POST',
        '/access-tokens',
        {
          ttlSeconds: 60,
          scopes: ['secrets:list'],
          environments,
          secrets: PATTERNS,
          allowedAddresses: Array(20).fill('0.0.0.0/0'),
        },
      ],
      ['GET', '/secrets?limit=100'],
      ['GET', '/secrets?limit=100&tag=none'],
      ['GET', '/environments/production/values'],
      ['GET', `/secrets/by-name/${'a'.repeat(255)}`],
    ] as const
  ).map(([method, path, body]) => ({
    label: `${method} ${path} as far as it is allowed`,
    method,
    path: `/api/v1/orgs/${o.id}${path}`,
    ...(body && { body }),
    headers: wide(),
  }));

// ---------------------------------------------------------------- the world

async function furnish(planted: number) {
  const o = await newOrg();
  const kept = await newSecret(o, { name: 'KEPT' });
  await plant(o, kept.id, planted);
  const member = (await newMember(o, 'viewer')).id;
  const team = await newTeam(o, member);
  const ids: Ids = {
    secrets: kept.id,
    members: member,
    teams: team,
    environments: (await o.get('/environments')).json.data[0].id,
    'api-keys': (await newKey(o)).id,
    'access-tokens': (await newSession(o)).id,
    'agent-credentials': (await newAgent(o)).id,
    'provider-tokens': (await newProvider(o)).id,
    grants: (await newGrant(o, 'member', member)).id,
    credentials: (await newKey(o)).id,
  };
  const environments = ['production', 'staging', 'development'];
  for (let n = 0; n < 97; n++) {
    const slug = `e-${n}`.padEnd(63, 'e');
    await o.post('/environments', { name: slug, slug });
    environments.push(slug);
  }
  return { o, ids, environments, kept };
}
type World = Awaited<ReturnType<typeof furnish>>;

interface Flood {
  requests: number;
  /** The most that one request caused or left behind, and which. */
  most: Record<string, { n: number; label: string }>;
  /** What a request left behind on average. */
  mean: { gate: number; d1: number; file: number };
}

/** Asks every route in every way. With `weigh` each request is weighed by itself. */
async function flood(
  { o, ids, environments }: World,
  by: Caller,
  { rounds, weigh = false }: { rounds: number; weigh?: boolean },
): Promise<Flood> {
  const most: Flood['most'] = {};
  const note = (what: string, n: number, label: string) => {
    if (n > (most[what]?.n ?? -1)) most[what] = { n, label };
  };
  let requests = 0;
  const start = await held(o);
  for (let round = 0; round < rounds; round++) {
    const asked = routes.map((route, at) =>
      requestOf(route, wayNames[(round + at) % wayNames.length] as string, o, ids),
    );
    for (const { label, method, path, body, headers } of [...asked, ...allowed(o, environments)]) {
      faults.clock = (faults.clock as number) + 600;
      const before = weigh ? await held(o) : null;
      const { answer, work } = await workOf(o, () => send(method, path, { token: by.token, body, headers }));
      requests++;
      expect(answer.status, label).toBeLessThan(500);
      for (const [what, n] of Object.entries(work)) note(what, n, label);
      note('answer', answer.text.length, label);
      const after = before && (await held(o));
      if (before && after)
        for (const what of ['gate', 'd1'] as const)
          note(`kept in ${what}`, after[what] - before[what], label);
    }
    // What is due by then, as the alarm would have it.
    await inCore(o, (core) => runTasks(core, core.now()));
  }
  const end = await held(o);
  const mean = (what: keyof Flood['mean']) => (end[what] - start[what]) / requests;
  return { requests, most, mean: { gate: mean('gate'), d1: mean('d1'), file: mean('file') } };
}

function expectBounded({ most, mean }: Flood) {
  for (const [what, bound] of Object.entries(MOST_WORK))
    expect(most[what]?.n, `${what}: ${most[what]?.label}`).toBeLessThanOrEqual(bound);
  expect(most.answer?.n, most.answer?.label).toBeLessThanOrEqual(MOST_ANSWER);
  for (const what of ['gate', 'd1', 'file'] as const)
    expect(mean[what], `mean in ${what}`).toBeLessThanOrEqual(MEAN_KEPT[what]);
}

/** What the requests of somebody else cost once they are warm. */
async function costs(reader: Caller, secret: { id: string }): Promise<Work[]> {
  const found: Work[] = [];
  for (const path of [
    `/secrets/${secret.id}`,
    '/secrets/by-name/KEPT',
    '/secrets?limit=10',
    '/environments',
  ]) {
    await reader.get(path);
    const { answer, work } = await workOf(reader, () => reader.get(path));
    expect(answer.status, path).toBe(200);
    found.push(work);
  }
  return found;
}

type Made = { id: string; o: Caller };
/** Each makes a credential that may do next to nothing, and says which credential ends it. */
const weak: Record<string, (o: Caller) => Promise<{ flooding: Made; top: Made }>> = {
  'an API key that lists': async (o) => {
    const key = await newKey(o, { scopes: ['secrets:list'] });
    return { flooding: key, top: key };
  },
  'a session token of the largest name patterns': async (o) => {
    const key = await newKey(o, { scopes: ['secrets:list'] });
    return { flooding: await newSession(key.o, { secrets: PATTERNS, ttlSeconds: 86_400 }), top: key };
  },
  'an agent at the end of a chain of agents, each of the largest name patterns': async (o) => {
    const chain = await chainOf(o);
    return { flooding: chain.at(-1) as Made, top: chain[0] };
  },
  'a provider token of the largest name patterns': async (o) => {
    const token = await newProvider(o, { scopes: ['revoke'], secrets: PATTERNS });
    return { flooding: token, top: token };
  },
};

describe('limits: a flood of the largest requests on every route', () => {
  it.each(Object.keys(weak))(
    'by %s: growth and work are bounded, other reads cost the same, and the credential can be ended',
    { tags: 'slow', timeout: 3_600_000 },
    async (who) => {
      const isKey = who === 'an API key that lists';
      faults.clock = Date.now();
      const world = await furnish(isKey ? 200 : PLANTED);
      const { o, kept } = world;
      const { flooding, top } = await (weak[who] as NonNullable<(typeof weak)[string]>)(o);
      const reader = (await newKey(o)).o;
      const before = await costs(reader, kept);

      const weighed = isKey ? await flood(world, flooding.o, { rounds: 1, weigh: true }) : null;
      if (weighed) {
        expect(weighed.most['kept in gate']?.n, weighed.most['kept in gate']?.label).toBeLessThanOrEqual(
          MOST_KEPT.gate,
        );
        expect(weighed.most['kept in d1']?.n, weighed.most['kept in d1']?.label).toBeLessThanOrEqual(
          MOST_KEPT.d1,
        );
      }
      const rounds = isKey ? ROUNDS : Math.max(1, Math.floor(ROUNDS / 10));
      const found = weighed && rounds === 1 ? weighed : await flood(world, flooding.o, { rounds });
      expectBounded(found);
      // Who may list has names compared with patterns, so that the count of steps is known to work.
      if (!isKey && !who.startsWith('a provider')) expect(found.most.steps?.n).toBeGreaterThan(0);

      expect(await costs(reader, kept)).toEqual(before);
      const contained = await o.post(`/credentials/${top.id}/contain`, {});
      expect([contained.status, contained.json.revoked.map(({ id }: Made) => id)]).toEqual([
        200,
        expect.arrayContaining([top.id, flooding.id]),
      ]);
      expect(codeOf(await flooding.o.get('/secrets'))).toEqual([401, 'TOKEN_REVOKED']);
      const doomed = await newKey(o);
      expect((await o.del(`/api-keys/${doomed.id}`)).status).toBe(204);
      expect((await o.post('/panic', { reason: 'a flood' })).status).toBe(200);
      expect((await reader.get(`/secrets/${kept.id}`)).json.value).toBe(kept.value);
    },
  );

  slow(
    'by a credential over its rate limit: one audit entry a minute is all that is kept',
    {
      timeout: 240_000,
    },
    async () => {
      const minute = 60_000;
      faults.clock = Math.ceil(Date.now() / minute) * minute;
      const world = await furnish(10);
      const { o, ids, environments } = world;
      const { id, o: by } = await newAgent(o, { scopes: ['secrets:list'], rate_limit: 1 });
      faults.clock += minute;
      expect((await by.get('/secrets')).status).toBe(200);
      await inCore(o, (core) => runTasks(core, core.now()));
      const head = () => inCore(o, ({ auditLog }) => auditLog.head().sequence);
      const start = await held(o);
      const first = await head();
      let over = 0;
      let largestOne = 0;
      for (const way of wayNames)
        for (const { method, path, body, headers, label } of [
          ...routes.map((route) => requestOf(route, way, o, ids)),
          ...allowed(o, environments),
        ]) {
          const { answer, work } = await workOf(o, () =>
            send(method, path, { token: by.token, body, headers }),
          );
          if (answer.headers.get('ratelimit')) over++;
          // The first one also schedules the audit entry, a task that this gate never had.
          expect(work.written, label).toBeLessThanOrEqual(over === 1 ? 3 : 2);
          largestOne = Math.max(largestOne, work.statements, work.d1);
        }
      expect(over).toBeGreaterThan(5 * (routes.length - 20));
      expect(largestOne).toBeLessThanOrEqual(4);
      const end = await held(o);
      expect(end.gate - start.gate).toBeLessThan(4096);
      expect([end.d1 - start.d1, await head()]).toEqual([0, first]);
      faults.clock += minute;
      await inCore(o, (core) => runTasks(core, core.now()));
      const entries = (await o.get(`/audit-log?actor=${id}&limit=100`)).json.data as {
        count: number;
        sequence: number;
      }[];
      expect(entries.filter(({ sequence }) => sequence > first).map(({ count }) => count)).toEqual([over]);
    },
  );
});
