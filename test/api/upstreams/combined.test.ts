// Attacks that combine what bounds a call of an upstream: approvals, budgets, masking, WebSockets and ends,
// each undone between the steps of the others.
import { exports } from 'cloudflare:workers';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { toBase64, utf8 } from '../../../src/crypto/bytes';
import { intents } from '../../../src/domains/upstreams/gate/intents';
import { newAgent, newKey } from '../../support/credentials';
import { faults } from '../../support/faults';
import { inCore } from '../../support/gate';
import { approvalIn, approve, newApprovalPolicy, newOffice, under } from '../../support/governance/approvals';
import { newUpstream } from '../../support/integrations/upstreams';
import { type Caller, codeOf, newOrg, newSecret, send, useWorld } from '../../support/world';

useWorld();

const VALUE = 'sk_live_<the "value">_é_4711';
/** Each spelling in which a value that came back would still be one. */
const spellings = [
  VALUE,
  ...[0, 1, 2].map((n) => toBase64(utf8('x'.repeat(n) + VALUE)).slice(4, 30)),
  [...utf8(VALUE)].map((byte) => byte.toString(16).padStart(2, '0')).join(''),
  encodeURIComponent(VALUE),
  JSON.stringify(VALUE).slice(1, -1),
];
const mustNotShow = (text: string) => {
  for (const spelling of spellings) expect(text).not.toContain(spelling);
};

/** Sockets of the API, and what it got; each call is answered by an echo of all that it got. */
let sockets: WebSocket[] = [];
let sent: string[] = [];
beforeEach(() => {
  faults.clock = Date.now();
  sockets = [];
  sent = [];
  vi.stubGlobal('fetch', async (url: string, init: RequestInit) => {
    if (new URL(url).hostname === 'cloudflare-dns.com')
      return Response.json({ Status: 0, Answer: [{ type: 1, data: '93.184.215.14' }] });
    const headers = [...new Headers(init.headers as HeadersInit)];
    sent.push(url);
    const got = JSON.stringify({ url, headers: headers.map(([name, value]) => [name, latin(value)]) });
    if (!headers.some(([name]) => name === 'upgrade')) return new Response(`${got}${btoa(bytesOf(got))}`);
    const { 0: theirs, 1: ours } = new WebSocketPair();
    ours.accept();
    sockets.push(ours);
    ours.addEventListener('message', ({ data }) => ours.send(`${data}: ${got}`));
    return new Response(null, { status: 101, webSocket: theirs });
  });
});
afterEach(() => vi.unstubAllGlobals());
const bytesOf = (text: string) => String.fromCharCode(...utf8(text));
/** The platform shows bytes of a header as characters; an API reads them as UTF-8. */
const latin = (text: string) =>
  /^[\0-\xff]*$/.test(text)
    ? new TextDecoder().decode(Uint8Array.from(text, (char) => char.charCodeAt(0)))
    : text;

const at = (o: Caller, name: string) => `/api/v1/orgs/${o.id}/use/${name}/v1/x`;
const use = (o: Caller, name: string, headers = {}) => send('GET', at(o, name), { token: o.token, headers });
const upgrade = (o: Caller, name: string, headers = {}) =>
  exports.default.fetch(`http://localhost${at(o, name)}`, {
    headers: { Authorization: `Bearer ${o.token}`, Upgrade: 'websocket', ...headers },
  });
const auth = (name: string) => [
  { type: 'header', name: 'Authorization', value: `Bearer {{${name}}}`, guessable: true },
  { type: 'query', name: 'key', value: `{{${name}}}`, guessable: true },
];
const underWay = (o: Caller) => inCore(o, (core) => intents(core).underWay(core.now()));

/** An office whose calls wait, and an upstream that an agent of the key may use. */
async function newHeld(fields: object = {}) {
  const office = await newOffice();
  const { o, asked } = office;
  const { name: secret } = await newSecret(o, { value: VALUE });
  const upstream = await newUpstream(o, { auth: auth(secret), ...fields }, secret);
  const agent = await newAgent(asked, { scopes: ['secrets:use'] });
  await newApprovalPolicy(o, ['secret.use']);
  return { ...office, agent, upstream, secret };
}

