// The event stream: what it reports, its end, and the polls in its place, against a real vault whose network
// fails on purpose.
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { AuthenticationError, createVault, VaultError } from '@secrets-vault/client';
import { describe, expect, it, vi } from 'vitest';
import { thrown, until } from '../support.ts';
import { useReaders } from './readers.ts';

const { at, open, reader, fresh } = useReaders();
const READS = '/by-name/';
const REFUSED = { error: { code: 'INSUFFICIENT_SCOPE', message: 'm', docs: 'd' } };

describe('stream', () => {
  it('stream: reads come from the cache until an event, and a rotation is read immediately', async () => {
    const name = fresh();
    await at.put(name, 'one');
    const { vault, changes, watch } = await reader();
    await watch();
    await vault.get(name);
    const before = at.proxy.count('GET', READS);
    for (let read = 0; read < 100; read++) await vault.get(name);
    expect(at.proxy.count('GET', READS)).toBe(before);
    await at.put(name, 'two');
    await until(() => changes.length > 0);
    expect(changes).toEqual([{ environment: 'production', names: [name], type: 'SECRET_UPDATED' }]);
    expect((await vault.get(name)).reveal()).toBe('two');
    expect(JSON.stringify(changes)).not.toContain('two');
  });

  it('stream: an event during a read makes the next read ask again', async () => {
    const name = fresh();
    await at.put(name, 'one');
    let isArmed = false;
    const { vault, changes, watch } = await reader({
      fetch: async (url, init) => {
        const response = await fetch(url, init);
        if (isArmed && url.includes(READS)) {
          isArmed = false;
          await at.put(name, 'two'); // the first value is on its way
          await until(() => changes.length > 0);
        }
        return response;
      },
    });
    await watch();
    isArmed = true;
    expect((await vault.get(name)).reveal()).toBe('one');
    expect((await vault.get(name)).reveal()).toBe('two');
    const before = at.proxy.count('GET', READS);
    expect((await vault.get(name)).reveal()).toBe('two');
    expect(at.proxy.count('GET', READS)).toBe(before);
  });

  it('stream: a rename, a deletion and a change in another environment invalidate the right entries', async () => {
    const a = fresh();
    const b = fresh();
    const { id } = await at.put(a, 'one');
    await at.put(a, 'of staging', 'staging');
    const { vault, changes, watch } = await reader();
    await watch();
    const staging = { environment: 'staging' };
    expect((await vault.get(a, staging)).reveal()).toBe('of staging');
    expect((await vault.values({ environment: 'production', prefix: a })).get(a)?.reveal()).toBe('one');
    await vault.get(a);
    await at.direct('PATCH', `/secrets/${id}`, { name: b });
    await until(() => changes.length > 0);
    expect(changes[0]?.names).toEqual([b, a]);
    const before = at.proxy.count('GET', READS);
    expect((await vault.get(a, staging)).reveal()).toBe('of staging');
    expect(at.proxy.count('GET', READS)).toBe(before);
    expect(await thrown(vault.get(a))).toMatchObject({ code: 'NOT_FOUND' });
    expect((await vault.values({ environment: 'production', prefix: a })).has(a)).toBe(false);
    await at.direct('DELETE', `/secrets/${id}`);
    await until(() => changes.some(({ type }) => type === 'SECRET_DELETED'));
    expect(await thrown(vault.get(b))).toMatchObject({ code: 'NOT_FOUND' });
  });

  it('stream: after a broken connection, missed changes are reported and read', async () => {
    const name = fresh();
    await at.put(name, 'one');
    const { vault, changes, watch } = await reader();
    await watch();
    await vault.get(name);
    at.proxy.down(true);
    await at.put(name, 'two');
    at.proxy.down(false);
    await until(() => changes.some(({ names }) => names.includes(name)));
    expect((await vault.get(name)).reveal()).toBe('two');
    await until(() =>
      at.proxy.seen.some(
        ({ path, headers }) => path.includes('/stream') && headers['last-event-id'] !== undefined,
      ),
    );
  });

  it('poll: if the stream is refused, changes of cached reads are found by polling', async () => {
    const name = fresh();
    await at.put(name, 'one');
    at.proxy.fail({
      kind: 'refuse',
      status: 403,
      body: REFUSED,
      times: 99,
      when: ({ url }) => (url ?? '').includes('/events/stream'),
    });
    const { vault, changes } = await reader();
    await vault.get(name);
    await at.put(name, 'two');
    vault.onChange((change) => changes.push(change));
    await until(() => changes.length > 0);
    expect(changes).toEqual([{ environment: 'production', names: [name], type: null }]);
    expect((await vault.get(name)).reveal()).toBe('two');
  });

  const something = (stream: () => Response) => {
    vi.useFakeTimers();
    const count = { streams: 0, reads: 0 };
    const fetch = async (url: string) => {
      const isStream = url.includes('/events/stream');
      count[isStream ? 'streams' : 'reads']++;
      if (isStream) return stream();
      const name = new URL(url).pathname.split('/').at(-1);
      return Response.json(
        { name, value: 'one', version: 1, environment: 'production', expires_at: null },
        { headers: { ETag: '"v1"' } },
      );
    };
    const vault = createVault({
      url: 'https://vault.example.com',
      org: 'org_1',
      credential: 'svcag_x',
      cache: 'watch',
      fetch,
    });
    open.push(vault);
    return { vault, count };
  };
  const VALUES = 60;
  const read = (vault: ReturnType<typeof createVault>) =>
    Promise.all(Array.from({ length: VALUES }, (_, n) => vault.get(`A${n}`)));

  it('stream: something in between that closes each stream at once is asked ever less often', async () => {
    const { vault, count } = something(
      () => new Response(': hello\n\n', { headers: { 'Content-Type': 'text/event-stream' } }),
    );
    await read(vault);
    await vi.advanceTimersByTimeAsync(14_000);
    expect(count.reads).toBeLessThanOrEqual(2 * VALUES);
    await vi.advanceTimersByTimeAsync(106_000);
    expect(count.streams).toBeLessThan(20);
    expect(count.reads).toBeLessThanOrEqual(5 * VALUES);
    const before = count.reads;
    await vi.advanceTimersByTimeAsync(600_000);
    expect(count.reads - before).toBeGreaterThanOrEqual(9 * VALUES);
    expect(count.reads - before).toBeLessThanOrEqual(10 * VALUES);
  });

  it('stream: while none opens, cached values are read again every 15 seconds', async () => {
    const { vault, count } = something(() => new Response('busy', { status: 502 }));
    await read(vault);
    await vi.advanceTimersByTimeAsync(14_000);
    expect(count.reads).toBeLessThanOrEqual(2 * VALUES);
    const before = count.reads;
    await vi.advanceTimersByTimeAsync(600_000);
    expect(count.reads - before).toBeGreaterThanOrEqual(20 * VALUES);
    expect(count.reads - before).toBeLessThanOrEqual(41 * VALUES);
  });

  it('revocation: the stream closes with its credential, and the cache is cleared', async () => {
    const name = fresh();
    await at.put(name, 'one');
    const { vault, watch, revoke } = await reader({ staleFor: 600_000 });
    await watch();
    await vault.get(name);
    await revoke();
    await until(async () => (await vault.get(name).catch(() => null)) === null);
    expect(await thrown(vault.get(name))).toMatchObject({ code: 'TOKEN_REVOKED' });
  });

  it('revocation: each listener is told once that no more changes are reported, also one added later', async () => {
    const { vault, watch, revoke } = await reader();
    const errors: VaultError[] = [];
    const stop = vault.onChange(() => {}, {
      onError: () => errors.push(new VaultError('removed', { code: 'REMOVED', status: 0 })),
    });
    vault.onChange(() => {}, { onError: (error) => errors.push(error) });
    stop();
    await watch();
    await revoke();
    await until(() => errors.length > 0);
    expect(errors[0]).toBeInstanceOf(AuthenticationError);
    expect(errors[0]).toMatchObject({ code: 'TOKEN_REVOKED', status: 401 });
    vault.onChange(() => {}, { onError: (error) => errors.push(error) });
    await until(() => errors.length === 2);
    await new Promise((done) => setTimeout(done, 300));
    expect(errors.map(({ code }) => code)).toEqual(['TOKEN_REVOKED', 'TOKEN_REVOKED']);
  });

  it('revocation: a refused stream is an error if reads are refused too, and not while polls replace it', async () => {
    const name = fresh();
    await at.put(name, 'one');
    const refuse = (part: string) =>
      at.proxy.fail({
        kind: 'refuse',
        status: 403,
        body: REFUSED,
        times: 99,
        when: ({ url = '' }) => url.includes(part),
      });
    refuse('/events/stream');
    const errors: VaultError[] = [];
    const listening = async () => {
      const { vault } = await reader();
      await vault.get(name);
      at.proxy.seen.length = 0;
      return () => void vault.onChange(() => {}, { onError: (error) => errors.push(error) });
    };
    const polls = await listening();
    const ends = await listening();
    polls();
    await until(() => at.proxy.count('GET', READS) > 0);
    await new Promise((done) => setTimeout(done, 100));
    expect(errors).toEqual([]);
    refuse(READS);
    ends();
    await until(() => errors.length > 0);
    expect(errors).toMatchObject([{ code: 'INSUFFICIENT_SCOPE', status: 403 }]);
  });

  it('revocation: a member who signs out is reported as an error', async () => {
    const credential = { terminal: { load: async () => null, save: async () => {} } };
    const vault = createVault({ url: at.url, org: at.org, credential });
    open.push(vault);
    const error = await new Promise<VaultError>((onError) => vault.onChange(() => {}, { onError }));
    expect(error).toMatchObject({ code: 'NO_CREDENTIAL' });
  });

  it('revocation: an outage is not an error', async () => {
    const { vault, watch } = await reader();
    const errors: VaultError[] = [];
    vault.onChange(() => {}, { onError: (error) => errors.push(error) });
    await watch();
    at.proxy.down(true);
    await new Promise((done) => setTimeout(done, 300));
    at.proxy.reset();
    at.proxy.fail({ kind: 'refuse', status: 503 });
    await watch();
    expect(errors).toEqual([]);
  });

  it('close: during a poll, no further stream is opened', async () => {
    const { vault, watch } = await reader();
    await watch();
    const name = fresh();
    await at.put(name, 'one');
    await vault.get(name);
    at.proxy.fail({ delay: 300, when: ({ url = '' }) => url.includes(READS) });
    at.proxy.fail({
      kind: 'refuse',
      status: 403,
      body: REFUSED,
      times: 99,
      when: ({ url = '' }) => url.includes('/events/stream'),
    });
    at.proxy.hangUp();
    await until(() => at.proxy.seen.filter(({ path }) => path.includes(READS)).length > 1);
    at.proxy.seen.length = 0;
    vault.close();
    await new Promise((done) => setTimeout(done, 600));
    expect(at.proxy.count('GET', '/events/stream')).toBe(0);
  });

  it('close: a stream that has been open for a while closes too', async () => {
    let closed = false;
    const fetch = (url: string, init: RequestInit) => {
      if (url.includes('/events/stream')) init.signal?.addEventListener('abort', () => (closed = true));
      return globalThis.fetch(url, init);
    };
    const { vault, watch } = await reader({ fetch });
    await watch();
    // The request of the stream must survive a garbage collection: its signal ends the stream.
    setFlagsFromString('--expose-gc');
    const collect = runInNewContext('gc') as () => void;
    for (let turn = 0; turn < 5; turn++) {
      await new Promise((done) => setTimeout(done, 50));
      collect();
    }
    vault.close();
    expect(closed).toBe(true);
  });

  it('close: the stream closes, the cache is empty, and later calls are refused', async () => {
    const { vault, watch } = await reader();
    await watch();
    vault.close();
    expect(await thrown(vault.get('ANY'))).toMatchObject({ code: 'CLOSED' });
    expect(await thrown(vault.api.GET('/whoami'))).toMatchObject({ code: 'CLOSED' });
  });
});
