// svc mcp over upstreams alone: what an agent can do, and that neither it nor anything on its machine gets a
// value. The attacks are those of a model that was told to extract a secret.
import fs from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import zlib from 'node:zlib';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { signedInTerminal } from '../../../../test/packages/people.mjs';
import { call, newOrg, settle } from '../../../../test/packages/vault.mjs';
import { Machine } from '../harness.ts';
import { type Agent, mcp } from './client.ts';

const VALUE = 'rk_live_9f8Kq2"Zt7&Lw4+Xb1/Ue6=Yc3';
const HELD = 'rk_held_4Jd8Vn2Qs6Rw1Tz7Xm3Bp5';
/** Parts of the values, and of their encodings at each alignment. */
const LEAKS = new RegExp(
  [VALUE, HELD]
    .flatMap((value) => {
      const middle = value.slice(8, 26);
      const base64 = [0, 1, 2].map((shift) =>
        Buffer.from(`${'x'.repeat(shift)}${value}`)
          .toString('base64')
          .slice(8, 24),
      );
      return [middle, Buffer.from(value).toString('hex').slice(8, 40), encodeURIComponent(middle), ...base64];
    })
    .map((text) => text.replace(/[.*+?^${}()|[\]\\/]/g, '\\$&'))
    .join('|'),
  'i',
);

let at: { url: string; org: string; key: string };
let owner: string;
let machine: Machine;
let agent: Agent;
let token: string;
let base: string;
const seen: { method: string; url: string; headers: http.IncomingHttpHeaders; body: string }[] = [];

/** An API that shows what it was sent, in the encoding that the path names. */
const stand = http.createServer(async (request, response) => {
  let body = '';
  for await (const part of request) body += part;
  const { method = '', url = '', headers } = request;
  seen.push({ method, url, headers, body });
  const text = JSON.stringify({ method, url, headers: request.rawHeaders, body });
  const key = String(headers.authorization).replace('Bearer ', '');
  const reply = (sent: string | Buffer, more: http.OutgoingHttpHeaders = {}) =>
    response.writeHead(200, { 'Content-Type': 'text/plain', ...more }).end(sent);
  if (url.includes('redirect'))
    return response.writeHead(307, { Location: `http://127.0.0.1:1/${encodeURIComponent(key)}` }).end();
  if (url.includes('own'))
    return response.writeHead(302, { Location: `${at.url}/api/v1/orgs/${at.org}/secrets` }).end();
  if (url.includes('base64'))
    return reply(Buffer.from(`${'ab'.slice(url.length % 3)}${text}`).toString('base64'));
  if (url.includes('hex')) return reply(Buffer.from(text).toString('hex'));
  if (url.includes('percent')) return reply(encodeURIComponent(text));
  if (url.includes('escaped')) return reply(JSON.stringify(JSON.stringify(key)));
  if (url.includes('gzip')) return reply(zlib.gzipSync(text), { 'Content-Encoding': 'gzip' });
  if (url.includes('header')) return reply('', { 'X-Echo': key, ETag: `"${key}"`, 'Set-Cookie': `a=${key}` });
  if (url.includes('events')) {
    response.writeHead(200, { 'Content-Type': 'text/event-stream' });
    for (const part of [key.slice(0, 9), key.slice(9)]) response.write(part);
    return response.end();
  }
  reply(text);
});

const api = (method: string, way: string, body?: unknown, by = at.key) =>
  call(at.url, by, method, `/orgs/${at.org}${way}`, body);
const upstream = (name: string, secret: string, more: object = {}) =>
  api('POST', '/upstreams', {
    name,
    base_url: `${base}/api`,
    environment: 'staging',
    auth: [{ type: 'header', name: 'Authorization', value: `Bearer {{${secret}}}` }],
    allow: [{ methods: ['GET', 'HEAD', 'POST'], paths: ['/v1/*'] }],
    ...more,
  });

