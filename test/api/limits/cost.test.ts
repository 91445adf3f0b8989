// docs/cost.md says what each operation costs: calls, and rows read and written. It is counted here, with the
// counters of the runtime; a test that fails shows the text that the page should have.
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import page from '../../../docs/cost.md?raw';
import { closeSegments, SEGMENT } from '../../../src/gate/archive/segments';
import type { Entry } from '../../../src/gate/audit/entry';
import { runTasks } from '../../../src/gate/tasks/run';
import { contain, newProvider, newSession } from '../../support/credentials';
import { faults, until } from '../../support/faults';
import { inCore } from '../../support/gate';
import { append } from '../../support/governance/audit';
import { awsOf, newAwsKey } from '../../support/integrations/aws';
import { newStream, sendAll, sendFor, useTargets } from '../../support/integrations/log-streams';
import { newUpstream } from '../../support/integrations/upstreams';
import { type Cost, counted, type Rows } from '../../support/limits/rows';
import { exchange, newIssuer, newTrust } from '../../support/signin/issuers';
import { newIdp, newUser, person } from '../../support/signin/scim';
import {
  claimsOf,
  newConnection,
  newDomain,
  newSsoBrowser,
  useProviders,
} from '../../support/signin/sso-signin';
import { type Inside, inReplica, warm } from '../../support/storage/replicas';
import { type Answer, newOrg, newSecret, send, useWorld } from '../../support/world';

useWorld();
afterAll(() => vi.unstubAllGlobals());

const MINUTE = 60_000;
/** What the page assumes: secrets of an organisation, and millions of reads and changes a month. */
const SECRETS = 100;
const READS = 30;
const CHANGES = 0.3;
type Org = Awaited<ReturnType<typeof newOrg>>;

/** An organisation as the page assumes it. */
async function newVault(): Promise<Org> {
  const o = await newOrg();
  const data = Object.fromEntries(Array.from({ length: SECRETS }, (_, i) => [`SECRET_${i}`, `value ${i}`]));
  const { status, text } = await o.post('/integrations/import', { source: 'svc', onConflict: 'fail', data });
  if (status !== 200) throw new Error(text);
  return o;
}

/**
 * Each operation: what it needs, and then one of it. The first one in a gate costs more, and is not counted.
 */
const operations: Record<string, (o: Org) => Promise<(n: number) => Promise<Answer>>> = {
  'read a secret': async (o) => () => o.get('/secrets/by-name/SECRET_1'),
  'read all 100 values of an environment': async (o) => () => o.get('/environments/production/values'),
  'read them with `If-None-Match`: 304': async (o) => {
    const etag = (await o.get('/environments/production/values')).headers.get('etag') as string;
    return () => o.get('/environments/production/values', { 'If-None-Match': etag });
  },
  'list 100 secrets': async (o) => () => o.get('/secrets?limit=100'),
  'read a secret by a client of AWS': async (o) => {
    const aws = awsOf(o, (await newAwsKey(o)).pair);
    return () => aws('GetSecretValue', { SecretId: 'SECRET_1' });
  },
  'change a value by a client of AWS, with a `ClientRequestToken`': async (o) => {
    const aws = awsOf(o, (await newAwsKey(o)).pair);
    return (n) =>
      aws('PutSecretValue', {
        SecretId: 'SECRET_1',
        SecretString: `value ${n}`,
        ClientRequestToken: crypto.randomUUID(),
      });
  },
  'create a secret': async (o) => (n) =>
    o.post('/secrets', { name: `NEW_${n}`, type: 'generic', value: 'x' }),
  'change a value': async (o) => {
    const { id } = await newSecret(o);
    return (n) => o.patch(`/secrets/${id}`, { value: `value ${n}` });
  },
  'rotate, with a generated value': async (o) => {
    const { id } = await newSecret(o, { type: 'password' });
    return () => o.post(`/secrets/${id}/rotate`);
  },
  'delete a secret': async (o) => {
    const made = [await newSecret(o), await newSecret(o)];
    return (n) => o.del(`/secrets/${made[n]?.id}`);
  },
  'mint a session token': async (o) => () => o.post('/access-tokens', { ttlSeconds: 900 }),
  "exchange an issuer's token": async (o) => {
    const issuer = await newIssuer();
    const trust = await newTrust(o, issuer);
    return async () => exchange(o, trust, await issuer.sign());
  },
  'revoke a session token': async (o) => {
    const made = [await newSession(o), await newSession(o)];
    return (n) => o.del(`/access-tokens/${made[n]?.id}`);
  },
  'create an API key': async (o) => () => o.post('/api-keys', { name: 'k', scopes: ['secrets:read'] }),
  'issue a new value as a provider': async (o) => {
    const { token } = await newProvider(o);
    return (n) =>
      send('POST', '/api/v1/provider/issue', {
        token,
        body: { environment: 'production', secretName: 'ISSUED', value: `value ${n}`, ttlSeconds: 900 },
      });
  },
  'contain a session that read a secret': async (o) => {
    const made = [await newSession(o), await newSession(o)];
    for (const one of made) await one.o.get('/secrets/by-name/SECRET_1');
    return (n) => contain(o, made[n]?.id as string);
  },
  'sign in by single sign-on again': async (o) => {
    const provider = await useProviders().provider();
    const domain = `cost-${o.id.slice(-8).toLowerCase()}.example.com`;
    await newConnection(o, provider, { domains: [await newDomain(o, domain)], jit: 1 });
    const claims = claimsOf(`bea@${domain}`);
    return () => newSsoBrowser().signIn(provider, claims);
  },
  'create a member by SCIM': async (o) => {
    const idp = await newIdp(o);
    return () => idp.post('/Users', person());
  },
  'find a member by SCIM, by `userName`': async (o) => {
    const idp = await newIdp(o);
    const { userName } = await newUser(idp);
    return () => idp.get(`/Users?filter=${encodeURIComponent(`userName eq "${userName}"`)}`);
  },
  'call an upstream': async (o) => {
    // The answer of the resolver and of the API.
    const answered = { Status: 0, Answer: [{ type: 1, data: '93.184.215.14' }] };
    vi.stubGlobal('fetch', async () => Response.json(answered));
    const { name } = await newUpstream(o);
    return async () => {
      const before = faults.gate;
      const answer = await send('GET', `/api/v1/orgs/${o.id}/use/${name}/v1/x`, { token: o.token });
      // The last one follows the answer.
      await until(() => faults.gate === before + 3);
      return answer;
    };
  },
  'refuse a token that has ended': async (o) => {
    const { o: ended, id } = await newSession(o);
    await o.del(`/access-tokens/${id}`);
    return () => ended.get('/secrets');
  },
  'refuse a forged token': async (o) => () =>
    o.as(`${o.token.slice(0, -1)}${o.token.endsWith('a') ? 'b' : 'a'}`).get('/secrets'),
};

