import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { TargetError } from '../../src/adapters/sync/adapter';
import type { Call, Fetch, Vendor } from '../../src/adapters/sync/call';
import { circleci } from '../../src/adapters/sync/circleci';
import { type Client, type Clock, createClient } from '../../src/adapters/sync/client';
import { heroku } from '../../src/adapters/sync/heroku';
import { startCircleci } from './fakes/circleci.ts';
import { startHeroku } from './fakes/heroku.ts';
import { type FakeAnswer, startFake } from './fakes/server.ts';
import { fastClock, running, short, sync, virtualClock } from './sync';

const URL_ = 'https://vendor.example/things';
const write: Call = { method: 'POST', url: URL_, json: { name: 'A', value: 'a' } };
const list: Call = { method: 'GET', url: URL_ };
const TIMEOUT = 10_000;

type Said = { status: number; headers?: Record<string, string>; body?: unknown } | 'timeout';

/** A client of a target that answers as a script says, after some time, and what it was sent when. */
function scripted(
  say: (n: number, call: { url: string; method?: string }) => Said,
  clock: Clock = fastClock(),
  more: { vendor?: Vendor; once?: boolean; ms?: number } = {},
) {
  const start = clock.now();
  const sent: { at: number; url: string; headers: Record<string, string> }[] = [];
  const fetch: Fetch = async (url, request) => {
    sent.push({ at: clock.now() - start, url, headers: request.headers ?? {} });
    const said = say(sent.length, { url, ...request });
    await clock.sleep(said === 'timeout' ? TIMEOUT : (more.ms ?? 0));
    if (said === 'timeout') return { unreachable: 'timeout', ms: 0 };
    const { status, headers = {}, body = {} } = said;
    return {
      status,
      headers: new Headers(headers),
      text: typeof body === 'string' ? body : JSON.stringify(body),
      ms: 0,
    };
  };
  const client = createClient({
    vendor: more.vendor ?? {},
    base: undefined,
    fetch,
    clock,
    once: more.once ?? false,
  });
  return { client, sent, elapsed: () => clock.now() - start, at: () => sent.map(({ at }) => at) };
}

const errorOf = (calling: Promise<unknown>): Promise<TargetError> =>
  calling.then(
    () => expect.unreachable('it succeeds'),
    (error) => error,
  );

const fails = async (client: Client, call: Call) => {
  const { problem, ends, retryAfter } = await errorOf(client.call(call));
  return [problem.code, ends, retryAfter];
};

describe('retries', () => {
  it('sync client: no answer and 5xx get three more tries, after about 0.5, 1 and 2 s with jitter', async () => {
    for (const [random, waits] of [
      [0, [0, 375, 1125, 2625]],
      [1, [0, 625, 1875, 4375]],
    ] as const)
      for (const say of [500, 502, 503, 504, 599].map((status) => () => ({ status }))) {
        const { client, at } = scripted(say, virtualClock(random));
        expect(await fails(client, write)).toEqual(['TARGET_REJECTED', 'name', null]);
        expect(at()).toEqual(waits);
      }
    const dead = scripted(() => 'timeout', virtualClock(0));
    expect(await fails(dead.client, write)).toEqual(['TARGET_UNREACHABLE', 'stop', null]);
    expect(dead.at()).toEqual([0, 10_375, 21_125, 32_625]);
  });

  it('sync client: other answers get one try', async () => {
    for (const status of [
      300, 301, 302, 304, 307, 308, 400, 401, 403, 404, 405, 409, 410, 413, 415, 422, 451,
    ]) {
      const { client, sent } = scripted(() => ({ status }));
      await errorOf(client.call(write));
      expect(sent).toHaveLength(1);
    }
  });

  it('sync client: an address that is not allowed gets no other try', async () => {
    for (const unreachable of ['target_refused', 'private_address'] as const) {
      let calls = 0;
      const fetch: Fetch = async () => ({ unreachable, ms: calls++ });
      const client = createClient({ vendor: {}, base: undefined, fetch, clock: fastClock() });
      expect(await fails(client, list)).toEqual(['TARGET_UNREACHABLE', 'sync', null]);
      expect(calls).toBe(1);
    }
  });

  it('sync client: in a dry run each call gets one try', async () => {
    for (const say of [
      () => ({ status: 500 }),
      () => 'timeout' as const,
      () => ({ status: 429, headers: { 'Retry-After': '1' } }),
    ]) {
      const { client, sent } = scripted(say, fastClock(), { once: true });
      await errorOf(client.call(list));
      expect(sent).toHaveLength(1);
    }
  });

  it('sync client: a repeat has the same bytes', async () => {
    const fake = await running(startHeroku());
    let n = 0;
    fake.interrupt = ({ method }) => (method === 'PATCH' && n++ < 2 ? 'drop' : null);
    await sync(heroku, { token: fake.token, appName: fake.app }, fake, { A: 'a', B: 'b' });
    expect(new Set(fake.writes().map(({ text }) => text)).size).toBe(1);
    expect(fake.writes()).toHaveLength(3);
  });
});

