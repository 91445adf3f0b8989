// What ends a call of an upstream, with what: no byte passes either way after the reply, of a streamed
// answer, of an upload and of a WebSocket.
import { exports } from 'cloudflare:workers';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { LEASE } from '../../../src/domains/upstreams/call/lease';
import { contain, newKey, newSession } from '../../support/credentials';
import { newUpstream } from '../../support/integrations/upstreams';
import { signIn } from '../../support/signin/browser';
import { newIssuer, newTrust, newWorkload } from '../../support/signin/issuers';
import { slow } from '../../support/slow';
import { type Answer, type Caller, newOrg, newSecret, useWorld } from '../../support/world';

useWorld();

const text = (bytes: string) => new TextEncoder().encode(bytes);

/** What the upstream got; and whether it goes on as if nothing had happened. */
let upstream: { uploaded: string; heard: unknown[]; goesOn: boolean };
beforeEach(() => {
  const state = { uploaded: '', heard: [] as unknown[], goesOn: false };
  upstream = state;
  /** Each side has timers of its own: what belongs to one request is not used by another. */
  const once = (act: () => void) => {
    const timer = setInterval(() => {
      if (!state.goesOn) return;
      clearInterval(timer);
      quietly(act);
    }, 5);
  };
  vi.stubGlobal('fetch', async (url: string, init: RequestInit) => {
    const { hostname, pathname } = new URL(url);
    if (hostname === 'cloudflare-dns.com')
      return Response.json({ Status: 0, Answer: [{ type: 1, data: '93.184.215.14' }] });
    if (pathname === '/v1/stream')
      return new Response(
        new ReadableStream<Uint8Array>({
          start(controller) {
            controller.enqueue(text('early\n'));
            once(() => controller.enqueue(text('late\n')));
          },
        }),
      );
    if (pathname === '/v1/upload') {
      for await (const part of init.body as unknown as AsyncIterable<Uint8Array>)
        state.uploaded += new TextDecoder().decode(part);
      return new Response('stored');
    }
    const { 0: theirs, 1: ours } = new WebSocketPair();
    ours.accept();
    ours.addEventListener('message', ({ data }) => {
      state.heard.push(data);
      ours.send('early');
    });
    once(() => ours.send('late'));
    return new Response(null, { status: 101, webSocket: theirs });
  });
});
afterEach(() => vi.unstubAllGlobals());

function quietly(act: () => void) {
  try {
    act();
  } catch {
    // It is closed already.
  }
}

const until = async (holds: () => boolean) => {
  while (!holds()) await new Promise((done) => setTimeout(done, 5));
};

/** A streamed answer, an upload and a WebSocket of a caller, each of which has begun. */
async function begun(o: Caller, token: string, name: string) {
  const use = (path: string, init: RequestInit = {}) =>
    exports.default.fetch(`http://localhost/api/v1/orgs/${o.id}/use/${name}/v1/${path}`, {
      ...init,
      headers: { Authorization: `Bearer ${token}`, ...(init.headers as object) },
    });
  const answer = await use('stream');
  const reader = (answer.body as ReadableStream<Uint8Array>).getReader();
  expect(new TextDecoder().decode((await reader.read()).value)).toBe('early\n');

  let sending: ReadableStreamDefaultController<Uint8Array> | null = null;
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      sending = controller;
      controller.enqueue(text('early'));
    },
  });
  const uploading = use('upload', { method: 'POST', body, duplex: 'half' } as RequestInit);
  await until(() => upstream.uploaded === 'early');

  const { webSocket } = await use('socket', { headers: { Upgrade: 'websocket' } });
  const socket = webSocket as WebSocket;
  const messages: unknown[] = [];
  let isClosed = false;
  socket.accept();
  socket.addEventListener('message', ({ data }) => void messages.push(data));
  socket.addEventListener('close', () => {
    isClosed = true;
  });
  socket.send('early');
  await until(() => messages.length === 1);

  return {
    /** Both sides go on as if nothing had happened. */
    goOn() {
      upstream.goesOn = true;
      quietly(() => sending?.enqueue(text('late')));
      quietly(() => socket.send('late'));
    },
    reader,
    messages,
    async mustHaveEnded() {
      await expect(reader.read()).rejects.toThrow();
      const refused = await uploading;
      expect(refused.status).toBe(401);
      await until(() => isClosed);
      expect(upstream.uploaded).toBe('early');
      expect([messages, upstream.heard]).toEqual([['early'], ['early']]);
    },
  };
}

interface Way {
  token: string;
  name: string;
  end(): Promise<Answer>;
}

/** The upstream of a maker, and a key that may use it. */
async function ofMaker(o: Caller, maker: Caller, secret: string) {
  const { name } = await newUpstream(maker, {}, secret);
  return { name, token: (await newKey(o, { scopes: ['secrets:use'] })).token };
}

const key = (o: Caller) => newKey(o, { scopes: ['secrets:use'] });

