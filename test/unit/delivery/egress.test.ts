// The egress guard: which targets are allowed, and how requests are sent.
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { checkTarget, guardedFetch, guardedStream, isPublicAddress } from '../../../src/delivery/egress';
import { hostileTargets, publicTargets } from './targets';

const strict = { allowPrivate: false };
const open = { allowPrivate: true };

/** Requests that were sent, and what names lead to. */
let sent: { url: string; init: RequestInit }[];
let names: Record<string, { A?: string[]; AAAA?: string[] } | 'down'>;
let answer: (signal: AbortSignal) => Response | Promise<Response>;

beforeEach(() => {
  sent = [];
  names = {};
  answer = () => new Response('fine');
  vi.stubGlobal('fetch', async (url: string, init: RequestInit) => {
    const asked = new URL(url);
    if (asked.hostname !== 'cloudflare-dns.com') {
      sent.push({ url, init });
      return answer(init.signal as AbortSignal);
    }
    const name = asked.searchParams.get('name') as string;
    const type = asked.searchParams.get('type') as 'A' | 'AAAA';
    const found = names[name];
    if (found === 'down') return new Response('busy', { status: 502 });
    const data = found?.[type] ?? [];
    const records = data.map((one) => ({ name, type: type === 'A' ? 1 : 28, TTL: 60, data: one }));
    return Response.json({
      Status: found ? 0 : 3,
      Answer: [{ name, type: 5, TTL: 60, data: 'alias.example.net.' }, ...records],
    });
  });
});
afterEach(() => vi.unstubAllGlobals());

describe('egress: which targets are allowed', () => {
  it.each(hostileTargets)('egress: %s is refused', async (target) => {
    expect(checkTarget(target, strict)).toMatch(/^must /);
    expect(await guardedFetch(strict, target)).toMatchObject({ unreachable: 'target_refused' });
    expect(sent).toEqual([]);
  });

  it.each(publicTargets)('egress: %s is allowed', (target) => {
    expect(checkTarget(target, strict)).toBeNull();
  });

  it.each(['http://127.0.0.1:8080/', 'http://localhost/', 'https://10.0.0.1/', 'http://[::1]:3000/x'])(
    'egress: %s is allowed only for development',
    (target) => {
      expect(checkTarget(target, open)).toBeNull();
      expect(checkTarget(target, strict)).not.toBeNull();
    },
  );

  it('egress: a port of a known service is allowed only for targets that use it', async () => {
    const apiServers = { ...strict, ports: [6443] };
    expect(checkTarget('https://cluster.example.com:6443/', strict)).toMatch(/^must have port /);
    expect(checkTarget('https://cluster.example.com:6443/', apiServers)).toBeNull();
    for (const other of [
      'https://cluster.example.com:6379/',
      'https://cluster.example.com:22/',
      'https://10.0.0.1:6443/',
    ])
      expect(checkTarget(other, apiServers)).toMatch(/^must /);
    names['cluster.example.com'] = { A: ['10.0.0.1'] };
    expect(await guardedFetch(apiServers, 'https://cluster.example.com:6443/')).toMatchObject({
      unreachable: 'private_address',
    });
    expect(await guardedFetch(strict, 'https://cluster.example.com:6443/')).toMatchObject({
      unreachable: 'target_refused',
    });
    expect(sent).toEqual([]);
  });

  it.each([
    'http://user@127.0.0.1/',
    'ftp://127.0.0.1/',
    'http://127.0.0.1:22/',
    'http://127.0.0.1:6379/',
    'http://127.0.0.1/#x',
  ])('egress: %s is refused for development too', (target) => {
    expect(checkTarget(target, open)).toMatch(/^must /);
  });

  it('egress: an invalid address is not public', () => {
    for (const text of ['', 'hooks.example.com', '256.1.1.1', '::g'])
      expect(isPublicAddress(text)).toBe(false);
  });
});

describe('egress: names', () => {
  it.each([
    ['10.0.0.1', { A: ['10.0.0.1'] }],
    ['a public and a private address', { A: ['93.184.215.14', '127.0.0.1'] }],
    ['a private IPv6 address', { A: ['93.184.215.14'], AAAA: ['fd00::1'] }],
    ['a mapped address', { AAAA: ['::ffff:169.254.169.254'] }],
    ['something else than an address', { A: ['localhost'] }],
  ])('egress: a name that leads to %s is refused', async (about, found) => {
    const host = `${about.replaceAll(/[^a-z0-9]/gi, '-').toLowerCase()}.example.com`;
    names[host] = found;
    expect(await guardedFetch(strict, `https://${host}/`)).toMatchObject({ unreachable: 'private_address' });
    expect(sent).toEqual([]);
  });

  it('egress: nothing is sent if the name is not found or the resolver does not respond', async () => {
    names['down.example.com'] = 'down';
    expect(await guardedFetch(strict, 'https://unknown.example.com/')).toMatchObject({
      unreachable: 'name_not_found',
    });
    expect(await guardedFetch(strict, 'https://down.example.com/')).toMatchObject({
      unreachable: 'connection_failed',
    });
    expect(sent).toEqual([]);
  });

  it('egress: a name with only public addresses is fetched', async () => {
    names['public.example.com'] = { A: ['93.184.215.14'], AAAA: ['2606:4700::1111'] };
    expect(await guardedFetch(strict, 'https://public.example.com/x')).toMatchObject({
      status: 200,
      text: 'fine',
    });
    expect(sent.map(({ url }) => url)).toEqual(['https://public.example.com/x']);
  });
});

