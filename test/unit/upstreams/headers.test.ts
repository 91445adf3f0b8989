// Headers both ways: what of a caller's goes on, and what of an answer comes back.
import { describe, expect, it } from 'vitest';
import { utf8 } from '../../../src/crypto/bytes';
import { isAllowed, isPathPattern } from '../../../src/domains/upstreams/call/allow';
import { answerHeaders, answerReason, rewritten } from '../../../src/domains/upstreams/call/answer';
import { useDigest } from '../../../src/domains/upstreams/call/digest';
import { covered, isLoop, isWebSocket, sendable } from '../../../src/domains/upstreams/call/request-headers';
import { Auth } from '../../../src/domains/upstreams/config';

const sent = (headers: Record<string, string>) => sendable(new Headers(headers)).map(([name]) => name);

describe('headers of a call', () => {
  it.each([
    ...['Authorization', 'X-Api-Key', 'Api-Key', 'X-Goog-Api-Key', 'Cookie', 'Approval-Id', 'DPoP', 'Via'],
    ...['X-Access-Reason', 'X-Access-Call', 'CF-Connecting-IP', 'CF-Ray', 'X-Forwarded-For', 'Forwarded'],
    ...['X-Forwarded-Host', 'Origin', 'Referer', 'Svc-Upstream', 'Connection', 'Keep-Alive', 'TE', 'Trailer'],
    ...['Transfer-Encoding', 'Upgrade', 'Proxy-Authorization', 'Proxy-Connection', 'Host', 'Content-Length'],
    ...['Expect', 'Accept-Encoding', 'X-HTTP-Method-Override', 'X-HTTP-Method', 'X-Method-Override'],
    ...['Sec-WebSocket-Extensions', 'Sec-WebSocket-Key', 'True-Client-IP', 'X-Real-IP', 'Proxy', 'X-Host'],
    ...['X-Original-URL', 'X-Rewrite-URL', 'X_HTTP_Method_Override', 'X_Forwarded_For', 'Transfer_Encoding'],
  ])('headers: %s is not sent on', (name) => expect(sent({ [name]: 'x' })).toEqual([]));

  it('headers: those of the upstream are sent on, sorted', () => {
    expect(
      sent({ Range: 'x', 'Idempotency-Key': 'x', 'If-Match': 'x', Prefer: 'x', 'Content-Type': 'x' }),
    ).toEqual(['content-type', 'idempotency-key', 'if-match', 'prefer', 'range']);
  });

  it('headers: what Connection lists is not sent on', () => {
    expect(sent({ Connection: 'close, X-Tenant ,x-b', 'X-Tenant': 'a', 'X-B': 'b', 'X-C': 'c' })).toEqual([
      'x-c',
    ]);
  });

  const isSettable = (name: string) => Auth.safeParse({ type: 'header', name, value: '{{KEY}}' }).success;
  it.each([
    ...[
      'Host',
      'Content-Length',
      'Content_Length',
      'Transfer_Encoding',
      'Connection',
      'Upgrade',
      'TE',
      'Expect',
    ],
    ...[
      'If-Match',
      'Range',
      'Accept-Encoding',
      'HTTP2-Settings',
      'Proxy-Connection',
      'Via',
      'Origin',
      'Referer',
    ],
    ...[
      'Svc-X',
      'CF-Ray',
      'Sec-Fetch-Site',
      'DPoP',
      'Approval-Id',
      'X-Access-Call',
      'X_Forwarded_For',
      'X-Host',
    ],
    ...['X-HTTP-Method-Override', 'X-Method', 'X-Original-URL', 'X_Rewrite_URL', 'X-Real-IP', 'a b', ''],
  ])('headers: auth cannot set %j', (name) => expect(isSettable(name)).toBe(false));
  it.each(['Authorization', 'X-Api-Key', 'api_key', 'PRIVATE-TOKEN', 'Cookie'])(
    'headers: auth can set %s',
    (name) => expect(isSettable(name)).toBe(true),
  );

  it('headers: a loop and an upgrade are recognised', () => {
    expect(isLoop(new Headers({ Via: '1.1 a, 1.1 svc-use' }))).toBe(true);
    expect(isLoop(new Headers({ Via: '1.1 svc-user' }))).toBe(false);
    expect(isWebSocket('GET', new Headers({ Upgrade: 'WebSocket' }))).toBe(true);
    expect(isWebSocket('POST', new Headers({ Upgrade: 'websocket' }))).toBe(false);
  });
});

