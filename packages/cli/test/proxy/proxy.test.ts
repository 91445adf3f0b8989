// svc proxy against a real vault: what programs get, what reaches the API, and what is refused before the
// vault is asked anything.
import { execFile } from 'node:child_process';
import crypto from 'node:crypto';
import { once } from 'node:events';
import fs from 'node:fs';
import http from 'node:http';
import net, { type AddressInfo } from 'node:net';
import path from 'node:path';
import { Duplex } from 'node:stream';
import tls from 'node:tls';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { signedInTerminal } from '../../../../test/packages/people.mjs';
import { call, newOrg, settle } from '../../../../test/packages/vault.mjs';
import { Authority } from '../../src/proxy/authority.ts';
import { upgrade } from '../../src/proxy/forward.ts';
import { startProxy } from '../../src/proxy/server.ts';
import { chosenTargets, cut, targetOf } from '../../src/proxy/targets.ts';
import { Machine, until } from '../harness.ts';

const VALUE = 'sk-proj-6Yd3Kp9Wq2Zt7Lw4Xb1Ue8';
let at: { url: string; org: string; key: string };
let owner: string;
let machine: Machine;
let token: string;
/** In front of the vault, so that a test sees what it is asked. */
let front: http.Server;
let asked = 0;
let program: Awaited<ReturnType<typeof started>>;
const listen = async (server: net.Server): Promise<number> => {
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  return (server.address() as AddressInfo).port;
};

/** What reached the API. */
const seen: { method: string; url: string; headers: http.IncomingHttpHeaders; body: string }[] = [];
let open: http.ServerResponse | undefined;
let isCut = false;
let port = 0;
const stand = http.createServer(async (request, response) => {
  const { method = '', url = '', headers } = request;
  if (url.includes('/stream')) {
    open = response;
    request.resume();
    response.writeHead(200, { 'Content-Type': 'text/event-stream' }).write('data: 1\n\n');
    return response.once('close', () => (isCut = !response.writableFinished));
  }
  let body = '';
  for await (const part of request) body += part;
  seen.push({ method, url, headers, body });
  if (url.includes('/next'))
    return response.writeHead(200, { Link: `<http://127.0.0.1:${port}/v1/page?2>; rel="next"` }).end();
  response.setHeader('X-Echo', String(headers.authorization));
  response.end(JSON.stringify({ method, url, headers, length: body.length }));
});
stand.on('upgrade', (request, socket) => {
  const accept = crypto
    .createHash('sha1')
    .update(`${request.headers['sec-websocket-key']}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`)
    .digest('base64');
  socket.write(
    `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${accept}\r\n\r\n`,
  );
  const text = Buffer.from(`hello ${VALUE}`);
  socket.write(Buffer.concat([Buffer.from([0x81, text.length]), text]));
});

const api = (method: string, way: string, body?: unknown, by = at.key) =>
  call(at.url, by, method, `/orgs/${at.org}${way}`, body);

/** Prints its environment, and runs until it is told to stop. */
const WAITS = "process.stdout.write(JSON.stringify(process.env) + '\\n'); setInterval(() => {}, 1000);";

async function started(options: string[], script = WAITS, env: NodeJS.ProcessEnv = {}) {
  const child = machine.spawn(['proxy', ...options, '--', process.execPath, '-e', script], { env });
  await until(() => child.said().includes('\n') || child.exitCode !== null);
  if (child.exitCode !== null) throw new Error(child.complained());
  return { child, env: JSON.parse(child.said()) as Record<string, string> };
}

