// The outbound handler of sandboxes, against a real vault and an API that shows what it got.
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { call, newOrg } from '../../../test/packages/vault.mjs';
import { CredentialError } from '../src/api/errors.js';
import { outbound } from '../src/outbound.js';

const VALUE = 'sk_live_8Kp2Wq6Zt1Lw9Xb3Ue7';
let at: { url: string; org: string; key: string };
let send: (request: Request) => Promise<Response>;
let sent: Request[] = [];
let base = '';
const seen: { method: string; url: string; headers: http.IncomingHttpHeaders; body: string }[] = [];
const stand = http.createServer(async (request, response) => {
  let body = '';
  for await (const part of request) body += part;
  const { method = '', url = '', headers } = request;
  seen.push({ method, url, headers, body });
  if (url.includes('next')) response.setHeader('Link', `<${base}/v1/page?2>; rel="next"`);
  if (url.includes('moved')) return response.writeHead(302, { Location: `${base}/v1/there` }).end();
  response.end(JSON.stringify({ headers, body }));
});

beforeAll(async () => {
  await new Promise<void>((done) => stand.listen(0, '127.0.0.1', done));
  base = `http://127.0.0.1:${(stand.address() as AddressInfo).port}`;
  at = await newOrg(inject('vaultUrl'));
  const api = (way: string, body: object) => call(at.url, at.key, 'POST', `/orgs/${at.org}${way}`, body);
  await api('/secrets', { name: 'KEY', type: 'api_key', value: VALUE, environment: 'staging' });
  await api('/upstreams', {
    name: 'stripe',
    base_url: base,
    environment: 'staging',
    auth: [{ type: 'header', name: 'Authorization', value: 'Bearer {{KEY}}' }],
    allow: [{ methods: ['GET', 'POST'], paths: ['/v1/*', '/'] }],
  });
  const { token } = await api('/agent-credentials', {
    name: 'sandbox',
    scopes: ['secrets:use'],
    environments: ['staging'],
    upstreams: ['stripe'],
    ttlSeconds: 3600,
  });
  send = outbound({
    ...at,
    credential: token,
    hosts: { 'api.stripe.com': 'stripe', 'api.example.com/base': 'stripe', 'other.example.com': 'none' },
    fetch: (request) => {
      sent.push(request.clone());
      return fetch(request);
    },
  });
});
afterAll(() => stand.close());

it('outbound: a request to a host goes through its upstream, and its own credential does not', async () => {
  const response = await send(
    new Request('https://api.stripe.com/v1/charges?a=%2F', {
      method: 'POST',
      body: 'amount=500',
      headers: { Authorization: 'Bearer of-the-sandbox', Cookie: 'a=b', 'X-Api-Key': 'x', 'X-Own': '1' },
    }),
  );
  expect([response.status, response.headers.get('svc-upstream')]).toEqual([200, 'stripe']);
  expect(seen.at(-1)).toMatchObject({
    method: 'POST',
    url: '/v1/charges?a=%2F',
    body: 'amount=500',
    headers: { authorization: `Bearer ${VALUE}`, 'x-own': '1' },
  });
  expect(JSON.stringify(seen.at(-1)?.headers)).not.toMatch(/of-the-sandbox|cookie|x-api-key/i);
  const text = await response.text();
  for (const secret of [VALUE, 'svcag_']) expect(text).not.toContain(secret);
});

it.each(['svcag_a\0bcd', 'svcag_a\nbcd', 'svcag_a\u20acbcd'])(
  'redaction: an error about the credential %j does not quote it',
  async (credential) => {
    const sending = outbound({ ...at, credential, hosts: { 'a.example': 'stripe' } });
    const error = await sending(new Request('https://a.example/v1')).catch((thrown) => thrown);
    expect(error).toBeInstanceOf(CredentialError);
    expect(`${error.stack}${error.cause}`).not.toContain('bcd');
  },
);

it('outbound: a base URL with a path is cut off, and references lead back to the host', async () => {
  const next = await send(new Request('https://api.example.com:443/base/v1/next'));
  expect(seen.at(-1)?.url).toBe('/v1/next');
  expect(next.headers.get('link')).toBe('<https://api.example.com/base/v1/page?2>; rel="next"');
  const moved = await send(new Request('https://api.stripe.com/v1/moved'));
  expect([moved.status, moved.headers.get('location')]).toEqual([302, 'https://api.stripe.com/v1/there']);
});

it('outbound: any other host, path or form of either is refused, and the vault is asked nothing', async () => {
  sent = [];
  for (const url of [
    ...['https://evil.example/', 'https://api.stripe.com.evil.example/', 'https://api.example.com/'],
    ...[
      'https://api.example.com/basement',
      'https://api.stripe.com:8443/v1/x',
      'https://x@api.stripe.com/v1',
    ],
    ...[
      'https://api.stripe.com/../secrets',
      'https://api.stripe.com/v1/%2e%2e/x',
      'https://api.stripe.com//x',
    ],
    ...[
      'https://api.stripe.com/v1/..%2fx',
      'https://api.stripe.com/v1\\x',
      'https://api.stripe.com/%252e%252e/x',
    ],
  ]) {
    // As the platform gives it: unlike that of Node.js, it resolves nothing.
    const request = { url, method: 'GET', headers: new Headers() } as Request;
    const { status, headers } = await send(request);
    expect([url, status, headers.get('svc-error')]).toEqual([url, 403, 'USE_NOT_ALLOWED']);
  }
  expect(sent).toEqual([]);
});

it('outbound: an upstream that the credential may not call is 404, and a service binding needs no credential', async () => {
  expect((await send(new Request('https://other.example.com/v1/x'))).status).toBe(404);
  const asked: Request[] = [];
  const bound = outbound({
    url: 'https://vault',
    org: at.org,
    hosts: { 'api.stripe.com': 'stripe' },
    fetch: async (request) => {
      asked.push(request);
      return new Response('ok');
    },
  });
  await bound(new Request('https://api.stripe.com/v1/x', { headers: { Authorization: 'Bearer x' } }));
  expect(asked[0]?.url).toBe(`https://vault/api/v1/orgs/${at.org}/use/stripe/v1/x`);
  expect(asked[0]?.headers.get('authorization')).toBeNull();
});