describe('egress: requests', () => {
  it('egress: only the headers given and User-Agent are sent, and redirects are not followed', async () => {
    answer = () => new Response(null, { status: 302, headers: { Location: 'http://169.254.169.254/' } });
    const got = await guardedFetch(open, 'http://127.0.0.1:9/', { headers: { 'X-A': 'b' }, body: 'c' });
    expect(got).toMatchObject({ unreachable: 'target_refused' });
    const answered = await guardedFetch(open, 'http://127.0.0.1:9999/', {
      headers: { 'X-A': 'b' },
      body: 'c',
    });
    expect(answered).toMatchObject({ status: 302, text: '' });
    expect(sent).toHaveLength(1);
    expect(sent[0]?.init).toMatchObject({ method: 'POST', redirect: 'manual', body: 'c' });
    expect(Object.keys(sent[0]?.init.headers as object)).toEqual(['User-Agent', 'X-A']);
  });

  it('egress: an endless response is read up to the limit', async () => {
    let isCancelled = false;
    answer = () =>
      new Response(
        new ReadableStream({
          pull: (controller) => controller.enqueue(new TextEncoder().encode('é'.repeat(500))),
          cancel: () => {
            isCancelled = true;
          },
        }),
      );
    const got = await guardedFetch(open, 'http://127.0.0.1:9999/', { read: 1024 });
    expect(got).toMatchObject({ status: 200, text: 'é'.repeat(512) });
    expect(isCancelled).toBe(true);
  });

  it('egress: one timeout holds for connecting and reading', async () => {
    answer = (signal) =>
      new Promise((_, fail) => signal.addEventListener('abort', () => fail(signal.reason)));
    expect(await guardedFetch(open, 'http://127.0.0.1:9999/', { timeout: 20 })).toMatchObject({
      unreachable: 'timeout',
    });
    answer = () =>
      new Response(new ReadableStream({ start: (controller) => controller.enqueue(new Uint8Array([97])) }));
    expect(await guardedFetch(open, 'http://127.0.0.1:9999/', { timeout: 20 })).toMatchObject({
      unreachable: 'timeout',
    });
  });

  it("egress: the platform's error message is not passed on", async () => {
    answer = () => Promise.reject(new Error('connect to http://127.0.0.1:9999/token failed'));
    const got = await guardedFetch(open, 'http://127.0.0.1:9999/token');
    expect(got).toEqual({ unreachable: 'connection_failed', ms: expect.any(Number) });
  });
});

describe('egress: streams', () => {
  const stream = (url: string, method = 'GET') =>
    guardedStream(strict, url, {
      method,
      headers: [['x-a', 'b']],
      body: null,
      signal: new AbortController().signal,
    });

  it.each(['https://127.0.0.1/', 'https://user@hooks.example.com/', 'http://hooks.example.com/'])(
    'egress: a stream to %s is refused',
    async (url) => {
      expect(await stream(url)).toEqual({ unreachable: 'target_refused' });
      expect(sent).toEqual([]);
    },
  );

  it('egress: a stream to a name that leads to a private address is refused', async () => {
    names['stream-private.example.com'] = { A: ['10.0.0.1'] };
    expect(await stream('https://stream-private.example.com/')).toEqual({ unreachable: 'private_address' });
    expect(await stream('https://stream-unknown.example.com/')).toEqual({ unreachable: 'name_not_found' });
    expect(sent).toEqual([]);
  });

  it('egress: a stream has the headers given alone, and its redirects are not followed', async () => {
    names['stream.example.com'] = { A: ['93.184.215.14'] };
    answer = () => new Response(null, { status: 302, headers: { Location: 'https://10.0.0.1/' } });
    expect(await stream('https://stream.example.com/a', 'PUT')).toMatchObject({ status: 302 });
    expect(sent).toMatchObject([
      {
        url: 'https://stream.example.com/a',
        init: { method: 'PUT', redirect: 'manual', headers: [['x-a', 'b']] },
      },
    ]);
  });
});