beforeAll(async () => {
  port = await listen(stand);
  const made = await newOrg(inject('vaultUrl'));
  at = made;
  owner = (await signedInTerminal(at.url, made.enrolmentUrl)).browser.token;
  const member = await api('POST', '/members', { email: 'dev@example.com', name: 'Dev', role: 'developer' });
  const { session } = await signedInTerminal(at.url, member.enrolment_url);
  settle(inject('vaultState'), at.org);
  for (const name of ['OPENAI_API_KEY', 'HELD_KEY'])
    await api('POST', '/secrets', { name, type: 'api_key', value: VALUE, environment: 'staging' });
  for (const [name, secret, base] of [
    ['openai', 'OPENAI_API_KEY', `http://127.0.0.1:${port}`],
    ['dynamodb', 'OPENAI_API_KEY', `http://localhost:${port}/base`],
    ['held', 'HELD_KEY', `http://127.0.0.1:${port}/held`],
    ['other', 'OPENAI_API_KEY', `http://127.0.0.1:${port}/other`],
  ] as const)
    await api('POST', '/upstreams', {
      name,
      base_url: base,
      environment: 'staging',
      auth: [{ type: 'header', name: 'Authorization', value: `Bearer {{${secret}}}` }],
      allow: [{ methods: ['GET', 'POST', 'PUT'], paths: ['/v1/*', '/'] }],
    });
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
      name: 'program',
      scopes: ['secrets:use'],
      environments: ['staging'],
      upstreams: ['openai', 'dynamodb', 'held'],
      ttlSeconds: 3600,
      rate_limit: 6000,
    },
    session.token,
  ));
  front = http.createServer((request, response) => {
    asked += 1;
    const { method, url, headers } = request;
    const outgoing = http.request(new URL(url ?? '', at.url), { method, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 500, answer.headers);
      answer.pipe(response);
      answer.once('error', () => response.destroy());
    });
    outgoing.once('error', () => response.destroy());
    response.once('close', () => outgoing.destroy());
    request.pipe(outgoing);
  });
  front.on('upgrade', (request, socket, head) => {
    asked += 1;
    const other = net.connect(Number(new URL(at.url).port), 'localhost', () => {
      const lines = request.rawHeaders.flatMap((name, n) =>
        n % 2 ? [] : [`${name}: ${request.rawHeaders[n + 1]}`],
      );
      other.write(`${request.method} ${request.url} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`);
      other.write(head);
      socket.pipe(other).pipe(socket);
    });
    for (const side of [socket, other]) side.on('error', () => {});
  });
  machine = new Machine({
    SVC_URL: `http://127.0.0.1:${await listen(front)}`,
    SVC_ORG_ID: at.org,
    SVC_TOKEN: token,
  });
  program = await started([], WAITS, { OPENAI_API_KEY: 'sk-of-the-user', NO_PROXY: '.corp' });
});
afterAll(async () => {
  program?.child.kill('SIGTERM');
  await program?.child.done;
  front?.close();
  stand.close();
  stand.closeAllConnections();
});

interface Given {
  method?: string;
  path?: string;
  headers?: http.OutgoingHttpHeaders;
  body?: string | Buffer;
  port?: string | number;
  createConnection?: () => net.Socket;
}
const baseUrl = () => new URL(program.env.OPENAI_BASE_URL as string);
const key = () => program.env.SVC_PROXY_TOKEN as string;
const bearer = () => ({ Authorization: `Bearer ${key()}` });

function request({ method = 'GET', path: way = '/v1/models', headers, body, ...more }: Given) {
  const outgoing = http.request({
    host: '127.0.0.1',
    port: baseUrl().port,
    method,
    path: way,
    headers: headers ?? bearer(),
    ...(!more.createConnection && { agent: false }),
    ...more,
  });
  outgoing.end(body);
  return outgoing;
}
async function answered(given: Given) {
  const outgoing = request(given);
  const [response] = (await once(outgoing, 'response')) as [http.IncomingMessage];
  let text = '';
  for await (const part of response) text += part;
  return { status: response.statusCode, headers: response.headers, text };
}

/** A connection through the HTTPS proxy. */
async function connect(authority: string, headers: Record<string, string> = proxyKey()) {
  const outgoing = http.request({
    host: '127.0.0.1',
    port: new URL(program.env.HTTPS_PROXY as string).port,
    method: 'CONNECT',
    path: authority,
    headers,
    agent: false,
  });
  outgoing.end();
  const [response, socket] = (await once(outgoing, 'connect')) as [http.IncomingMessage, net.Socket];
  return { status: response.statusCode, socket };
}
const proxyKey = () => ({
  'Proxy-Authorization': `Basic ${Buffer.from(`${key()}:proxy`).toString('base64')}`,
});
async function secured(host: string, at = port) {
  const { socket } = await connect(`${host}:${at}`);
  const ca = fs.readFileSync(program.env.SSL_CERT_FILE as string, 'utf8');
  const secure = tls.connect({ socket, ca, servername: net.isIP(host) ? '' : host, host });
  await once(secure, 'secureConnect');
  return secure;
}
const within = async (host: string, given: Given) => {
  const secure = await secured(host);
  return answered({ headers: { Host: `${host}:${port}` }, createConnection: () => secure, ...given });
};

