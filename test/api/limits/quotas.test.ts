// Quotas: what one root stores of each kind of row is bounded, finished rows included, however many requests
// come at once; and what stays for a while makes room for the next, the oldest first.
import { getTableName } from 'drizzle-orm';
import { SQLiteTable } from 'drizzle-orm/sqlite-core';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { type RowKind, tableName } from '../../../src/db/rows';
import type { ShareRow } from '../../../src/db/schema';
import * as schema from '../../../src/db/schema';
import { announcedQuota } from '../../../src/domains/incidents/gate/announced';
import { leakQuota } from '../../../src/domains/scans/gate/leaks';
import { nameQuotas, syncs } from '../../../src/domains/syncs/gate/store';
import { makerQuota } from '../../../src/gate/identity/former-makers';
import { formerSessionQuota } from '../../../src/gate/identity/former-sessions';
import {
  lastingOf,
  passingOf,
  secretsOfRoot,
  sessionQuotas,
  wholeQuotas,
} from '../../../src/gate/limits/quotas';
import { storedResponses } from '../../../src/gate/request/stored-responses';
import { rootOfCredential } from '../../../src/gate/rows/quota-root';
import { tombstoneQuota } from '../../../src/gate/rows/tombstones';
import { runTasks } from '../../../src/gate/tasks/run';
import { newAgent, newKey } from '../../support/credentials';
import { faults } from '../../support/faults';
import { evict, inCore } from '../../support/gate';
import { approvalIn, newApprovalPolicy, newOffice } from '../../support/governance/approvals';
import { herokuConfig, syncAll, useTargets } from '../../support/integrations/syncs';
import { upstreamIn } from '../../support/integrations/upstreams';
import { vaultOf } from '../../support/integrations/vault';
import { allOf } from '../../support/limits/quotas';
import { newLink } from '../../support/shares';
import { signIn } from '../../support/signin/browser';
import { answerNames, documentOf, newResolver } from '../../support/signin/dns';
import { slow } from '../../support/slow';
import { DAY } from '../../support/time';
import { type Answer, type Caller, codeOf, db, newOrg, newSecret, useWorld } from '../../support/world';

useWorld();

/** Not there where mutants are tested. */
const pages = import.meta.glob<string>('../../../docs/reference/limits.md', {
  query: '?raw',
  import: 'default',
  eager: true,
});
const limits = Object.values(pages)[0] ?? '';

const LIMIT = [409, 'LIMIT_REACHED'];
const restore: (() => void)[] = [];
afterEach(() => {
  for (const mend of restore.splice(0)) mend();
});

/** Lowers a bound for one test. */
function lower<T extends object, F extends keyof T>(bounds: T | undefined, field: F, value: T[F]): void {
  if (!bounds) throw new Error('no such quota');
  const before = bounds[field];
  restore.push(() => {
    bounds[field] = before;
  });
  bounds[field] = value;
}

const countOf = (o: Caller, kind: RowKind) => inCore(o, ({ rows }) => rows.count(kind));
const inD1 = async (o: Caller, table: string) =>
  (await db.prepare(`select count(*) n from ${table} where org_id = ?`).bind(o.id).first<{ n: number }>())?.n;

const ISSUER = 'https://login.example.com';

/** A confirmed owner of an organisation, for what only one of them creates. */
const owners = new Map<string, ReturnType<typeof signIn>>();
function ownerOf(o: Caller): ReturnType<typeof signIn> {
  const known = owners.get(o.id) ?? signIn(o, 'owner').then((owner) => owner.confirm().then(() => owner));
  owners.set(o.id, known);
  return known;
}

