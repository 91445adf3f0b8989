// Refused attempts: what an isolate remembers of an address that is over the limit, and what an address may
// have checked at a time.
import { env as worker } from 'cloudflare:workers';
import { describe, expect, it } from 'vitest';
import type { Env } from '../../../src/env';
import { checking, countRefused } from '../../../src/http/caller/refused-attempts';

describe('rate limit: refused attempts by address', () => {
  it('costs no further call for an address over the limit, until the limit allows one', async () => {
    let calls = 0;
    const env = {
      THROTTLE: { getByName: () => ({ refused: async () => (++calls > 20 ? 30 : 0) }) },
    } as never;
    const now = 1_800_000_000_000;
    for (let n = 0; n < 20; n++) expect(await countRefused(env, '198.51.100.9', now)).toBe(0);
    expect(await countRefused(env, '198.51.100.9', now)).toBe(30);
    for (let n = 0; n < 1000; n++) expect(await countRefused(env, '198.51.100.9', now + 10_000)).toBe(20);
    expect(calls).toBe(21);
    // Another address of the same network of IPv4 is not concerned; one of the same IPv6 /64 is the same
    // client.
    await countRefused(env, '198.51.100.10', now);
    expect(calls).toBe(22);
    await countRefused(env, '198.51.100.9', now + 30_000);
    expect(calls).toBe(23);
  });
});

describe('rate limit: checks that take long', () => {
  it('of one address are ten at a time, however they end, and those of another do not count', async () => {
    const ip = '198.51.100.11';
    const here = (address: string) => ({
      env: worker as unknown as Env,
      request: { ip: address },
      defer: () => {},
    });
    const done = Promise.withResolvers<string>();
    const held = Array.from({ length: 10 }, () => checking(here(ip), () => done.promise));
    const never = () => Promise.reject(new Error('it was checked'));
    expect(await checking(here(ip), never)).toBe(1);
    expect(await checking(here('198.51.100.12'), async () => 'b')).toBe('b');
    done.resolve('a');
    expect(await Promise.all(held)).toEqual(Array(10).fill('a'));
    for (let i = 0; i < 11; i++) await expect(checking(here(ip), never)).rejects.toThrow('it was checked');
  });

  it('give their place back although the client has left', async () => {
    let places = 0;
    const throttle = { counted: async () => void places++, forget: async () => void places-- };
    const env = { THROTTLE: { getByName: () => throttle } } as never;
    const deferred: Promise<unknown>[] = [];
    const done = Promise.withResolvers<never>();
    const defer = (work: Promise<unknown>) => void deferred.push(work);
    checking({ env, request: { ip: '' }, defer }, () => done.promise).catch(() => {});
    // The platform goes on with what was deferred, and with nothing else.
    expect(deferred).toHaveLength(1);
    done.reject(new Error('the check failed'));
    await deferred[0];
    expect(places).toBe(0);
  });
});
