// The published attacks on forwarding proxies, against the whole service over raw sockets, with an API that
// records the bytes it gets. Each attack names its source. Invariants: the API gets nothing, or one request,
// framed in one way, of the allowed path, with the placed secret and nothing of the caller's credential; what
// it answers acts neither on this service's origin nor on the caller's connection.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import net from 'node:net';
import { after, before, test } from 'node:test';
import zlib from 'node:zlib';
import { BOOTSTRAP, startBound } from '../../packages/bound.mjs';

const KEY = 'sk_live_of_the_api_0123456789';
const PUBLIC = 'http://127.0.0.1:9350';
let token = '';
let use = '';
let front = { port: 0 };
/** @type {Awaited<ReturnType<typeof startBound>>} */
let service;
/** What the API got, by connection, and what it answers. */
let got = /** @type {Buffer[]} */ ([]);
let answers = Buffer.alloc(0);
const sockets = /** @type {Set<net.Socket>} */ (new Set());
const OK = Buffer.from('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok');

const api = net.createServer((socket) => {
  sockets.add(socket);
  const at = got.push(Buffer.alloc(0)) - 1;
  const all = got;
  let isAnswered = false;
  socket.on('error', () => {});
  socket.on('data', (data) => {
    all[at] = Buffer.concat([/** @type {Buffer} */ (all[at]), data]);
    const [one] = requestsIn(/** @type {Buffer} */ (all[at]));
    if (isAnswered || !one?.isWhole) return;
    isAnswered = true;
    socket.end(answers);
  });
});

/** The requests in what a connection sent, by their framing alone (RFC 9112 §6). @param {Buffer} bytes */
function requestsIn(bytes) {
  const found = [];
  for (let rest = bytes.toString('latin1'); rest !== ''; ) {
    const end = rest.indexOf('\r\n\r\n');
    const [line = '', ...lines] = rest.slice(0, end < 0 ? rest.length : end).split('\r\n');
    const headers = lines.map((one) => [
      one.slice(0, one.indexOf(':')).toLowerCase(),
      one.slice(one.indexOf(':') + 1).trim(),
    ]);
    const all = (/** @type {string} */ name) =>
      headers.flatMap(([own, value]) => (own === name ? [value] : []));
    const lengths = all('content-length');
    const codings = all('transfer-encoding');
    const after = end < 0 ? '' : rest.slice(end + 4);
    const chunked = /^(?:([0-9a-f]+)\r\n[\s\S]*?)?0\r\n\r\n/i.exec(after);
    const size = codings.length ? (chunked?.[0].length ?? Number.NaN) : Number(lengths[0] ?? 0);
    const isWhole = end >= 0 && after.length >= size;
    found.push({
      line,
      headers,
      all,
      body: after.slice(0, size || 0),
      isWhole,
      framings: lengths.length + codings.length,
    });
    rest = isWhole ? after.slice(size) : '';
  }
  return found;
}

before(async () => {
  api.listen(0, '127.0.0.1');
  await once(api, 'listening');
  const { port } = /** @type {net.AddressInfo} */ (api.address());
  service = await startBound(
    {},
    { ALLOW_PRIVATE_TARGETS: 'true', PUBLIC_URL: PUBLIC },
    { unsafeDirectSockets: [{ host: '127.0.0.1', port: 0 }] },
  );
  front = await service.miniflare.unsafeGetDirectURL('vault');
  const owner = { email: 'a@example.com', name: 'A' };
  const { json } = await service.call('POST', '/orgs', BOOTSTRAP, { name: 'Acme', owner });
  const made = async (/** @type {string} */ at, /** @type {object} */ body) => {
    const answer = await service.call('POST', `/orgs/${json.org.id}${at}`, json.api_key.token, body);
    assert.equal(answer.status, 201, JSON.stringify(answer));
    return answer.json;
  };
  await made('/secrets', { name: 'KEY', type: 'generic', value: KEY });
  await made('/upstreams', {
    name: 'api',
    base_url: `http://127.0.0.1:${port}/base`,
    environment: 'production',
    auth: [
      { type: 'header', name: 'X-Token', value: '{{KEY}}' },
      { type: 'query', name: 'key', value: '{{KEY}}' },
    ],
    allow: [{ methods: ['GET', 'POST'], paths: ['/v1/*'] }],
    max_response_bytes: 100_000,
    timeout_seconds: 5,
  });
  const key = await made('/api-keys', { name: 'k', scopes: ['secrets:use'] });
  token = key.token;
  use = `/api/v1/orgs/${json.org.id}/use/api`;
});
after(async () => {
  for (const socket of sockets) socket.destroy();
  api.close();
  await service?.stop();
});