describe('quotas: rows that stay until they are removed', () => {
  beforeEach(() => answerNames(newResolver(), () => Response.json(documentOf(ISSUER))));
  afterEach(() => vi.unstubAllGlobals());

  const creates: Partial<Record<RowKind, (o: Caller & { keyId: string }, n: number) => Promise<Answer>>> = {
    environment: (o, n) => o.post('/environments', { name: `e ${n}`, slug: `e-${n}` }),
    member: (o, n) => o.post('/members', { email: `m${n}@example.com`, name: 'm', role: 'viewer' }),
    team: (o, n) => o.post('/teams', { name: `t ${n}` }),
    grant: async (o, n) => {
      const { json } = await o.get('/members');
      return o.post('/grants', {
        grantee: { type: 'member', id: json.data[0].id },
        permission: 'read',
        secrets: [`a${n}`],
      });
    },
    device: (o, n) => o.post('/devices', { name: `d ${n}`, platform: 'linux' }),
    policy: (o, n) => o.post('/policies', { name: `p ${n}`, kind: 'naming', config: { pattern: 'x' } }),
    domain: (o, n) => o.post('/domains', { domain: `d${n}.example.com` }),
    sso_connection: async (o, n) => {
      const { o: owner } = await ownerOf(o);
      return owner.post('/sso-connections', {
        kind: 'oidc',
        name: `c ${n}`,
        issuer: ISSUER,
        client_id: 'svc',
        client_secret: crypto.randomUUID(),
        domains: [],
      });
    },
    webhook: (o, n) => o.post('/webhooks', { url: `https://example.com/${n}`, events: '*' }),
    log_stream: (o, n) =>
      o.post('/log-streams', { name: `l ${n}`, kind: 'https', config: { url: 'https://siem.example.com' } }),
    upstream: async (o, n) => o.post('/upstreams', upstreamIn((await newSecret(o)).name, { name: `u${n}` })),
    integration: (o, n) =>
      o.post('/integrations', {
        kind: 'sync',
        platform: 'heroku',
        name: `c ${n}`,
        config: herokuConfig,
        environments: ['production'],
      }),
    // Only clients of Vault create them, so the answers are Vault's.
    reserved_secret: async (o, n) => {
      const answer = await vaultOf(o).put(`production/metadata/r${n}`, { custom_metadata: { a: '1' } });
      const isFull = /^An organisation can have at most/.test(answer.json?.errors?.[0] ?? '');
      return { ...answer, status: isFull ? 409 : 201, json: isFull ? { error: { code: LIMIT[1] } } : null };
    },
  };

  it('are all tested', () => {
    expect(Object.keys(creates).sort()).toEqual(Object.keys(allOf(lastingOf)).sort());
  });

  it.each(Object.keys(creates) as RowKind[])(
    '%s: ten created at once succeed as far as there is room',
    async (kind) => {
      const o = await newOrg();
      const before = await countOf(o, kind);
      lower(lastingOf(kind), 'most', before + 3);
      faults.delay = 5;
      const answers = await Promise.all(
        Array.from({ length: 10 }, (_, n) => (creates[kind] as (typeof creates)[RowKind] & object)(o, n)),
      );
      faults.delay = 0;
      const codes = answers.map(codeOf);
      expect(codes.filter(([status]) => status === 201)).toHaveLength(3);
      expect(codes.filter(([status]) => status !== 201)).toEqual(Array.from({ length: 7 }, () => LIMIT));
      expect(await countOf(o, kind)).toBe(before + 3);
    },
  );

  const ofRoots = Object.entries(allOf(lastingOf)).flatMap(([kind, quota]) =>
    'root' in quota ? [kind as RowKind] : [],
  );
  it.each(ofRoots)(
    '%s: one root, agents included, creates no more than its part, and others still do',
    async (kind) => {
      const o = await newOrg();
      const key = await newKey(o, { scopes: ['*'] });
      const agent = await newAgent(key.o, { scopes: ['*'] });
      lower(lastingOf(kind), 'root', 3);
      const by = (caller: Caller, n: number) =>
        creates[kind]?.({ ...caller, keyId: key.id }, n) as Promise<Answer>;
      faults.delay = 5;
      const answers = await Promise.all(Array.from({ length: 8 }, (_, n) => by(n % 2 ? agent.o : key.o, n)));
      faults.delay = 0;
      expect(answers.map(codeOf).filter(([status]) => status === 201)).toHaveLength(3);
      expect(answers.map(codeOf).filter(([status]) => status !== 201)).toEqual(
        Array.from({ length: 5 }, () => LIMIT),
      );
      expect((await by(o, 9)).status).toBe(201);
    },
  );
});

