// The entrypoint `Upstream`: Workers that are bound to the service call an API by its own URLs.
// test/scripts/bindings/bound-upstreams.test.mjs does it from a second Worker.
import { createExecutionContext, waitOnExecutionContext } from 'cloudflare:test';
import { env } from 'cloudflare:workers';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { Env } from '../../../src/env';
import { Upstream, Vault } from '../../../src/vault-binding';
import { approvalIn, newApprovalPolicy, newOffice } from '../../support/governance/approvals';
import { newUpstream } from '../../support/integrations/upstreams';
import { type Caller, codeOf, newOrg, useWorld } from '../../support/world';

useWorld();

/** What reached APIs, and what they answer. */
let sent: { url: string; method: string; headers: Headers; body: string }[] = [];
let answer: () => Response | Promise<Response>;

beforeEach(() => {
  sent = [];
  answer = () => Response.json({ ok: true });
  vi.stubGlobal('fetch', async (url: string, init: RequestInit) => {
    if (new URL(url).hostname === 'cloudflare-dns.com')
      return Response.json({ Status: 0, Answer: [{ type: 1, data: '93.184.215.14' }] });
    const body = init.body ? await new Response(init.body).text() : '';
    const headers = new Headers(init.headers as HeadersInit);
    sent.push({ url, method: String(init.method), headers, body });
    return answer();
  });
});
afterEach(() => vi.unstubAllGlobals());

async function newTrust(o: Caller, fields: Record<string, unknown> = {}): Promise<string> {
  const { json, status, text } = await o.post('/trusts', {
    name: 'workers',
    issuer: 'cloudflare:service-binding',
    claims: { name: 'billing' },
    scopes: ['secrets:use'],
    ...fields,
  });
  if (status !== 201) throw new Error(`no trust: ${status} ${text}`);
  return json.id;
}

/** Sends a request through the entrypoint, as a Worker with these props does. */
async function through(Entrypoint: typeof Upstream | typeof Vault, props: unknown, request: Request) {
  const context = createExecutionContext();
  Object.defineProperty(context, 'props', { value: props });
  const response = await new Entrypoint(context, env as unknown as Env).fetch(request);
  const text = await response.text();
  await waitOnExecutionContext(context);
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers freely
  let json: any;
  try {
    json = JSON.parse(text);
  } catch {}
  return { status: response.status, json, text, headers: response.headers };
}
const call = (props: unknown, url: string, init: RequestInit = {}) =>
  through(Upstream, props, new Request(url, init));

/** An organisation with an upstream, and the props of a Worker that may call it. */
async function newBound(fields: Record<string, unknown> = {}, trust: Record<string, unknown> = {}) {
  const o = await newOrg();
  const upstream = await newUpstream(o, fields);
  const id = await newTrust(o, trust);
  return {
    o,
    upstream,
    trust: id,
    props: { org: o.id, trust: id, name: 'billing', upstream: upstream.name },
  };
}

it('upstream: a Worker calls the API by its URL, and the audit log names the Worker', async () => {
  const { o, upstream, trust, props } = await newBound();
  const { status, json, headers } = await call(props, 'https://API.example.com:443/v1/charges?a=%2F', {
    method: 'POST',
    body: 'amount=5',
    headers: { 'Content-Type': 'text/x', 'X-A': 'b' },
  });
  expect([status, json, headers.get('svc-upstream')]).toEqual([200, { ok: true }, upstream.name]);
  expect(sent).toHaveLength(1);
  expect(sent[0]).toMatchObject({
    url: 'https://api.example.com/v1/charges?a=%2F',
    method: 'POST',
    body: 'amount=5',
  });
  expect(sent[0]?.headers.get('x-a')).toBe('b');
  const { data } = (await o.get('/audit-log?action=secret.use')).json;
  expect(data).toMatchObject([
    {
      actor: { kind: 'workload', id: trust, name: 'billing' },
      ip: null,
      use: { host: 'api.example.com', method: 'POST', path: '/v1/charges' },
    },
  ]);
});

