// Which reads may come from the cache, against a real vault whose network fails on purpose.
import { AuthenticationError, ConnectionError, GoneError, PermissionError } from '@secrets-vault/client';
import { describe, expect, it, vi } from 'vitest';
import { thrown } from '../support.ts';
import { useReaders } from './readers.ts';

const { at, reader, fresh } = useReaders();
const READS = '/by-name/';

describe('bulk read', () => {
  it('values: several prefixes, and pages of one revision where one response is too large', async () => {
    for (const name of ['p/A', 'p/B', 'q/A', 'r/A']) await at.put(name, name);
    const { vault } = await reader();
    const names = async (prefix: string | string[]) =>
      [...(await vault.values({ environment: 'production', prefix })).keys()].sort();
    expect(await names(['p/', 'q/'])).toEqual(['p/A', 'p/B', 'q/A']);
    expect(await names('q/')).toEqual(['q/A']);
    const refuse = (status: number, code: string, part: string, times: number) =>
      at.proxy.fail({
        kind: 'refuse',
        status,
        times,
        body: { error: { code, message: code, docs: 'd' } },
        when: ({ url = '' }) => url.includes(part),
      });
    refuse(422, 'RESULT_TOO_LARGE', 'prefix=p%2F&prefix=r', 1);
    refuse(409, 'CONFLICT', 'limit=2000', 2);
    expect(await names(['p/', 'r/'])).toEqual(['p/A', 'p/B', 'r/A']);
    refuse(422, 'RESULT_TOO_LARGE', '/values', 1);
    refuse(409, 'CONFLICT', 'limit=2000', 9);
    await expect(
      vault.values({ environment: 'production', prefix: ['p/', 'q/', 'r/'] }),
    ).rejects.toMatchObject({ code: 'CONFLICT' });
  });
});

