// `auto`: a region has a replica once it reads often, and until it has not read for an hour.
import { describe, expect, it } from 'vitest';
import { MOST_REGIONS, REGIONS, type Region } from '../../../src/db/regions';
import type { Core } from '../../../src/gate/core';
import { demand, IDLE, OFTEN } from '../../../src/gate/replicas/demand';
import { leases } from '../../../src/gate/replicas/leases';
import { lease } from '../../../src/gate/replicas/serve';
import { runTasks } from '../../../src/gate/tasks/run';
import { faults } from '../../support/faults';
import { evict, inCore } from '../../support/gate';
import { slow } from '../../support/slow';
import { askFor, from, inReplica, regionOf, replicated, silence, warm } from '../../support/storage/replicas';
import { type Caller, newSecret, useWorld } from '../../support/world';

useWorld();

const MINUTE = 60_000;
const later = (ms: number) => {
  faults.clock = (faults.clock ?? Date.now()) + ms;
};

const auto = async () => {
  const o = await replicated('auto' as never);
  const { id } = await newSecret(o);
  // Its reply says that reads are counted.
  await o.get('');
  return { o, path: `/secrets/${id}` };
};
const regions = async (o: Caller) =>
  ((await o.get('')).json.replicas as { region: Region }[]).map(({ region }) => region);
async function read(o: Caller, path: string, region: string, times: number) {
  for (let n = 0; n < times; n++) await o.get(path, from(region));
}

/** The tasks that are due, as when the alarm rings. Replicas that are told to leave do. */
const alarm = (core: Core, left: Region[] = []) => {
  core.replica = (region) => ({
    leave: async () => left.push(region),
    push: async () => null,
    flush: async () => 0,
  });
  return runTasks(core);
};

describe('regions: auto', () => {
  slow('a region begins with more than a few reads within a minute, not with the first', async () => {
    const { o, path } = await auto();
    faults.clock = Date.now();
    await read(o, path, 'oc', OFTEN - 1);
    expect(await regions(o)).toEqual([]);
    // The first ones are too long ago.
    later(MINUTE);
    await read(o, path, 'oc', OFTEN - 1);
    await read(o, path, 'weur', OFTEN - 1);
    expect(await regions(o)).toEqual([]);
    await read(o, path, 'oc', 1);
    expect(await regions(o)).toEqual(['oc']);
    faults.clock = null;
    await warm(o, path, 'oc');
  });

  it('refused reads, and requests that no replica answers, begin none', async () => {
    const { o } = await auto();
    await read(o, '/secrets/sec_00000000000000000000000', 'oc', 2 * OFTEN);
    await read(o, '/members', 'oc', 2 * OFTEN);
    expect(await regions(o)).toEqual([]);
  });

  slow('ends after an idle hour, though nothing is called any more', async () => {
    const { o, path } = await auto();
    await read(o, path, 'oc', OFTEN);
    await warm(o, path, 'oc');
    await inCore(o, async (core) => {
      const left: Region[] = [];
      faults.clock = Date.now() + IDLE - MINUTE;
      await alarm(core, left);
      expect([demand(core).regions(), left]).toEqual([['oc'], []]);
      // It looks again by itself.
      later(2 * MINUTE);
      expect(core.schedule.now(core.now())).toContain('replicas');
      await alarm(core, left);
      expect([demand(core).regions(), left]).toEqual([[], ['oc']]);
      expect(leases(core).regions()).toEqual([]);
    });
    faults.clock = null;
    expect(await regions(o)).toEqual([]);
    expect(regionOf(await o.get(path, from('oc')))).toBe('gate');
  });

  it('stays while it is read, and the gate that starts does not end it early', async () => {
    const { o, path } = await auto();
    await read(o, path, 'oc', OFTEN);
    await inCore(o, async (core) => {
      silence(core);
      later(IDLE / 2);
      expect(lease(core, askFor(core))).toMatchObject({
        kind: 'lease',
        regions: { all: ['oc'], auto: true },
      });
      later(MINUTE);
      lease(core, askFor(core));
      later(IDLE - MINUTE / 2);
      await alarm(core);
      expect(demand(core).regions()).toEqual(['oc']);
    });
    await evict(o);
    await inCore(o, async (core) => {
      await alarm(core);
      expect(demand(core).regions()).toEqual(['oc']);
      later(10 * MINUTE);
      await alarm(core);
      expect(demand(core).regions()).toEqual([]);
    });
  });

  slow('reads that a replica elsewhere answers count for the region of the caller', async () => {
    const { o, path } = await auto();
    await read(o, path, 'apac-se', OFTEN);
    await warm(o, path, 'apac-se');
    await read(o, path, 'oc', OFTEN);
    await inReplica(o, 'apac-se', (replica) => replica.renewed());
    expect((await regions(o)).sort()).toEqual(['apac-se', 'oc']);
  });

  it('there are nine at most, and none where the gate is', async () => {
    const { o } = await auto();
    await inCore(o, (core) => {
      const row = core.rows.get('org', o.id);
      core.rows.put('org', { ...row, location_hint: 'enam' } as never);
      for (const region of ['enam', ...REGIONS] as const) demand(core).asked(region, OFTEN, core.now());
      expect(demand(core).regions()).toHaveLength(MOST_REGIONS);
      expect(demand(core).regions()).not.toContain('enam');
    });
  });

  slow('replicas that auto began end with it', async () => {
    const { o, path } = await auto();
    await read(o, path, 'oc', OFTEN);
    await o.patch('', { regions: ['weur'] });
    expect(await regions(o)).toEqual(['weur']);
    await o.patch('', { regions: 'auto' });
    expect(await regions(o)).toEqual([]);
  });
});