it('upstream: the path of the base URL is part of it, and allow judges what follows', async () => {
  const allow = [{ methods: ['GET'], paths: ['/chat/*', '/'] }];
  const { o, props } = await newBound({ base_url: 'https://api.example.com/v1', allow });
  expect((await call(props, 'https://api.example.com/v1/chat/x')).status).toBe(200);
  expect((await call(props, 'https://api.example.com/v1?a')).status).toBe(200);
  expect(sent.map(({ url }) => url)).toEqual([
    'https://api.example.com/v1/chat/x',
    'https://api.example.com/v1/?a',
  ]);
  const { data } = (await o.get('/audit-log?action=secret.use')).json;
  expect(data[1].use.path).toBe('/v1/chat/x');
});

it.each([
  'https://api.example.com/v2/chat/x',
  'https://api.example.com/v1x/chat/x',
  'https://api.example.com/chat/x',
  'https://api.example.com/v1/other',
  'https://api.example.com/v1/chat/%2e%2e/other',
  'https://api.example.com/v1//chat/x',
  'http://api.example.com/v1/chat/x',
  'https://api.example.com:444/v1/chat/x',
  'https://api.example.com.evil.example/v1/chat/x',
  'https://evil.example/v1/chat/x',
  'https://evil.example/https://api.example.com/v1/chat/x',
])('attack: %s is not sent', async (url) => {
  const allow = [{ methods: ['GET'], paths: ['/chat/*'] }];
  const { props } = await newBound({ base_url: 'https://api.example.com/v1', allow });
  const refused = await call(props, url);
  expect(codeOf(refused)).toEqual([403, 'USE_NOT_ALLOWED']);
  expect(refused.headers.get('svc-error')).toBe('USE_NOT_ALLOWED');
  expect(sent).toEqual([]);
});

it('attack: a credential of any kind is dropped, and identifies nobody', async () => {
  const { o, trust, props } = await newBound();
  const basic = `Basic ${btoa(`${o.token}:`)}`;
  for (const headers of [
    { Authorization: `Bearer ${o.token}` },
    { Authorization: 'Bearer sk_placeholder' },
    { Authorization: basic },
    { Authorization: `Bearer ${o.token}`, 'X-Api-Key': o.token },
    { 'X-Api-Key': o.token, 'Api-Key': 'a', 'X-Goog-Api-Key': 'b', Cookie: 'c=d', DPoP: 'e' },
  ] as Record<string, string>[]) {
    expect((await call(props, 'https://api.example.com/v1/a', { headers })).status).toBe(200);
    const arrived = [...(sent.at(-1)?.headers ?? [])].filter(([name]) => name !== 'authorization');
    expect(arrived.map(([name]) => name).sort()).toEqual(['accept-encoding', 'via']);
    expect(sent.at(-1)?.headers.get('authorization')).not.toContain(o.token);
  }
  const { data } = (await o.get('/audit-log?action=secret.use')).json;
  expect(new Set(data.map(({ actor }: { actor: { id: string } }) => actor.id))).toEqual(new Set([trust]));
  // What the Worker may not do, the token of an owner does not let it do.
  await o.patch(`/trusts/${trust}`, { scopes: ['audit:read'] });
  const headers = { Authorization: `Bearer ${o.token}`, 'X-Api-Key': o.token };
  expect((await call(props, 'https://api.example.com/v1/a', { headers })).status).toBe(403);
  expect(sent).toHaveLength(5);
});

it('upstream: a Worker reaches the upstream of its props alone, within the bounds of its trust', async () => {
  const { o, props } = await newBound();
  const other = await newUpstream(o, { base_url: 'https://other.example.com' });
  const url = 'https://other.example.com/v1/a';
  expect(codeOf(await call(props, url))).toEqual([403, 'USE_NOT_ALLOWED']);
  const bounded = await newTrust(o, { upstreams: [other.name] });
  expect(codeOf(await call({ ...props, trust: bounded }, 'https://api.example.com/v1/a'))).toEqual([
    404,
    'NOT_FOUND',
  ]);
  expect((await call({ ...props, trust: bounded, upstream: other.name }, url)).status).toBe(200);
  expect(codeOf(await call({ ...props, upstream: 'absent' }, url))).toEqual([404, 'NOT_FOUND']);
  expect(sent).toHaveLength(1);
});