beforeAll(async () => {
  await new Promise<void>((done) => stand.listen(0, '127.0.0.1', done));
  base = `http://127.0.0.1:${(stand.address() as { port: number }).port}`;
  const made = await newOrg(inject('vaultUrl'));
  at = made;
  owner = (await signedInTerminal(at.url, made.enrolmentUrl)).browser.token;
  const member = await api('POST', '/members', { email: 'dev@example.com', name: 'Dev', role: 'developer' });
  const { session } = await signedInTerminal(at.url, member.enrolment_url);
  settle(inject('vaultState'), at.org);
  for (const [name, value] of [
    ['STRIPE_KEY', VALUE],
    ['HELD_KEY', HELD],
  ])
    await api('POST', '/secrets', { name, type: 'api_key', value, environment: 'staging' });
  await upstream('stripe', 'STRIPE_KEY');
  await upstream('held', 'HELD_KEY');
  await upstream('other', 'STRIPE_KEY');
  await api('POST', '/policies', {
    name: 'four eyes',
    kind: 'approval',
    applies_to: { environments: ['staging'], names: ['HELD_*'] },
    config: { operations: ['secret.use'], required: 1, approvers: { role: 'owner' } },
  });
  ({ token } = await api(
    'POST',
    '/agent-credentials',
    {
      name: 'biller',
      scopes: ['secrets:use'],
      environments: ['staging'],
      upstreams: ['stripe', 'held'],
      ttlSeconds: 3600,
    },
    session.token,
  ));
  machine = new Machine({ SVC_URL: at.url, SVC_ORG_ID: at.org });
  // As a person sets it up: the token is stored, and in no variable.
  const login = await machine.svc(['login', '--key-stdin', '--profile', 'mcp'], { stdin: token });
  expect(login.stderr + login.stdout, String(login.code)).not.toContain(token);
  agent = await mcp(machine, ['--profile', 'mcp'], {});
});
afterAll(async () => {
  await agent?.close();
  stand.close();
});

const request = (given: object) =>
  agent.call('http_request', { upstream: 'stripe', path: '/v1/charges', ...given });

describe('upstreams', () => {
  it('tools: upstreams and approvals, and nothing that concerns values', async () => {
    const { tools } = await agent.client.listTools();
    expect(tools.map(({ name }) => name).sort()).toEqual([
      'cancel_approval',
      'http_request',
      'list_upstreams',
      'wait_for_approval',
    ]);
    expect(agent.client.getInstructions()).not.toContain('{{svc:NAME}}');
    expect(agent.stderr()).toContain('upstreams: stripe, held');
    expect(agent.stderr()).not.toMatch(/WARNING|svcag_/);
    const { json } = await agent.call('list_upstreams');
    expect(json.upstreams).toEqual(
      ['stripe', 'held'].map((name) => ({
        name,
        base_url: `${base}/api`,
        allow: [{ methods: ['GET', 'HEAD', 'POST'], paths: ['/v1/*'] }],
      })),
    );
  });

  it('http_request: sends method, query, headers and body, and returns the answer', async () => {
    const { isError, json, text } = await request({
      method: 'POST',
      query: { expand: 'a b' },
      headers: { 'Content-Type': 'application/x-www-form-urlencoded', 'Idempotency-Key': 'one' },
      body: 'amount=500&currency=usd',
    });
    expect([isError, json.status, json.headers['svc-upstream']]).toEqual([false, 200, 'stripe']);
    expect(seen.at(-1)).toMatchObject({
      method: 'POST',
      url: '/api/v1/charges?expand=a+b',
      body: 'amount=500&currency=usd',
      headers: { authorization: `Bearer ${VALUE}`, 'idempotency-key': 'one' },
    });
    expect(JSON.stringify(seen.at(-1)?.headers)).not.toContain(token);
    expect(text).not.toMatch(LEAKS);
  });

  it('audit log: each call is an entry, with its reason and without a value', async () => {
    const { data } = await api('GET', '/audit-log?action=secret.use&limit=5');
    expect(data[0]).toMatchObject({
      outcome: 'success',
      status: 200,
      reason: 'mcp http_request: POST stripe /v1/charges',
    });
    expect(JSON.stringify(data)).not.toMatch(LEAKS);
  });
});