/** What the service answers to these bytes until it closes. @param {string} bytes */
async function answerTo(bytes) {
  got = [];
  const socket = net.connect(front.port, '127.0.0.1');
  sockets.add(socket);
  socket.on('error', () => {});
  const parts = /** @type {Buffer[]} */ ([]);
  const whole = new Promise((/** @type {(_: void) => void} */ done) => {
    socket.on('close', () => done());
    socket.on('data', (data) => void parts.push(data));
  });
  socket.write(Buffer.from(bytes, 'latin1'));
  // Whatever was smuggled is read before the connection closes.
  socket.end();
  await whole;
  return Buffer.concat(parts).toString('latin1');
}

/**
 * A request of the caller. @param {{ line?: string, host?: string, headers?: string[], body?: string }} parts
 */
const request = ({ line, host = '127.0.0.1:9350', headers = [], body = '' }) =>
  [
    line ?? `GET ${use}/v1/x HTTP/1.1`,
    `Host: ${host}`,
    `Authorization: Bearer ${token}`,
    ...headers,
    'Connection: close',
    '',
    body,
  ].join('\r\n');
const post = (/** @type {string[]} */ headers, body = '') =>
  request({ line: `POST ${use}/v1/x HTTP/1.1`, headers, body });
const SMUGGLED = 'GET /base/admin HTTP/1.1\r\nHost: api\r\nX-Smuggled: yes\r\n\r\n';

/** Headers that may reach the API, besides those that an attack is about. */
const PLAIN = [
  'host',
  'x-token',
  'accept-encoding',
  'via',
  'cf-worker',
  'content-length',
  'transfer-encoding',
];

/** Checks what reached the API. @param {string[]} allowed further headers */
function checkSent(allowed) {
  const requests = got.flatMap(requestsIn);
  assert.ok(requests.length <= 1, `the API got ${requests.length} requests: ${got}`);
  for (const { line, headers, all, framings, isWhole } of requests) {
    assert.match(line, /^(GET|POST) \/base\/v1\/x\S* HTTP\/1\.1$/);
    assert.ok(isWhole && framings <= 1, `framed in one way: ${JSON.stringify(headers)}`);
    assert.match(all('host').join(), /^127\.0\.0\.1:\d+$/);
    assert.deepEqual(all('x-token'), [KEY]);
    for (const [name] of headers)
      assert.ok([...PLAIN, ...allowed].includes(String(name)), `${name} was sent on`);
    const head = `${line}\n${headers.join('\n')}`;
    assert.ok(!head.includes(token), 'the caller’s credential was sent on');
    assert.doesNotMatch(head, /smuggled|evil|[\r\0]/i);
    assert.equal(line.split('key=').length, 2);
  }
  return requests;
}

/**
 * @typedef {object} Attack
 * @property {string} source
 * @property {() => string} bytes
 * @property {string[]} [allowed] headers that go on
 * @property {'nothing' | 'one'} [sent] what the API gets, if it is certain
 */
