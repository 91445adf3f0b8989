// A flood: every route, with every field of a request at its largest, under one low-privilege credential,
// many times. What is kept of a request and the work that it causes have bounds, nobody else's requests cost
// more for it, and the credential can be ended. FLOOD=1000 in the environment says how often each route is
// asked; `npm run test:long` does.
import { env } from 'cloudflare:workers';
import { getTableConfig, SQLiteTable } from 'drizzle-orm/sqlite-core';
import { decodeJwt } from 'jose';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { nobody, type PermissionSet, stepsFor } from '../../../src/auth/authorize';
import * as globs from '../../../src/auth/globs';
import { fromBase62, fromBase64Url, toBase64Url, utf8 } from '../../../src/crypto/bytes';
import { idBytes, newId, type Prefix } from '../../../src/db/ids';
import * as schema from '../../../src/db/schema';
import { routes } from '../../../src/domains';
import { exposed, MOST_STEPS } from '../../../src/domains/incidents/exposure';
import { overlaps } from '../../../src/gate/identity/caller';
import { unknownTokens } from '../../../src/gate/identity/identify';
import { formerSessions } from '../../../src/gate/rows/former-sessions';
import { runTasks } from '../../../src/gate/tasks/run';
import type { Route } from '../../../src/http/route';
import { newSlices, SLICE, type Slices } from '../../../src/http/slices';
import { signSession } from '../../../src/keys/jwt';
import { createSigningKeys } from '../../../src/keys/signing';
import { newSignedIn, ORIGIN } from '../../support/browser';
import { newAgent, newKey, newProvider, newSession } from '../../support/credentials';
import { faults } from '../../support/faults';
import { inCore, keyring } from '../../support/gate';
import { largest, PATTERNS, pattern } from '../../support/largest';
import { addKeys, addSessions, newGrant, newMember, newTeam } from '../../support/people';
import { counted } from '../../support/rows';
import { type Answer, type Caller, codeOf, db, newOrg, newSecret, send, useWorld } from '../../support/world';

useWorld();

const ROUNDS = Number((env as unknown as { FLOOD?: string }).FLOOD || 1);

/** Every comparison of a name with a pattern, or of two patterns, counted. */
const compared = { count: 0 };
const { matches, contains } = globs;
beforeAll(() => {
  vi.spyOn(globs, 'matches').mockImplementation((pattern, name) => matches(pattern, name, compared));
  vi.spyOn(globs, 'contains').mockImplementation((outer, inner) => contains(outer, inner, compared));
});
afterAll(() => void vi.restoreAllMocks());

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
/** Names that the gate of a test holds. */
const PLANTED = 1200;
/**
 * What one request may cause. Steps: 20 million for the loops over names, and what it takes to begin each
 * comparison.
 */
const MOST_WORK: Work = {
  statements: 600,
  read: 3 * PLANTED,
  written: 30,
  d1: 2,
  gate: 2,
  steps: 24_000_000,
};
/** Bytes of an answer: a page of 100 secrets. */
const MOST_ANSWER = 262_144;

// ---------------------------------------------------------------- what is counted

/** What a request causes, whatever the machine: counts, no times. */
interface Work {
  /** Statements on the storage of gates, and rows that these read and wrote. */
  statements: number;
  read: number;
  written: number;
  /** Calls of D1 and of gates. */
  d1: number;
  gate: number;
  /** Steps of comparing names with patterns. */
  steps: number;
}

async function workOf<T>(o: Caller, run: () => Promise<T>): Promise<{ answer: T; work: Work }> {
  compared.count = 0;
  const { answer, cost } = await counted(o, run);
  const { statements, rows, d1, gate } = cost;
  return { answer, work: { statements, ...rows, d1, gate, steps: compared.count } };
}

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
    return own
      ? [
          `(select coalesce(sum(${bytesIn(columns.map((column) => column.name))}), 0) from "${name}" where ${own} = ?1)`,
        ]
      : [];
  });
/** Bytes of all rows that D1 holds of an organisation. */
const d1Bytes = async (o: Caller) =>
  (await db
    .prepare(`select ${sums.join(' + ')} n`)
    .bind(o.id)
    .first<number>('n')) as number;

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
    body: route.body ? largest(route.body.schema) : undefined,
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