describe('quotas: credentials of one root', () => {
  const ended = (o: Caller, id: string) => inCore(o, ({ rows }) => rows.get('credential', id) === null);

  slow('the oldest ended ones leave, never live ones nor those of others', async () => {
    const o = await newOrg();
    const mine = await newAgent(o);
    const key = await newKey(o);
    const gone = await newAgent(o);
    await o.del(`/agent-credentials/${gone.id}`);
    // It ends before all others, and is live.
    const soon = await newAgent(o, { ttlSeconds: 60 });
    lower(passingOf('credential')?.root, 'count', 4);
    const ids: string[] = [];
    for (let n = 0; n < 6; n++) {
      const { id } = await newAgent(key.o, { ttlSeconds: 31_000_000 });
      expect((await key.o.del(`/agent-credentials/${id}`)).status).toBe(204);
      ids.push(id);
    }
    expect(await Promise.all([...ids, mine.id, gone.id, soon.id].map((id) => ended(o, id)))).toEqual([
      ...[true, true, true, false, false, false],
      ...[false, false, false],
    ]);
    expect(await inCore(o, ({ rows }) => rows.stored.usage('credential', key.id).count)).toBe(4);
    expect(
      await db
        .prepare('select count(*) n from credentials where org_id = ? and created_by = ?')
        .bind(o.id, key.id)
        .first('n'),
    ).toBe(3);
    expect((await soon.o.get('/secrets')).status).toBe(200);
  });

  it('what ended with its parent is an ended one', async () => {
    const o = await newOrg();
    const key = await newKey(o);
    const top = await newAgent(key.o, { scopes: ['*'] });
    const below = await newAgent(top.o, { scopes: ['*'] });
    const last = await newAgent(below.o);
    await key.o.del(`/agent-credentials/${top.id}`);
    lower(passingOf('credential')?.root, 'count', 4);
    await newAgent(key.o);
    await newAgent(key.o);
    expect(await Promise.all([top, below, last].map(({ id }) => ended(o, id)))).toEqual([true, true, false]);
    expect((await last.o.get('/secrets')).status).toBe(401);
  });

  slow('live ones are bounded, however many are created at once', async () => {
    const o = await newOrg();
    const key = await newKey(o);
    lower(passingOf('credential')?.root, 'open', 4);
    faults.delay = 5;
    const answers = await Promise.all(
      Array.from({ length: 6 }, () =>
        key.o.post('/agent-credentials', { name: 'a', scopes: ['secrets:read'] }),
      ),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 201, 201, 409, 409, 409]);
    expect((await newAgent(o)).id).toMatch(/^agt_/);
  });

  it('session tokens are bounded for all its keys together, also after an eviction, and one that ends makes room', async () => {
    const o = await newOrg();
    const key = await newKey(o);
    const child = await newKey(await newAgent(key.o, { scopes: ['*'] }).then((agent) => agent.o));
    lower(sessionQuotas, 'root', 4);
    const mint = (by: Caller) => by.post('/access-tokens', { ttlSeconds: 600 });
    faults.delay = 5;
    const answers = await Promise.all(Array.from({ length: 8 }, (_, n) => mint(n % 2 ? child.o : key.o)));
    faults.delay = 0;
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(4);
    await evict(o);
    expect(codeOf(await mint(key.o))).toEqual(LIMIT);
    expect((await mint(o)).status).toBe(201);
    const later = Date.now() + 700_000;
    faults.clock = later;
    await inCore(o, (core) => runTasks(core, later));
    expect((await mint(key.o)).status).toBe(201);
  });

  it('a credential keeps its root after those that made it are forgotten', async () => {
    const o = await newOrg();
    const first = await newKey(o);
    const second = await newKey(await newAgent(first.o, { scopes: ['*'] }).then((agent) => agent.o));
    const third = await newKey(second.o);
    await inCore(o, ({ rows }) => rows.forget('credential', second.id));
    await evict(o);
    expect(await inCore(o, (core) => rootOfCredential(core, third.id))).toBe(first.id);
  });
});

