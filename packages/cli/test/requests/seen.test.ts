// Changes beside other people: svc changes only what it has shown or read, and says what differs otherwise.
import fs from 'node:fs';
import { PassThrough } from 'node:stream';
import { beforeAll, expect, it } from 'vitest';
import { call } from '../../../../test/packages/vault.mjs';
import { Seen } from '../../src/requests/seen.ts';
import { type Given, type Machine, signedIn } from '../harness.ts';

let machine: Machine;
// biome-ignore lint/suspicious/noExplicitAny: what the test knows of the answer.
let api: (method: string, at: string, body?: unknown) => Promise<any>;

beforeAll(async () => {
  const { url, org, key, ...rest } = await signedIn();
  machine = rest.machine;
  api = (method, at, body) => call(url, key, method, `/orgs/${org}${at}`, body);
});

interface Sent {
  method: string;
  path: string;
  ifMatch: string | null;
}

/** A colleague who does something between what svc reads and what it changes. */
function meanwhile(act: () => Promise<unknown>): { given: Given; sent: Sent[] } {
  const sent: Sent[] = [];
  let hasActed = false;
  const host: Given['host'] = {
    async fetch(input, init) {
      const method = init?.method ?? 'GET';
      sent.push({
        method,
        path: new URL(String(input)).pathname,
        ifMatch: new Headers(init?.headers).get('If-Match'),
      });
      if (method !== 'GET' && !hasActed) {
        hasActed = true;
        await act();
      }
      return fetch(input, init);
    },
  };
  return { given: { host }, sent };
}

it('if-match: a secret that a colleague created in production meanwhile is not replaced', async () => {
  const theirs = { name: 'BOTH', type: 'generic', value: 'theirs', environment: 'production' };
  const { given } = meanwhile(() => api('POST', '/secrets', theirs));
  const terminal = () => Object.assign(new PassThrough(), { isTTY: true });
  const host = { ...given.host, stdin: terminal(), stderr: terminal() };
  const ran = await machine.svc(['set', 'BOTH', '--empty', '-e', 'production'], { host });
  expect(ran.code, ran.stderr).not.toBe(0);
  const { values } = await api('GET', '/environments/production/values');
  expect(values.BOTH).toBe('theirs');
});

it('a team that a colleague renamed is not deleted, and the difference is printed', async () => {
  const { id } = await api('POST', '/teams', { name: 'Payments' });
  const { given, sent } = meanwhile(() => api('PATCH', `/teams/${id}`, { name: 'Billing' }));
  const ran = await machine.svc(['team', 'delete', id, '--yes'], given);
  expect([ran.code, ran.stdout]).toEqual([6, '']);
  expect(ran.stderr).toContain('Someone else changed it in the meantime:\n  name: Payments → Billing');
  expect(ran.stderr).toContain('Check what changed, then repeat the command');
  expect(sent.map(({ method, ifMatch }) => [method, ifMatch])).toEqual([
    ['GET', null],
    ['DELETE', '"r1"'],
    ['GET', null],
  ]);
  expect((await api('GET', `/teams/${id}`)).name).toBe('Billing');
  expect((await machine.svc(['team', 'delete', id, '--yes'])).code).toBe(0);
});

it('an environment that was taken from an agent does not come back', async () => {
  const environments = ['development', 'staging'];
  const agent = await api('POST', '/agent-credentials', {
    name: 'a',
    scopes: ['secrets:read'],
    environments,
  });
  const { given } = meanwhile(() =>
    api('PATCH', `/agent-credentials/${agent.id}`, { environments: ['development'] }),
  );
  const ran = await machine.svc(
    ['agent', 'update', agent.id, '--environments', 'development,staging,production'],
    given,
  );
  expect(ran.code).toBe(6);
  expect(ran.stderr).toContain('environments: ["development","staging"] → ["development"]');
  expect((await api('GET', `/agent-credentials/${agent.id}`)).environments).toEqual(['development']);
});