describe('cache', () => {
  it('ETag: without a stream every read is revalidated, and an unchanged value is not sent again', async () => {
    const name = fresh();
    await at.put(name, 'one');
    const { vault } = await reader();
    const read = async () =>
      (await vault.values({ environment: 'production', prefix: name })).get(name)?.reveal();
    for (let n = 0; n < 3; n++) expect(await read()).toBe('one');
    expect(at.proxy.seen.filter(({ headers }) => headers['if-none-match']).length).toBe(2);
    await at.put(name, 'two');
    expect(await read()).toBe('two');
  });

  it('ETag: a secret that took the name of another one is not taken for it', async () => {
    const name = fresh();
    await at.put(name, 'one');
    const { vault } = await reader();
    expect((await vault.get(name)).reveal()).toBe('one');
    const { id } = await at.direct('GET', `/secrets/by-name/${name}`);
    await at.direct('DELETE', `/secrets/${id}`);
    await at.put(name, 'two');
    expect((await vault.get(name)).reveal()).toBe('two');
    expect(at.proxy.count('GET', READS)).toBe(2);
  });

  it('max age: reads come from the cache until then', async () => {
    const name = fresh();
    await at.put(name, 'one');
    const { vault } = await reader({ maxAge: 60_000 });
    const reads = await Promise.all(Array.from({ length: 50 }, () => vault.get(name)));
    expect(new Set(reads.map((secret) => secret.reveal()))).toEqual(new Set(['one']));
    await vault.get(name);
    expect(at.proxy.count('GET', READS)).toBe(1);
    const { vault: none } = await reader({ cache: false });
    await Promise.all([none.get(name), none.get(name)]);
    expect(at.proxy.count('GET', READS)).toBe(3);
  });

  it('outage: the last known values are returned within staleFor, and by default not at all', async () => {
    vi.useFakeTimers({ toFake: ['Date'] });
    const name = fresh();
    await at.put(name, 'one');
    const { vault: strict } = await reader();
    const { vault } = await reader({ staleFor: 60_000 });
    for (const each of [strict, vault]) await each.get(name);
    const set = { environment: 'production', prefix: name };
    await vault.values(set);
    at.proxy.down(true);
    expect(await thrown(strict.get(name))).toBeInstanceOf(ConnectionError);
    expect((await vault.get(name)).reveal()).toBe('one');
    vi.setSystemTime(Date.now() + 59_000);
    expect((await vault.get(name)).reveal()).toBe('one');
    expect((await vault.values(set)).get(name)?.reveal()).toBe('one');
    expect(await thrown(vault.get('NEVER_READ'))).toBeInstanceOf(ConnectionError);
    vi.setSystemTime(Date.now() + 2_000);
    expect(await thrown(vault.get(name))).toBeInstanceOf(ConnectionError);
    expect(await thrown(vault.values(set))).toBeInstanceOf(ConnectionError);
    at.proxy.down(false);
    expect((await vault.get(name)).reveal()).toBe('one');
    at.proxy.fail({ kind: 'refuse', status: 503, times: 9 });
    expect((await vault.get(name)).reveal()).toBe('one');
  });

  it('refusal: after a 401, 403, 404 or 410 no cached value is returned, whatever follows', async () => {
    const staleFor = 600_000;
    const cases = [
      [AuthenticationError, 'TOKEN_REVOKED', ({ revoke }: Awaited<ReturnType<typeof reader>>) => revoke()],
      [
        PermissionError,
        'SECRET_ACCESS_DENIED',
        ({ id }: Awaited<ReturnType<typeof reader>>) =>
          at.direct('PATCH', `/agent-credentials/${id}`, { secrets: ['OTHER_*'] }),
      ],
      [GoneError, 'SECRET_REVOKED', null],
    ] as const;
    for (const [Class, code, change] of cases) {
      const name = fresh();
      await at.put(name, 'one');
      const it = await reader({ staleFor });
      await it.vault.get(name);
      await it.vault.values({ environment: 'production', prefix: name });
      if (change) await change(it);
      else at.proxy.fail({ kind: 'refuse', status: 410, body: { error: { code, message: 'm', docs: 'd' } } });
      const error = await thrown(it.vault.get(name));
      expect(error).toBeInstanceOf(Class);
      expect(error).toMatchObject({ code });
      at.proxy.down(true);
      expect(await thrown(it.vault.get(name))).toBeInstanceOf(ConnectionError);
      if (Class === AuthenticationError)
        expect(await thrown(it.vault.values({ environment: 'production', prefix: name }))).toBeInstanceOf(
          ConnectionError,
        );
      at.proxy.reset();
    }
  });

  it('lifetime: a value is not returned after it expires, not even in an outage', async () => {
    vi.useFakeTimers({ toFake: ['Date'] });
    const name = fresh();
    await at.direct('PUT', `/secrets/by-name/${name}`, { value: 'one', ttlSeconds: 60 });
    const { vault } = await reader({ maxAge: 600_000, staleFor: 600_000 });
    await vault.get(name);
    at.proxy.down(true);
    expect((await vault.get(name)).reveal()).toBe('one');
    vi.setSystemTime(Date.now() + 61_000);
    expect(await thrown(vault.get(name))).toBeInstanceOf(ConnectionError);
  });

  it('lifetime: a bulk read leaves out what has expired since, also in an outage', async () => {
    vi.useFakeTimers({ toFake: ['Date'] });
    const environment = 'production';
    const name = fresh();
    const other = fresh();
    await at.direct('PUT', `/secrets/by-name/${name}`, { value: 'one', ttlSeconds: 60 });
    await at.direct('PUT', `/secrets/by-name/${other}`, { value: 'two' });
    const { vault } = await reader({ staleFor: 600_000 });
    const first = await vault.values({ environment });
    expect(first.get(name)?.reveal()).toBe('one');
    expect([...first.expiresAt.keys()]).toContain(name);
    expect(first.expiresAt.has(other)).toBe(false);
    at.proxy.down(true);
    expect((await vault.values({ environment })).has(name)).toBe(true);
    vi.setSystemTime(Date.now() + 61_000);
    const later = await vault.values({ environment });
    expect([later.has(name), later.get(other)?.reveal()]).toEqual([false, 'two']);
  });

  it('outage: the default environment stays known within staleFor', async () => {
    vi.useFakeTimers({ toFake: ['Date'] });
    const name = fresh();
    await at.put(name, 'one');
    const { vault } = await reader({ staleFor: 600_000 });
    const { vault: strict } = await reader({});
    for (const each of [vault, strict]) await each.values();
    at.proxy.down(true);
    vi.setSystemTime(Date.now() + 120_000);
    expect((await vault.values()).get(name)?.reveal()).toBe('one');
    expect(await thrown(strict.values())).toBeInstanceOf(ConnectionError);
    vi.setSystemTime(Date.now() + 600_000);
    expect(await thrown(vault.values())).toBeInstanceOf(ConnectionError);
  });

  it('own change: this client reads its own write, regardless of maxAge', async () => {
    const name = fresh();
    const { vault } = await reader({ maxAge: 600_000 }, { scopes: ['secrets:*'] });
    await vault.set(name, 'one', { type: 'password' });
    expect((await vault.get(name)).reveal()).toBe('one');
    const { info, secret } = await vault.rotate(name);
    expect(info).toMatchObject({ version: 2, generated: true });
    expect(info).not.toHaveProperty('value');
    expect((await vault.get(name)).reveal()).toBe(secret?.reveal());
  });

  it('reason: a read with its own reason asks the vault, which records the reason', async () => {
    const name = fresh();
    await at.put(name, 'one');
    const { vault } = await reader({ maxAge: 600_000, reason: 'start' });
    await vault.get(name);
    await vault.get(name, { reason: 'incident 42' });
    const reasons = at.proxy.seen
      .filter(({ path }) => path.includes(READS))
      .map(({ headers }) => headers['x-access-reason']);
    expect(reasons).toEqual(['start', 'incident 42']);
  });

  it('call: a read with a call asks the vault, and sends it', async () => {
    const name = fresh();
    await at.put(name, 'one');
    const { vault } = await reader({ maxAge: 600_000 });
    await vault.get(name);
    await vault.get(name, { call: 'run ["true"]' });
    const calls = at.proxy.seen
      .filter(({ path }) => path.includes(READS))
      .map(({ headers }) => headers['x-access-call']);
    expect(calls).toEqual([undefined, 'run ["true"]']);
  });
});