describe('quotas: secrets that one root created', () => {
  const create = (o: Caller, value: string) =>
    o.post('/secrets', { name: `s-${Math.random()}`, type: 'generic', value });

  slow('are bounded in number, however many are created at once', async () => {
    const o = await newOrg();
    const key = await newKey(o);
    lower(secretsOfRoot, 'count', 3);
    faults.delay = 5;
    const answers = await Promise.all(Array.from({ length: 6 }, () => create(key.o, 'v')));
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 201, 201, 409, 409, 409]);
    expect((await create(o, 'v')).status).toBe(201);
  });

  slow('are bounded in bytes, whoever writes their versions, also after an eviction', async () => {
    const o = await newOrg();
    const key = await newKey(o);
    const { id } = (await create(key.o, 'v')).json;
    lower(secretsOfRoot, 'bytes', 35_000);
    await evict(o);
    const rotate = (by: Caller) => by.post(`/secrets/${id}/rotate`, { value: 'x'.repeat(7500) });
    const answers = [await rotate(key.o), await rotate(o), await rotate(key.o), await rotate(o)];
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 409]);
    expect((await key.o.del(`/secrets/${id}?permanent=true`)).status).toBe(204);
    expect((await create(key.o, 'v')).status).toBe(201);
  });
});

describe('quotas: what is bounded for the whole organisation', () => {
  const statuses = (answers: Answer[]) => [
    answers.filter(({ status }) => status < 300).length,
    answers.filter((one) => codeOf(one)[1] === 'LIMIT_REACHED').length,
  ];

  slow('secrets: many created at once do not exceed the limit', async () => {
    const o = await newOrg();
    await newSecret(o);
    lower(wholeQuotas, 'secrets', 4);
    faults.delay = 5;
    const create = (n: number) => o.post('/secrets', { name: `s-${n}`, type: 'generic', value: 'v' });
    expect(statuses(await Promise.all(Array.from({ length: 10 }, (_, n) => create(n))))).toEqual([3, 7]);
  });

  slow('bytes: many rotations at once do not exceed the limit', async () => {
    const o = await newOrg();
    const secrets = await Promise.all(Array.from({ length: 10 }, () => newSecret(o, { value: 'small' })));
    const used = await inCore(o, ({ rows }) => rows.sealedBytes());
    lower(wholeQuotas, 'sealedBytes', used + 35_000);
    faults.delay = 5;
    const answers = await Promise.all(
      secrets.map(({ id }) => o.post(`/secrets/${id}/rotate`, { value: 'x'.repeat(7500) })),
    );
    expect(statuses(answers)).toEqual([3, 7]);
  });

  slow('credentials: many created at once, by several, do not exceed the limit', async () => {
    const o = await newOrg();
    const keys = await Promise.all([1, 2, 3].map(() => newKey(o)));
    lower(wholeQuotas, 'credentials', 7);
    faults.delay = 5;
    const create = (n: number) =>
      (keys[n % 3] as { o: Caller }).o.post('/agent-credentials', { name: 'a', scopes: ['secrets:read'] });
    expect(statuses(await Promise.all(Array.from({ length: 9 }, (_, n) => create(n))))).toEqual([3, 6]);
  });
});

