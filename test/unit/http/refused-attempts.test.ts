// Refused attempts: what an isolate remembers of an address that is over the limit.
import { describe, expect, it } from 'vitest';
import { countRefused } from '../../../src/http/caller/refused-attempts';

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