describe('variables', () => {
  it('variables: base URLs, a token in place of keys, and a certificate; no credential of svc', () => {
    const { env } = program;
    expect(env.OPENAI_BASE_URL).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/v1$/);
    expect(env.AWS_ENDPOINT_URL_DYNAMODB).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
    expect(new Set([env.OPENAI_API_KEY, env.AWS_ACCESS_KEY_ID, key()]).size).toBe(1);
    expect(key()).toMatch(/^svcrun[0-9a-f]{48}$/);
    expect(env.HTTPS_PROXY).toContain(`http://${key()}:proxy@127.0.0.1:`);
    expect(env.NO_PROXY).toBe('.corp,localhost,127.0.0.1,::1');
    expect(env.SVC_TOKEN).toBeUndefined();
    expect(JSON.stringify(env)).not.toContain(token);
    const folder = path.dirname(env.NODE_EXTRA_CA_CERTS as string);
    expect(fs.readdirSync(folder).sort()).toEqual(['authority.pem', 'bundle.pem']);
    for (const file of fs.readdirSync(folder))
      expect(fs.readFileSync(path.join(folder, file), 'utf8')).not.toContain('PRIVATE');
    expect(fs.statSync(folder).mode & 0o77).toBe(0);
  });

  it('variables: each run has a token of its own, and its files go with it', async () => {
    const other = await started(['--only', 'openai']);
    expect(other.env.SVC_PROXY_TOKEN).not.toBe(key());
    expect(other.env.AWS_ENDPOINT_URL_DYNAMODB).toBeUndefined();
    const headers = { Authorization: `Bearer ${other.env.SVC_PROXY_TOKEN}` };
    expect((await answered({ headers })).status).toBe(403);
    other.child.kill('SIGTERM');
    expect((await other.child.done).code).toBe(143);
    expect(fs.existsSync(path.dirname(other.env.SSL_CERT_FILE as string))).toBe(false);
  });

  it('exit codes: those of the command, 127 without one, and a usage error for an unknown upstream', async () => {
    const ran = (argv: string[]) => machine.spawn(['proxy', ...argv]).done;
    expect((await ran(['--', 'sh', '-c', 'exit 7'])).code).toBe(7);
    expect((await ran(['--', 'no-such-command'])).code).toBe(127);
    const unknown = await ran(['--only', 'none', '--', 'true']);
    expect([unknown.code, unknown.stderr]).toEqual([2, expect.stringContaining('no upstream none')]);
  });
});