describe('quotas: syncs', () => {
  const ask = (o: Caller, fields: object = {}) =>
    o.post('/integrations/sync', {
      platform: 'heroku',
      config: herokuConfig,
      environmentId: 'production',
      ...fields,
    });
  const bytesIn = (o: Caller) => inCore(o, ({ rows }) => rows.stored.usage('sync', null).bytes);
  /** A key that reaches one name. */
  const limited = (o: Caller) =>
    newKey(o, { scopes: ['integrations:sync', 'integrations:read', 'secrets:read'], secrets: ['only'] });

  slow(
    'the names of a sync are kept once it has ended with its results alone, and the oldest finished ones leave',
    async () => {
      useTargets();
      const o = await newOrg();
      await newSecret(o, { name: 'only' });
      const key = await limited(o);
      const names = Array.from({ length: 1000 }, (_, n) => `${n}-${'x'.repeat(250)}`);
      const ids: string[] = [];
      for (let n = 0; n < 2; n++) {
        const { json } = await ask(key.o, { names });
        ids.push(json.syncId);
        await syncAll(o);
      }
      const shown = (await key.o.get(`/integrations/syncs/${ids[1]}`)).json;
      expect([shown.status, shown.results.length]).toEqual(['completed', 1000]);
      const row = await db
        .prepare('select names from syncs where org_id = ? and id = ?')
        .bind(o.id, ids[1])
        .first<{ names: string }>();
      expect(row?.names).toBe('[]');
      expect(await bytesIn(o)).toBeGreaterThan(500_000);
      // A third one takes the place of the first.
      lower(passingOf('sync')?.root, 'bytes', 900_000);
      await ask(key.o, { names });
      await syncAll(o);
      expect(await bytesIn(o)).toBeLessThan(900_000);
      expect((await key.o.get('/integrations/syncs')).json.data).toHaveLength(2);
      expect(codeOf(await key.o.get(`/integrations/syncs/${ids[0]}`))).toEqual([404, 'NOT_FOUND']);
      const results = await inCore(o, ({ storage }) =>
        storage.sql.exec<{ n: number }>('select count(*) n from sync_results where sync = ?', ids[0]).one(),
      );
      expect([results.n, await inD1(o, 'syncs')]).toEqual([0, 2]);
    },
  );

  slow('bytes are those of UTF-8, of names in results and of rows', async () => {
    useTargets();
    const o = await newOrg();
    await newSecret(o, { name: 'only' });
    const key = await limited(o);
    const names = Array.from({ length: 100 }, (_, n) => `${n}-${'界'.repeat(250)}`);
    const { json } = await ask(key.o, { names });
    const unfinished = await bytesIn(o);
    await syncAll(o);
    expect((await key.o.get(`/integrations/syncs/${json.syncId}`)).json.results).toHaveLength(100);
    const least = 100 * 250 * 3;
    expect([unfinished > least, (await bytesIn(o)) > least]).toEqual([true, true]);
  });

  slow(
    'count for the root of whoever asked: past it the oldest of the root leave, never those of others',
    async () => {
      useTargets();
      const o = await newOrg();
      await newSecret(o, { name: 'only' });
      const key = await limited(o);
      const mine = (await ask(o)).json.syncId;
      await syncAll(o);
      lower(passingOf('sync')?.root, 'count', 3);
      const agents = await Promise.all(
        [1, 2].map(() => newAgent(o, { scopes: ['integrations:sync', 'secrets:read'], secrets: ['only'] })),
      );
      // Agents of the first key count with it, so its own sync leaves.
      for (let n = 0; n < 4; n++) {
        expect((await ask((agents[n % 2] as { o: Caller }).o, { names: ['only'] })).status).toBe(202);
        expect((await ask(key.o, { names: ['only'] })).status).toBe(202);
        await syncAll(o);
      }
      expect(await countOf(o, 'sync')).toBe(3 + 3);
      expect(codeOf(await o.get(`/integrations/syncs/${mine}`))).toEqual([404, 'NOT_FOUND']);
    },
  );

  it('unfinished ones of a root are bounded too, and concurrent ones do not exceed the bound', async () => {
    const o = await newOrg();
    await newSecret(o, { name: 'only' });
    const key = await limited(o);
    lower(passingOf('sync')?.root, 'open', 5);
    const answers = await Promise.all(Array.from({ length: 12 }, () => ask(key.o)));
    expect(answers.filter(({ status }) => status === 202)).toHaveLength(5);
    expect(answers.filter((answer) => codeOf(answer)[1] === 'LIMIT_REACHED')).toHaveLength(7);
    expect((await ask(o)).status).toBe(202);
  });
});