/** Secrets in the gate alone, of long names: no test reads their values. */
const plant = (o: Caller, template: string, many: number) =>
  inCore(o, ({ rows, storage }) =>
    storage.transactionSync(() => {
      const row = rows.get('secret', template) as schema.SecretRow;
      for (let n = 0; n < many; n++)
        rows.put('secret', { ...row, id: newId('sec'), name: `${'ab'.repeat(120)}-${n}` });
    }),
  );

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

type Agent = Awaited<ReturnType<typeof newAgent>>;

/** An agent at the end of a chain of four, each of them limited to the largest patterns. */
async function chainOf(o: Caller) {
  const chain: Agent[] = [];
  for (let n = 0; n < 4; n++)
    chain.push(
      await newAgent(chain.at(-1)?.o ?? o, {
        scopes: n < 3 ? ['secrets:list', 'secrets:read', 'tokens:write'] : ['secrets:list', 'secrets:read'],
        secrets: PATTERNS,
        rate_limit: 6000,
      }),
    );
  return chain as [Agent, ...Agent[]];
}

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
    { timeout: 3_600_000 },
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

  it('by a credential over its rate limit: one audit entry a minute is all that is kept', {
    timeout: 240_000,
  }, async () => {
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
        expect(work.written, label).toBeLessThanOrEqual(2);
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
  });
});

describe('cursor: a caller who is limited to some names', () => {
  it('learns no name and no id of other secrets', async () => {
    const o = await newOrg();
    const kept = await newSecret(o, { name: 'KEPT' });
    await plant(o, kept.id, PLANTED);
    const agent = await newAgent(o, { scopes: ['secrets:list'], secrets: ['KEPT'] });
    const cursors: string[] = [];
    for (let cursor = ''; ; ) {
      const { status, json } = await agent.o.get(`/secrets?limit=1${cursor && `&cursor=${cursor}`}`);
      expect([status, json.data.every(({ name }: { name: string }) => name === 'KEPT')]).toEqual([200, true]);
      if (json.next_cursor === null) break;
      cursors.push(json.next_cursor);
      cursor = json.next_cursor;
    }
    // The first ends at a secret that the agent may not see: a page looks at 1,000.
    expect(cursors).toHaveLength(1);
    const again = (await agent.o.get('/secrets?limit=1')).json.next_cursor;
    expect(again).not.toBe(cursors[0]);
    const hidden = await inCore(o, ({ rows }) =>
      rows.after('secret', kept.id, PLANTED).map(({ id, name }) => ({ id, name })),
    );
    const one = hidden[0] as { id: string; name: string };
    for (const plain of [one.id.slice(4), toBase64Url(utf8(one.id)), toBase64Url(utf8(`after ${one.name}`))])
      expect(leaked(plain, [one])).not.toEqual([]);
    for (const cursor of [...cursors, again] as string[]) expect(leaked(cursor, hidden)).toEqual([]);
  });
});

