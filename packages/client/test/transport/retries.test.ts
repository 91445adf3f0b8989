// Failing networks in front of a real vault: calls succeed, and nothing is done twice.
import { ConnectionError, createVault, RateLimitError, ServerError, type Vault } from '@secrets-vault/client';
import { beforeEach, describe, expect, it } from 'vitest';
import { newVault, thrown } from '../support.ts';

let at: Awaited<ReturnType<typeof newVault>>;
let vault: Vault;
beforeEach(async () => {
  at ??= await newVault();
  at.proxy.reset();
  vault = createVault({
    url: at.url,
    org: at.org,
    credential: (await at.agent({ scopes: ['secrets:*', 'scans:write'] })).token,
    timeout: 2_000,
  });
});

const is =
  (method: string, part = '') =>
  (request: { method?: string; url?: string }) =>
    request.method === method && (request.url ?? '').includes(part);
const versions = async (id: string) => (await at.direct('GET', `/secrets/${id}/versions`)).data.length;
const named = async (prefix: string) => (await at.direct('GET', `/secrets?prefix=${prefix}`)).data.length;
let n = 0;
const fresh = () => `S${++n}`;

describe('retry', () => {
  it('idempotency: a rotation whose response was lost, cut, broken or late is done once', async () => {
    const { id } = await at.put(fresh(), 'one');
    const name = `S${n}`;
    for (const kind of ['lose', 'cut', 'break', 'hang'] as const) {
      const before = await versions(id);
      at.proxy.reset();
      at.proxy.fail({ kind, when: is('POST', '/rotate') });
      const { info } = await vault.rotate(name, { value: `value of ${kind}` });
      expect(info.version, kind).toBe(before + 1);
      expect(await versions(id), kind).toBe(before + 1);
      const attempts = at.proxy.seen.filter(
        ({ method, path }) => method === 'POST' && path.includes('/rotate'),
      );
      expect(attempts.length, kind).toBe(2);
      expect(new Set(attempts.map(({ headers }) => headers['idempotency-key'])).size, kind).toBe(1);
    }
  });

  it('idempotency: a created secret with a generated value is returned completely after a lost response', async () => {
    at.proxy.fail({ kind: 'lose', when: is('POST', '/secrets') });
    const name = fresh();
    const { data } = await vault.api.POST('/orgs/{org_id}/secrets', {
      params: { path: { org_id: at.org } },
      body: { name, type: 'password', generate: {} },
    });
    expect(data.value).toEqual(expect.any(String));
    expect((await vault.get(name)).reveal()).toBe(data.value);
    expect(await named(name)).toBe(1);
  });

  it('idempotency: set and DELETE succeed after a lost response, and leave one version', async () => {
    const name = fresh();
    at.proxy.fail({ kind: 'lose', when: is('PUT') });
    const { id, version } = await vault.set(name, 'one');
    expect(version).toBe(1);
    expect(await versions(id)).toBe(1);
    at.proxy.fail({ kind: 'lose', when: is('DELETE') });
    await vault.api.DELETE('/orgs/{org_id}/secrets/{id}', { params: { path: { org_id: at.org, id } } });
    expect(await named(name)).toBe(0);
  });

  it('idempotency: a PATCH or conditional change with an unknown outcome is not retried', async () => {
    const name = fresh();
    const { id } = await at.put(name, 'one');
    at.proxy.fail({ kind: 'lose', when: is('PATCH') });
    const patch = vault.api.PATCH('/orgs/{org_id}/secrets/{id}', {
      params: { path: { org_id: at.org, id } },
      body: { value: 'two' },
    });
    expect(await thrown(patch)).toBeInstanceOf(ConnectionError);
    expect(at.proxy.count('PATCH')).toBe(1);
    at.proxy.fail({ kind: 'lose', when: is('PUT') });
    expect(await thrown(vault.set(name, 'three', { ifMatch: '"v2"' }))).toBeInstanceOf(ConnectionError);
    expect(at.proxy.count('PUT')).toBe(1);
    expect(await versions(id)).toBe(3);
  });

  it('idempotency: an operation that runs each time, such as a scan, is not retried', async () => {
    const scan = () =>
      vault.api.POST('/orgs/{org_id}/scans', {
        params: { path: { org_id: at.org } },
        body: { text: 'nothing' },
      });
    at.proxy.fail({ kind: 'lose', when: is('POST', '/scans') });
    expect(await thrown(scan())).toBeInstanceOf(ConnectionError);
    expect(at.proxy.count('POST', '/scans')).toBe(1);
    expect(at.proxy.seen[0]?.headers).not.toHaveProperty('idempotency-key');
  });

  it('rate limit: Retry-After is honoured, also by calls that are otherwise never retried', async () => {
    const name = fresh();
    const { id } = await at.put(name, 'one');
    const body = { error: { code: 'RATE_LIMITED', message: 'Too many.', docs: 'http://x', retry_after: 1 } };
    at.proxy.fail({ kind: 'refuse', status: 429, headers: { 'Retry-After': '1' }, body, when: is('PATCH') });
    const started = Date.now();
    await vault.api.PATCH('/orgs/{org_id}/secrets/{id}', {
      params: { path: { org_id: at.org, id } },
      body: { value: 'two' },
    });
    expect(Date.now() - started).toBeGreaterThanOrEqual(1000);
    expect(at.proxy.count('PATCH')).toBe(2);
    at.proxy.fail({ kind: 'refuse', status: 429, headers: { 'Retry-After': '3600' }, body });
    const error = await thrown(vault.get(name));
    expect(error).toBeInstanceOf(RateLimitError);
    expect(error).toMatchObject({ retryAfter: 3600, code: 'RATE_LIMITED' });
    const hasty = createVault({ url: at.url, org: at.org, credential: at.key, maxRetryAfter: 500 });
    at.proxy.fail({
      kind: 'refuse',
      status: 429,
      headers: { 'Retry-After': '1' },
      body,
      when: is('GET', '/secrets'),
    });
    expect(await thrown(hasty.get(name))).toMatchObject({ retryAfter: 1 });
  });

  it('unavailable: 503 is retried, refusals and MISCONFIGURED are not, and attempts are limited', async () => {
    const name = fresh();
    await at.put(name, 'one');
    at.proxy.fail({
      kind: 'refuse',
      status: 503,
      times: 2,
      body: { error: { code: 'UNAVAILABLE', message: 'm', docs: 'd' } },
    });
    expect((await vault.get(name)).reveal()).toBe('one');
    expect(at.proxy.count('GET')).toBe(3);
    for (const [status, code, attempts] of [
      [503, 'MISCONFIGURED', 1],
      [502, 'TARGET_REJECTED', 1],
      [503, 'OVERLOADED', 4],
    ] as const) {
      at.proxy.reset();
      at.proxy.fail({ kind: 'refuse', status, times: 9, body: { error: { code, message: 'm', docs: 'd' } } });
      const error = await thrown(vault.get(name));
      expect(error).toBeInstanceOf(ServerError);
      expect(error).toMatchObject({ code, status });
      expect(at.proxy.seen.length, code).toBe(attempts);
    }
  });

  it('redirect: a token is not sent to the redirect target', async () => {
    at.proxy.fail({ kind: 'refuse', status: 302, headers: { Location: `${at.target}/elsewhere` } });
    expect(await thrown(vault.get('ANY'))).toMatchObject({ code: 'CONNECTION_FAILED', status: 302 });
    expect(at.proxy.seen.length).toBe(1);
  });

  it('signal: aborts a call that waits for its response, a slot or its next attempt', async () => {
    const name = fresh();
    await at.put(name, 'one');
    at.proxy.fail({ kind: 'hang', when: is('GET') });
    const waiting = new AbortController();
    const read = vault.api.GET('/orgs/{org_id}', {
      params: { path: { org_id: at.org } },
      signal: waiting.signal,
    });
    setTimeout(() => waiting.abort(new Error('enough')), 50);
    expect(await thrown(read)).toMatchObject({ message: 'enough' });
    at.proxy.fail({ kind: 'refuse', status: 503, headers: { 'Retry-After': '30' }, times: 9 });
    expect(await thrown(vault.get(name, { signal: AbortSignal.timeout(100) }))).toMatchObject({
      name: 'TimeoutError',
    });
    expect(await thrown(vault.get(name, { signal: AbortSignal.abort(new Error('before')) }))).toMatchObject({
      message: 'before',
    });
    at.proxy.reset();
    // Only this one: an earlier call may still be retried.
    at.proxy.fail({ kind: 'hang', when: ({ url }) => Boolean(url?.includes('/roles')) });
    const one = createVault({ url: at.url, org: at.org, credential: at.key, concurrency: 1, cache: false });
    const late = one.api.GET('/orgs/{org_id}/roles', {
      params: { path: { org_id: at.org } },
      signal: AbortSignal.timeout(300),
    });
    const queued = one.api.GET('/whoami', { signal: AbortSignal.timeout(100) });
    expect(await thrown(queued)).toMatchObject({ name: 'TimeoutError' });
    expect(await thrown(late)).toMatchObject({ name: 'TimeoutError' });
    expect((await one.api.GET('/whoami')).data.kind).toBe('session');
  });

  it('concurrency: the number of concurrent requests is limited, and all calls succeed', async () => {
    const name = fresh();
    await at.put(name, 'one');
    let most = 0;
    let now = 0;
    const counted = createVault({
      url: at.url,
      org: at.org,
      credential: (await at.agent()).token,
      concurrency: 3,
      cache: false,
      fetch: async (url, init) => {
        most = Math.max(most, ++now);
        const response = await fetch(url, init);
        now--;
        return response;
      },
    });
    await Promise.all(Array.from({ length: 20 }, () => counted.get(name)));
    expect(most).toBe(3);
  });
});