const ways: Record<string, (o: Caller, secret: string) => Promise<Way>> = {
  'revocation of the key': async (o, secret) => {
    const { name } = await newUpstream(o, {}, secret);
    const { id, token } = await key(o);
    return { name, token, end: () => o.del(`/api-keys/${id}`) };
  },
  'containment of the key': async (o, secret) => {
    const { name } = await newUpstream(o, {}, secret);
    const { id, token } = await key(o);
    return { name, token, end: () => contain(o, id) };
  },
  'a key that may use less': async (o, secret) => {
    const { name } = await newUpstream(o, {}, secret);
    const agent = (await o.post('/agent-credentials', { name: 'a', scopes: ['secrets:use'] })).json;
    const end = () => o.patch(`/agent-credentials/${agent.id}`, { upstreams: ['other'] });
    return { name, token: agent.token, end };
  },
  panic: async (o, secret) => {
    const { name } = await newUpstream(o, {}, secret);
    const { token } = await newSession(o, { scopes: ['secrets:use'] });
    return { name, token, end: () => o.post('/panic', { reason: 'a rehearsal' }) };
  },
  'suspension of the member': async (o, secret) => {
    const { name } = await newUpstream(o, {}, secret);
    const { token, member } = await signIn(o, 'developer');
    return { name, token, end: () => o.post(`/members/${member.id}/suspend`) };
  },
  'removal of the member': async (o, secret) => {
    const { name } = await newUpstream(o, {}, secret);
    const { token, member } = await signIn(o, 'developer');
    return { name, token, end: () => o.del(`/members/${member.id}`) };
  },
  'removal of the member who made the upstream': async (o, secret) => {
    const maker = await signIn(o, 'admin');
    return {
      ...(await ofMaker(o, maker.o, secret)),
      end: () => o.del(`/members/${maker.member.id}`),
    };
  },
  'containment of the key that made the upstream': async (o, secret) => {
    const maker = await newKey(o, { scopes: ['upstreams:write', 'secrets:read'] });
    return { ...(await ofMaker(o, maker.o, secret)), end: () => contain(o, maker.id) };
  },
  'a change of where the upstream sends': async (o, secret) => {
    const { id, name } = await newUpstream(o, {}, secret);
    const { token } = await key(o);
    const end = () => o.patch(`/upstreams/${id}`, { allow: [{ methods: ['GET'], paths: ['/v1/other'] }] });
    return { name, token, end };
  },
  'deletion of the upstream': async (o, secret) => {
    const { id, name } = await newUpstream(o, {}, secret);
    const { token } = await key(o);
    return { name, token, end: () => o.del(`/upstreams/${id}`) };
  },
  'deletion of the trust': async (o, secret) => {
    const { name } = await newUpstream(o, {}, secret);
    const issuer = await newIssuer();
    const trust = await newTrust(o, issuer, { scopes: ['secrets:use'] });
    const { token } = await newWorkload(o, trust, await issuer.sign());
    return { name, token, end: () => o.del(`/trusts/${trust.id}`) };
  },
  'deletion of the organisation': async (o, secret) => {
    const { name } = await newUpstream(o, {}, secret);
    const { token } = await key(o);
    return { name, token, end: async () => o.del('', { confirm: (await o.get('')).json.name }) };
  },
};

describe('what ends with what: a call of an upstream', () => {
  it.each(Object.entries(ways))('revocation: %s lets no byte pass after its reply', async (_, prepare) => {
    const o = await newOrg();
    const { name: secret } = await newSecret(o);
    const { token, name, end } = await prepare(o, secret);
    const call = await begun(o, token, name);
    const { status, text } = await end();
    expect([status, status < 300 ? '' : text]).toEqual([status, '']);
    call.goOn();
    await call.mustHaveEnded();
  });

  it('revocation: whatever else changes lets calls go on', async () => {
    const o = await newOrg();
    const { id, name } = await newUpstream(o);
    const { token } = await key(o);
    const { reader, messages, goOn } = await begun(o, token, name);
    expect((await o.patch(`/upstreams/${id}`, { rate_limit: 10 })).status).toBe(200);
    await newSecret(o);
    goOn();
    expect(new TextDecoder().decode((await reader.read()).value)).toBe('late\n');
    await until(() => messages.includes('late') && upstream.heard.includes('late'));
    await until(() => upstream.uploaded === 'earlylate');
  });

  // Only a real gate and a real Worker tell whether their leases meet: see LEASE and ROUND.
  slow('lease: a call goes on for longer than two leases', { timeout: 30_000 }, async () => {
    const o = await newOrg();
    const { name } = await newUpstream(o);
    const { reader, messages, goOn } = await begun(o, (await key(o)).token, name);
    await new Promise((done) => setTimeout(done, 2 * LEASE + 1000));
    goOn();
    expect(new TextDecoder().decode((await reader.read()).value)).toBe('late\n');
    await until(() => messages.includes('late') && upstream.heard.includes('late'));
    await until(() => upstream.uploaded === 'earlylate');
  });
});