describe('allow', () => {
  const allow = [
    { methods: ['GET'], paths: ['/v1/charges', '/v1/charges/*'] },
    { methods: ['POST'], paths: ['/'], headers: { 'X-Amz-Target': 'DynamoDB_20120810.Get*' } },
  ];
  const get = (path: string, method = 'GET') => isAllowed(allow, { method, path, headers: [] });

  it('allow: only what an entry names', () => {
    expect(get('/v1/charges')).toBe(true);
    expect(get('/v1/charges/ch_1')).toBe(true);
    for (const path of [
      '/v1/Charges',
      '/v1/chargesx',
      '/v1/%63harges',
      '/v1/refunds',
      '/',
      '/v1/charges/../refunds',
    ])
      expect(get(path)).toBe(false);
    for (const method of ['HEAD', 'POST', 'get', 'TRACE']) expect(get('/v1/charges', method)).toBe(false);
  });

  it('allow: a header that is named must match', () => {
    const post = (headers: [string, string][]) => isAllowed(allow, { method: 'POST', path: '/', headers });
    expect(post([['x-amz-target', 'DynamoDB_20120810.GetItem']])).toBe(true);
    expect(post([['x-amz-target', 'DynamoDB_20120810.PutItem']])).toBe(false);
    // Two headers of a name arrive as one.
    expect(post([['x-amz-target', 'DynamoDB_20120810.PutItem, DynamoDB_20120810.GetItem']])).toBe(false);
    expect(post([])).toBe(false);
  });

  it('allow: patterns spell paths that can be sent', () => {
    for (const text of ['/*', '/v1/*/items', '/v1/ch_?']) expect(isPathPattern(text)).toBe(true);
    for (const text of ['*', 'v1/*', '/a/../*', '/a%', '/*/*/*/*/*/*', '//*', ''])
      expect(isPathPattern(text)).toBe(false);
  });
});

describe('approval of a call', () => {
  const call = {
    method: 'POST',
    path: '/v1/a',
    query: '?b',
    headers: [] as [string, string][],
    isWebSocket: false,
    body: utf8('c'),
  };
  it('approval: the digest covers method, path, query, headers, body and whether it opens a WebSocket', () => {
    const base = useDigest(call);
    for (const other of [
      { method: 'PUT' },
      { isWebSocket: true },
      { path: '/v1/b' },
      { query: '?c' },
      { query: '' },
      { headers: [['accept-profile', 'private']] as [string, string][] },
      { body: utf8('d') },
      { path: '/v1/a?', query: 'b' },
    ])
      expect(useDigest({ ...call, ...other })).not.toBe(base);
  });

  it.each([
    ...[
      'user-agent',
      'accept-language',
      'traceparent',
      'tracestate',
      'baggage',
      'idempotency-key',
      'x-amz-date',
    ],
    ...['amz-sdk-request', 'x-stainless-retry-count', 'x-stripe-client-telemetry', 'sec-websocket-key'],
  ])('approval: %s is not covered, and not sent', (name) => {
    expect(covered([[name, 'x']])).toEqual([]);
    expect(useDigest({ ...call, headers: [[name, 'x']] })).toBe(useDigest(call));
  });
});

const about = {
  upstream: 'stripe',
  base_url: 'https://api.stripe.com/v1',
  url: 'https://api.stripe.com/v1/charges?a=1',
  route: 'https://vault.example.com/api/v1/orgs/org_1/use/stripe',
  values: ['sk_live_1234567890'],
};
const passed = (given: Record<string, string>) =>
  Object.fromEntries(answerHeaders(new Headers(given), about));