it('an incident whose report is too large to compare is closed only at the revision that was read', async () => {
  const { id: key } = await api('POST', '/api-keys', { name: 'k', scopes: ['secrets:list'] });
  const { incident_id: id } = await api('POST', `/credentials/${key}/contain`, {});
  const sent: (string | null)[] = [];
  const host: Given['host'] = {
    async fetch(input, init) {
      const isRead = (init?.method ?? 'GET') === 'GET';
      if (!isRead) {
        await api('PATCH', `/incidents/${id}`, { note: 'theirs' });
        sent.push(new Headers(init?.headers).get('If-Match'));
      }
      const response = await fetch(input, init);
      if (!isRead) return response;
      const padded = { ...((await response.json()) as object), padding: ' '.repeat(5 * 1024 * 1024) };
      return Response.json(padded, { headers: { ETag: response.headers.get('ETag') ?? '' } });
    },
  };
  const ran = await machine.svc(['incident', 'close', id, '--note', 'mine'], { host });
  expect([ran.code, sent]).toEqual([6, ['"r1"']]);
  expect(await api('GET', `/incidents/${id}`)).toMatchObject({ status: 'open', note: 'theirs' });
});

it('a policy is changed only at the revision of the file', async () => {
  const policy = await api('POST', '/policies', {
    name: 'p',
    kind: 'naming',
    enabled: false,
    config: { pattern: '^a' },
  });
  const update = (change: object) =>
    machine.svc(['policy', 'update', policy.id], { stdin: JSON.stringify(change) });
  await api('PATCH', `/policies/${policy.id}`, { config: { pattern: '^b' } });
  const stale = await update({ revision: 1, name: 'mine', config: { pattern: '^a' } });
  expect(stale.code).toBe(6);
  expect(stale.stderr).toContain('config: {"pattern":"^a"} → {"pattern":"^b"}');
  expect((await update({ revision: 2, name: 'mine' })).code).toBe(0);
  expect((await update({ name: 'again' })).code).toBe(0);
  expect(await api('GET', `/policies/${policy.id}`)).toMatchObject({
    name: 'again',
    config: { pattern: '^b' },
    revision: 4,
  });
});

it('a secret: the version that was found is rotated, rolled back and deleted; no value is read for it', async () => {
  const { id } = await api('POST', '/secrets', { name: 'KEPT', type: 'generic', value: 'one' });
  let n = 0;
  const changed = () => api('PATCH', `/secrets/${id}`, { value: `theirs ${++n}` });
  for (const [argv, given] of [
    [['rotate', 'KEPT'], { stdin: 'mine' }],
    [['rollback', 'KEPT', '1', '--yes'], {}],
    [['delete', 'KEPT', '--yes'], {}],
  ] as [string[], Given][]) {
    const raced = meanwhile(changed);
    const ran = await machine.svc(argv, { ...given, ...raced.given });
    expect(ran.code, argv.join(' ')).toBe(6);
    expect(ran.stderr).toMatch(/version: \d → \d/);
    expect(ran.stderr).not.toContain('theirs');
    expect(raced.sent.filter(({ method, path }) => method === 'GET' && path.endsWith(id))).toEqual([]);
  }
  expect(await api('GET', `/secrets/${id}`)).toMatchObject({ value: 'theirs 3', version: 4 });
});

it('a credential that may change a team but not read it sends *', async () => {
  const { id } = await api('POST', '/teams', { name: 't' });
  const { token } = await api('POST', '/api-keys', { name: 'k', scopes: ['teams:write'] });
  const { given, sent } = meanwhile(async () => {});
  const ran = await machine.svc(['team', 'rename', id, 'u'], { ...given, env: { SVC_TOKEN: token } });
  expect(ran.code, ran.stderr).toBe(0);
  expect(sent.find(({ method }) => method === 'PATCH')?.ifMatch).toBe('*');
});