const epoch = Date.UTC(2026, 10, 22) / 1000;

describe('rate limits', () => {
  it.each<[string, Said, number]>([
    ['Retry-After in seconds', { status: 429, headers: { 'Retry-After': '7' } }, 7000],
    ['Retry-After with a fraction', { status: 429, headers: { 'Retry-After': '1.5' } }, 1500],
    [
      'Retry-After as a date',
      { status: 429, headers: { 'Retry-After': 'Sun, 22 Nov 2026 00:00:09 GMT' } },
      9000,
    ],
    [
      'Retry-After as a date that has passed',
      { status: 429, headers: { 'Retry-After': 'Sun, 22 Nov 2020 00:00:09 GMT' } },
      0,
    ],
    ['Retry-After with 503', { status: 503, headers: { 'Retry-After': '4' } }, 4000],
    ['Retry-After with 403', { status: 403, headers: { 'Retry-After': '4' } }, 4000],
    [
      'x-ratelimit-reset in Unix seconds',
      { status: 429, headers: { 'x-ratelimit-reset': String(epoch + 11) } },
      11_000,
    ],
    [
      'x-ratelimit-reset in Unix milliseconds',
      { status: 429, headers: { 'x-ratelimit-reset': String((epoch + 11) * 1000) } },
      11_000,
    ],
    [
      'X-RateLimit-Reset in seconds from now',
      { status: 429, headers: { 'X-RateLimit-Reset': '20' } },
      20_000,
    ],
    ['RateLimit-Reset in seconds from now', { status: 429, headers: { 'RateLimit-Reset': '20' } }, 20_000],
    [
      'ratelimit-reset in Unix seconds',
      { status: 429, headers: { 'ratelimit-reset': String(epoch + 3) } },
      3000,
    ],
    ['retry_after in the body', { status: 429, body: { retry_after: 0.75 } }, 750],
    ['parameters.retry_after in the body', { status: 429, body: { parameters: { retry_after: 5 } } }, 5000],
    [
      'error.limit.reset in the body',
      { status: 429, body: { error: { limit: { reset: epoch + 6 } } } },
      6000,
    ],
    [
      'error.limit.resetMs in the body',
      { status: 429, body: { error: { limit: { resetMs: (epoch + 6) * 1000 } } } },
      6000,
    ],
    [
      '403 with x-ratelimit-remaining 0',
      { status: 403, headers: { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': String(epoch + 8) } },
      8000,
    ],
    [
      '403 with x-ratelimit-remaining 0 alone',
      { status: 403, headers: { 'x-ratelimit-remaining': '0' } },
      500,
    ],
    ['429 alone', { status: 429 }, 500],
  ])('sync client: waits as %s says', async (_, said, wait) => {
    const { client, at } = scripted((n) => (n === 1 ? said : { status: 200 }), virtualClock());
    await client.call(write);
    expect(at()).toEqual([0, wait]);
  });

  it.each([
    'soon',
    '-5',
    '',
    ' ',
    '1e3',
    '0x10',
    'NaN',
    'Infinity',
    '1,5',
    '7 seconds',
    '9'.repeat(400),
    '99999999999',
    'Sun, 99 Nov 2026',
  ])('sync client: a time to wait that cannot be read counts as none: %j', async (text) => {
    for (const name of ['Retry-After', 'X-RateLimit-Reset']) {
      const { client, at } = scripted(
        (n) => (n === 1 ? { status: 429, headers: { [name]: text } } : { status: 200 }),
        virtualClock(),
      );
      await client.call(write);
      expect(at()).toEqual([0, 500]);
    }
  });

  it.each([
    null,
    'text',
    [],
    { retry_after: 'soon' },
    { retry_after: -1 },
    { parameters: null },
    { error: null },
    { error: { limit: 5 } },
  ])('sync client: a body that says nothing of a wait counts as none: %j', async (body) => {
    const { client, at } = scripted(
      (n) => (n === 1 ? { status: 429, body } : { status: 200 }),
      virtualClock(),
    );
    await client.call(write);
    expect(at()).toEqual([0, 500]);
  });

  it("sync client: a rate limit in a vendor's form is recognised, regardless of the status", async () => {
    const vendor: Vendor = {
      code: (body) => (body as { code?: string }).code,
      meaning: ({ code }) => (code === 'Throttled' ? 'rate_limit' : null),
    };
    for (const status of [200, 400]) {
      const { client, at } = scripted(
        (n) => ({ status: n === 1 ? status : 200, body: n === 1 ? { code: 'Throttled' } : {} }),
        virtualClock(),
        { vendor },
      );
      await client.call(write);
      expect(at()).toEqual([0, 500]);
    }
  });

  it('sync client: a rate limit pauses every call', async () => {
    const clock = virtualClock();
    const { client, at } = scripted(
      (n) => (n === 1 ? { status: 429, headers: { 'Retry-After': '7' } } : { status: 200 }),
      clock,
      {
        ms: 100,
      },
    );
    await Promise.all([
      client.call(write),
      client.call(write),
      clock.sleep(200).then(() => client.call(write)),
    ]);
    expect(at()).toEqual([0, 0, 7100, 7100]);
  });

  it('sync client: a target that asks for more than 30 s ends the sync immediately, and is not called again', async () => {
    for (const [call, ends] of [
      [list, 'sync'],
      [write, 'stop'],
    ] as const) {
      const { client, sent, elapsed } = scripted(
        () => ({ status: 429, headers: { 'Retry-After': '31' } }),
        virtualClock(),
      );
      expect(await fails(client, call)).toEqual(['TARGET_RATE_LIMITED', ends, 31]);
      await errorOf(client.call(write));
      expect([sent.length, elapsed()]).toEqual([1, 0]);
    }
    const most = scripted(
      (n) => (n === 1 ? { status: 429, headers: { 'Retry-After': '30' } } : { status: 200 }),
      virtualClock(),
    );
    await most.client.call(write);
    expect(most.at()).toEqual([0, 30_000]);
  });

  it('sync client: the other names were not attempted, and the sync says when to come again', async () => {
    const fake = await running(startCircleci());
    let n = 0;
    fake.interrupt = ({ method }) =>
      method === 'POST' && ++n > 2 ? { status: 429, headers: { 'Retry-After': '3600' }, body: {} } : null;
    const secrets = Object.fromEntries(
      ['A', 'B', 'C', 'D', 'E', 'F', 'G', 'H', 'I', 'J'].map((name) => [name, 'value']),
    );
    const result = await sync(circleci, { token: fake.token, projectSlug: fake.slug }, fake, secrets);
    expect(result.retryAfter).toBe(3600);
    const codes = result.results.map(({ action, code }) => code ?? action);
    expect(codes.filter((code) => code === 'created')).toHaveLength(2);
    expect(new Set(codes)).toEqual(new Set(['created', 'TARGET_RATE_LIMITED', 'NOT_ATTEMPTED']));
    expect(codes.filter((code) => code === 'NOT_ATTEMPTED').length).toBeGreaterThanOrEqual(4);
  });
});

describe('budget', () => {
  it('sync client: waits since the last success add up to 30 s, also of concurrent calls; then each call gets one try', async () => {
    const { client, at } = scripted(
      () => ({ status: 429, headers: { 'Retry-After': '14' } }),
      virtualClock(),
    );
    const ended = await Promise.all([1, 2, 3, 4].map(() => fails(client, write)));
    expect(ended).toEqual([1, 2, 3, 4].map(() => ['TARGET_RATE_LIMITED', 'stop', 14]));
    expect(Math.max(...at())).toBe(28_000);
    const spent = scripted(
      (n) => (n < 4 ? { status: 429, headers: { 'Retry-After': '10' } } : { status: 500 }),
      virtualClock(),
    );
    await errorOf(spent.client.call(write));
    expect(spent.at()).toEqual([0, 10_000, 20_000, 30_000]);
    await errorOf(spent.client.call(write));
    expect(spent.at()).toHaveLength(5);
  });

  it('sync client: a success gives the budget back', async () => {
    const { client, elapsed } = scripted(
      (n) => (n % 2 ? { status: 429, headers: { 'Retry-After': '25' } } : { status: 200 }),
      virtualClock(),
    );
    for (let i = 0; i < 5; i++) await client.call(write);
    expect(elapsed()).toBe(125_000);
  });

  it('sync client: a dead target ends within 55 s, from the first call or in the midst of concurrent ones', async () => {
    const never = scripted(() => 'timeout', virtualClock(1));
    expect(await fails(never.client, list)).toEqual(['TARGET_UNREACHABLE', 'sync', null]);
    expect(never.elapsed()).toBeLessThan(55_000);
    const midst = scripted((n) => (n < 6 ? { status: 200 } : 'timeout'), virtualClock(1));
    for (let i = 0; i < 5; i++) await midst.client.call(write);
    const worker = async () => {
      for (let i = 0; i < 10; i++) await midst.client.call(write).catch(() => {});
    };
    await Promise.all([worker(), worker(), worker(), worker()]);
    expect(midst.elapsed()).toBeLessThan(55_000);
    expect(midst.sent.length).toBeLessThanOrEqual(5 + 4 * 4);
  });

  it('sync client: for any response, attempts, waits and calls after the end stay bounded', async () => {
    const said = fc.oneof(
      { weight: 3, arbitrary: fc.constant<Said>({ status: 200 }) },
      fc.constantFrom<Said>('timeout', { status: 500 }, { status: 503 }, { status: 403 }, { status: 429 }),
      fc.nat(40).map((seconds): Said => ({ status: 429, headers: { 'Retry-After': String(seconds) } })),
    );
    const scripts = fc.array(said, { minLength: 1, maxLength: 60 });
    await fc.assert(
      fc.asyncProperty(scripts, fc.double({ min: 0, max: 1, noNaN: true }), async (script, random) => {
        const inner = virtualClock(random);
        const waits: [number, number][] = [];
        let isAnswering = false;
        const clock: Clock = {
          ...inner,
          sleep(ms) {
            if (!isAnswering) waits.push([inner.now(), inner.now() + ms]);
            return inner.sleep(ms);
          },
        };
        const tries = new Map<string, number>();
        let succeeded = inner.now();
        let ended = Number.POSITIVE_INFINITY;
        let n = 0;
        const fetch: Fetch = async (url) => {
          expect(inner.now()).toBeLessThanOrEqual(ended);
          tries.set(url, (tries.get(url) ?? 0) + 1);
          const answer = script[n++ % script.length] as Said;
          isAnswering = true;
          const answering = inner.sleep(answer === 'timeout' ? TIMEOUT : 50);
          isAnswering = false;
          await answering;
          if (answer === 'timeout') return { unreachable: 'timeout', ms: 0 };
          if (answer.status === 200) succeeded = inner.now();
          expect(union(waits, succeeded)).toBeLessThanOrEqual(30_000);
          return { status: answer.status, headers: new Headers(answer.headers ?? {}), text: '{}', ms: 0 };
        };
        const client = createClient({ vendor: {}, base: undefined, fetch, clock });
        const open = Array.from({ length: 20 }, (_, i) => `${URL_}/${i}`);
        const worker = async () => {
          for (let url = open.shift(); url; url = open.shift())
            await client.call({ ...write, url }).catch((error: TargetError) => {
              if (error.ends !== 'name') ended = Math.min(ended, inner.now());
            });
        };
        await Promise.all([worker(), worker(), worker(), worker()]);
        for (const count of tries.values()) expect(count).toBeLessThanOrEqual(4);
      }),
      { numRuns: 200 },
    );
  });
});

/** Milliseconds that some wait covers, from a moment on. */
function union(waits: [number, number][], from: number): number {
  let covered = 0;
  let until = from;
  for (const [start, end] of [...waits].sort(([a], [b]) => a - b)) {
    covered += Math.max(0, end - Math.max(start, until));
    until = Math.max(until, end);
  }
  return covered;
}

describe('codes', () => {
  const statuses: [number, Call['purpose'], string, string][] = [
    [401, 'list', 'TARGET_AUTH', 'sync'],
    [403, 'list', 'TARGET_AUTH', 'sync'],
    [404, 'list', 'TARGET_NOT_FOUND', 'sync'],
    [400, 'list', 'TARGET_REJECTED', 'sync'],
    [302, 'list', 'TARGET_REJECTED', 'sync'],
    [500, 'list', 'TARGET_REJECTED', 'sync'],
    [400, 'token', 'TARGET_AUTH', 'sync'],
    [401, 'token', 'TARGET_AUTH', 'sync'],
    [404, 'token', 'TARGET_AUTH', 'sync'],
    [302, 'token', 'TARGET_REJECTED', 'sync'],
    [500, 'token', 'TARGET_REJECTED', 'sync'],
    [401, 'write', 'TARGET_AUTH', 'sync'],
    [403, 'write', 'TARGET_AUTH', 'name'],
    [404, 'write', 'TARGET_REJECTED', 'name'],
    [422, 'write', 'TARGET_REJECTED', 'name'],
    [302, 'write', 'TARGET_REJECTED', 'name'],
    [500, 'write', 'TARGET_REJECTED', 'name'],
  ];
  it.each(statuses)(
    'sync client: status %i to a %s call is %s, and ends the %s',
    async (status, purpose, code, ends) => {
      const { client } = scripted(() => ({ status }), virtualClock());
      expect(await fails(client, { ...write, purpose: purpose as 'list' })).toEqual([code, ends, null]);
    },
  );

  it('sync client: a refused credential ends the sync for every later call', async () => {
    const { client, sent } = scripted(() => ({ status: 401 }));
    await errorOf(client.call(write));
    expect(await fails(client, write)).toEqual(['TARGET_AUTH', 'sync', null]);
    expect(sent).toHaveLength(1);
  });

  it('sync client: statuses and codes that the adapter expects are its own to judge, but no rate limit', async () => {
    const vendor: Vendor = { code: (body) => (body as { code?: unknown } | undefined)?.code };
    const answers: Said[] = [
      { status: 404 },
      { status: 400, body: { code: 'Gone' } },
      { status: 400, body: { code: 'Other' } },
    ];
    const { client } = scripted((n) => answers[n - 1] as Said, fastClock(), { vendor });
    const call: Call = { ...write, expects: [404, 'Gone'] };
    expect((await client.call(call)).status).toBe(404);
    expect((await client.call(call)).code).toBe('Gone');
    expect(await fails(client, call)).toEqual(['TARGET_REJECTED', 'name', null]);
    const limited = scripted((n) => ({ status: n === 1 ? 429 : 200 }));
    expect((await limited.client.call({ ...write, expects: [429] })).status).toBe(200);
  });
});

describe('redirects and pages', () => {
  it('sync client: a redirect is not a success and is not followed', async () => {
    const other = await running(startFake(() => ({ status: 200, body: {} })));
    const fake = await running(startHeroku());
    for (const status of [301, 302, 303, 307, 308]) {
      fake.interrupt = () => ({
        status,
        headers: { Location: `${other.url}/apps/demo-app/config-vars` },
        body: {},
      });
      expect(short(await sync(heroku, { token: fake.token, appName: fake.app }, fake, { A: 'a' }))).toEqual([
        'A failed TARGET_REJECTED',
      ]);
    }
    expect(other.requests).toEqual([]);
  });

  const next = (link: string, base?: string) => {
    const fetch: Fetch = async () => expect.unreachable('it calls');
    return createClient({ vendor: {}, base, fetch }).next(link, URL_);
  };
  it.each([
    'https://evil.example/things',
    'http://vendor.example/things',
    'https://vendor.example:8443/things',
    'https://vendor.example.evil.example/things',
    'https://vendor.example@evil.example/things',
    'https://user:pass@vendor.example/things',
    '//evil.example/things',
    '\\\\evil.example\\things',
    'javascript:alert(1)',
    'data:text/plain,x',
    'https://',
  ])('sync client: a next page elsewhere ends the sync: %s', (link) => {
    expect(() => next(link)).toThrow(TargetError);
    expect(() => next(link, 'https://base.example/prefix')).toThrow(TargetError);
  });

  it('sync client: a next page at the vendor or at the address in effect is followed there', () => {
    expect(next('https://vendor.example/things?page=2')).toBe('https://vendor.example/things?page=2');
    expect(next('https://vendor.example:443/things?page=2')).toBe('https://vendor.example/things?page=2');
    expect(next('/things?page=2')).toBe('https://vendor.example/things?page=2');
    expect(next('?page=2')).toBe('https://vendor.example/things?page=2');
    expect(next('https://base.example/prefix/things?page=2', 'https://base.example/prefix')).toBe(
      'https://vendor.example/things?page=2',
    );
    expect(next('https://vendor.example/things?page=2', 'https://base.example/prefix')).toBe(
      'https://vendor.example/things?page=2',
    );
  });

  it('sync client: pages without end, and pages without measure, end the sync', async () => {
    const config = { token: 't', projectSlug: 'gh/a/b' };
    const endless = scripted((n) => ({ status: 200, body: { items: [], next_page_token: `${n}` } }));
    await expect(circleci.open(endless.client, config as never).list()).rejects.toMatchObject({
      problem: { code: 'TARGET_REJECTED' },
      ends: 'sync',
    });
    expect(endless.sent).toHaveLength(100);
    const full = scripted((n) => ({
      status: 200,
      body: { items: [{ name: `N${n}` }], next_page_token: `${n}` },
    }));
    await expect(circleci.open(full.client, config as never).list()).rejects.toMatchObject({
      problem: { code: 'TARGET_REJECTED' },
    });
    expect(full.sent).toHaveLength(1000);
    const circle = scripted((n) => ({
      status: 200,
      body: { items: [{ name: `N${n}` }], next_page_token: `${n % 2}` },
    }));
    await expect(circleci.open(circle.client, config as never).list()).rejects.toMatchObject({
      problem: { code: 'TARGET_REJECTED' },
    });
    expect(circle.sent).toHaveLength(3);
    const items = [{ name: 'x'.repeat(8_000_000) }];
    const again = scripted(() => ({ status: 200 }));
    const relisted = async () => {
      for (;;) await again.client.call({ method: 'GET', url: URL_ });
    };
    await expect(relisted()).rejects.toMatchObject({ problem: { code: 'TARGET_REJECTED' } });
    expect(again.sent).toHaveLength(5000);
    const large = scripted((n) => ({ status: 200, body: { items, next_page_token: n < 8 ? `${n}` : null } }));
    await expect(circleci.open(large.client, config as never).list()).rejects.toMatchObject({
      problem: { code: 'TARGET_REJECTED' },
      ends: 'sync',
    });
    expect(large.sent.length).toBeLessThan(6);
  });

  it.each([
    '',
    '<html>Sign in</html>',
    '{"items":[{"name":"A"',
    'null',
    '[]',
    '"text"',
    '{}',
    '{"items":null}',
    '{"items":[null]}',
    '{"items":[{}]}',
  ])('sync client: a listing that cannot be read ends the sync before the first write: %s', async (body) => {
    const fake = await running(startCircleci());
    fake.interrupt = () => ({ status: 200, body });
    expect(
      short(await sync(circleci, { token: fake.token, projectSlug: fake.slug }, fake, { A: 'a' })),
    ).toEqual(['A failed TARGET_REJECTED']);
    expect(fake.writes()).toEqual([]);
  });

  it('sync client: a truncated listing is not a shorter listing', async () => {
    const fake = await running(
      startFake(
        (): FakeAnswer => ({ status: 200, headers: { 'Content-Length': '1000' }, body: '{"A":"a"}' }),
      ),
    );
    const result = await sync(heroku, { token: 't', appName: 'a' }, fake, { A: 'a' }, { timeout: 200 });
    expect(short(result)).toEqual(['A failed TARGET_UNREACHABLE']);
  });
});

describe('echoes of targets', () => {
  const vendor: Vendor = {
    headers: { Authorization: 'Bearer secret-token' },
    code: (body) => (body as { code?: unknown }).code,
  };
  const told = async (code: unknown, ...calls: Call[]) => {
    const { client } = scripted(
      () => ({ status: 422, body: { code, message: 'secret-value' } }),
      fastClock(),
      { vendor },
    );
    let message = '';
    for (const call of calls) message = (await errorOf(client.call(call))).problem.message;
    return message;
  };
  const sends = (value: string): Call => ({ ...write, json: { name: 'A', value } });

  it('sync client: the code of a vendor is reported, if it looks like one', async () => {
    for (const code of [
      'invalid_params',
      'ResourceNotFoundException',
      'FAILED_PRECONDITION',
      'env.exists',
      10215,
      '10215',
    ])
      expect(await told(code, write)).toBe(`The target answered with status 422 (${code}).`);
    for (const code of [
      undefined,
      null,
      {},
      [],
      true,
      '',
      'two words',
      'line\nbreak',
      'a'.repeat(65),
      'hunter2',
      1.5,
      -1,
      12345678,
    ])
      expect(await told(code, write)).toBe('The target answered with status 422.');
  });

  it('sync client: a code that contains sent data is not reported: a value, a token, a name, part of them, or one of an earlier call', async () => {
    const silent = 'The target answered with status 422.';
    expect(await told('hunter', sends('hunter'))).toBe(silent);
    expect(await told('unter', sends('hunter'))).toBe(silent);
    expect(await told('secret-token', write)).toBe(silent);
    expect(await told('hunter', sends('hunter'), sends('other'))).toBe(silent);
    expect(await told('hunter', sends(btoa('hunter')))).toBe(silent);
    expect(await told(123456, sends('123456'))).toBe(silent);
    for (const value of ['a===', '====', 'abc====', 'ab=='] as const)
      expect(await told(value, sends(value))).toBe(silent);
    expect(await told('hunter', { method: 'POST', url: URL_, form: { client_secret: 'hunter' } })).toBe(
      silent,
    );
    expect(await told('things', write)).toBe(silent);
  });

  it('sync client: nothing of an echo reaches results, regardless of the status', async () => {
    const fake = await running(startHeroku());
    const values = { A: 'hunter', B: 'correct-horse', C: '123456' };
    for (const status of [200, 302, 400, 401, 403, 404, 409, 422, 429, 500]) {
      for (const echo of [...Object.values(values), fake.token, JSON.stringify(values)]) {
        fake.interrupt = ({ method }) =>
          method === 'PATCH' && status !== 200
            ? {
                status,
                headers: { Location: `https://${encodeURIComponent(echo)}.example`, 'Retry-After': echo },
                body: { id: echo, message: echo, errors: [echo] },
              }
            : null;
        const result = await sync(heroku, { token: fake.token, appName: fake.app }, fake, values);
        for (const text of [...Object.values(values), fake.token])
          expect(JSON.stringify(result.results)).not.toContain(text);
      }
    }
  });
});

describe('writes that make a version', () => {
  const settle = {
    call: { ...list, purpose: 'write' as const },
    done: ({ body }: { body: unknown }) => (body as { is?: boolean }).is === true,
  };

  it('sync client: is asked for before it is repeated, and not repeated where it was done', async () => {
    const { client, sent } = scripted(
      (n) => (n === 1 ? 'timeout' : { status: 200, body: { is: true } }),
      virtualClock(),
    );
    await client.call({ ...write, url: `${URL_}/put`, settle });
    expect(sent.map(({ url }) => url)).toEqual([`${URL_}/put`, URL_]);
  });

  it('sync client: is repeated if it was not done, or if the question is refused', async () => {
    for (const answer of [{ status: 200, body: { is: false } }, { status: 403 }]) {
      const { client, sent } = scripted(
        (n) => (n === 1 ? { status: 500 } : n === 2 ? answer : { status: 200 }),
        virtualClock(),
      );
      await client.call({ ...write, url: `${URL_}/put`, settle });
      expect(sent.map(({ url }) => url)).toEqual([`${URL_}/put`, URL_, `${URL_}/put`]);
    }
  });

  it('sync client: is repeated without asking after a rate limit, which refused it', async () => {
    const { client, sent } = scripted((n) => (n === 1 ? { status: 429 } : { status: 200 }), virtualClock());
    await client.call({ ...write, url: `${URL_}/put`, settle });
    expect(sent.map(({ url }) => url)).toEqual([`${URL_}/put`, `${URL_}/put`]);
  });

  it('sync client: a write to a dead target gets no more tries than other calls', async () => {
    const { client, sent, elapsed } = scripted(() => 'timeout', virtualClock(1));
    expect(await fails(client, { ...write, settle })).toEqual(['TARGET_UNREACHABLE', 'stop', null]);
    expect(sent).toHaveLength(4);
    expect(elapsed()).toBeLessThan(55_000);
  });

  it('sync client: a pending call is repeated until the waits are used up, and fails only its name', async () => {
    const { client, elapsed } = scripted((n) => ({ status: n < 9 ? 409 : 200 }), virtualClock());
    await client.call({ ...write, pending: [409] });
    expect(elapsed()).toBe(500 + 1000 + 2000 + 5 * 2000);
    const never = scripted(() => ({ status: 409 }), virtualClock());
    expect(await fails(never.client, { ...write, pending: [409] })).toEqual([
      'TARGET_REJECTED',
      'name',
      null,
    ]);
    expect(never.elapsed()).toBeLessThanOrEqual(30_000);
  });
});