/** @type {Record<string, Attack>} */
const attacks = {
  'CL.TE: both framings': {
    source: 'RFC 9112 §6.3; PortSwigger, HTTP Desync Attacks (2019)',
    bytes: () =>
      post([`Content-Length: ${5 + SMUGGLED.length}`, 'Transfer-Encoding: chunked'], `0\r\n\r\n${SMUGGLED}`),
  },
  'TE.CL: both framings': {
    source: 'RFC 9112 §6.3; PortSwigger, HTTP Desync Attacks (2019)',
    bytes: () =>
      post(
        ['Transfer-Encoding: chunked', 'Content-Length: 4'],
        `${SMUGGLED.length.toString(16)}\r\n${SMUGGLED}\r\n0\r\n\r\n`,
      ),
  },
  ...Object.fromEntries(
    ['xchunked', 'chunked, identity', '\x0bchunked', '"chunked"', 'chunked\r\nTransfer-Encoding: x'].map(
      (coding) => [
        `TE.TE: ${JSON.stringify(coding)}`,
        {
          source: 'PortSwigger, HTTP Desync Attacks (2019), obfuscated Transfer-Encoding',
          bytes: () => post([`Transfer-Encoding: ${coding}`, 'Content-Length: 4'], `0\r\n\r\n${SMUGGLED}`),
        },
      ],
    ),
  ),
  'two different lengths': {
    source: 'RFC 9112 §6.3 (5)',
    bytes: () => post(['Content-Length: 0', `Content-Length: ${SMUGGLED.length}`], SMUGGLED),
    sent: 'nothing',
  },
  ...Object.fromEntries(
    ['+4', '-1', '0x4', '4,5', '4 4', '99999999999999999999'].map((length) => [
      `a length of ${length}`,
      {
        source: 'RFC 9110 §8.6; CVE-2018-7159',
        bytes: () => post([`Content-Length: ${length}`], `abcd${SMUGGLED}`),
      },
    ]),
  ),
  'CL.0: a body that looks like a request': {
    source: 'PortSwigger, Browser-Powered Desync Attacks (2022)',
    bytes: () => post([`Content-Length: ${SMUGGLED.length}`], SMUGGLED),
    sent: 'one',
  },
  'a GET with a body': {
    source: 'PortSwigger, Browser-Powered Desync Attacks (2022); RFC 9110 §9.3.1',
    bytes: () => request({ headers: [`Content-Length: ${SMUGGLED.length}`], body: SMUGGLED }),
    sent: 'nothing',
  },
  'chunk extensions and line feeds alone': {
    source: 'RFC 9112 §7.1.1; w4ke.info, Funky Chunks (2025)',
    bytes: () => post(['Transfer-Encoding: chunked'], `2;\nxx\r\nab\r\n0\r\n\r\n${SMUGGLED}`),
  },
  'a chunk size past 64 bits': {
    source: 'CVE-2013-2028; RFC 9112 §7.1',
    bytes: () => post(['Transfer-Encoding: chunked'], `10000000000000002\r\nab\r\n0\r\n\r\n${SMUGGLED}`),
  },
  'Content_Length and Transfer_Encoding': {
    source: 'Http11Probe, header normalization; RFC 3875 §4.1.18',
    bytes: () => request({ headers: ['Content_Length: 9', 'Transfer_Encoding: chunked'] }),
    sent: 'one',
  },
  'blank before the colon': {
    source: 'RFC 9112 §5.1; CVE-2019-16276',
    bytes: () => post(['Content-Length : 4'], `abcd${SMUGGLED}`),
  },
  'a folded header': {
    source: 'RFC 9112 §5.2',
    bytes: () => request({ headers: ['X-A: b', ' Transfer-Encoding: chunked'] }),
    allowed: ['x-a'],
  },
  'a bare CR in a header': {
    source: 'RFC 9112 §2.2; CVE-2022-32215',
    bytes: () => request({ headers: ['X-A: b\rX-Smuggled: yes'] }),
    sent: 'nothing',
  },
  'a NUL in a header': {
    source: 'RFC 9110 §5.5; CVE-2019-15605',
    bytes: () => request({ headers: ['X-A: b\0X-Smuggled: yes'] }),
    sent: 'nothing',
  },
  'CRLF in the path': {
    source: 'CWE-93; PortSwigger, HTTP/2: The Sequel Is Always Worse (2021)',
    bytes: () => request({ line: `GET ${use}/v1/x%0d%0aX-Smuggled:%20yes HTTP/1.1` }),
    sent: 'nothing',
  },
  'CRLF in the query stays encoded': {
    source: 'CWE-93; CVE-2019-9740',
    bytes: () => request({ line: `GET ${use}/v1/x?a=%0d%0aX-A:%20b HTTP/1.1` }),
    sent: 'one',
  },
  'a raw line feed in the target': {
    source: 'RFC 9112 §3.2',
    bytes: () => request({ line: `GET ${use}/v1/x\nX-Smuggled: yes HTTP/1.1` }),
    sent: 'nothing',
  },
  'the absolute form of another host': {
    source: 'RFC 9112 §3.2.2; PortSwigger, Cracking the Lens (2017)',
    bytes: () => request({ line: `GET http://evil.example${use}/v1/x HTTP/1.1` }),
  },
  'the absolute form of the API itself': {
    source: 'RFC 9112 §3.2.2; an open proxy (CWE-441)',
    bytes: () => request({ line: 'GET http://127.0.0.1/base/v1/x HTTP/1.1' }),
    sent: 'nothing',
  },
  'user information before the host': {
    source: 'PortSwigger, Cracking the Lens (2017)',
    bytes: () => request({ line: `GET ${use}@evil.example/v1/x HTTP/1.1` }),
    sent: 'nothing',
  },
  'a target that begins with @': {
    source: 'CVE-2011-3368',
    bytes: () => request({ line: 'GET @evil.example/v1/x HTTP/1.1' }),
    sent: 'nothing',
  },
  'another Host': {
    source: 'RFC 9110 §7.2; PortSwigger, Practical HTTP Host Header Attacks (2013)',
    bytes: () => request({ host: 'evil.example' }),
    sent: 'one',
  },
  'two Hosts': {
    source: 'RFC 9112 §3.2',
    bytes: () => request({ headers: ['Host: evil.example'] }),
  },
  ...Object.fromEntries(
    ['X-Forwarded-Host', 'X-Host', 'X-HTTP-Host-Override', 'X-Original-Host', 'Forwarded'].map((name) => [
      `${name}`,
      {
        source: 'PortSwigger, Practical HTTP Host Header Attacks (2013)',
        bytes: () => request({ headers: [`${name}: host=evil.example`] }),
        sent: /** @type {const} */ ('one'),
      },
    ]),
  ),
  ...Object.fromEntries(
    ['X-Original-URL', 'X-Rewrite-URL', 'X-Original-URI', 'X-Forwarded-Uri', 'X-Envoy-Original-Path'].map(
      (name) => [
        `${name}`,
        {
          source: 'CVE-2018-14773; PortSwigger, Practical Web Cache Poisoning (2018)',
          bytes: () => request({ headers: [`${name}: /base/evil`] }),
          sent: /** @type {const} */ ('one'),
        },
      ],
    ),
  ),
  ...Object.fromEntries(
    ['X-HTTP-Method-Override', 'X-HTTP-Method', 'X-Method-Override', 'X_HTTP_Method_Override'].map((name) => [
      `${name}`,
      {
        source: 'OWASP, Test HTTP Methods (WSTG-CONF-06)',
        bytes: () => request({ headers: [`${name}: DELETE`] }),
        sent: /** @type {const} */ ('one'),
      },
    ]),
  ),
  'hop-by-hop: Connection names the header of auth': {
    source: 'RFC 9110 §7.6.1; Davison, Abusing HTTP hop-by-hop request headers (2019); CVE-2025-48865',
    bytes: () => request({ headers: ['Connection: X-Token, Via, Host', 'X-B: c'] }),
    allowed: ['x-b'],
    sent: 'one',
  },
  'hop-by-hop: the headers themselves': {
    source: 'RFC 9110 §7.6.1',
    bytes: () =>
      request({
        headers: [
          'Keep-Alive: timeout=5',
          'Proxy-Connection: evil',
          'TE: trailers',
          'Proxy-Authorization: evil',
        ],
      }),
    sent: 'one',
  },
  Proxy: {
    source: 'httpoxy, CVE-2016-5385',
    bytes: () => request({ headers: ['Proxy: http://evil.example'] }),
    sent: 'one',
  },
  'Upgrade to h2c': {
    source: 'Bishop Fox, h2c Smuggling (2020)',
    bytes: () =>
      request({
        headers: ['Upgrade: h2c', 'HTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA', 'Connection: Upgrade'],
      }),
    sent: 'one',
  },
  'Upgrade of a POST': {
    source: 'Egorov, WebSocket smuggling (2019)',
    bytes: () => post(['Upgrade: websocket', 'Connection: Upgrade', 'Content-Length: 0']),
    sent: 'one',
  },
  Expect: {
    source: 'PortSwigger, HTTP/1.1 Must Die (2025)',
    bytes: () => post(['Expect: y 100-continue', 'Content-Length: 2'], 'ab'),
  },
  trailers: {
    source: 'RFC 9110 §6.5; PortSwigger, TE.0 and trailer merging (2024)',
    bytes: () =>
      post(['Transfer-Encoding: chunked', 'Trailer: X-Smuggled'], '2\r\nab\r\n0\r\nX-Smuggled: yes\r\n\r\n'),
  },
  'the header of auth in another case, twice': {
    source: 'RFC 9110 §5.1, §5.3',
    bytes: () => request({ headers: ['x-token: evil', 'X-TOKEN: evil'] }),
    sent: 'one',
  },
  'the header of auth with an underscore': {
    source: 'CVE-2025-64484; CVE-2015-0219',
    bytes: () => request({ headers: ['X_Token: evil', 'X_Forwarded_For: evil'] }),
    sent: 'one',
  },
  'the parameter of auth, encoded and twice': {
    source: 'CWE-235, HTTP parameter pollution (OWASP WSTG-INPV-04)',
    bytes: () => request({ line: `GET ${use}/v1/x?key=evil&%6bey=evil&KEY=evil;key=evil HTTP/1.1` }),
    sent: 'one',
  },
  'the credential in the query alone': {
    source: 'RFC 6750 §5.3; CWE-598',
    bytes: () =>
      request({ line: `GET ${use}/v1/x?access_token=${token} HTTP/1.1` }).replace(
        /Authorization: .*\r\n/,
        '',
      ),
    sent: 'nothing',
  },
  'two credentials': {
    source: 'RFC 9110 §11.6.2',
    bytes: () => request({ headers: [`X-Api-Key: ${token}`] }),
    sent: 'nothing',
  },
  Cookie: {
    source: 'RFC 6265 §8.6',
    bytes: () => request({ headers: ['Cookie: session=evil', 'Cookie2: evil'] }),
    sent: 'one',
  },
  TRACE: {
    source: 'RFC 9110 §9.3.8; CVE-2004-2320 (cross-site tracing)',
    bytes: () => request({ line: `TRACE ${use}/v1/x HTTP/1.1`, headers: ['Max-Forwards: 0'] }),
    sent: 'nothing',
  },
  CONNECT: {
    source: 'RFC 9110 §9.3.6',
    bytes: () => request({ line: 'CONNECT evil.example:443 HTTP/1.1' }),
    sent: 'nothing',
  },
  'a method in lower case': {
    source: 'RFC 9110 §9.1',
    bytes: () => request({ line: `delete ${use}/v1/x HTTP/1.1` }),
    sent: 'nothing',
  },
  'a loop': {
    source: 'RFC 9110 §7.6.3',
    bytes: () => request({ headers: ['Via: 1.1 svc-use'] }),
    sent: 'nothing',
  },
  ...Object.fromEntries(
    [
      ...[
        '/v1/../admin',
        '/v1/..;/admin',
        '/v1/.%2e/admin',
        '/v1/%2e%2e%2fadmin',
        '/v1/%252e%252e%252fadmin',
      ],
      ...[
        '/v1\\..\\admin',
        '/v1/%5c..%5cadmin',
        '/v1/%c0%ae%c0%ae/../admin',
        '//evil.example/v1/x',
        '/%2fv1/../admin',
      ],
      ...[
        '/v1/x%00',
        '/v1/x%',
        '/v1/x%zz',
        '/V1/x',
        '/%76%31/x',
        '/v1%2fx',
        '/v1;/x',
        '/v1/%25252e%25252e/x',
      ],
    ].map((path) => [
      `path ${path}`,
      {
        source: 'Orange Tsai, Breaking Parser Logic (2018); CVE-2021-41773; CVE-2020-5902',
        bytes: () => request({ line: `GET ${use}${path} HTTP/1.1` }),
        sent: /** @type {const} */ ('nothing'),
      },
    ]),
  ),
};