describe('combined: approval, budget, masking, WebSocket and ends', () => {
  it('approval: of a GET it opens no WebSocket, and of a WebSocket it sends no GET', async () => {
    const { ann, agent, upstream } = await newHeld();
    const get = approvalIn(await use(agent.o, upstream.name)).id;
    await approve(ann, get);
    const socket = await upgrade(agent.o, upstream.name, under(get));
    expect([socket.status, sockets.length]).toEqual([409, 0]);
    const other = (
      (await (await upgrade(agent.o, upstream.name)).json()) as { error: { approval: { id: string } } }
    ).error.approval.id;
    expect(other).not.toBe(get);
    await approve(ann, other);
    expect(codeOf(await use(agent.o, upstream.name, under(other)))).toEqual([409, 'APPROVAL_MISMATCH']);
    expect(sent).toEqual([]);
    expect((await upgrade(agent.o, upstream.name, under(other))).status).toBe(101);
    expect((await upgrade(agent.o, upstream.name, under(other))).status).toBe(409);
  });

  it('approval: with the budget spent it waits, is not used up, and then sends once', async () => {
    const { o, ann, agent, upstream } = await newHeld({ rate_limit: 1 });
    const call = (n: number, more = {}) => use(agent.o, upstream.name, { 'X-N': String(n), ...more });
    const one = approvalIn(await call(1)).id;
    const two = approvalIn(await call(2)).id;
    for (const id of [one, two]) await approve(ann, id);
    expect((await call(1, under(one))).status).toBe(200);
    expect((await call(2, under(two))).status).toBe(429);
    faults.clock = (faults.clock as number) + 61_000;
    expect((await call(2, under(two))).status).toBe(200);
    expect(codeOf(await call(2, under(two)))[0]).toBe(429);
    expect(sent).toHaveLength(2);
    expect(await underWay(o)).toEqual([]);
  });

  it('approval: it dies with the credential, the upstream’s maker and the right, also if they come back', async () => {
    const ends: [string, (world: Awaited<ReturnType<typeof newHeld>>) => Promise<unknown>][] = [
      ['the agent', ({ o, agent }) => o.del(`/agent-credentials/${agent.id}`)],
      [
        'the right, and back',
        async ({ o, agent }) => {
          await o.patch(`/agent-credentials/${agent.id}`, { upstreams: ['other'] });
          return use(agent.o, 'other');
        },
      ],
      ['the secret', ({ o, secret }) => rotated(o, secret)],
      [
        'the upstream, there and back',
        async ({ o, upstream }) => {
          const { allow } = (await o.get(`/upstreams/${upstream.id}`)).json;
          await o.patch(`/upstreams/${upstream.id}`, { allow: [{ methods: ['GET'], paths: ['/v2/*'] }] });
          return o.patch(`/upstreams/${upstream.id}`, { allow });
        },
      ],
    ];
    for (const [what, end] of ends) {
      const world = await newHeld();
      const { id } = approvalIn(await use(world.agent.o, world.upstream.name));
      await approve(world.ann, id);
      await end(world);
      const late = await use(world.agent.o, world.upstream.name, under(id));
      expect([what, late.status >= 400, sent]).toEqual([what, true, []]);
    }
  });

  it('masking: an approved WebSocket shows no value, and ends with the agent between two messages', async () => {
    const { o, ann, agent, upstream } = await newHeld();
    const held = (await (await upgrade(agent.o, upstream.name)).json()) as {
      error: { approval: { id: string } };
    };
    await approve(ann, held.error.approval.id);
    const { webSocket } = await upgrade(agent.o, upstream.name, under(held.error.approval.id));
    const socket = webSocket as WebSocket;
    const heard: string[] = [];
    let isClosed = false;
    socket.addEventListener('message', ({ data }) => void heard.push(String(data)));
    socket.addEventListener('close', () => {
      isClosed = true;
    });
    socket.accept();
    socket.send('one');
    while (heard.length < 1) await new Promise((done) => setTimeout(done, 5));
    expect(heard[0]).toContain('one: ');
    mustNotShow(heard.join());
    expect((await o.del(`/agent-credentials/${agent.id}`)).status).toBe(204);
    for (const one of sockets)
      try {
        one.send(VALUE);
      } catch {
        // It is closed already.
      }
    while (!isClosed) await new Promise((done) => setTimeout(done, 5));
    expect(heard).toHaveLength(1);
    expect(await underWay(o)).toEqual([]);
  });

  it('permission: secrets:use alone learns no value through calls, refusals, approvals and the log', async () => {
    const { o, ann, agent, upstream } = await newHeld();
    const { id } = approvalIn(await use(agent.o, upstream.name, { 'X-Echo': '{{KEY}}' }));
    await approve(ann, id);
    const texts = [
      (await use(agent.o, upstream.name, { ...under(id), 'X-Echo': '{{KEY}}' })).text,
      (await use(agent.o, upstream.name)).text,
      (await agent.o.get(`/approvals/${id}`)).text,
      (await ann.o.get(`/approvals/${id}`)).text,
      (await agent.o.get('/upstreams')).text,
      (await o.get('/audit-log?action=secret.use')).text,
      (await agent.o.get('/whoami')).text,
    ];
    expect(texts[0]).toContain('*'.repeat(utf8(VALUE).length));
    mustNotShow(texts.join());
  });

  it('permission: secrets:use makes nothing that reads', async () => {
    const o = await newOrg();
    const { name: secret, id } = await newSecret(o, { value: VALUE });
    const { name } = await newUpstream(o, { auth: auth(secret) }, secret);
    const { o: user } = await newKey(o, { scopes: ['secrets:use', 'tokens:write', 'upstreams:write'] });
    for (const scopes of [['secrets:read'], ['secrets:*'], ['*']])
      expect((await user.post('/agent-credentials', { name: 'a', scopes })).status).toBe(403);
    const template = { name: 'T', type: 'template', value: `{{${secret}}}` };
    for (const [at, body] of [
      [
        '/upstreams',
        {
          name: 'mine',
          base_url: 'https://evil.example.com',
          environment: 'production',
          auth: auth(secret),
          allow: [{ methods: ['GET'], paths: ['/*'] }],
        },
      ],
      ['/secrets', template],
      ['/share-links', { secret_id: id }],
    ] as const) {
      const made = await user.post(at, body);
      expect([at, made.status >= 400]).toEqual([at, true]);
      mustNotShow(made.text);
    }
    expect(
      (
        await user.patch(`/upstreams/${(await o.get('/upstreams')).json.data[0].id}`, {
          base_url: 'https://evil.example.com',
        })
      ).status,
    ).toBe(403);
    expect((await use(user, name)).status).toBe(200);
    expect(sent.every((url) => url.startsWith('https://api.example.com/'))).toBe(true);
  });
});

const rotated = async (o: Caller, name: string) => {
  const { data } = (await o.get('/secrets')).json;
  const { id } = data.find((one: { name: string }) => one.name === name);
  return o.post(`/secrets/${id}/rotate`, { value: `${VALUE} two` });
};
