// Calls of upstreams over real connections, in the real runtime: `forward` with a plan of its own, against a
// server that says exactly which bytes it got. Nothing here waits for a time to pass, but for what happens.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import fs from 'node:fs';
import http from 'node:http';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import zlib from 'node:zlib';
import { build } from 'esbuild';
import { convertV4MiniflareOptions, Miniflare } from 'miniflare';
import { asDeployed } from '../../../scripts/build/bundle-options.mjs';
import { root } from '../../../scripts/shared/wrangler.mjs';
import { slow } from '../slow.mjs';

const KEY = 'sk_live_1234567890"é€';
const MASKED = '*'.repeat(Buffer.byteLength(KEY));

/** A Worker that forwards each request as the plan in `Test-Plan` says, and tells what ports were told. */
const worker = `
import { forward } from './domains/upstreams/call/forward';
import { cutUsePath, isPlainPath } from './domains/upstreams/call/path';
import { isWebSocket, sendable } from './domains/upstreams/call/request-headers';
import { errorBody, statusOf } from './errors';
let told = [];
let isOver = false;
export default {
  async fetch(request, env, ctx) {
    if (request.url.endsWith('/told')) return Response.json(told);
    if (request.url.endsWith('/end')) { isOver = true; return new Response('ended'); }
    told = [];
    isOver = false;
    const ends = new AbortController();
    const asking = setInterval(() => isOver && ends.abort(), 20);
    const plan = JSON.parse(request.headers.get('test-plan'));
    const cut = cutUsePath(request.url);
    if (!cut || !isPlainPath(cut.rest)) return new Response('path', { status: 403 });
    const headers = sendable(request.headers).filter(([name]) => !name.startsWith('test-') && !name.startsWith('mf-'));
    const length = request.headers.get('content-length');
    const call = { upstream: cut.upstream, method: request.method, path: cut.rest, query: cut.query, headers,
      bytes: length === null ? null : Number(length), isWebSocket: isWebSocket(request.method, request.headers), whole: null };
    const done = await forward(plan, { call, body: request.body, route: 'http://vault.test/api/v1/orgs/org_1/use/' + cut.upstream,
      egress: { allowPrivate: true } }, {
      ends: ends.signal,
      answered: async (answer) => { told.push(answer); return !plan.gone; },
      ended: async (end) => { clearInterval(asking); told.push(end); },
      ownToken: async (_, get) => (await get()).token,
      defer: (work) => ctx.waitUntil(work),
    });
    return done instanceof Response ? done
      : Response.json(errorBody(done, 'http://vault.test'), { status: statusOf(done), headers: { 'Svc-Error': done.code } });
  },
};`;

/** @type {Miniflare} */
let runtime;
/** @type {net.Server} */
let upstream;
let port = 0;
let front = new URL('http://x');
/** What the upstream got on its last connection, and what it does with each. */
let got = Buffer.alloc(0);
/** @type {(socket: net.Socket, request: string) => void} */
let answers = () => {};

before(async () => {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'upstream-calls-'));
  const outfile = path.join(dir, 'worker.js');
  await build({
    ...asDeployed,
    stdin: { contents: worker, resolveDir: path.join(root, 'src') },
    write: true,
    outfile,
  });
  runtime = new Miniflare(
    convertV4MiniflareOptions({
      modules: [{ type: 'ESModule', path: outfile }],
      modulesRoot: dir,
      unsafeDirectSockets: [{ host: '127.0.0.1', port: 0 }],
      compatibilityDate: '2026-10-20',
      compatibilityFlags: ['nodejs_compat', 'global_fetch_strictly_public'],
      handleStructuredLogs: () => {},
    }),
  );
  // Without the local runtime's own front, which normalises paths.
  front = await runtime.unsafeGetDirectURL();
  upstream = net.createServer((socket) => {
    got = Buffer.alloc(0);
    let isAnswered = false;
    socket.on('error', () => {});
    socket.on('data', (/** @type {Buffer} */ data) => {
      got = Buffer.concat([got, data]);
      if (isAnswered || !got.includes('\r\n\r\n')) return;
      isAnswered = true;
      answers(socket, got.toString('latin1'));
    });
  });
  upstream.listen(0, '127.0.0.1');
  await once(upstream, 'listening');
  port = /** @type {net.AddressInfo} */ (upstream.address()).port;
});
after(async () => {
  await runtime.dispose();
  upstream.close();
});