describe('quotas: names at the targets of syncs', () => {
  /** How many names are recorded, and of how many targets. */
  const recorded = (o: Caller) =>
    inCore(o, ({ storage: { sql } }) =>
      ['sync_names', 'sync_places'].map(
        (table) => sql.exec<{ n: number }>(`select count(*) n from ${table}`).one().n,
      ),
    );
  /** Each target is empty at first. */
  const send = async (o: Caller, fields: object) => {
    useTargets();
    const { status } = await o.post('/integrations/sync', { environmentId: 'production', ...fields });
    expect(status).toBe(202);
    await syncAll(o);
  };
  const inline = (o: Caller, appName: string) =>
    send(o, { platform: 'heroku', config: { ...herokuConfig, appName } });
  async function withConnection() {
    const o = await newOrg();
    for (const name of ['A', 'B']) await newSecret(o, { name });
    const config = { ...herokuConfig, appName: 'of-the-connection' };
    const { json } = await o.post('/integrations', {
      kind: 'sync',
      platform: 'heroku',
      name: 'c',
      config,
      environments: ['production'],
    });
    await send(o, { integrationId: json.id });
    return { o, connection: json.id as string };
  }

  it('are forgotten with the connection that was the last to write there', async () => {
    const { o, connection } = await withConnection();
    await inline(o, 'another');
    expect(await recorded(o)).toEqual([4, 2]);
    expect((await o.del(`/integrations/${connection}`)).status).toBe(204);
    expect(await recorded(o)).toEqual([2, 1]);
  });

  slow('are forgotten once their connection leads elsewhere', async () => {
    const { o, connection } = await withConnection();
    await o.patch(`/integrations/${connection}`, { config: { ...herokuConfig, appName: 'elsewhere' } });
    await send(o, { integrationId: connection });
    expect(await recorded(o)).toEqual([2, 1]);
  });

  slow('are forgotten with age', async () => {
    const { o } = await withConnection();
    const kept = 400 * DAY;
    await inCore(o, (core) =>
      core.storage.transactionSync(() => syncs(core).sweep(Date.now() + kept - 60_000)),
    );
    expect(await recorded(o)).toEqual([2, 1]);
    await inCore(o, (core) =>
      core.storage.transactionSync(() => syncs(core).sweep(Date.now() + kept + 60_000)),
    );
    expect(await recorded(o)).toEqual([0, 0]);
  });

  it('of the oldest targets of a root are forgotten past its quota, and then those of the organisation', async () => {
    const { o } = await withConnection();
    const key = await newKey(o, { scopes: ['integrations:sync', 'secrets:read', 'tokens:write'] });
    const agent = await newAgent(key.o, { scopes: ['integrations:sync', 'secrets:read'] });
    lower(nameQuotas.root, 'names', 5);
    for (const [n, one] of [key, agent, key, agent].entries()) await inline(one.o, `app-${n}`);
    expect(await recorded(o)).toEqual([2 + 4, 1 + 2]);
    lower(nameQuotas.org, 'names', 3);
    await inline(o, 'last');
    expect(await recorded(o)).toEqual([2, 1]);
  });
});

describe('quotas: held requests', () => {
  slow('asking and cancelling without end stays within the quota of the root, agents included', async () => {
    const { o, asked } = await newOffice();
    await newApprovalPolicy(o, ['secret.read']);
    const secret = await newSecret(o);
    lower(passingOf('approval')?.root, 'count', 4);
    const ids: string[] = [];
    for (let n = 0; n < 12; n++) {
      const { id } = approvalIn(await asked.get(`/secrets/${secret.id}`));
      expect((await asked.post(`/approvals/${id}/cancel`)).status).toBe(200);
      ids.push(id);
    }
    const left = (await asked.get('/approvals')).json.data.map(({ id }: { id: string }) => id);
    expect(left).toEqual(ids.slice(-4));
    expect(await inD1(o, 'approvals')).toBe(4);
  });

  slow('what waits does not leave: past the quota a further request is refused', async () => {
    const { o, asked } = await newOffice();
    await newApprovalPolicy(o, ['secret.read']);
    lower(passingOf('approval')?.root, 'count', 2);
    const secrets = [await newSecret(o), await newSecret(o), await newSecret(o)];
    const answers: Answer[] = [];
    for (const { id } of secrets) answers.push(await asked.get(`/secrets/${id}`));
    expect(answers.map(codeOf)).toEqual([[403, 'APPROVAL_REQUIRED'], [403, 'APPROVAL_REQUIRED'], LIMIT]);
    // The expired ones make room.
    faults.clock = Date.now() + 86_400_001;
    expect(codeOf(await asked.get(`/secrets/${secrets[2]?.id}`))).toEqual([403, 'APPROVAL_REQUIRED']);
    expect(await countOf(o, 'approval')).toBe(2);
  });
});