for (const [name, { source, bytes, allowed = [], sent }] of Object.entries(attacks))
  test(`attack: ${name} (${source})`, async () => {
    answers = OK;
    const answer = await answerTo(bytes());
    const requests = checkSent(allowed);
    if (sent) assert.equal(requests.length, sent === 'one' ? 1 : 0, answer);
    assert.ok(!answer.includes(KEY) && !answer.includes(token), answer);
  });

/** @type {Record<string, { source: string, answer: string | Buffer, gives: RegExp, not?: RegExp }>} */
const hostile = {
  'headers that act on an origin': {
    source: 'CWE-829; RFC 9110 §15',
    answer:
      'HTTP/1.1 200 OK\r\nSet-Cookie: a=evil\r\nSet-Cookie2: evil\r\nClear-Site-Data: "evil"\r\nAlt-Svc: evil\r\nStrict-Transport-Security: evil\r\nAccess-Control-Allow-Origin: evil\r\nService-Worker-Allowed: evil\r\nNEL: evil\r\nReport-To: evil\r\nRefresh: 0;evil\r\nContent-Length: 0\r\n\r\n',
    gives: /^HTTP\/1\.1 200 /,
    not: /evil/,
  },
  'headers of this service': {
    source: 'CWE-345',
    answer:
      'HTTP/1.1 200 OK\r\nSvc-Error: evil\r\nSvc-Upstream: evil\r\nRequest-Id: theirs\r\nContent-Length: 0\r\n\r\n',
    gives: /svc-upstream: api\r\n/i,
    not: /evil|\r\nrequest-id: theirs/i,
  },
  'a header behind a bare CR': {
    source: 'CWE-113, response splitting; RFC 9112 §2.2',
    answer: 'HTTP/1.1 200 OK\r\nX-A: b\rX-Evil: yes\r\nContent-Length: 0\r\n\r\n',
    gives: /^HTTP\/1\.1 (200|50[0-4]) /,
    not: /evil/i,
  },
  'a second answer behind the first': {
    source: 'PortSwigger, HTTP Response Queue Poisoning (2021)',
    answer:
      'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 200 OK\r\nX-Evil: yes\r\nContent-Length: 4\r\n\r\nevil',
    gives: /\r\n\r\nok$/,
    not: /evil/i,
  },
  'both framings': {
    source: 'RFC 9112 §6.3',
    answer:
      'HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\nevil',
    gives: /^HTTP\/1\.1 (200|50[0-4]) /,
    not: /evil/,
  },
  'an interim answer with the secret': {
    source: 'RFC 8297; CVE-2023-26489',
    answer: `HTTP/1.1 103 Early Hints\r\nLink: <${KEY}>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok`,
    gives: /^HTTP\/1\.1 (200|50[0-4]) /,
  },
  'an upgrade that nobody asked for': {
    source: 'RFC 9110 §15.2.2; Egorov, WebSocket smuggling (2019)',
    answer: `HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n${KEY}`,
    gives: /^HTTP\/1\.1 50[0-4] /,
  },
  'trailers with the secret': {
    source: 'RFC 9110 §6.5',
    answer: `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-T\r\n\r\n2\r\nok\r\n0\r\nX-T: ${KEY}\r\n\r\n`,
    gives: /^HTTP\/1\.1 200 /,
  },
  'the secret in reason, names, values and body': {
    source: 'CWE-200; CWE-201',
    answer: `HTTP/1.1 200 ${KEY}\r\nX-A: ${Buffer.from(KEY).toString('base64')}\r\n${KEY}: x\r\nContent-Length: ${KEY.length}\r\n\r\n${KEY}`,
    gives: /\r\n\r\n\*{29}$/,
    not: new RegExp(Buffer.from(KEY).toString('base64').slice(0, 20)),
  },
  'a redirect to this service': {
    source: 'CWE-601; PortSwigger, OAuth open redirects',
    answer: `HTTP/1.1 302 Found\r\nLocation: ${PUBLIC}/api/v1/evil\r\nLink: <${PUBLIC}/evil>\r\nContent-Length: 0\r\n\r\n`,
    gives: /^HTTP\/1\.1 302 /,
    not: /evil/,
  },
  'a redirect to the metadata of a cloud': {
    source: 'CWE-918; CVE-2019-5736 class, redirects of SSRF guards',
    answer:
      'HTTP/1.1 307 Temporary Redirect\r\nLocation: http://169.254.169.254/latest\r\nContent-Length: 0\r\n\r\n',
    gives: /^HTTP\/1\.1 307 /,
  },
  'a gzip bomb': {
    source: 'CWE-409; RFC 9110 §8.4',
    answer: zipped('gzip', zlib.gzipSync(Buffer.alloc(60_000_000))),
    gives: /^HTTP\/1\.1 200 /,
    // Broken off: no last chunk.
    not: /\r\n0\r\n\r\n$/,
  },
  'nested codings': {
    source: 'CWE-409; CVE-2022-32206',
    answer: zipped('gzip, gzip, gzip, gzip', Buffer.from('x')),
    gives: /^HTTP\/1\.1 502 /,
  },
  'a range with the secret': {
    source: 'RFC 9110 §14.4; CVE-2011-3192',
    answer: `HTTP/1.1 206 Partial Content\r\nContent-Range: bytes 0-28/1000\r\nContent-Length: 29\r\n\r\n${KEY}`,
    gives: /content-range: bytes 0-28\/1000\r\n[\s\S]*\r\n\r\n\*{29}$/i,
  },
  'no status line': {
    source: 'RFC 1945 §4.1 (HTTP/0.9)',
    answer: `${KEY}\r\n\r\n`,
    gives: /^HTTP\/1\.1 50[0-4] /,
  },
  'a status of four digits': {
    source: 'RFC 9112 §4',
    answer: 'HTTP/1.1 2000 OK\r\nContent-Length: 0\r\n\r\n',
    gives: /^HTTP\/1\.1 50[0-4] /,
  },
};
/** @param {string} coding @param {Buffer} body */
function zipped(coding, body) {
  return Buffer.concat([
    Buffer.from(`HTTP/1.1 200 OK\r\nContent-Encoding: ${coding}\r\nContent-Length: ${body.length}\r\n\r\n`),
    body,
  ]);
}

for (const [name, { source, answer, gives, not }] of Object.entries(hostile))
  test(`attack: an answer with ${name} (${source})`, async () => {
    answers = Buffer.from(answer);
    const given = await answerTo(request({}));
    checkSent([]);
    assert.match(given, gives);
    assert.ok(!given.includes(KEY), given);
    if (not) assert.doesNotMatch(given, not);
  });