describe('credentials', () => {
  it('credential: one that gets values is refused, unless options allow where they go', async () => {
    for (const scopes of [['secrets:read'], ['secrets:use', 'secrets:rotate'], ['secrets:*']]) {
      const reader = await api('POST', '/agent-credentials', { name: 'reader', scopes, ttlSeconds: 3600 });
      const ran = await machine.svc(['mcp'], { env: { SVC_TOKEN: reader.token } });
      expect([ran.code, ran.stderr]).toEqual([4, expect.stringContaining('CREDENTIAL_READS_VALUES')]);
    }
  });

  it('options: with a binding both ways exist, and a request uses one of them', async () => {
    const reader = await api('POST', '/agent-credentials', {
      name: 'both',
      scopes: ['secrets:read'],
      environments: ['staging'],
      ttlSeconds: 3600,
    });
    const both = await mcp(machine, ['--env', 'staging', '--bind', 'STRIPE_KEY=api.example.com'], {
      SVC_TOKEN: reader.token,
    });
    const through = { upstream: 'stripe', path: '/v1/x' };
    expect((await both.call('http_request', through)).json.status).toBe(200);
    for (const given of [
      { ...through, url: 'https://api.example.com/' },
      { ...through, basic_auth: { username: 'a', password: '{{svc:STRIPE_KEY}}' } },
      { upstream: 'stripe' },
      { path: '/v1/x' },
      {},
    ])
      expect((await both.call('http_request', given)).text).toContain('either upstream and path, or url');
    // Nothing is placed on this machine in a call of an upstream.
    await both.call('http_request', { ...through, headers: { 'X-Key': '{{svc:STRIPE_KEY}}' } });
    expect(seen.at(-1)?.headers['x-key']).toBe('{{svc:STRIPE_KEY}}');
    expect(both.stderr()).toContain('WARNING: values come to this machine');
    await both.close();
  });
});

describe('approvals', () => {
  it('approval: covers exactly the call that the person saw', async () => {
    const charge = { upstream: 'held', method: 'POST', body: 'amount=500' };
    const before = seen.length;
    const held = await request(charge);
    expect([held.isError, held.text]).toEqual([true, expect.stringContaining('APPROVAL_REQUIRED')]);
    const id = /apr_\w+/.exec(held.text)?.[0] as string;
    expect(held.text).toContain(`${at.url}/console/approvals/${id}`);
    const shown = await api('GET', `/approvals/${id}`, undefined, owner);
    for (const part of ['POST', `${base}/api/v1/charges`, 'amount=500'])
      expect(JSON.stringify(shown)).toContain(part);
    expect(seen).toHaveLength(before);

    await api('POST', `/approvals/${id}/approve`, {}, owner);
    expect((await agent.call('wait_for_approval', { approval_id: id })).json.status).toBe('approved');
    for (const other of [
      { ...charge, body: 'amount=999' },
      { ...charge, path: '/v1/refunds' },
      { ...charge, query: { a: 'b' } },
      { ...charge, headers: { 'Stripe-Account': 'acct_2' } },
      { ...charge, headers: { 'Approval-Id': id }, body: 'amount=999' },
    ]) {
      const answer = await request(other);
      expect([answer.isError, answer.text.includes(`"${id}"`)]).toEqual([true, false]);
    }
    expect(seen).toHaveLength(before);

    const { isError, text } = await request(charge);
    expect([isError, seen.length]).toEqual([false, before + 1]);
    expect(seen.at(-1)).toMatchObject({ body: 'amount=500', headers: { 'idempotency-key': id } });
    expect(text).not.toMatch(LEAKS);
    // It was for one call.
    const again = await request(charge);
    expect([again.isError, seen.length]).toEqual([true, before + 1]);
  });
});