describe('base URLs', () => {
  it('base URL: the key is placed by the vault, and neither it nor the credential comes back', async () => {
    const { status, text, headers } = await answered({
      method: 'POST',
      path: '/v1/charges?a=%2F&b',
      headers: { ...bearer(), 'X-Trace': ['1', '2'], Cookie: 'a=b', 'X-Access-Reason': 'mine' },
      body: 'amount=5',
    });
    expect([status, headers['svc-upstream']]).toEqual([200, 'openai']);
    expect(seen.at(-1)).toMatchObject({
      method: 'POST',
      url: '/v1/charges?a=%2F&b',
      body: 'amount=5',
      headers: { authorization: `Bearer ${VALUE}`, 'x-trace': '1, 2' },
    });
    expect(text).toContain('*'.repeat(VALUE.length));
    for (const secret of [VALUE, token, key()]) expect(text + JSON.stringify(headers)).not.toContain(secret);
  });

  it('base URL: headers with the names of properties of objects are sent', async () => {
    const odd = JSON.parse('{ "__proto__": "a", "constructor": "b", "toString": "c" }');
    expect((await answered({ headers: { ...bearer(), ...odd } })).status).toBe(200);
    const { headers } = seen.at(-1) as (typeof seen)[number];
    expect([headers.constructor, headers.tostring]).toEqual(['b', 'c']);
  });

  it.each<[string, () => http.OutgoingHttpHeaders]>([
    ['token', () => ({ Authorization: `token ${key()}` })],
    ['Basic, as the user', () => ({ Authorization: `Basic ${btoa(`${key()}:`)}` })],
    ['Basic, as the password', () => ({ Authorization: `Basic ${btoa(`x:${key()}`)}` })],
    ['X-Api-Key', () => ({ 'X-Api-Key': key() })],
    ['Api-Key', () => ({ 'api-key': key() })],
    ['X-Goog-Api-Key', () => ({ 'x-goog-api-key': key() })],
    ['X-Api-Key beside another key', () => ({ 'X-Api-Key': key(), Authorization: 'Bearer sk-of-the-user' })],
    [
      'an AWS signature',
      () => ({
        Authorization: `AWS4-HMAC-SHA256 Credential=${key()}/20260101/us-east-1/s3/aws4_request, SignedHeaders=host, Signature=00`,
      }),
    ],
  ])('base URL: the token is taken in %s', async (_, headers) => {
    expect((await answered({ headers: headers() })).status).toBe(200);
    expect(seen.at(-1)?.headers.authorization).toBe(`Bearer ${VALUE}`);
    expect(JSON.stringify(seen.at(-1)?.headers)).not.toMatch(/svcrun|sk-of-the-user/);
  });

  it('base URL: references below it lead to this port', async () => {
    const { headers } = await answered({ path: '/v1/next' });
    expect(headers.link).toBe(`<${baseUrl().origin}/v1/page?2>; rel="next"`);
  });

  it('streams: events arrive one by one, and what the program breaks off ends at the API', async () => {
    const outgoing = request({ path: '/v1/stream' });
    const [response] = (await once(outgoing, 'response')) as [http.IncomingMessage];
    const parts = response[Symbol.asyncIterator]();
    expect(String((await parts.next()).value)).toBe('data: 1\n\n');
    open?.write('data: 2\n\n');
    expect(String((await parts.next()).value)).toBe('data: 2\n\n');
    outgoing.on('error', () => {}).destroy();
    // The runtime notices when it has something to send.
    await until(() => {
      open?.write('data: 3\n\n');
      return isCut;
    });
  });

  it('streams: what the API breaks off arrives broken off', async () => {
    const outgoing = request({ path: '/v1/stream' });
    const [response] = (await once(outgoing, 'response')) as [http.IncomingMessage];
    response.once('data', () => open?.destroy());
    await expect(response.resume().toArray()).rejects.toThrow();
  });

  it('streams: an upload of 8 MB', async () => {
    const { text } = await answered({ method: 'PUT', body: Buffer.alloc(8_000_000, 'x') });
    expect(JSON.parse(text).length).toBe(8_000_000);
  });

  it('WebSocket: messages pass, masked', async () => {
    const socket = new WebSocket(`ws://127.0.0.1:${baseUrl().port}/v1/realtime`, {
      headers: bearer(),
    } as never);
    const message = await new Promise<string>((done, fail) => {
      socket.onmessage = ({ data }) => done(String(data));
      socket.onerror = () => fail(new Error('no WebSocket'));
    });
    expect(message).toBe(`hello ${'*'.repeat(VALUE.length)}`);
    socket.close();
  });

  it('WebSocket: a body that it declares does not swallow the start of the request after it', async () => {
    const sent: string[] = [];
    const vault = net.createServer((socket) => {
      const at = sent.push('') - 1;
      socket.on('data', (part) => {
        sent[at] = `${sent[at]}${part}`;
        socket.write('HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n');
      });
      socket.on('error', () => {});
    });
    const origin = `http://127.0.0.1:${await listen(vault)}`;
    const running = await startProxy([targetOf({ name: 'openai', base_url: 'https://api.example' })], {
      authority: await Authority.create(['api.example']),
      token: 'svcrun0',
      gateway: { origin, org: 'org_0', reason: undefined, token: async () => 'real', held: async () => null },
    });
    const { port, host } = new URL(running.urls.get('openai') as string);
    const send = async (lines: string[]) => {
      const socket = net.connect(Number(port), '127.0.0.1');
      socket.write([...lines, `Host: ${host}`, 'Authorization: Bearer svcrun0', '\r\n'].join('\r\n'));
      await once(socket.resume(), 'end');
      socket.destroy();
    };
    for (const body of ['Content-Length: 50', 'Transfer-Encoding: chunked'])
      await send(['GET /v1/a HTTP/1.1', 'Connection: Upgrade', 'Upgrade: websocket', body]);
    await send(['GET /v1/b HTTP/1.1', 'X-A: GET /api/v1/secrets HTTP/1.1', 'Connection: close']);
    running.close();
    vault.close();
    expect(sent).toHaveLength(3);
    for (const head of sent.slice(0, 2)) expect(head).not.toMatch(/content-length|transfer-encoding/i);
  });
});