describe('quotas: stored responses', () => {
  /** Fills the room of a root, but for some bytes. */
  const fill = (o: Caller, root: string, left: number) =>
    inCore(o, (core) => {
      const fields = {
        request: 'req_0',
        digest: 'd',
        one_time: null,
        resource: null,
        keep_until: Date.now() + DAY,
        root,
      };
      const key = (n: number) => `key:${root}:filler-${String(n).padStart(2, '0')}`;
      const size = 1024 ** 2 - 200 - key(0).length;
      for (let n = 0; n < 64; n++)
        storedResponses(core).save({ ...fields, key: key(n), answer: 'x'.repeat(n ? size : size - left) });
    });
  const create = (o: Caller, n: number) =>
    o.post('/secrets', { name: `s-${n}`, type: 'generic', value: 'v' }, { 'Idempotency-Key': `k-${n}` });

  slow('count for the root, agents included', async () => {
    const o = await newOrg();
    const key = await newKey(o, { scopes: ['secrets:write', 'tokens:write'] });
    const agent = await newAgent(key.o, { scopes: ['secrets:write'] });
    expect((await create(agent.o, 0)).status).toBe(201);
    await fill(o, key.id, 0);
    expect(codeOf(await create(agent.o, 1))).toEqual(LIMIT);
    expect((await create(o, 2)).status).toBe(201);
  });

  slow('concurrent changes store no more than there is room for', async () => {
    const o = await newOrg();
    await fill(o, o.keyId, 100);
    faults.delay = 5;
    const answers = await Promise.all(Array.from({ length: 8 }, (_, n) => create(o, n)));
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(1);
    expect(answers.filter((answer) => codeOf(answer)[1] === 'LIMIT_REACHED')).toHaveLength(7);
  });
});

describe('quotas: links', () => {
  slow('of a root are bounded, whichever of its credentials makes them', async () => {
    const o = await newOrg();
    const { id } = await newSecret(o);
    const key = await newKey(o, { scopes: ['secrets:read', 'secrets:share', 'tokens:write'] });
    const agent = await newAgent(key.o, { scopes: ['secrets:read', 'secrets:share'] });
    lower(passingOf('share')?.root, 'count', 3);
    const body = { kind: 'link', expires_in: 3600, max_views: 3 };
    const answers = await Promise.all(
      Array.from({ length: 8 }, (_, n) => (n % 2 ? key : agent).o.post(`/secrets/${id}/share`, body)),
    );
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(3);
    expect(answers.filter((answer) => codeOf(answer)[1] === 'LIMIT_REACHED')).toHaveLength(5);
    expect((await newLink(o, id)).id).toMatch(/^shr_/);
  });
});