describe('headers of an answer', () => {
  it.each([
    ...['Set-Cookie', 'Set-Cookie2', 'Access-Control-Allow-Origin', 'Alt-Svc', 'Clear-Site-Data', 'NEL'],
    ...['Strict-Transport-Security', 'Service-Worker-Allowed', 'Report-To', 'Authentication-Info', 'Refresh'],
    ...[
      'Connection',
      'Keep-Alive',
      'Trailer',
      'Transfer-Encoding',
      'Upgrade',
      'Svc-Error',
      'Content-Encoding',
    ],
    ...['Proxy-Authenticate', 'Content-Length', 'Content-Security-Policy-Report-Only'],
  ])('answer: %s does not come back', (name) =>
    expect(passed({ [name]: 'x' })).toEqual({
      'svc-upstream': 'stripe',
      'content-security-policy': 'sandbox',
    }),
  );

  it('answer: those that this service has itself come back renamed', () => {
    expect(
      passed({
        'Request-Id': 'a',
        'RateLimit-Policy': 'b',
        'X-RateLimit-Limit': 'c',
        'WWW-Authenticate': 'd',
      }),
    ).toMatchObject({
      'svc-upstream-request-id': 'a',
      'svc-upstream-ratelimit-policy': 'b',
      'svc-upstream-x-ratelimit-limit': 'c',
      'www-authenticate': 'd',
    });
    expect(passed({ 'Svc-Upstream': 'evil', 'Content-Security-Policy': 'x' })).toMatchObject({
      'svc-upstream': 'stripe',
      'content-security-policy': 'sandbox',
    });
  });

  it('answer: values are masked in headers, names and the reason', () => {
    expect(passed({ 'X-Echo': 'a sk_live_1234567890 b' })['x-echo']).toBe(`a ${'*'.repeat(18)} b`);
    expect(passed({ sk_live_1234567890: 'x', 'X-SK_LIVE_1234567890': 'x' })).toEqual(passed({}));
    expect(answerReason('No sk_live_1234567890', about.values)).toBe(`No ${'*'.repeat(18)}`);
    const values = ['pässwörd-with-umlauts'];
    const latin = String.fromCharCode(...utf8('<pässwörd-with-umlauts>'));
    expect(answerHeaders(new Headers({ 'X-Echo': latin }), { ...about, values }).get('x-echo')).toBe(
      `<${'*'.repeat(23)}>`,
    );
  });

  it.each([
    ['https://api.stripe.com/v1/charges?page=2', `${about.route}/charges?page=2`],
    ['/v1/charges/ch_1', `${about.route}/charges/ch_1`],
    ['ch_1', `${about.route}/ch_1`],
    ['https://api.stripe.com/v1', `${about.route}/`],
    ['https://API.stripe.com:443/v1/a/../b#c', `${about.route}/b#c`],
    ['/v2/charges', 'https://api.stripe.com/v2/charges'],
    ['https://api.stripe.com/v10', 'https://api.stripe.com/v10'],
    ['/v1/../x', 'https://api.stripe.com/x'],
    ['//files.stripe.com/a', 'https://files.stripe.com/a'],
    ['https://api.stripe.com@evil.example/v1/', 'https://api.stripe.com@evil.example/v1/'],
    ['https://u:p@api.stripe.com/v1/a', 'https://u:p@api.stripe.com/v1/a'],
    ['https://vault.example.com/api/v1/orgs/org_1/secrets', null],
    ['http://vault.example.com/', null],
    ['//vault.example.com/api/v1', null],
    ['https://x@vault.example.com/api', null],
    ['http://[', null],
  ])('answer: Location %s', (location, shown) => expect(rewritten(location, about)).toBe(shown));

  it('answer: Link is rewritten as octokit pages by it', () => {
    expect(
      passed({
        Link: '<https://api.stripe.com/v1/a?page=2>; rel="next", <https://other.example/>; rel="last"',
      }).link,
    ).toBe(`<${about.route}/a?page=2>; rel="next", <https://other.example/>; rel="last"`);
    expect(passed({ Link: '<https://vault.example.com/api/v1/whoami>; rel="next"' }).link).toBeUndefined();
  });
});