describe('access', () => {
  it.each<[string, () => Given]>([
    ['no key', () => ({ headers: {} })],
    ['another key', () => ({ headers: { Authorization: `Bearer svcrun${'0'.repeat(48)}` } })],
    ['a part of the key', () => ({ headers: { Authorization: `Bearer ${key().slice(0, -1)}` } })],
    ['the credential itself', () => ({ headers: { Authorization: `Bearer ${token}` } })],
    ['the key in another header', () => ({ headers: { 'X-Key': key() } })],
    ['the key of the proxy', () => ({ headers: proxyKey() })],
    ['the key in the query', () => ({ headers: {}, path: `/v1/models?key=${key()}` })],
    ['Origin', () => ({ headers: { ...bearer(), Origin: 'null' } })],
    ['Sec-Fetch-Site', () => ({ headers: { ...bearer(), 'Sec-Fetch-Site': 'none' } })],
    ['another Host', () => ({ headers: { ...bearer(), Host: 'api.openai.com' } })],
    ['a rebound Host', () => ({ headers: { ...bearer(), Host: `evil.example:${baseUrl().port}` } })],
    ['Host without the port', () => ({ headers: { ...bearer(), Host: '127.0.0.1' } })],
    ['another port', () => ({ headers: { ...bearer(), Host: '127.0.0.1:80' } })],
    ['the wrong server', () => ({ port: new URL(program.env.HTTPS_PROXY as string).port })],
    [
      'a proxied http request',
      () => ({
        port: new URL(program.env.HTTPS_PROXY as string).port,
        path: `http://127.0.0.1:${port}/v1/models`,
        headers: { ...proxyKey(), ...bearer() },
      }),
    ],
    ['an upgrade without the key', () => ({ headers: { Connection: 'Upgrade', Upgrade: 'websocket' } })],
  ])('access: %s is 403, and the vault is asked nothing', async (_, given) => {
    const before = asked;
    const { status, text } = await answered(given());
    expect([status, asked]).toEqual([403, before]);
    expect(text).not.toContain(key());
  });

  it.each([
    ...['/v1/../other', '/v1/%2e%2e/other', '/v1/..%2fother', '//evil.example/v1', '/v2', '/v1/..;/x'],
    ...['/../../secrets', '/../other/v1/x', '/%2e%2e/other/v1/x', '/v1/%252e%252e/x'],
  ])('access: the path %s does not reach the API', async (way) => {
    const before = [seen.length, way === '/v2' ? asked + 1 : asked];
    const { status, headers } = await answered({ path: way });
    expect([status, headers['svc-error']]).toEqual([403, 'USE_NOT_ALLOWED']);
    expect([seen.length, asked]).toEqual(before);
  });

  it('access: a caller that breaks off while it is refused ends nothing', async () => {
    const ports = [baseUrl().port, new URL(program.env.HTTPS_PROXY as string).port].map(Number);
    const heads = ['GET / HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: websocket', 'CONNECT a:1 HTTP/1.1'];
    for (const head of heads)
      for (const to of ports)
        for (let n = 0; n < 50; n++) {
          const socket = net.connect(to, '127.0.0.1');
          socket.on('error', () => {});
          await once(socket, 'connect');
          socket.write(`${head}\r\nHost: a\r\n\r\n`, () => socket.resetAndDestroy());
          await once(socket, 'close');
        }
    expect((await answered({ headers: {} })).status).toBe(403);
  });

  // A socket is destroyed some time before it says so.
  it.each([
    ['before the vault is asked', '', 0],
    ['before it is refused', 'HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n', 1],
    ['before it is open', 'HTTP/1.1 101 A\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n', 1],
  ])(
    'WebSocket: a program that breaks off %s ends nothing',
    async (_, answer, calls) => {
      const socket = new Duplex({ read() {}, write() {}, destroy() {} });
      let connections = 0;
      const vault = net.createServer((other) => {
        connections += 1;
        other
          .on('error', () => {})
          .once('data', () => {
            socket.destroy();
            other.write(answer);
          });
      });
      const to = await listen(vault);
      const origin = `http://127.0.0.1:${to}`;
      const token = async () => {
        if (!answer) socket.destroy();
        return 'real';
      };
      const request = Object.assign(new http.IncomingMessage(new net.Socket()), { method: 'GET' });
      const held = async () => null;
      const gateway = { origin, org: 'org_0', reason: undefined, token, held };
      await upgrade({ request, upstream: 'openai', path: '/v1', own: '' }, socket, Buffer.alloc(0), gateway);
      const last = net.connect(to, '127.0.0.1');
      last.on('error', () => {});
      await once(vault, 'connection');
      if (calls > 0) await once(vault, 'connection');
      last.destroy();
      // Resolves once the vault's connections are closed.
      await new Promise((done) => vault.close(done));
      expect(connections).toBe(calls + 1);
    },
    20_000,
  );

  it('access: only this machine reaches the ports', () => {
    expect(baseUrl().hostname).toBe('127.0.0.1');
    const listening = fs.readFileSync('/proc/net/tcp', 'utf8');
    const hex = Number(baseUrl().port).toString(16).toUpperCase().padStart(4, '0');
    expect(listening).toMatch(new RegExp(`0100007F:${hex} 00000000:0000 0A`));
  });
});