const hex = (bytes: Uint8Array) => [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('');

/** Which of some secrets a text names: by itself, or where its parts are read as base64 or base62. */
function leaked(text: string, secrets: { id: string; name: string }[]): string[] {
  const decoded: Uint8Array[] = [];
  for (let at = 0; at < text.length; at++) {
    const rest = text.slice(at);
    for (const cut of [0, 1, 2, 3])
      decoded.push(fromBase64Url(rest.slice(0, rest.length - cut)) ?? new Uint8Array());
    for (const length of [21, 22]) decoded.push(fromBase62(rest.slice(0, length), 16) ?? new Uint8Array());
  }
  const said = [text, ...decoded.flatMap((bytes) => [hex(bytes), new TextDecoder().decode(bytes)])].join(' ');
  return secrets
    .filter(({ id, name }) =>
      [id.slice(4), name, hex(idBytes('sec', id) as Uint8Array)].some((part) => said.includes(part)),
    )
    .map(({ id }) => id);
}

describe('rate limit: a token that the gate has forgotten', () => {
  /** A session token that was revoked, and that the gate has forgotten. */
  async function newForgottenSession() {
    const o = await newOrg();
    const session = await newSession(o);
    await o.del(`/access-tokens/${session.id}`);
    const now = Date.now() + 700_000;
    faults.clock = now;
    await inCore(o, (core) => {
      core.schedule.at('rows', now);
      return runTasks(core, now);
    });
    // As of an earlier release: in D1, and not among the ended ones of the gate.
    const row = await inCore(o, (core) => {
      const left = formerSessions(core).find('id', session.id);
      formerSessions(core).clear();
      return left as object;
    });
    const values = Object.values(row).map((value) =>
      typeof value === 'object' && value !== null ? JSON.stringify(value) : value,
    );
    await db
      .prepare(`insert into credentials (${Object.keys(row)}) values (${values.map(() => '?')})`)
      .bind(...values)
      .run();
    return { o, session, now };
  }

  it('costs at most one query of D1 a minute, and none after 60 requests', async () => {
    const { o, session, now } = await newForgottenSession();
    const head = () => inCore(o, ({ auditLog }) => auditLog.head().sequence);
    for (const minute of [1, 2, 3]) {
      const before = await head();
      const { answer, work } = await workOf(o, async () => {
        const answers: Answer[] = [];
        for (let n = 0; n < 200; n++) answers.push(await session.o.get('/secrets'));
        return answers;
      });
      // Refusals by 401 come before 429, so that a caller is not told to try again.
      expect(new Set(answer.map((one) => codeOf(one).join(' ')))).toEqual(
        new Set(['401 TOKEN_REVOKED', ...(work.d1 ? [] : ['401 UNAUTHENTICATED'])]),
      );
      expect(work.d1).toBe(1);
      expect((await head()) - before).toBe(60);
      faults.clock = now + minute * 61_000;
    }
  });

  it('is not looked up over the limit, regardless of earlier responses', async () => {
    const { o, session } = await newForgottenSession();
    for (let n = 0; n < 60; n++) await session.o.get('/secrets');
    await inCore(o, (core) => unknownTokens(core).clear());
    const { answer, work: caused } = await workOf(o, () => session.o.get('/secrets'));
    expect([answer.status, caused.d1, caused.read]).toEqual([401, 0, 0]);
  });
});

describe('limits: name patterns on many names', () => {
  /** Compares many long names with the largest patterns, two of which match something. */
  async function wideWorld() {
    const o = await newOrg();
    const kept = await newSecret(o, { name: 'KEPT' });
    await plant(o, kept.id, PLANTED);
    const key = await newKey(o, { scopes: ['secrets:list', 'secrets:read'] });
    return {
      o,
      kept,
      key,
      session: await newSession(key.o, { secrets: [...PATTERNS.slice(2), 'KEPT', '*-7'] }),
    };
  }

  it.each([
    ['by creation', ''],
    ['by folders', '&environment=production&delimiter=/'],
  ])('a list ends its page early, and its pages show each secret once: %s', async (_, query) => {
    const { o, kept, session } = await wideWorld();
    const shown: string[] = [];
    let pages = 0;
    for (let cursor = ''; ; pages++) {
      const { answer, work } = await workOf(o, () =>
        session.o.get(`/secrets?limit=100${query}${cursor && `&cursor=${cursor}`}`),
      );
      expect([answer.status, work.steps < 5_000_000]).toEqual([200, true]);
      shown.push(...answer.json.data.map(({ id }: { id: string }) => id));
      if (!answer.json.has_more) break;
      cursor = answer.json.next_cursor;
    }
    expect(pages).toBeGreaterThan(5);
    const all = await inCore(o, ({ rows }) => rows.after('secret', '', 2 * PLANTED));
    expect(shown.toSorted()).toEqual(
      all.filter(({ id, name }) => id === kept.id || name.endsWith('-7')).map(({ id }) => id),
    );
  });

  it('a comparison of environments ends its page early, and its pages show each name once', async () => {
    const { o, session } = await wideWorld();
    const shown: string[] = [];
    let pages = 0;
    for (let cursor = ''; ; pages++) {
      const query = `environments=staging,production&limit=100${cursor && `&cursor=${cursor}`}`;
      const { answer, work } = await workOf(o, () => session.o.get(`/environments/compare?${query}`));
      expect([answer.status, work.steps < MOST_WORK.steps]).toEqual([200, true]);
      shown.push(...answer.json.data.map(({ name }: { name: string }) => name));
      if (!answer.json.has_more) break;
      cursor = answer.json.next_cursor;
    }
    expect(pages).toBeGreaterThan(5);
    expect([shown.length > 0, new Set(shown).size]).toEqual([true, shown.length]);
  });

  it('a bulk read with many patterns is refused, and one with few is not', async () => {
    const { o, session, kept, key } = await wideWorld();
    const { answer, work } = await workOf(o, () => session.o.get('/environments/production/values'));
    expect([answer.status, answer.json.error.code, work.steps < MOST_WORK.steps]).toEqual([
      422,
      'RESULT_TOO_LARGE',
      true,
    ]);
    const narrow = await newSession(key.o, { secrets: ['*KEPT', 'none/*'] });
    expect((await narrow.o.get('/environments/production/values')).json.values).toEqual({ KEPT: kept.value });
    expect((await o.get(`/credentials/${narrow.id}/graph`)).json.reach.environments).toContainEqual({
      environment: 'production',
      secrets: 1,
    });
  });

  it('a graph counts up to the limit, and says so', async () => {
    const { o, session } = await wideWorld();
    const { answer, work } = await workOf(o, () => o.get(`/credentials/${session.id}/graph`));
    const production = answer.json.reach.environments.find(
      ({ environment }: { environment: string }) => environment === 'production',
    );
    expect([
      answer.status,
      production.incomplete,
      production.secrets <= 2,
      work.steps < MOST_WORK.steps,
    ]).toEqual([200, true, true, true]);
  });

  it('a list of the audit log reads fewer entries at a time, and shows each once', async () => {
    const o = await newOrg();
    const kept = await newSecret(o, { name: 'KEPT' });
    await inCore(o, ({ storage, auditLog }) =>
      storage.transactionSync(() => {
        for (let n = 0; n < 600; n++)
          auditLog.append(
            {
              actor: { kind: 'api_key', id: 'key_0', parent_id: null, name: null },
              action: 'secret.read',
              resource: kept.id,
              resource_name: n % 100 ? 'ab'.repeat(120) : 'KEPT',
              environment: 'production',
              version: 1,
              reason: null,
              request_id: `req_${n}`,
              ip: '203.0.113.7',
              user_agent: null,
            },
            200,
            Date.now(),
          );
      }),
    );
    const key = await newKey(o, { scopes: ['audit:read'] });
    const session = await newSession(key.o, { secrets: [...PATTERNS.slice(1), 'KEPT'] });
    const shown: string[] = [];
    let pages = 0;
    for (let cursor = ''; ; pages++) {
      const { answer, work } = await workOf(o, () =>
        session.o.get(`/audit-log?actor=key_0&limit=2${cursor && `&cursor=${cursor}`}`),
      );
      expect(answer.status).toBe(200);
      expect(work.steps / work.gate).toBeLessThan(5_000_000);
      shown.push(...answer.json.data.map(({ request_id }: { request_id: string }) => request_id));
      if (!answer.json.has_more) break;
      cursor = answer.json.next_cursor;
    }
    expect(pages).toBeGreaterThan(1);
    expect(shown).toEqual([500, 400, 300, 200, 100, 0].map((n) => `req_${n}`));
  });

  it('counts a name with the patterns that are matched, and not patterns of a caller who reaches every name', () => {
    const holding = (secrets: string[] | null, environments: string[] | null = null) => ({
      scopes: ['secrets:list'],
      environments,
      secrets,
      expires_at: null,
    });
    const left = (most: number, ...permissions: [PermissionSet, ...PermissionSet[]]) =>
      stepsFor({ ...nobody, permissions }, ['secrets:list'], most).take('env', 'x'.repeat(10));
    // Ten characters, and one word of 32 characters for each begun pattern and each further 32.
    expect([left(19, holding(['a', 'b'])), left(20, holding(['a', 'b']))]).toEqual([false, true]);
    expect([left(89, holding([pattern(256)])), left(90, holding([pattern(256)]))]).toEqual([false, true]);
    expect([left(0, holding(null), holding(['a'])), left(0, holding(['a'], ['other']))]).toEqual([
      true,
      true,
    ]);
    expect(left(9, holding(['a']), holding(null))).toBe(false);
  });
});

describe('limits: the intersection of a chain of agents', () => {
  it('is computed once for many requests, and never for an ended credential or one over its rate limit', async () => {
    const o = await newOrg();
    faults.clock = Date.now();
    const chain = await chainOf(o);
    const [, second, third, last] = chain as [Agent, Agent, Agent, Agent];
    const limited = await newAgent(third.o, { scopes: ['secrets:list'], secrets: PATTERNS, rate_limit: 1 });
    await inCore(o, (core) => overlaps(core).clear());
    const steps = async (by: Caller) =>
      (await workOf(by, () => by.get('/environments/production'))).work.steps;
    const first = await steps(last.o);
    const later = [await steps(last.o), await steps(last.o)];
    expect(first).toBeGreaterThan(100_000);
    expect(first).toBeLessThan(3 * 2 * 16 * 16 * 3163);
    expect(later).toEqual([0, 0]);

    expect(await steps(limited.o)).toBeGreaterThan(0);
    await inCore(o, (core) => overlaps(core).clear());
    const { answer, work } = await workOf(o, () => limited.o.get('/environments/production'));
    expect([answer.status, work.steps]).toEqual([429, 0]);

    await o.del(`/agent-credentials/${second.id}`);
    const refused = await workOf(o, () => last.o.get('/environments/production'));
    expect([refused.answer.status, refused.work.steps]).toEqual([401, 0]);
  });
});

describe('limits: contain and graph of a credential with very many descendants', () => {
  const KEYS = 5000;
  const SESSIONS = 3000;

  /** A key with so many keys and sessions below it; three of the keys hold the sessions. */
  async function crowd(keys: number, sessions: number) {
    const o = await newOrg();
    const root = await newKey(o);
    const ids: string[] = [];
    for (let at = 0; at < keys; at += 1000)
      ids.push(...(await addKeys(o, root.id, Math.min(1000, keys - at))));
    for (const id of ids.slice(0, 3)) await addSessions(o, id, sessions / 3);
    return { o, root };
  }

  it('take work in proportion to their number, and return bounded lists', { timeout: 240_000 }, async () => {
    // On a slow machine the gate's tasks would begin in between.
    faults.isAlarmHeld = true;
    for (const part of [0.2, 1]) {
      const keys = KEYS * part;
      const sessions = SESSIONS * part;
      const { o, root } = await crowd(keys, sessions);
      const graphed = () => workOf(o, () => o.get(`/credentials/${root.id}/graph`));
      // Tasks of other gates that began earlier count too: the lesser of two.
      const both = [await graphed(), await graphed()].sort((a, b) => a.work.read - b.work.read);
      const graph = both[0] as (typeof both)[number];
      expect([graph.answer.status, graph.answer.json.children.length]).toEqual([200, keys + sessions]);
      expect(graph.answer.text.length).toBeLessThan(300 * (keys + sessions));
      expect(graph.work.statements).toBeLessThan(4 * (keys + sessions));
      expect(graph.work.read).toBeLessThan(12 * (keys + sessions));

      // How many statements had been made before each call of a gate.
      const before: number[] = [];
      let calls = 0;
      faults.rpc = (_, org) => {
        before.push(faults.statements);
        if (org === o.id) calls++;
        return null;
      };
      const { answer, work } = await workOf(o, () => o.post(`/credentials/${root.id}/contain`, {}));
      const below = keys + sessions;
      expect([answer.status, answer.json.revoked.length, answer.json.credentials.length]).toEqual([
        200,
        below + 1,
        below,
      ]);
      expect(answer.text.length).toBeLessThan(200 * below);
      const perCall = [...before.slice(1), work.statements].map(
        (after, at) => after - (before[at] as number),
      );
      // A commit revokes 1,000, and each looks at all that are left: the longest call is linear, and so is
      // the number of calls. Each revoked row is counted anew for its root.
      expect(Math.max(...perCall)).toBeLessThan(7 * below);
      // Of its own gate: tasks of other organisations may run meanwhile.
      expect(calls).toBeGreaterThan(keys / 1000);
      expect(calls).toBeLessThan(100 + keys / 250);
      expect(work.read).toBeLessThan(12 * (keys + sessions) * (2 + keys / 1000));
      // The commits, and the events of the revoked keys, which move to D1.
      expect(work.d1).toBeLessThan(30 + (2 * keys) / 1000);
    }
  });
});

describe('limits: the exposure report of a credential with very many bulk reads', () => {
  const standing = (many: number) =>
    new Map(
      Array.from({ length: many }, (_, n) => {
        const row = {
          id: `sec_${n}`,
          environment: 'env',
          name: `${'ab'.repeat(120)}-${n}`,
          version: 1,
          expires_at: null,
          at: 1,
        };
        return [row.id, { ...row, deleted: false, revoked: false }];
      }),
    );
  const bulk = (patterns: string[], n: number) => ({
    environment: 'env',
    shown: 'production',
    revision: 1,
    time: n,
    sequence: n,
    last: n,
    prefix: '',
    patterns,
    withheld: new Set<string>(),
  });

  it('takes bounded steps, in slices, and counts a secret as read after that', async () => {
    const bulks = Array.from({ length: 200 }, (_, n) => bulk([...PATTERNS.slice(1), `none-${n}`], n));
    compared.count = 0;
    const whole = newSlices('o.key', MOST_STEPS);
    let mostInSlice = 0;
    const slices: Slices = {
      ...whole,
      rest(steps) {
        const rest = whole.rest(steps);
        mostInSlice = Math.max(mostInSlice, compared.count - at);
        if (rest) at = compared.count;
        return rest;
      },
    };
    let at = 0;
    const found = await exposed(bulks, standing(200), [], [], new Map(), slices);
    whole.end();
    expect(compared.count).toBeLessThan(125_000_000);
    expect(mostInSlice).toBeLessThan(2 * SLICE);
    expect(found.length).toBeGreaterThan(0);
    // Once for a version, however many reads gave it away.
    expect(found.length).toBeLessThanOrEqual(200);
    const few = newSlices('o.key', MOST_STEPS);
    expect(await exposed(bulks.slice(0, 5), standing(200), [], [], new Map(), few)).toEqual([]);
    few.end();
  });

  it('distinguishes 1,000 kinds of bulk reads, and ends', async () => {
    const o = await newOrg();
    const kept = await newSecret(o, { name: 'KEPT' });
    const other = await newSecret(o, { name: 'OTHER' });
    const key = await newKey(o, { scopes: ['secrets:read'] });
    const read = async (prefix: string) =>
      (await key.o.get(`/environments/production/values?prefix=${prefix}`)).json.values;
    expect(await read('KEPT')).toEqual({ KEPT: kept.value });
    const namesRead = async () =>
      (await o.post(`/credentials/${key.id}/contain`, {})).json.read.map(
        ({ secret_id }: { secret_id: string }) => secret_id,
      );
    for (let n = 0; n < 999; n++) {
      faults.clock = Date.now() + n * 100;
      await read(`none-${n}`);
    }
    await read('one-more');
    expect((await namesRead()).sort()).toEqual([kept.id, other.id].sort());
  });
});

describe('rate limit: an expired JWT of a browser session', () => {
  it('is 401 TOKEN_EXPIRED with an audit entry, and counts for the session', async () => {
    const { o, browser } = await newSignedIn();
    const key = await createSigningKeys(db, (await keyring().deployment()).signing).current();
    const { sid, jti } = decodeJwt(browser.token) as { sid: string; jti: string };
    const claims = { org: o.id, member: o.owner, session: sid, n: Number(jti) };
    const { token } = await signSession(key, ORIGIN, claims, Date.now() - 1000, Date.now() - 600_000);
    const left = async (token: string) => {
      const answer = await send('GET', `/api/v1/orgs/${o.id}/environments`, { token });
      return {
        code: codeOf(answer),
        left: Number(answer.headers.get('x-ratelimit-remaining')),
        id: answer.headers.get('request-id'),
      };
    };
    const before = await left(browser.token);
    const expired = [await left(token), await left(token), await left(token)];
    expect(expired.map(({ code }) => code)).toEqual(Array(3).fill([401, 'TOKEN_EXPIRED']));
    expect(expired.map((one) => before.left - one.left)).toEqual([1, 2, 3]);
    expect(before.left - (await left(browser.token)).left).toBe(4);
    const entries = (await o.get('/audit-log?limit=10')).json.data as {
      request_id: string;
      status: number;
      actor: object;
      action: string;
    }[];
    for (const { id } of expired)
      expect(entries.find(({ request_id }) => request_id === id)).toMatchObject({
        status: 401,
        action: 'environment.list',
        actor: { kind: 'member', id: o.owner, parent_id: sid },
      });
  });
});
