// Calls of upstreams over HTTP: what reaches the upstream, what comes back, and who is refused.
import { exports } from 'cloudflare:workers';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { tuple } from '../../../src/crypto/bytes';
import { hmacHex, sha256 } from '../../../src/crypto/digest';
import { useDigest } from '../../../src/domains/upstreams/call/digest';
import { newKey, newSession } from '../../support/credentials';
import { faults, until } from '../../support/faults';
import { keysOf } from '../../support/gate';
import { approvalIn, newApprovalPolicy, newOffice } from '../../support/governance/approvals';
import { newUpstream } from '../../support/integrations/upstreams';
import { type Caller, codeOf, newOrg, newSecret, send, useWorld } from '../../support/world';

useWorld();

/** What reached upstreams, and what they answer. */
let sent: { url: string; method: string; headers: Headers; body: string }[] = [];
let answer: (request: { url: string; headers: Headers; signal: AbortSignal }) => Response | Promise<Response>;

beforeEach(() => {
  sent = [];
  answer = () => Response.json({ ok: true }, { headers: { 'Request-Id': 'theirs', 'Set-Cookie': 'a=b' } });
  vi.stubGlobal('fetch', async (url: string, init: RequestInit) => {
    if (new URL(url).hostname === 'cloudflare-dns.com')
      return Response.json({ Status: 0, Answer: [{ type: 1, data: '93.184.215.14' }] });
    const headers = new Headers(init.headers as HeadersInit);
    const body = init.body ? await new Response(init.body).text() : '';
    sent.push({ url, method: String(init.method), headers, body });
    return answer({ url, headers, signal: init.signal as AbortSignal });
  });
});
afterEach(() => vi.unstubAllGlobals());

const at = (o: Caller, name: string, path: string) => `/api/v1/orgs/${o.id}/use/${name}${path}`;
const use = (
  o: Caller,
  name: string,
  path = '/v1/charges',
  more: Parameters<typeof send>[2] & { method?: string } = {},
) => send(more.method ?? 'GET', at(o, name, path), { token: o.token, ...more });
const entriesOf = async (o: Caller, id: string) =>
  (await o.get(`/audit-log?resource=${id}&action=secret.use`)).json.data;