/** What the gate does later, for so many operations. */
const later: Record<string, (o: Org) => Promise<Cost>> = {
  'move 1,000 audit entries to D1': async (o) => {
    await inCore(o, (core) => {
      const [entry] = core.auditLog.from(1, 1).entries as [Entry];
      core.storage.transactionSync(() => {
        for (let n = core.auditLog.size(); n < SEGMENT; n++) core.auditLog.append(entry, 200, core.now());
      });
    });
    faults.clock = (faults.clock as number) + 2 * MINUTE;
    return (await counted(o, () => inCore(o, (core) => closeSegments(core, core.now())))).cost;
  },
  'send 100 audit entries to a log stream': async (o) => {
    useTargets();
    const stream = await newStream(o);
    faults.clock = (faults.clock as number) + MINUTE;
    await sendAll(o);
    await append(o, 100);
    faults.clock += MINUTE;
    return (await counted(o, () => sendFor(o, stream.id))).cost;
  },
  'remove what 100 changes left, a day later': async (o) => {
    const { id } = await newSecret(o);
    for (let n = 0; n < 100; n++) await o.patch(`/secrets/${id}`, { value: `value ${n}` });
    faults.clock = (faults.clock as number) + 25 * 60 * MINUTE;
    return (await counted(o, () => inCore(o, (core) => runTasks(core)))).cost;
  },
};

const HEAD = `| operation | gate calls | gate rows read | gate rows written | D1 calls | D1 rows read | D1 rows written |
|---|---|---|---|---|---|---|
`;
const line = (name: string, { gate, rows, alarms, d1, d1Rows }: Cost) =>
  `| ${[name, gate, rows.read, rows.written + alarms, d1, d1Rows.read, d1Rows.written].join(' | ')} |\n`;

/** What a replica reads and writes on its own storage while something runs; an alarm counts as a row. */
async function rowsOfReplica(replica: Inside, run: () => Promise<unknown>): Promise<Rows> {
  const { storage } = replica.core;
  const { exec } = storage.sql;
  const { setAlarm } = storage;
  const cursors: SqlStorageCursor<never>[] = [];
  let alarms = 0;
  const kept = (cursor: SqlStorageCursor<never>) => {
    cursors.push(cursor);
    return cursor;
  };
  Object.defineProperty(storage.sql, 'exec', {
    value: (...args: unknown[]) => kept(Reflect.apply(exec, storage.sql, args)),
    configurable: true,
  });
  Object.defineProperty(storage, 'setAlarm', {
    value: (at: number) => {
      alarms++;
      return setAlarm.call(storage, at);
    },
    configurable: true,
  });
  await run();
  Reflect.deleteProperty(storage.sql, 'exec');
  Reflect.deleteProperty(storage, 'setAlarm');
  const sum = (of: 'rowsRead' | 'rowsWritten') => cursors.reduce((total, cursor) => total + cursor[of], 0);
  return { read: sum('rowsRead'), written: sum('rowsWritten') + alarms };
}

/** What a replica in `oc` does, and what it costs the gate. */
const ofReplicas: Record<
  string,
  (o: Org, read: () => Promise<unknown>) => (replica: Inside) => Promise<unknown>