const plan = (/** @type {object} */ more = {}) => ({
  upstream: { id: 'ups_1', name: 'api', base_url: `http://127.0.0.1:${port}/base` },
  auth: [{ type: 'header', name: 'Authorization', value: 'Bearer {{KEY}}' }],
  values: { KEY: { value: KEY, isChosen: false } },
  max_request_bytes: 10_485_760,
  max_response_bytes: 26_214_400,
  timeout_seconds: 30,
  held: null,
  ...more,
});

/** A plain request over a socket of its own, so that nothing is normalised on the way. */
function call(
  /** @type {string} */ target,
  /** @type {any} */ { method = 'GET', headers = {}, body, plan: given = plan(), isRead = true } = {},
) {
  const request = http.request({
    host: front.hostname,
    port: front.port,
    method,
    path: `/api/v1/orgs/org_1/use/api${target}`,
    headers: {
      ...headers,
      'Test-Plan': JSON.stringify(given).replace(
        /[^ -~]/g,
        (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`,
      ),
    },
    agent: false,
  });
  if (!isRead) request.end();
  return { request, answer: isRead ? answered(request, body) : never };
}

/**
 * @typedef {{ status: number; reason: string; headers: http.IncomingHttpHeaders }} Head
 * @returns {Promise<Head & { body: Buffer; isBroken: boolean }>}
 */
function answered(/** @type {http.ClientRequest} */ request, /** @type {any} */ body) {
  return new Promise((resolve, reject) => {
    request.on('error', reject);
    request.on('response', (response) => {
      /** @type {Buffer[]} */
      const parts = [];
      response.on('data', (part) => parts.push(part));
      const end = (/** @type {boolean} */ isBroken) =>
        resolve({
          status: response.statusCode ?? 0,
          reason: response.statusMessage ?? '',
          headers: response.headers,
          body: Buffer.concat(parts),
          isBroken,
        });
      response.on('end', () => end(!response.complete));
      response.on('error', () => end(true));
    });
    if (body !== null) request.end(body);
  });
}

/** @type {ReturnType<typeof answered>} */
const never = new Promise(() => {});
/** What the gate was told, once it was told so much: that an answer ended comes after it. */
async function told(least = 1) {
  for (;;) {
    const all = await (await fetch(new URL('/told', front))).json();
    if (all.length >= least) return all;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
const reply = (/** @type {string} */ head, /** @type {Buffer | string} */ body = '') => {
  answers = (socket) => {
    socket.write(`HTTP/1.1 ${head}\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n`);
    socket.end(body);
  };
};
const line = () => got.toString('latin1').split('\r\n')[0];
const sentHeaders = () => {
  const [head = ''] = got.toString('latin1').split('\r\n\r\n');
  return Object.fromEntries(
    head
      .split('\r\n')
      .slice(1)
      .map((one) => [one.slice(0, one.indexOf(':')).toLowerCase(), one.slice(one.indexOf(':') + 2)]),
  );
};

for (const target of [
  '/v1/a%2Fb',
  '/v1//a',
  '/v1/%41%7e',
  "/v1/~a!$&'()*+,;=:@[]|_-.",
  '/v1/a?x=%2F&y=b+c&&{}|`^%zz',
  '/v1/a?',
])
  test(`path: ${target} arrives byte for byte`, async () => {
    reply('200 OK');
    assert.equal((await call(target).answer).status, 200);
    assert.equal(line(), `GET /base${target} HTTP/1.1`);
  });

for (const target of [
  '/../a',
  '/v1/%2e%2e/a',
  '/v1/..%2fa',
  '/v1\\..\\a',
  '//evil.example/a',
  '/v1/%250d%250a',
  '/v1/a{b}',
])
  test(`path: ${target} is refused, and nothing is sent`, async () => {
    got = Buffer.alloc(0);
    assert.equal((await call(target).answer).status, 403);
    assert.equal(got.length, 0);
  });

test('headers: the secret goes as UTF-8, and what is ours stays here', async () => {
  reply('200 OK');
  const headers = Object.fromEntries([
    ...[
      ['Authorization', 'Bearer svc_token'],
      ['X-Api-Key', 'svc_token'],
      ['Cookie', 'a=b'],
      ['Svc-A', 'b'],
    ],
    ...[
      ['Connection', 'close, X-B'],
      ['X-B', 'c'],
      ['Accept-Encoding', 'gzip'],
      ['X-C', 'd'],
      ['TE', 'trailers'],
    ],
    ...[
      ['X-HTTP-Method-Override', 'DELETE'],
      ['X-Forwarded-For', '1.2.3.4'],
      ['Origin', 'https://a.example'],
    ],
    ...[
      ['User-Agent', 'sdk/1'],
      ['X-Text', Buffer.from('é€').toString('latin1')],
    ],
  ]);
  await call('/v1', { headers }).answer;
  const sent = sentHeaders();
  assert.equal(Buffer.from(sent.authorization ?? '', 'latin1').toString(), `Bearer ${KEY}`);
  assert.deepEqual(Object.keys(sent).sort(), [
    ...['accept-encoding', 'authorization', 'cf-worker', 'host', 'user-agent', 'via', 'x-c', 'x-text'],
  ]);
  assert.equal(sent['accept-encoding'], 'identity');
  assert.equal(sent.via, '1.1 svc-use');
  assert.equal(Buffer.from(sent['x-text'] ?? '', 'latin1').toString(), 'é€');
  assert.equal(sent['user-agent'], 'sdk/1');
});

test('answer: status, reason and headers come back, masked', async () => {
  const latin = Buffer.from(`x ${KEY}`).toString('latin1');
  answers = (socket) => {
    socket.end(
      Buffer.from(
        `HTTP/1.1 418 No sk_live\r\nX-Echo: ${latin}\r\nSet-Cookie: a=b\r\nRequest-Id: r1\r\nLocation: /base/v1/b?c\r\nTransfer-Encoding: chunked\r\nTrailer: X-T\r\n\r\n5\r\nhello\r\n0\r\nX-T: ${latin}\r\n\r\n`,
        'latin1',
      ),
    );
  };
  const { status, reason, headers, body, isBroken } = await call('/v1/a').answer;
  assert.equal(status, 418);
  assert.equal(reason, 'No sk_live');
  assert.equal(headers['x-echo'], `x ${MASKED}`);
  assert.equal(headers['set-cookie'], undefined);
  assert.equal(headers['svc-upstream-request-id'], 'r1');
  assert.equal(headers['svc-upstream'], 'api');
  assert.equal(headers.location, 'http://vault.test/api/v1/orgs/org_1/use/api/v1/b?c');
  assert.equal(body.toString(), 'hello');
  assert.equal(isBroken, false);
  assert.deepEqual((await told())[0], { status: 418, code: null, request_bytes: 0 });
});

const bytes = Buffer.from(
  `{"echo":${JSON.stringify(KEY)},"basic":"${Buffer.from(`u:${KEY}`).toString('base64')}"}`,
);
for (const [coding, pack] of /** @type {[string, (body: Buffer) => Buffer][]} */ ([
  ['gzip', zlib.gzipSync],
  ['GZIP', zlib.gzipSync],
  ['x-gzip', zlib.gzipSync],
  ['br', zlib.brotliCompressSync],
  ['deflate', zlib.deflateSync],
  ['gzip, Gzip', (body) => zlib.gzipSync(zlib.gzipSync(body))],
  ['br, gzip', (body) => zlib.gzipSync(zlib.brotliCompressSync(body))],
]))
  test(`masking: an answer in ${coding} is undone and masked`, async () => {
    reply(`200 OK\r\nContent-Encoding: ${coding}`, pack(bytes));
    const { headers, body, isBroken } = await call('/v1').answer;
    assert.equal(headers['content-encoding'], undefined);
    assert.equal(isBroken, false);
    assert.match(body.toString(), /^\{"echo":"\*+","basic":"[^"]{1,4}\*+[^"]{0,3}"\}$/);
    assert.equal(body.length, bytes.length);
  });

for (const coding of ['zstd', 'compress', 'gzip, gzip, gzip, gzip', 'exi'])
  test(`masking: an answer in ${coding} is refused`, async () => {
    reply(`200 OK\r\nContent-Encoding: ${coding}`, 'x');
    const { status, headers } = await call('/v1').answer;
    assert.equal(status, 502);
    assert.equal(headers['svc-error'], 'TARGET_REJECTED');
  });

test('masking: a compressed answer that is cut off or false arrives broken off', async () => {
  for (const body of [zlib.gzipSync(bytes).subarray(0, 20), Buffer.from('not gzip at all')]) {
    reply('200 OK\r\nContent-Encoding: gzip', body);
    assert.equal((await call('/v1').answer).isBroken, true);
  }
});

test('masking: keeps Content-Length, also of HEAD', async () => {
  reply('200 OK', `<${KEY}>`);
  const { headers, body } = await call('/v1').answer;
  assert.equal(headers['content-length'], String(MASKED.length + 2));
  assert.equal(body.toString(), `<${MASKED}>`);
  answers = (socket) => socket.end('HTTP/1.1 200 OK\r\nContent-Length: 12345\r\nETag: "x"\r\n\r\n');
  const head = await call('/v1', { method: 'HEAD' }).answer;
  assert.equal(head.headers['content-length'], '12345');
  assert.equal(line(), 'HEAD /base/v1 HTTP/1.1');
});

test('redirects: are not followed', async () => {
  reply(`302 Found\r\nLocation: http://127.0.0.1:${port}/elsewhere`);
  const { status, headers } = await call('/v1').answer;
  assert.equal(status, 302);
  assert.equal(headers.location, `http://127.0.0.1:${port}/elsewhere`);
});

test('uploads: with a length, without one, and past the bound', async () => {
  answers = (socket) => {
    const finish = () => {
      if (!/hello(\r\n0\r\n\r\n)?$/.test(got.toString('latin1'))) return;
      socket.end('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n');
    };
    socket.on('data', finish);
    finish();
  };
  await call('/v1', {
    method: 'PUT',
    headers: { 'Content-Length': 5, 'Content-Type': 'text/x' },
    body: 'hello',
  }).answer;
  assert.equal(sentHeaders()['content-length'], '5');
  assert.equal(sentHeaders()['content-type'], 'text/x');
  await call('/v1', { method: 'POST', headers: { 'Transfer-Encoding': 'chunked' }, body: 'hello' }).answer;
  assert.equal(sentHeaders()['transfer-encoding'], 'chunked');
  assert.deepEqual((await told())[0], { status: 200, code: null, request_bytes: 5 });
  const small = plan({ max_request_bytes: 4 });
  for (const headers of [{ 'Content-Length': 5 }, { 'Transfer-Encoding': 'chunked' }]) {
    const { status } = await call('/v1', { method: 'POST', headers, body: 'hello', plan: small }).answer;
    assert.equal(status, 413);
    assert.equal((await told())[0].code, 'PAYLOAD_TOO_LARGE');
  }
});

test('uploads: a GET with a body is refused', async () => {
  const { status } = await call('/v1', { headers: { 'Content-Length': 5 }, body: 'hello' }).answer;
  assert.equal(status, 400);
});

test('bounds: an answer of a known length past the bound is refused, another is broken off', async () => {
  const small = plan({ max_response_bytes: 4 });
  reply('200 OK', 'hello');
  assert.equal((await call('/v1', { plan: small }).answer).status, 502);
  answers = (socket) =>
    socket.end('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n');
  const cut = await call('/v1', { plan: small }).answer;
  assert.deepEqual([cut.status, cut.isBroken], [200, true]);
  assert.equal((await told(2))[1].how, 'too_large');
});

test('bounds: what unpacks to too much is broken off', async () => {
  reply('200 OK\r\nContent-Encoding: gzip', zlib.gzipSync(Buffer.alloc(60_000_000)));
  assert.equal((await call('/v1').answer).isBroken, true);
  reply('200 OK\r\nContent-Encoding: br', zlib.brotliCompressSync(Buffer.alloc(50_000_000)));
  assert.equal((await call('/v1').answer).isBroken, true);
});

test('broken off: what the upstream breaks off arrives broken off', async () => {
  for (const head of ['Content-Length: 100', 'Transfer-Encoding: chunked']) {
    answers = (socket) => {
      socket.write(`HTTP/1.1 200 OK\r\n${head}\r\n\r\n5\r\nhello\r\n`, () =>
        setTimeout(() => socket.destroy(), 50),
      );
    };
    const { status, isBroken } = await call('/v1').answer;
    assert.deepEqual([status, isBroken], [200, true], head);
    assert.equal((await told(2))[1].how, 'upstream_broke_off');
  }
});

test('timeouts: no head, and silence after it', async () => {
  answers = () => {};
  const none = await call('/v1', { plan: plan({ timeout_seconds: 0.2 }) }).answer;
  assert.deepEqual([none.status, none.headers['svc-error']], [504, 'TARGET_TIMEOUT']);
  answers = (socket) => socket.write('HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhello');
  const silent = await call('/v1', { plan: plan({ timeout_seconds: 0.2 }) }).answer;
  assert.deepEqual([silent.status, silent.isBroken], [200, true]);
  assert.equal((await told(2))[1].how, 'timeout');
});

test('unreachable: is 502', async () => {
  answers = (socket) => socket.destroy();
  const { status, headers } = await call('/v1').answer;
  assert.deepEqual([status, headers['svc-error']], [502, 'TARGET_UNREACHABLE']);
});

test('revocation: an answer is not given once the credential ended', async () => {
  reply('200 OK', 'hello');
  const { status, body } = await call('/v1', { plan: plan({ gone: true }) }).answer;
  assert.equal(status, 401);
  assert.doesNotMatch(body.toString(), /hello/);
});

/** An answer that is read step by step. */
async function opened(/** @type {string} */ target, /** @type {object} */ given = plan()) {
  const { request } = call(target, { plan: given, isRead: false });
  /** @type {http.IncomingMessage} */
  const response = (await once(request, 'response'))[0];
  return response[Symbol.asyncIterator]();
}
const EVENTS =
  'HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n9\r\ndata: 1\n\n\r\n';

test('revocation: ends a stream that goes on', async () => {
  answers = (socket) => socket.write(EVENTS);
  const answer = await opened('/v1/events');
  assert.equal(String((await answer.next()).value), 'data: 1\n\n');
  await fetch(new URL('/end', front));
  await assert.rejects(answer.next());
  assert.equal((await told(2))[1].how, 'credential_ended');
});

test('streams: each event arrives as soon as it is sent', async () => {
  /** @type {net.Socket | undefined} */
  let open;
  answers = (socket) => {
    open = socket;
    socket.write(EVENTS);
  };
  const answer = await opened('/v1/events');
  assert.equal(String((await answer.next()).value), 'data: 1\n\n');
  open?.write('9\r\ndata: 2\n\n\r\n');
  assert.equal(String((await answer.next()).value), 'data: 2\n\n');
  open?.end('0\r\n\r\n');
  assert.equal((await answer.next()).done, true);
});

test('streams: 100 MB wait for whoever reads them', slow(120_000), async () => {
  const CHUNK = Buffer.alloc(65_536, 'x');
  const TOTAL = 1600;
  let sent = 0;
  answers = async (socket) => {
    socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${TOTAL * CHUNK.length}\r\n\r\n`);
    for (; sent < TOTAL; sent += 1) if (!socket.write(CHUNK)) await once(socket, 'drain');
    socket.end();
  };
  const answer = await opened('/v1/large', plan({ max_response_bytes: 1_073_741_824 }));
  // Nobody reads: what is sent comes to rest, or all of it is somewhere on the way.
  for (let before = -1, same = 0; same < 50 && sent < TOTAL; before = sent) {
    await new Promise((resolve) => setTimeout(resolve, 20));
    same = before === sent ? same + 1 : 0;
  }
  assert.ok(sent * CHUNK.length < 32 * 1_048_576, `${sent * CHUNK.length} bytes were in flight`);
  let received = 0;
  for (;;) {
    const { done, value } = await answer.next();
    if (done) break;
    received += value.length;
  }
  assert.equal(received, TOTAL * CHUNK.length);
});

test('WebSocket: messages pass both ways, masked', async () => {
  answers = (socket, request) => {
    const key = /sec-websocket-key: (.*)\r\n/i.exec(request)?.[1];
    assert.doesNotMatch(request, /sec-websocket-extensions/i);
    void accept(String(key)).then((accepted) => {
      socket.write(
        `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${accepted}\r\n\r\n`,
      );
      const text = Buffer.from(`echo ${KEY.replace(/[^ -~]/g, 'e')}`);
      socket.write(Buffer.concat([Buffer.from([0x81, text.length]), text]));
    });
  };
  const socket = new WebSocket(
    `ws://${front.host}/api/v1/orgs/org_1/use/api/v1/realtime`,
    /** @type {any} */ ({
      headers: {
        'Test-Plan': JSON.stringify(
          plan({ values: { KEY: { value: KEY.replace(/[^ -~]/g, 'e'), isChosen: false } } }),
        ),
      },
    }),
  );
  const [{ data }] = await once(socket, 'message');
  assert.match(data, /^echo \*+$/);
  socket.close();
});

/** An upgrade over a socket of its own, which never answers a close. */
async function upgraded(/** @type {object} */ given = plan()) {
  answers = async (socket, request) => {
    const [, key] = /sec-websocket-key: (\S+)/i.exec(request) ?? [];
    socket.write(
      `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${await accept(String(key))}\r\n\r\n`,
    );
  };
  const headers = {
    Connection: 'Upgrade',
    Upgrade: 'websocket',
    'Sec-WebSocket-Version': '13',
    'Sec-WebSocket-Key': 'AAAAAAAAAAAAAAAAAAAAAA==',
  };
  const { request } = call('/v1/realtime', { plan: given, headers, isRead: false });
  return /** @type {net.Socket} */ ((await once(request, 'upgrade'))[1]);
}

test('timeouts: a WebSocket on which both sides are silent is closed', async () => {
  const ascii = { KEY: { value: 'sk_live_1234567890', isChosen: false } };
  const socket = await upgraded(plan({ timeout_seconds: 0.2, values: ascii }));
  assert.equal((await told(2))[1].how, 'timeout');
  socket.destroy();
});

test('streams: a caller who leaves a stream or a WebSocket ends the call', async () => {
  const ascii = { KEY: { value: 'sk_live_1234567890', isChosen: false } };
  const socket = await upgraded(plan({ values: ascii }));
  socket.destroy();
  assert.equal((await told(2))[1].how, 'caller_gone');
  const closed = new Promise((resolve) => {
    answers = (theirs) => {
      theirs.on('close', resolve);
      theirs.write(EVENTS);
    };
  });
  const { request } = call('/v1/events', { isRead: false });
  await once((await once(request, 'response'))[0], 'data');
  /** @type {net.Socket} */ (request.socket).resetAndDestroy();
  assert.equal((await told(2))[1].how, 'caller_gone');
  await closed;
});

const accept = async (/** @type {string} */ key) =>
  Buffer.from(
    await crypto.subtle.digest(
      'SHA-1',
      new TextEncoder().encode(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`),
    ),
  ).toString('base64');