describe('calls of upstreams', () => {
  it('use: the secret is placed, the answer comes back, and one entry tells of it', async () => {
    const o = await newOrg();
    const { id, name } = await newUpstream(o);
    const { status, json, headers } = await use(o, name, '/v1/charges?a=%2F&b', {
      method: 'POST',
      body: { amount: 5 },
    });
    expect([status, json]).toEqual([200, { ok: true }]);
    expect(sent).toHaveLength(1);
    expect(sent[0]).toMatchObject({
      url: 'https://api.example.com/v1/charges?a=%2F&b',
      method: 'POST',
      body: '{"amount":5}',
    });
    expect(sent[0]?.headers.get('authorization')).toMatch(/^Bearer [0-9a-f-]{36}$/);
    expect(headers.get('svc-upstream')).toBe(name);
    expect(headers.get('svc-upstream-request-id')).toBe('theirs');
    expect(headers.get('request-id')).toMatch(/^req_/);
    expect(headers.get('set-cookie')).toBeNull();
    expect(headers.get('content-security-policy')).toBe('sandbox');
    const entries = await entriesOf(o, id);
    expect(entries).toHaveLength(1);
    expect(entries[0]).toMatchObject({ action: 'secret.use', outcome: 'success', status: 200 });
  });

  it('cost: a call takes three gate calls, and waits for no other call', async () => {
    const o = await newOrg();
    const { name } = await newUpstream(o);
    await use(o, name);
    let isAnswered = false;
    answer = async ({ url }) => {
      if (url.endsWith('/first')) await until(() => isAnswered);
      return Response.json({ ok: true });
    };
    const first = use(o, name, '/v1/first');
    await until(() => sent.length === 2);
    faults.gate = 0;
    expect((await use(o, name, '/v1/second')).status).toBe(200);
    await until(() => faults.gate === 3);
    isAnswered = true;
    expect((await first).status).toBe(200);
  });

  it('use: an upstream that echoes what it got shows asterisks', async () => {
    const o = await newOrg();
    const { name } = await newUpstream(o);
    answer = ({ headers }) =>
      Response.json({ got: [...headers], basic: btoa(`x:${headers.get('authorization')?.slice(7)}`) });
    const { text } = await use(o, name);
    const value = sent[0]?.headers.get('authorization')?.slice(7) as string;
    expect(text).toContain(`Bearer ${'*'.repeat(36)}`);
    expect(text).not.toContain(value);
    expect(text).not.toContain(btoa(value).slice(0, 20));
  });

  it('use: the credential can be where SDKs put one, and is not sent on', async () => {
    const o = await newOrg();
    const { name } = await newUpstream(o);
    for (const headers of [
      { Authorization: `token ${o.token}` },
      { Authorization: `Basic ${btoa(`${o.token}:`)}` },
      { 'X-Api-Key': o.token },
      { 'Api-Key': o.token },
      { 'X-Goog-Api-Key': o.token },
    ] as Record<string, string>[]) {
      const { status } = await send('GET', at(o, name, '/v1/a'), { headers });
      expect(status).toBe(200);
      expect(JSON.stringify([...(sent.at(-1)?.headers ?? [])])).not.toContain(o.token);
    }
    const both = await send('GET', at(o, name, '/v1/a'), {
      token: o.token,
      headers: { 'X-Api-Key': o.token },
    });
    expect(codeOf(both)).toEqual([401, 'UNAUTHENTICATED']);
    expect(both.headers.get('svc-error')).toBe('UNAUTHENTICATED');
    expect(codeOf(await send('GET', at(o, name, '/v1/a')))).toEqual([401, 'UNAUTHENTICATED']);
    expect(sent).toHaveLength(5);
  });

  it('use: secrets:use alone calls, and reads no value', async () => {
    const o = await newOrg();
    const { name, secret } = await newUpstream(o);
    const { token } = await newKey(o, { scopes: ['secrets:use'] });
    const user = o.as(token);
    expect((await use(user, name)).status).toBe(200);
    expect((await user.get(`/environments/production/secrets/${secret}`)).status).toBeGreaterThanOrEqual(403);
  });

  it.each<[string, string, string, number, string]>([
    ['another path', 'GET', '/v2/charges', 403, 'USE_NOT_ALLOWED'],
    ['another method', 'DELETE', '/v1/charges', 403, 'USE_NOT_ALLOWED'],
    ['HEAD', 'HEAD', '/v1/charges', 403, ''],
    ['an encoded path', 'GET', '/%76%31/charges', 403, 'USE_NOT_ALLOWED'],
    ['dot segments', 'GET', '/v1/%252e%252e/v2', 403, 'USE_NOT_ALLOWED'],
    ['a slash that is encoded', 'GET', '/v1/..%2fv2', 403, 'USE_NOT_ALLOWED'],
    ['a line break', 'GET', '/v1/a%0d%0aX-A:b', 403, 'USE_NOT_ALLOWED'],
    ['another host', 'GET', '//evil.example/v1/', 403, 'USE_NOT_ALLOWED'],
  ])('use: %s is refused, and nothing is sent', async (_, method, path, status, code) => {
    const o = await newOrg();
    const { name } = await newUpstream(o);
    const refused = await use(o, name, path, { method });
    expect(refused.status).toBe(status);
    if (code) expect([refused.json.error.code, refused.headers.get('svc-error')]).toEqual([code, code]);
    expect(refused.headers.get('svc-upstream')).toBeNull();
    expect(sent).toEqual([]);
  });

  it('use: an unknown upstream, a loop and an unknown method are refused', async () => {
    const o = await newOrg();
    const { name } = await newUpstream(o);
    expect(codeOf(await use(o, 'unknown'))).toEqual([404, 'NOT_FOUND']);
    expect(codeOf(await use(await newOrg(), name))).toEqual([404, 'NOT_FOUND']);
    expect(codeOf(await use(o, name, '/v1/a', { headers: { Via: '1.1 svc-use' } }))).toEqual([
      508,
      'LOOP_DETECTED',
    ]);
    expect(codeOf(await use(o, name, '/v1/a', { method: 'PROPFIND' }))).toEqual([405, 'METHOD_NOT_ALLOWED']);
    expect(sent).toEqual([]);
  });

  it('use: headers that are the upstream’s are not read here', async () => {
    const o = await newOrg();
    const { name } = await newUpstream(o);
    const headers = {
      'Idempotency-Key': 'x'.repeat(300),
      'If-Match': 'x'.repeat(2000),
      'Content-Type': 'text/csv',
    };
    const once = await use(o, name, '/v1/a', { method: 'POST', body: 'a,b', headers });
    const twice = await use(o, name, '/v1/a', { method: 'POST', body: 'c,d', headers });
    expect([once.status, twice.status]).toEqual([200, 200]);
    expect(sent.map(({ body }) => body)).toEqual(['a,b', 'c,d']);
    expect(sent[0]?.headers.get('if-match')).toHaveLength(2000);
    expect(sent[0]?.headers.get('content-type')).toBe('text/csv');
  });

  it('use: a credential that ended gets no answer, also while the upstream answers', async () => {
    const o = await newOrg();
    const { id, name } = await newUpstream(o);
    const key = await newKey(o, { scopes: ['secrets:use'] });
    answer = async () => {
      await o.del(`/api-keys/${key.id}`);
      return new Response('too late');
    };
    const ended = await use(o.as(key.token), name);
    expect([ended.status, ended.text.includes('too late')]).toEqual([401, false]);
    expect(await entriesOf(o, id)).toHaveLength(1);
    expect(codeOf(await use(o.as(key.token), name))).toEqual([401, 'TOKEN_REVOKED']);
  });

  it('use: what does not reach the upstream is recorded with its reason', async () => {
    const o = await newOrg();
    const { id, name } = await newUpstream(o);
    answer = () => Promise.reject(new Error('connection'));
    expect(codeOf(await use(o, name))).toEqual([502, 'TARGET_UNREACHABLE']);
    expect(await entriesOf(o, id)).toMatchObject([{ status: 502 }]);
  });

  it('use: bodies past the bound are refused', async () => {
    const o = await newOrg();
    const { name } = await newUpstream(o, { max_request_bytes: 10 });
    expect(codeOf(await use(o, name, '/v1/a', { method: 'POST', body: 'x'.repeat(11) }))).toEqual([
      413,
      'PAYLOAD_TOO_LARGE',
    ]);
    expect((await use(o, name, '/v1/a', { method: 'POST', body: 'x'.repeat(10) })).status).toBe(200);
  });

  it('use: streams as it comes', async () => {
    const o = await newOrg();
    const { name } = await newUpstream(o);
    let number = 0;
    // It never ends, so that nothing can wait for all of it.
    const events = () =>
      new ReadableStream<Uint8Array>({
        pull: (controller) => {
          number += 1;
          controller.enqueue(new TextEncoder().encode(`data: ${number}\n\n`));
        },
      });
    answer = () => new Response(events(), { headers: { 'Content-Type': 'text/event-stream' } });
    const response = await exports.default.fetch(`http://localhost${at(o, name, '/v1/events')}`, {
      headers: { Authorization: `Bearer ${o.token}` },
    });
    const reader = (response.body as ReadableStream<Uint8Array>).getReader();
    let text = '';
    while (!text.includes('data: 2\n\n')) text += new TextDecoder().decode((await reader.read()).value);
    expect(text).toMatch(/^data: 1\n\ndata: 2\n\n/);
    await reader.cancel();
  });

  it('use: a session of an API key calls too', async () => {
    const o = await newOrg();
    const { name } = await newUpstream(o);
    const { token } = await newSession(o, { scopes: ['secrets:use'] });
    expect((await use(o.as(token), name)).status).toBe(200);
  });

  it('approval: a held call is sent once it is approved, with what the approval covers alone', async () => {
    const { o, ann, asked } = await newOffice();
    const { name } = await newUpstream(o);
    await newApprovalPolicy(o, ['secret.use']);
    const more = (body: string, headers = {}) => ({
      method: 'POST',
      body,
      headers: {
        'X-Stainless-Retry-Count': '0',
        'Idempotency-Key': crypto.randomUUID(),
        'X-A': 'b',
        ...headers,
      },
    });
    const held = await use(asked, name, '/v1/charges', more('amount=5'));
    expect([codeOf(held), held.headers.get('svc-error')]).toEqual([
      [403, 'APPROVAL_REQUIRED'],
      'APPROVAL_REQUIRED',
    ]);
    expect(sent).toEqual([]);
    const { id } = approvalIn(held);
    expect(JSON.stringify((await ann.o.get(`/approvals/${id}`)).json)).toContain('amount=5');
    expect((await ann.o.post(`/approvals/${id}/approve`, {})).status).toBe(200);
    const approved = { 'Approval-Id': id };
    for (const other of [
      await use(asked, name, '/v1/charges', more('amount=6', approved)),
      await use(asked, name, '/v1/charges?a', more('amount=5', approved)),
      await use(asked, name, '/v1/refunds', more('amount=5', approved)),
      await use(asked, name, '/v1/charges', more('amount=5', { ...approved, 'X-A': 'c' })),
    ])
      expect(codeOf(other)).toEqual([409, 'APPROVAL_MISMATCH']);
    expect(sent).toEqual([]);
    // A repeat by an SDK has another key and another count.
    const done = await use(
      asked,
      name,
      '/v1/charges',
      more('amount=5', { ...approved, 'X-Stainless-Retry-Count': '1' }),
    );
    expect(done.status).toBe(200);
    expect(sent).toHaveLength(1);
    expect(sent[0]?.body).toBe('amount=5');
    expect(sent[0]?.headers.get('idempotency-key')).toBe(id);
    expect(sent[0]?.headers.get('x-stainless-retry-count')).toBeNull();
    expect(sent[0]?.headers.get('x-a')).toBe('b');
    expect((await use(asked, name, '/v1/charges', more('amount=5', approved))).status).not.toBe(200);
    expect(sent).toHaveLength(1);
  });

  it('approval: that of a GET sends it, and opens no WebSocket, whose own serves once', async () => {
    const { o, ann, asked } = await newOffice();
    const { name } = await newUpstream(o);
    const repeating = { max_valid_seconds: 3600, repeat_writes: true };
    await newApprovalPolicy(o, ['secret.use'], { config: repeating });
    const { id } = approvalIn(await use(asked, name));
    const ofSocket = approvalIn(await use(asked, name, undefined, { headers: { Upgrade: 'websocket' } })).id;
    expect((await ann.o.get(`/approvals/${ofSocket}`)).json.max_valid_seconds).toBe(0);
    expect((await ann.o.post(`/approvals/${id}/approve`, { valid_for_seconds: 600 })).status).toBe(200);
    const under = { 'Approval-Id': id };
    const opening = await use(asked, name, undefined, { headers: { Upgrade: 'websocket', ...under } });
    expect(codeOf(opening)).toEqual([409, 'APPROVAL_MISMATCH']);
    for (let n = 0; n < 2; n++)
      expect((await use(asked, name, undefined, { headers: under })).status).toBe(200);
    expect(sent.map(({ method, body }) => [method, body])).toEqual(Array(2).fill(['GET', '']));
  });

  it('approval: no header hides the body from those who decide', async () => {
    const { o, ann, asked } = await newOffice();
    const { name } = await newUpstream(o);
    await newApprovalPolicy(o, ['secret.use']);
    const padded = (length: number, body: string) =>
      use(asked, name, undefined, { method: 'POST', body, headers: { 'X-Pad': 'a'.repeat(length) } });
    expect(codeOf(await padded(50_000, 'amount=5'))).toEqual([409, 'LIMIT_REACHED']);
    expect(codeOf(await padded(18_000, 'b'.repeat(30_000)))).toEqual([409, 'LIMIT_REACHED']);
    const { id } = approvalIn(await padded(15_000, 'amount=5'));
    expect((await ann.o.get(`/approvals/${id}`)).json.shown).toContainEqual({
      name: 'Body',
      value: 'amount=5',
    });
  });

  it('approval: the digest of a call is keyed, so it confirms no guess at the body', async () => {
    const { o, ann, asked } = await newOffice();
    const { name } = await newUpstream(o);
    await newApprovalPolicy(o, ['secret.use']);
    const { id } = approvalIn(await use(asked, name));
    const call = { method: 'GET', path: '/v1/charges', query: '', headers: [], isWebSocket: false };
    const parts = tuple('use', name, useDigest({ ...call, body: new Uint8Array() }));
    const { digest } = await keysOf(o);
    expect((await ann.o.get(`/approvals/${id}`)).json.request.digest).toBe(hmacHex(digest, parts));
  });

  it('approval: a body of up to 4 MiB waits: deciders see both ends, its size and its digest', async () => {
    const { o, ann, asked } = await newOffice();
    const { name } = await newUpstream(o);
    await newApprovalPolicy(o, ['secret.use']);
    const body = `<begins>${'x'.repeat(4 * 1024 ** 2 - 14)}<ends>`;
    const post = (text: string, headers = {}) =>
      use(asked, name, '/v1/files', { method: 'POST', body: text, headers });
    const held = await post(body);
    const { id } = approvalIn(held);
    const { shown } = (await ann.o.get(`/approvals/${id}`)).json;
    const facts = Object.fromEntries(
      shown.map((one: { name: string; value: string }) => [one.name, one.value]),
    );
    expect(facts['Body size']).toBe('4,194,304 bytes, of which 4,174,304 in the middle are not shown');
    expect(facts['Body SHA-256']).toBe(sha256(body));
    expect(JSON.stringify(shown)).toContain('<begins>');
    expect(JSON.stringify(shown)).toContain('<ends>');
    expect((await ann.o.post(`/approvals/${id}/approve`, {})).status).toBe(200);
    const other = body.replace(/x{9}<ends>/, 'xxxxYxxxx<ends>');
    expect(codeOf(await post(other, { 'Approval-Id': id }))).toEqual([409, 'APPROVAL_MISMATCH']);
    expect((await post(body, { 'Approval-Id': id })).status).toBe(200);
    expect(sent.map((one) => one.body === body)).toEqual([true]);
    expect(codeOf(await post(`${body}x`))).toEqual([413, 'PAYLOAD_TOO_LARGE']);
  });

  it('approval: deciders see all that is sent, and nothing that the upstream’s auth replaces', async () => {
    const { o, ann, asked } = await newOffice();
    const { name: secret } = await newSecret(o);
    const { name } = await newUpstream(
      o,
      {
        auth: [
          { type: 'header', name: 'X-Account', value: '{{KEY}}'.replace('KEY', secret) },
          { type: 'query', name: 'key', value: '{{KEY}}'.replace('KEY', secret) },
        ],
      },
      secret,
    );
    await newApprovalPolicy(o, ['secret.use']);
    const get = (path: string, headers: Record<string, string>) => use(asked, name, path, { headers });
    const query = `?key=mine&a=${'y'.repeat(8100)}end-of-query`;
    const held = await get(`/v1/x${query}`, {
      'X-Account': 'mine',
      'X-B': `${'z'.repeat(7000)}end-of-header`,
    });
    const seen = (await ann.o.get(`/approvals/${approvalIn(held).id}`)).json.shown;
    const text = seen.map((one: { value: string }) => one.value).join('');
    expect(text).toContain('end-of-query');
    expect(text).toContain('end-of-header');
    expect(text).not.toContain('mine');
    const long = Object.fromEntries([0, 1, 2].map((n) => [`X-${n}`, 'z'.repeat(6000)]));
    expect(codeOf(await get('/v1/x', long))).toEqual([409, 'LIMIT_REACHED']);
  });
});