> = {
  'read a secret at a replica, and send the entry': (_, read) => async (replica) => {
    await read();
    await replica.flush();
  },
  'read 10 times, and send the entries together': (_, read) => async (replica) => {
    for (let n = 0; n < 10; n++) await read();
    await replica.flush();
  },
  'renew the lease of a region that is read': () => (replica) => replica.renewed(),
  'an hour without a read': () => async () => {},
};

const REPLICA_HEAD = `| of a replica | gate rows read | gate rows written | replica rows read | replica rows written |
|---|---|---|---|---|
`;
const replicaCosts: Record<string, { gate: Rows; replica: Rows }> = {};

async function countReplicas(): Promise<void> {
  const o = await newVault();
  await o.patch('', { regions: ['oc'] });
  const path = '/secrets/by-name/SECRET_1';
  await warm(o, path, 'oc');
  for (const [name, prepare] of Object.entries(ofReplicas)) {
    const read = () => warm(o, path, 'oc');
    await read();
    // Nothing is left of it, and nothing is renewed by itself meanwhile.
    await inReplica(o, 'oc', async (replica) => {
      await replica.flush();
      await replica.renewed();
      replica.notBefore = Date.now() + MINUTE;
      if (name.startsWith('renew')) await read();
      await replica.flush();
    });
    let replica: Rows = { read: 0, written: 0 };
    const { cost } = await counted(o, () =>
      inReplica(o, 'oc', async (inside) => {
        replica = await rowsOfReplica(inside, () => prepare(o, read)(inside));
      }),
    );
    replicaCosts[name] = { gate: { ...cost.rows, written: cost.rows.written + cost.alarms }, replica };
    await inReplica(o, 'oc', (inside) => {
      inside.notBefore = 0;
    });
  }
}

const costs: Record<string, Cost> = {};
const costOf = (name: string): Cost => costs[name] as Cost;

beforeAll(async () => {
  for (const [name, prepare] of Object.entries(operations)) {
    faults.clock = Date.now();
    const o = await newVault();
    const operation = await prepare(o);
    await operation(0);
    const { answer, cost } = await counted(o, () => operation(1));
    if (answer.status >= 400 !== name.startsWith('refuse')) throw new Error(`${name}: ${answer.text}`);
    costs[name] = cost;
  }
  for (const [name, cost] of Object.entries(later)) {
    faults.clock = Date.now();
    costs[name] = await cost(await newVault());
  }
  faults.clock = null;
  await countReplicas();
}, 120_000);

describe('cost: docs/cost.md', () => {
  it('has the calls and rows of each operation, as the runtime counts them', () => {
    const table = Object.entries(costs).map(([name, cost]) => line(name, cost));
    const from = page.indexOf(HEAD);
    expect(page.slice(from, page.indexOf('\n\n', from) + 1)).toBe(HEAD + table.join(''));
  });

  it('has the rows of replicas', () => {
    const table = Object.entries(replicaCosts).map(
      ([name, { gate, replica }]) =>
        `| ${[name, gate.read, gate.written, replica.read, replica.written].join(' | ')} |\n`,
    );
    const from = page.indexOf(REPLICA_HEAD);
    expect(page.slice(from, page.indexOf('\n\n', from) + 1)).toBe(REPLICA_HEAD + table.join(''));
  });

  it('calculates the month from them', () => {
    const moved = costOf('move 1,000 audit entries to D1');
    const removed = costOf('remove what 100 changes left, a day later');
    const read = costOf('read a secret');
    const change = costOf('change a value');
    /** In millions: reads and changes, the move of the entry of each, and what each change leaves. */
    const inMonth = (of: (cost: Cost) => number) =>
      READS * of(read) + CHANGES * (of(change) + of(removed) / 100) + ((READS + CHANGES) * of(moved)) / 1000;
    const expected = {
      'gate rows written': inMonth(({ rows, alarms }) => rows.written + alarms),
      'gate rows read': inMonth(({ rows }) => rows.read),
      'D1 rows written': inMonth(({ d1Rows }) => d1Rows.written),
      'D1 rows read': inMonth(({ d1Rows }) => d1Rows.read),
    };
    for (const [name, millions] of Object.entries(expected))
      expect(page, name).toContain(`| ${name} | ${millions.toFixed(1)} M |`);
  });

  it('adds up', () => {
    const month = page.slice(page.indexOf('## A month'), page.indexOf('**together**'));
    const cells = [...month.matchAll(/ \| ([^|\n]+) \|$/gm)].map(([, cell]) => cell as string);
    const dollars = (cell: string) => Number(/\$([\d.]+)/.exec(cell)?.[1] ?? 0);
    const sum = (list: string[]) => Math.round(list.reduce((total, cell) => total + dollars(cell), 0));
    expect(page).toContain(
      `| **together** | | | **$${sum(cells.filter((cell) => !cell.includes('at first')))}, in the end $${sum(cells)}** |`,
    );
  });
});
