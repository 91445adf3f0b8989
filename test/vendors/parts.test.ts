import { expect, it } from 'vitest';
import { z } from 'zod';
import { type BatchTarget, syncAdapter, TargetError, type Written } from '../../src/adapters/sync/adapter';
import { apply, type Work } from '../../src/adapters/sync/apply';
import { each, part, refused } from '../../src/adapters/sync/parts';
import { plan } from '../../src/adapters/sync/steps';

const work = (target: string): Work => ({
  name: target,
  target,
  kind: 'put',
  remote: null,
  digest: '',
  value: 'v',
  token: 't',
  begun: false,
});
const error = (ends: 'name' | 'sync' | 'stop') =>
  new TargetError({ code: 'TARGET_REJECTED', message: 'made up' }, ends);

/** A batch of one call a name: B's call fails. */
const batch = (ends: 'name' | 'sync' | 'stop'): BatchTarget => ({
  list: async () => [],
  async write(puts, _, written) {
    for (const { target } of puts)
      await part(written, [target], async () => {
        if (target === 'B') throw error(ends);
        written.set(target, { action: 'created' });
      });
    return written;
  },
});

it('sync: an error of one call in a batch applies only to its names', async () => {
  const { results, end } = await apply(batch('name'), ['A', 'B', 'C'].map(work));
  expect(results.map(({ name, action }) => `${name} ${action}`)).toEqual([
    'A created',
    'B failed',
    'C created',
  ]);
  expect(end).toBe(null);
});

it('sync: names written before a batch was ended keep their results, and names of calls that were not made stay open', async () => {
  for (const ends of ['sync', 'stop'] as const) {
    const { results, end } = await apply(batch(ends), ['A', 'B', 'C'].map(work));
    expect(results.map(({ name, action }) => `${name} ${action}`)).toEqual(['A created', 'B failed']);
    expect(end?.ends).toBe(ends);
  }
});

it('sync: an error that is not of the target is not taken for one', async () => {
  const written = new Map<string, Written>();
  await expect(part(written, ['A'], () => Promise.reject(new Error('ours')))).rejects.toThrow('ours');
  expect(written.size).toBe(0);
});

it('sync: calls of a batch are at most four at a time, and none is begun after an error', async () => {
  let running = 0;
  let most = 0;
  const begun: number[] = [];
  const run = async (item: number) => {
    begun.push(item);
    most = Math.max(most, ++running);
    await new Promise((done) => setImmediate(done));
    running--;
    if (item === 5) throw error('stop');
  };
  await expect(
    each(
      Array.from({ length: 40 }, (_, i) => i),
      run,
    ),
  ).rejects.toThrow('TARGET_REJECTED');
  expect(most).toBe(4);
  expect(begun.length).toBeLessThan(12);
});

it('sync: a refusal within a success is reported by its code, unless that may be sent data', () => {
  const told = (code: unknown, sent: unknown) => (refused(201, code, sent) as { message: string }).message;
  expect(told('ENV_CONFLICT', { value: 'secret' })).toBe(
    'The target answered with status 201 (ENV_CONFLICT).',
  );
  for (const code of ['swordfish', 'sword', 'has spaces', 'a1b2', '', 5, null, 'x'.repeat(65)])
    expect(told(code, [{ value: 'my swordfish' }])).toBe('The target answered with status 201.');
});

it("sync: a remote value that cannot equal a secret's value is overwritten, even if our digest is unchanged", () => {
  const adapter = syncAdapter({
    platform: 'vercel',
    config: z.object({}),
    credentials: [],
    name: (target) => ({ target }),
    redeploy: true,
    vendor: () => ({}),
    open: () => ({ list: async () => [], write: async () => new Map() }),
  });
  const listed = {
    items: [{ name: 'A', target: 'A', digest: 'd', problem: null }],
    owned: [{ name: 'A', target: 'A', digest: 'd' }],
    prunable: [],
    digestOf: () => 'd',
    reads: false,
  };
  expect(plan(adapter, { ...listed, remotes: [{ target: 'A' }] }).steps).toEqual([]);
  expect(plan(adapter, { ...listed, remotes: [{ target: 'A', value: null }] }).steps).toHaveLength(1);
});