describe('HTTPS proxy', () => {
  it('proxy: the host of an upstream is served, without a key', async () => {
    const { status, headers, text } = await within('127.0.0.1', { path: '/v1/next' });
    expect([status, headers['svc-upstream']]).toEqual([200, 'openai']);
    expect(headers.link).toBe(`<https://127.0.0.1:${port}/v1/page?2>; rel="next"`);
    expect(seen.at(-1)?.headers.authorization).toBe(`Bearer ${VALUE}`);
    expect(text).not.toContain(VALUE);
  });

  it('proxy: the base URL with the longest path serves, and a path below none is refused', async () => {
    expect((await within('localhost', { path: '/base/v1/x' })).headers['svc-upstream']).toBe('dynamodb');
    const before = asked;
    expect((await within('localhost', { path: '/v1/x' })).status).toBe(403);
    expect((await within('localhost', { path: '/base/../v1/x' })).status).toBe(403);
    expect(asked).toBe(before);
    const targets = ['https://a.example/', 'https://a.example/v1', 'https://a.example/v10'].map(
      (base_url, n) => targetOf({ name: `t${n}`, base_url }),
    );
    for (const [way, name, rest] of [
      ['/v1', 't1', ''],
      ['/v1?x', 't1', '?x'],
      ['/v1/x', 't1', '/x'],
      ['/v10/x', 't2', '/x'],
      ['/v1x', 't0', '/v1x'],
    ] as const)
      expect(cut(targets, way)).toMatchObject({ target: { name }, rest });
    expect(() =>
      chosenTargets([...targets, { name: 'again', base_url: 'https://A.example' }], undefined),
    ).toThrow('have the same base URL');
  });

  it.each([
    ['a=b\0', 'https://api.example'],
    ['__proto__', 'https://api.example'],
    ['api', 'nonsense'],
    ['api', 'javascript:alert(1)'],
    ['api', 'https:///'],
  ])('proxy: an upstream %j at %s is no answer of a vault', (name, base_url) => {
    expect(() => targetOf({ name, base_url })).toThrow('not what a vault answers');
  });

  it('proxy: a tunnel without the token, of a page, or to no host is refused', async () => {
    const before = asked;
    const wrong = { 'Proxy-Authorization': `Basic ${btoa('x:y')}` };
    const where = `127.0.0.1:${port}`;
    for (const headers of [{}, wrong, bearer(), { ...proxyKey(), Origin: 'https://evil.example' }])
      expect((await connect(where, headers)).status).toBe(403);
    for (const other of ['', 'localhost', 'localhost:0', 'localhost:99999', 'user@localhost:443', '/'])
      expect((await connect(other)).status, other).toBe(400);
    expect(asked).toBe(before);
  });

  it('proxy: within a tunnel, another Host and requests of pages are refused', async () => {
    const before = asked;
    for (const headers of [
      { Host: 'api.stripe.com' },
      { Host: '127.0.0.1' },
      { Host: `127.0.0.1:${port}`, Origin: 'null' },
      { Host: `127.0.0.1:${port}`, 'Sec-Fetch-Site': 'cross-site' },
    ])
      expect((await within('127.0.0.1', { headers })).status).toBe(403);
    expect(asked).toBe(before);
  });

  it('proxy: any other host is reached as it is, and the vault is asked nothing', async () => {
    const echo = net.createServer((socket) => socket.pipe(socket));
    const other = await listen(echo);
    const before = asked;
    const { status, socket } = await connect(`127.0.0.1:${other}`);
    expect(status).toBe(200);
    socket.write('not TLS at all');
    expect(String((await once(socket, 'data'))[0])).toBe('not TLS at all');
    socket.destroy();
    echo.close();
    expect((await connect('127.0.0.1:1')).status).toBe(502);
    expect(asked).toBe(before);
  });

  it('authority: its certificates are good for hosts of upstreams, and for no other', async () => {
    for (const hosts of [['api.example.com'], ['127.0.0.1']]) {
      const authority = await Authority.create(hosts);
      for (const host of ['api.example.com', 'evil.example', '127.0.0.1', '10.0.0.1', '::1']) {
        const server = tls.createServer({ secureContext: undefined });
        const secureContext = await authority.contextOf(host);
        server.removeAllListeners('connection');
        const plain = net.createServer((socket) => {
          new tls.TLSSocket(socket, { isServer: true, secureContext }).on('error', () => {});
        });
        const client = tls.connect({
          port: await listen(plain),
          host: '127.0.0.1',
          ca: authority.certificate,
          servername: net.isIP(host) ? '' : host,
          checkServerIdentity: (_, certificate) => tls.checkServerIdentity(host, certificate),
        });
        const outcome = await Promise.race([
          once(client, 'secureConnect').then(() => 'trusted'),
          once(client, 'error').then(() => 'refused'),
        ]).catch(() => 'refused');
        expect([hosts[0], host, outcome]).toEqual([
          hosts[0],
          host,
          hosts.includes(host) ? 'trusted' : 'refused',
        ]);
        client.destroy();
        plain.close();
      }
    }
  });

  it('programs: curl and fetch of Node.js work unchanged', async () => {
    const run = promisify(execFile);
    const options = { env: program.env as NodeJS.ProcessEnv, encoding: 'utf8' as const };
    const url = `https://localhost:${port}/base/v1/models`;
    const { stdout } = await run('curl', ['-sS', '--noproxy', '', url], options);
    expect(JSON.parse(stdout).url).toBe('/base/v1/models');
    const fetched = await run(
      process.execPath,
      ['-e', `fetch(${JSON.stringify(url)}).then(async (r) => console.log(await r.text()))`],
      { ...options, env: { ...options.env, NO_PROXY: '', no_proxy: '' } },
    );
    expect(JSON.parse(fetched.stdout).url).toBe('/base/v1/models');
    expect(seen.at(-1)?.headers.authorization).toBe(`Bearer ${VALUE}`);
    // Without the proxy, nothing vouches for the host.
    await expect(run('curl', ['-sS', '--noproxy', '*', url], options)).rejects.toThrow();
  });
});