it('bindings: props of Upstream are four texts, and nothing else', async () => {
  const { props } = await newBound();
  for (const [wrong, field] of [
    [undefined, 'props'],
    [{ ...props, upstream: undefined }, 'props.upstream'],
    [{ ...props, upstream: 'A/../b' }, 'props.upstream'],
    [{ ...props, further: 'x' }, 'props.further'],
    [{ ...props, name: '' }, 'props.name'],
  ] as const) {
    const refused = await call(wrong, 'https://api.example.com/v1/a');
    expect([...codeOf(refused), refused.json.error.details[0].path], field).toEqual([
      400,
      'VALIDATION_FAILED',
      field,
    ]);
  }
  const vault = await through(Vault, props, new Request('http://x/api/v1/whoami'));
  expect(codeOf(vault)).toEqual([400, 'VALIDATION_FAILED']);
  expect(sent).toEqual([]);
});

it('upstream: through env.VAULT.fetch the same call is the route of the API, without a credential', async () => {
  const { o, props } = await newBound();
  const { upstream, ...caller } = props;
  const at = (path: string) => `http://x/api/v1/orgs/${o.id}/use/${upstream}${path}`;
  const used = await through(Vault, caller, new Request(at('/v1/a')));
  expect([used.status, sent[0]?.url]).toEqual([200, 'https://api.example.com/v1/a']);
  for (const name of ['Authorization', 'X-Api-Key', 'Api-Key', 'X-Goog-Api-Key', 'Cookie']) {
    const request = new Request(at('/v1/a'), { headers: { [name]: o.token } });
    expect(codeOf(await through(Vault, caller, request)), name).toEqual([400, 'VALIDATION_FAILED']);
  }
  expect(sent).toHaveLength(1);
});

it('revocation: no answer arrives once the trust has ended, or no longer takes the name', async () => {
  for (const end of [
    (o: Caller, trust: string) => o.del(`/trusts/${trust}`),
    (o: Caller, trust: string) => o.patch(`/trusts/${trust}`, { claims: { name: 'another' } }),
  ]) {
    const { o, trust, props } = await newBound();
    answer = async () => {
      expect((await end(o, trust)).status).toBeLessThan(300);
      return new Response('too late');
    };
    const late = await call(props, 'https://api.example.com/v1/a');
    expect([late.status, late.text.includes('too late')]).toEqual([401, false]);
    const next = await call(props, 'https://api.example.com/v1/a');
    expect([next.status, sent.filter(({ url }) => url.includes('/v1/a')).length % 2]).toEqual([401, 1]);
    sent = [];
  }
});

it('upstream: a redirect leads to the URL of the API', async () => {
  const { props } = await newBound();
  answer = () => new Response(null, { status: 307, headers: { Location: '/v1/moved' } });
  const { headers } = await call(props, 'https://api.example.com/v1/a', { redirect: 'manual' });
  expect(headers.get('location')).toBe('https://api.example.com/v1/moved');
});

it('approval: a held call is sent once it is approved, for the same URL alone', async () => {
  const { o, ann, asked } = await newOffice();
  const upstream = await newUpstream(o);
  const props = { org: o.id, trust: await newTrust(asked), name: 'billing', upstream: upstream.name };
  await newApprovalPolicy(o, ['secret.use']);
  const send = (path: string, headers = {}) =>
    call(props, `https://api.example.com${path}`, { method: 'POST', body: 'amount=5', headers });
  const held = await send('/v1/charges');
  expect(codeOf(held)).toEqual([403, 'APPROVAL_REQUIRED']);
  const { id } = approvalIn(held);
  const shown = JSON.stringify((await ann.o.get(`/approvals/${id}`)).json);
  expect(shown).toContain('POST https://api.example.com/v1/charges');
  expect((await ann.o.post(`/approvals/${id}/approve`, {})).status).toBe(200);
  const approved = { 'Approval-Id': id };
  expect(codeOf(await send('/v1/refunds', approved))).toEqual([409, 'APPROVAL_MISMATCH']);
  expect((await send('/v1/charges', approved)).status).toBe(200);
  expect(sent.map(({ url }) => url)).toEqual(['https://api.example.com/v1/charges']);
});