it.each([
  [
    'a failure of the vault',
    () => Response.json({ error: { code: 'INTERNAL', message: 'Down.' } }, { status: 503 }),
  ],
  ['a rate limit', () => Response.json({ error: { code: 'RATE_LIMITED' } }, { status: 429 })],
  ['a refusal that is not of a vault', () => new Response('<p>no</p>', { status: 403 })],
  ['an answer that is none of a vault', () => new Response('<p>yes</p>')],
  ['a redirect', () => new Response(null, { status: 307, headers: { Location: 'http://other' } })],
  ['a list without the secret', () => Response.json({ data: [] })],
])('if-match: what could not be read, because of %s, is not changed', async (_, answer) => {
  const sent: string[] = [];
  const send = async (_url: string, init: RequestInit) => {
    sent.push(init.method ?? 'GET');
    return answer();
  };
  const guarded = new Seen().guarding(send, () => {});
  const response = await guarded('http://vault/api/v1/orgs/org_1/secrets/sec_1', { method: 'DELETE' });
  expect([response.ok, sent]).toEqual([false, ['GET']]);
  expect((await response.json()).error.message).toContain('Nothing was changed');
});

it('if-match: svc says that it could not read the state', async () => {
  const { id } = await api('POST', '/teams', { name: 'Unread' });
  const host: Given['host'] = {
    async fetch(input, init) {
      if ((init?.method ?? 'GET') !== 'GET') return fetch(input, init);
      return Response.json({ error: { code: 'UNAVAILABLE', message: 'Try later.' } }, { status: 503 });
    },
  };
  const ran = await machine.svc(['team', 'rename', id, 'Mine'], { host });
  expect([ran.code, ran.stderr]).toEqual([
    7,
    expect.stringContaining('Nothing was changed, because the current state could not be read. Try later.'),
  ]);
  expect((await api('GET', `/teams/${id}`)).name).toBe('Unread');
});

it('if-match: a secret in production that could not be looked up is not replaced unasked', async () => {
  const terminal = () => Object.assign(new PassThrough(), { isTTY: true });
  const sent: string[] = [];
  const host = (status: number): Given['host'] => ({
    stdin: terminal(),
    stderr: terminal(),
    async fetch(_input, init) {
      sent.push(init?.method ?? 'GET');
      return Response.json({ error: { code: 'X', message: 'no' } }, { status });
    },
  });
  const ran = await machine.svc(['set', 'KEPT', '-e', 'production'], { host: host(404) });
  expect([ran.code, sent]).toEqual([5, ['GET']]);
});

it('every request of svc that takes If-Match has it', async () => {
  const document = JSON.parse(
    fs.readFileSync(new URL('../../../client/openapi.json', import.meta.url), 'utf8'),
  ) as {
    paths: Record<string, Record<string, { parameters?: { $ref?: string }[] }>>;
  };
  const at = new URL('../../src/', import.meta.url);
  const source = (fs.readdirSync(at, { recursive: true }) as string[])
    .filter((name) => name.endsWith('.ts'))
    .map((name) => fs.readFileSync(new URL(name, at), 'utf8'))
    .join('\n');
  const made = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods)
      .filter(
        ([method, { parameters = [] }]) =>
          method !== 'put' && parameters.some(({ $ref }) => $ref?.endsWith('/IfMatch')),
      )
      .map(([method]) => ({ method: method.toUpperCase(), path }))
      .filter((one) => source.includes(`${one.method}('${one.path}'`)),
  );
  expect(made.length).toBeGreaterThan(15);
  const bare: string[] = [];
  for (const { method, path } of made) {
    const guarded = new Seen().guarding(
      async (_url, init) => {
        if (init.method === method && !new Headers(init.headers).has('If-Match'))
          bare.push(`${method} ${path}`);
        return Response.json({ revision: 1, data: [{ etag: '"v1"' }] });
      },
      () => {},
    );
    await guarded(`http://vault/api/v1${path.replace(/\{\w+\}/g, 'x_1')}`, { method });
  }
  expect(bare).toEqual([]);
});