describe('approvals', () => {
  const held = () => new URL(program.env.SVC_UPSTREAM_HELD as string).port;

  it('approval: the program sees the refusal, and its repeat of exactly this call goes through once', async () => {
    const before = seen.length;
    const given = { method: 'POST', path: '/v1/charges', port: held(), body: 'amount=500' };
    const first = await answered(given);
    const id = JSON.parse(first.text).error.approval.id as string;
    expect([first.status, first.headers['svc-error']]).toEqual([403, 'APPROVAL_REQUIRED']);
    await until(() => program.child.complained().includes(`/console/approvals/${id}`));
    await api('POST', `/approvals/${id}/approve`, {}, owner);
    const other = await answered({ ...given, body: 'amount=999' });
    expect([other.status, seen.length]).toEqual([403, before]);
    expect((await answered(given)).status).toBe(200);
    expect(seen.at(-1)).toMatchObject({ body: 'amount=500', headers: { 'idempotency-key': id } });
    expect((await answered(given)).status).toBe(403);
  });

  it('approval: with --wait the call goes on once it is approved', async () => {
    const script =
      "fetch(process.env.SVC_UPSTREAM_HELD + '/v1/waits', { method: 'POST', body: 'a', headers: { 'x-api-key': process.env.SVC_PROXY_TOKEN } }).then((r) => console.log(r.status))";
    const child = machine.spawn(['proxy', '--wait', '--', process.execPath, '-e', script]);
    await until(() => /approvals\/apr_\w+/.test(child.complained()));
    const id = /apr_\w+/.exec(child.complained())?.[0];
    await api('POST', `/approvals/${id}/approve`, {}, owner);
    expect((await child.done).stdout.trim()).toBe('200');
    expect(seen.at(-1)).toMatchObject({ url: '/held/v1/waits', body: 'a' });
  });
});