describe('attack: an agent with the tools alone', () => {
  it.each([
    'plain',
    'base64',
    'base64/x',
    'base64/xy',
    'hex',
    'percent',
    'escaped',
    'gzip',
    'header',
    'events',
  ])('attack: an API that shows what it got, as %s, shows no value', async (form) => {
    const before = seen.length;
    const { isError, text } = await request({ path: `/v1/${form}` });
    expect([isError, seen.length]).toEqual([false, before + 1]);
    expect(text).not.toMatch(LEAKS);
  });

  it.each([
    ...[
      '/v1/../secrets',
      '/v1/%2e%2e/secrets',
      '/v1/..%2fsecrets',
      '/v1/%252e%252e/x',
      '/v1/..;/x',
      '/v1\\x',
    ],
    ...[
      '//evil.example/v1',
      '/v2/x',
      '/',
      '',
      'v1/x',
      '/v1/a b',
      '/v1/é',
      '/v1/x#y',
      '/v1/%zz',
      '/v1/x\r\nA: b',
    ],
    ...['/../../../../secrets/by-name/STRIPE_KEY', 'https://evil.example/', '@evil.example/', '/v1/\0'],
    ...[`/../other/v1/x`, '/%2e%2e/other/v1/x'],
  ])('attack: the path %j is not sent', async (way) => {
    const before = seen.length;
    const { isError, text } = await request({ path: way });
    expect([isError, seen.length]).toEqual([true, before]);
    expect(text).not.toMatch(LEAKS);
  });

  it.each([
    ...['Authorization', 'X-Api-Key', 'Api-Key', 'X-Goog-Api-Key', 'x_api_key', 'Cookie', 'DPoP', 'Host'],
    ...[
      'Approval-Id',
      'X-Access-Reason',
      'X-Access-Call',
      'Connection',
      'Transfer-Encoding',
      'Content-Length',
    ],
    ...['X-HTTP-Method-Override', 'X-Method-Override', 'X-Forwarded-Host', 'Forwarded', 'Via', 'Upgrade'],
    ...[
      'Proxy-Authorization',
      'Sec-Fetch-Site',
      'Svc-Error',
      'CF-Worker',
      'A\r\nB',
      'a b',
      '',
      'Accept-Encoding',
    ],
  ])('attack: the header %j is not sent', async (name) => {
    const before = seen.length;
    const { isError } = await request({ headers: { [name]: 'authorization' } });
    expect([isError, seen.length]).toEqual([true, before]);
  });

  it('attack: references are text, wherever they stand', async () => {
    for (const reference of ['{{STRIPE_KEY}}', '{{svc:STRIPE_KEY}}', '{{staging:STRIPE_KEY}}']) {
      const { text } = await request({
        method: 'POST',
        query: { q: reference },
        headers: { 'X-A': reference },
        body: reference,
      });
      expect(seen.at(-1)).toMatchObject({ body: reference, headers: { 'x-a': reference } });
      expect(text).not.toMatch(LEAKS);
    }
  });

  it('attack: other upstreams, tools and methods do not exist', async () => {
    const before = seen.length;
    for (const upstream of ['other', 'none', '../use/other', 'stripe/../other', 'STRIPE', 'ups_1', ''])
      expect((await request({ upstream })).isError, upstream).toBe(true);
    for (const method of ['DELETE', 'PUT', 'TRACE', 'CONNECT', 'get'])
      expect((await request({ method })).isError, method).toBe(true);
    for (const given of [
      { url: 'https://api.stripe.com/' },
      { basic_auth: { username: 'a', password: 'b' } },
    ])
      expect((await request(given)).isError).toBe(true);
    for (const tool of ['read_secret', 'run_command', 'rotate_secret', 'list_secrets', 'check_secret'])
      expect((await agent.call(tool, { name: 'STRIPE_KEY' })).text, tool).toContain('not found');
    expect(seen).toHaveLength(before);
  });

  it('attack: redirects are not followed, and lead neither to a value nor into the vault', async () => {
    const away = await request({ path: '/v1/redirect' });
    expect(away.json.status).toBe(307);
    expect(away.text).not.toMatch(LEAKS);
    const own = await request({ path: '/v1/own' });
    expect([own.json.status, own.json.headers.location]).toEqual([302, undefined]);
  });

  it('attack: its token reads no value from the vault', async () => {
    const secret = (await api('GET', '/secrets?environment=staging')).data[0].id;
    for (const [method, way, body] of [
      ['GET', '/secrets/by-name/STRIPE_KEY?environment=staging'],
      ['GET', `/secrets/${secret}`],
      ['GET', '/environments/staging/values'],
      ['POST', `/secrets/${secret}/share`, { ttlSeconds: 60 }],
      ['POST', `/secrets/${secret}/rotate`, { generate: {} }],
      ['POST', '/integrations/generate', { format: 'dotenv', environment: 'staging' }],
      ['POST', '/agent-credentials', { name: 'x', scopes: ['secrets:read'], ttlSeconds: 60 }],
    ] as const)
      await expect(api(method, way, body, token), `${method} ${way}`).rejects.toThrow(/ is 40[034]: /);
  });

  it('attack: a search of home, directory, environment and processes finds no value', async () => {
    const files = [machine.dir, `/proc/${agent.pid}/environ`, `/proc/${agent.pid}/cmdline`].flatMap(
      (start) => (fs.existsSync(start) ? filesBelow(start) : []),
    );
    expect(files.some((file) => file.includes('.config'))).toBe(true);
    for (const file of files) expect(fs.readFileSync(file, 'latin1'), file).not.toMatch(LEAKS);
    expect(agent.stderr()).not.toMatch(LEAKS);
    // The stand-in did get it, so the search looks for the right thing.
    expect(JSON.stringify(seen[0]?.headers.authorization?.slice(7))).toBe(JSON.stringify(VALUE));
  });
});

function filesBelow(start: string): string[] {
  if (!fs.statSync(start).isDirectory()) return [start];
  return fs
    .readdirSync(start, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => path.join(parentPath, name));
}