describe('quotas: every table', () => {
  /** The rows of a table of the reference, by their first column. */
  const documented = (heading: string): Map<string, string[]> => {
    const part = limits.split(`### ${heading}\n`)[1]?.split('\n#')[0] ?? '';
    const cells = [...part.matchAll(/^\| `(\w+)` \| (.+) \|$/gm)].map(
      ([, name, rest]) => [name, (rest as string).split(' | ')] as const,
    );
    return new Map(cells as [string, string[]][]);
  };
  const shown = ({ count, bytes }: { count: number; bytes: number }) =>
    `${count.toLocaleString('en')} of ${bytes / 1024 ** 2} MiB together`;

  it('of D1 has a bound', () => {
    const tables = Object.values(schema).flatMap((one) =>
      one instanceof SQLiteTable ? [getTableName(one)] : [],
    );
    expect(tables.length).toBeGreaterThan(20);
    expect([...documented('Tables of D1').keys()].sort()).toEqual(tables.sort());
  });

  it('of a gate has a bound', async () => {
    const o = await newOrg();
    const tables = await inCore(o, ({ storage }) =>
      storage.sql
        .exec<{ name: string }>(
          "select name from sqlite_master where type = 'table' and name not like '\\_cf%' escape '\\'",
        )
        .toArray()
        .map(({ name }) => name),
    );
    expect([...documented('Tables of a gate').keys()].sort()).toEqual(tables.sort());
  });

  it('with a quota has the one that is enforced', () => {
    const tables = documented('Tables of D1');
    for (const [kind, quota] of Object.entries(allOf(lastingOf))) {
      const root =
        'root' in quota
          ? (quota as { root: number }).root.toLocaleString('en')
          : '— (administrators create them)';
      expect(tables.get(tableName(kind as RowKind))?.slice(0, 2), kind).toEqual([
        quota.most.toLocaleString('en'),
        root,
      ]);
    }
    expect(tables.get('secrets')?.[1]).toBe('100,000 of 4 GiB together');
    expect([secretsOfRoot.count, secretsOfRoot.bytes]).toEqual([100_000, 4 * 1024 ** 3]);
    const tablesOfGate = {
      leaks: leakQuota,
      told: announcedQuota,
      former_makers: makerQuota,
      ended_sessions: formerSessionQuota,
      rows: tombstoneQuota,
    };
    for (const [table, { org, root }] of Object.entries(tablesOfGate)) {
      const [ofOrg, ofRoot] = documented('Tables of a gate').get(table) ?? [];
      expect(
        [ofOrg, ofRoot].map((text) => text?.match(/[\d,]{5,}/)?.[0]),
        table,
      ).toEqual([org, root].map((n) => n.toLocaleString('en')));
    }
    for (const [kind, { org, root }] of Object.entries(allOf(passingOf))) {
      const [ofOrg, ofRoot] = tables.get(tableName(kind as RowKind)) ?? [];
      const open = (bounds: { count: number; open?: number }) =>
        bounds.open === undefined ? '' : `, ${bounds.open.toLocaleString('en')} unfinished`;
      const bounds = [shown(org) + open(org), shown(root) + open(root)];
      // More may follow: of session tokens, for example.
      expect(
        [ofOrg, ofRoot].map((text, at) => text?.slice(0, bounds[at]?.length)),
        kind,
      ).toEqual(bounds);
    }
    const { root, org } = nameQuotas;
    expect(documented('Tables of a gate').get('sync_names')?.slice(0, 2)).toEqual(
      [org, root].map(({ names, bytes }) => shown({ count: names, bytes })),
    );
  });
});

describe('quotas: counts', () => {
  it('survive the eviction of the gate, and are made anew where an earlier release kept none', async () => {
    const o = await newOrg();
    const { id } = await newSecret(o);
    await newLink(o, id);
    const before = await inCore(o, ({ rows }) => rows.stored.usage('share', o.keyId));
    expect(before.count).toBe(1);
    await inCore(o, ({ storage }) => void storage.sql.exec('drop table stored_rows'));
    await evict(o);
    expect(await inCore(o, ({ rows }) => rows.stored.usage('share', o.keyId))).toEqual(before);
  });

  it('a row keeps its root after the credential that made it is forgotten', async () => {
    const o = await newOrg();
    const { id } = await newSecret(o);
    const agent = await newAgent(o, { scopes: ['secrets:read', 'secrets:share'] });
    const link = await newLink(agent.o, id);
    await inCore(o, ({ rows }) => rows.forget('credential', agent.id));
    await evict(o);
    const bytes = await inCore(o, ({ rows }) => {
      const { stored } = rows;
      const before = stored.usage('share', o.keyId).bytes;
      const row = rows.get('share', link.id) as ShareRow;
      rows.put('share', { ...row, value_sealed: `${row.value_sealed}1234` });
      return stored.usage('share', o.keyId).bytes - before;
    });
    expect(bytes).toBe(4);
  });
});
