// A replica whose storage is broken, or that of another one: the gate answers in its place, the log names it,
// and it begins again.
import { afterEach, beforeEach, describe, expect, vi } from 'vitest';
import { leases } from '../../../src/gate/replicas/leases';
import { dismiss } from '../../../src/gate/replicas/serve';
import { inCore } from '../../support/gate';
import { slow } from '../../support/slow';
import {
  breakReplica,
  draft,
  evictReplica,
  from,
  inReplica,
  regionOf,
  replicated,
  warm,
} from '../../support/storage/replicas';
import { newSecret, useWorld } from '../../support/world';

useWorld();

let logged: { event: string }[] = [];
beforeEach(() => {
  logged = [];
  vi.spyOn(console, 'warn').mockImplementation((line) => void logged.push(JSON.parse(String(line))));
});
afterEach(() => void vi.restoreAllMocks());

describe('a damaged replica', () => {
  slow(
    'with broken storage is named in the log once a minute, and begins again if its region is taken out',
    async () => {
      const o = await replicated();
      const { id } = await newSecret(o, { value: 'one' });
      await warm(o, `/secrets/${id}`, 'oc');
      await breakReplica(o, 'oc');
      for (let reads = 0; reads < 3; reads++) {
        const answer = await o.get(`/secrets/${id}`, from('oc'));
        expect([answer.status, regionOf(answer)]).toEqual([200, 'gate']);
      }
      expect(logged).toEqual([
        {
          level: 'warn',
          event: 'replica_unreachable',
          org: o.id,
          region: 'oc',
          why: expect.stringContaining('storage cannot be opened'),
        },
      ]);
      await o.patch('', { regions: ['weur'] });
      await inCore(o, async (core) => {
        for (let tries = 0; leases(core).regions().includes('oc') && tries < 100; tries++) {
          await new Promise((done) => setTimeout(done, 100));
          await dismiss(core, core.now());
        }
      });
      await o.patch('', { regions: ['weur', 'oc'] });
      await warm(o, `/secrets/${id}`, 'oc');
    },
  );

  slow('with the storage of another one gives its entries to their gate, and begins again', async () => {
    const o = await replicated();
    const other = await replicated();
    const { id } = await newSecret(o, { value: 'one' });
    await warm(o, `/secrets/${id}`, 'oc');
    const sequence = () => inCore(other, ({ auditLog }) => auditLog.head().sequence);
    const before = await sequence();
    await inReplica(o, 'oc', async (replica) => {
      const { core, entries } = replica;
      await replica.flush();
      entries.write({ draft: draft('req_one'), status: 200, used: null, place: null }, Date.now());
      core.meta.set('org', other.id);
      // Its alarm may come before it is evicted.
      core.org = other.id;
    });
    await evictReplica(o, 'oc');
    await warm(o, `/secrets/${id}`, 'oc');
    expect(logged).toContainEqual({
      level: 'warn',
      event: 'replica_of_another',
      org: o.id,
      region: 'oc',
      storage_of: other.id,
    });
    // With `replica.begin`.
    expect(await sequence()).toBe(before + 2);
  });
});
