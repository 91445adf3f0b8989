// Leases: which instance of a replica may answer alone, and until when.
import { describe, expect, it, vi } from 'vitest';
import { REGIONS } from '../../../src/db/regions';
import { MOST_ENTRIES } from '../../../src/gate/audit/log';
import { mirror } from '../../../src/gate/journal/mirror';
import { ADOPTING, standing } from '../../../src/gate/journal/position';
import { journal } from '../../../src/gate/journal/records';
import { leases } from '../../../src/gate/replicas/leases';
import { TERM } from '../../../src/gate/replicas/messages';
import { dismiss, lease, rowsFrom } from '../../../src/gate/replicas/serve';
import { stability } from '../../../src/gate/replicas/stability';
import { faults } from '../../support/faults';
import { evict, inCore, inGate } from '../../support/gate';
import { askFor, general, replicated, silence } from '../../support/storage/replicas';
import { db, newOrg, useWorld } from '../../support/world';

useWorld();

const later = (ms: number) => {
  faults.clock = (faults.clock ?? Date.now()) + ms;
};

describe('leases', () => {
  it('another format gets none', async () => {
    const o = await replicated();
    await inCore(o, (core) => {
      expect(lease(core, askFor(core, { format: 99 }))).toMatchObject({ kind: 'wait' });
      expect(lease(core, askFor(core))).toMatchObject({ kind: 'lease' });
    });
  });

  it('a replica of another term begins again', async () => {
    const o = await replicated();
    await inCore(o, (core) => {
      expect(lease(core, askFor(core, { term: 'another' }))).toEqual({ kind: 'restart' });
      expect(leases(core).any()).toBe(false);
    });
  });

  it('a replica of another history begins again, although the numbers are the same', async () => {
    const o = await replicated();
    await inCore(o, (core) => {
      silence(core);
      expect(lease(core, askFor(core, { record: 'another' }))).toEqual({ kind: 'restart' });
      expect(lease(core, askFor(core))).toMatchObject({ kind: 'lease' });
    });
  });

  it('an instance is compared once', async () => {
    const o = await replicated();
    await inCore(o, (core) => {
      silence(core);
      lease(core, askFor(core));
      const ask = askFor(core, { record: 'not known any more' });
      // The records stay for the holder of the lease.
      for (let n = 0; n < 3; n++) journal(core).append(general());
      journal(core).advance(journal(core).last());
      expect(lease(core, ask)).toMatchObject({ kind: 'lease' });
      expect(lease(core, { ...ask, holder: 'two' })).toEqual({ kind: 'restart' });
      rowsFrom(core, { ...ask, holder: 'two' }, null);
      expect(lease(core, { ...ask, holder: 'two' })).toMatchObject({ kind: 'wait' });
    });
  });

  it('a gate that is behind D1 gives none', async () => {
    const o = await replicated();
    await inGate(o, async (gate) => {
      standing(gate.core).isBehind = true;
      expect(await gate.lease(askFor(gate.core))).toMatchObject({ kind: 'wait' });
      standing(gate.core).isBehind = false;
      expect(await gate.lease(askFor(gate.core))).toMatchObject({ kind: 'lease' });
    });
  });

  it('a gate that starts compares itself with D1 before it gives one', async () => {
    const o = await replicated();
    await inGate(o, async (gate) => {
      await mirror(gate.core).follow();
      await db
        .prepare('update journal_positions set position = position + 100 where org_id = ?')
        .bind(o.id)
        .run();
      Object.assign(standing(gate.core), { isBehind: null, askedAt: 0 });
      const ask = askFor(gate.core, { term: null, position: 0 });
      expect(await gate.lease(ask)).toMatchObject({ kind: 'wait' });
      expect(await gate.rowsFrom(ask, null)).toBeNull();
      expect(await gate.takeEntries('oc', 'storage one', [])).toBe(0);
    });
  });

  it('nothing follows a gate during an adoption, which changes rows without records', async () => {
    const o = await replicated();
    await inGate(o, async (gate) => {
      const ask = askFor(gate.core);
      gate.core.meta.set(ADOPTING, '1');
      expect(await gate.lease(ask)).toMatchObject({ kind: 'wait' });
      expect(await gate.rowsFrom(ask, null)).toBeNull();
      gate.core.meta.forget(ADOPTING);
      expect(await gate.rowsFrom(ask, null)).not.toBeNull();
      expect(await gate.lease(ask)).toMatchObject({ kind: 'lease' });
    });
  });

  it('none is given while the audit log takes no more reads', async () => {
    const o = await replicated();
    await inCore(o, (core) => {
      const size = vi.spyOn(core.auditLog, 'size').mockReturnValue(MOST_ENTRIES);
      expect(lease(core, askFor(core))).toMatchObject({ kind: 'wait' });
      size.mockRestore();
      expect(lease(core, askFor(core))).toMatchObject({ kind: 'lease' });
    });
  });

  it('names the last record', async () => {
    const o = await replicated();
    await inCore(o, (core) => {
      silence(core);
      lease(core, askFor(core));
      const position = journal(core).last();
      journal(core).append(general());
      const given = lease(core, askFor(core, { position }));
      expect(given).toMatchObject({ last: position + 1, stable: position, records: [{ n: position + 1 }] });
    });
  });

  it('another instance waits until the lease of the first one has ended', async () => {
    const o = await replicated();
    await inCore(o, (core) => {
      faults.clock = Date.now();
      silence(core);
      lease(core, askFor(core));
      later(1000);
      expect(lease(core, askFor(core, { holder: 'two' }))).toEqual({ kind: 'wait', for: TERM - 1000 });
      expect(lease(core, askFor(core))).toMatchObject({ kind: 'lease' });
      later(TERM);
      expect(lease(core, askFor(core, { holder: 'two' }))).toMatchObject({ kind: 'lease' });
    });
  });

  it('only the instance that holds the lease acknowledges', async () => {
    const o = await replicated();
    await inCore(o, (core) => {
      silence(core);
      lease(core, askFor(core));
      const n = journal(core).append(general());
      leases(core).acknowledge('oc', 'two', n);
      stability(core).advance();
      expect(stability(core).stable()).toBe(n - 1);
      leases(core).acknowledge('oc', 'one', n);
      stability(core).advance();
      expect(stability(core).stable()).toBe(n);
    });
  });

  it('a gate that starts counts each stored lease as good for a whole term', async () => {
    const o = await replicated();
    await inCore(o, (core) => {
      silence(core);
      lease(core, askFor(core));
      // The end was stored by a machine whose clock is behind.
      core.storage.sql.exec('update leases set until = until - 20000');
    });
    await evict(o);
    await inCore(o, (core) => {
      const [held] = leases(core).live(core.now());
      expect(held).toMatchObject({ region: 'oc', holder: 'one' });
      expect(leases(core).live(core.now() + TERM)).toEqual([]);
    });
  });

  it('a region that was waited out pauses, and longer each time', async () => {
    const o = await replicated();
    await inCore(o, (core) => {
      silence(core);
      faults.clock = Date.now();
      for (const pause of [30_000, 60_000, 120_000]) {
        for (let renewals = 0; renewals < 3; renewals++) {
          expect(lease(core, askFor(core))).toMatchObject({ kind: 'lease' });
          later(1000);
        }
        const n = journal(core).append(general());
        later(TERM);
        stability(core).advance();
        expect(stability(core).stable()).toBe(n);
        expect(lease(core, askFor(core))).toEqual({ kind: 'wait', for: pause });
        later(pause);
      }
    });
  });

  it('a gate that starts pauses no region whose replica may have ended with it', async () => {
    const o = await replicated();
    faults.isAlarmHeld = true;
    await inCore(o, (core) => {
      silence(core);
      expect(lease(core, askFor(core))).toMatchObject({ kind: 'lease' });
    });
    await evict(o);
    await inCore(o, (core) => {
      silence(core);
      const n = journal(core).append(general());
      faults.clock = Date.now() + TERM;
      expect(stability(core).stable()).toBeLessThan(n);
      stability(core).advance();
      expect(stability(core).stable()).toBe(n);
      expect(lease(core, askFor(core, { holder: 'two' }))).toMatchObject({ kind: 'lease' });
    });
  });

  it('a record waits for the end that a lease had, however often it is renewed', async () => {
    const o = await replicated();
    await inCore(o, (core) => {
      faults.clock = Date.now();
      silence(core);
      lease(core, askFor(core));
      const position = journal(core).last();
      const n = journal(core).append(general());
      later(TERM - 1000);
      expect(lease(core, askFor(core, { position }))).toMatchObject({ kind: 'lease', last: n });
      expect(stability(core).stable()).toBe(position);
      later(1000);
      stability(core).advance();
      expect(stability(core).stable()).toBe(n);
    });
  });

  it('a new term waits for each region, whatever replicas acknowledge', async () => {
    const o = await replicated();
    await inCore(o, (core) => {
      faults.clock = Date.now();
      silence(core);
      lease(core, askFor(core));
      journal(core).begin(crypto.randomUUID(), journal(core).last(), 'a record');
      expect(leases(core).live(core.now())).toHaveLength(REGIONS.length);
      leases(core).acknowledge('oc', 'one', journal(core).last());
      later(TERM - 1);
      stability(core).advance();
      expect(stability(core).restsOn('everything')).toBeGreaterThan(0);
      later(1);
      stability(core).advance();
      expect(stability(core).restsOn('everything')).toBe(0);
    });
  });

  it('a new term waits for each region also after a restart', async () => {
    const o = await replicated();
    faults.isAlarmHeld = true;
    await inCore(o, (core) => {
      silence(core);
      journal(core).begin(crypto.randomUUID(), journal(core).last(), 'a record');
    });
    await evict(o);
    await inCore(o, (core) => {
      silence(core);
      expect(leases(core).live(core.now())).toHaveLength(REGIONS.length);
      expect(stability(core).restsOn('everything')).toBeGreaterThan(0);
      faults.clock = Date.now() + TERM;
      stability(core).advance();
      expect(stability(core).restsOn('everything')).toBe(0);
    });
  });

  it('a region that was taken out is forgotten after its lease', async () => {
    const o = await replicated();
    await inCore(o, async (core) => {
      faults.clock = Date.now();
      core.replica = () => ({ leave: async () => true, push: async () => null }) as never;
      lease(core, askFor(core));
      const row = core.rows.get('org', o.id);
      core.rows.put('org', { ...row, regions: ['weur'] } as never);
      expect(await dismiss(core, core.now())).not.toBeNull();
      expect(leases(core).regions()).toEqual(['oc']);
      later(TERM);
      expect(await dismiss(core, core.now())).toBeNull();
      expect(leases(core).regions()).toEqual([]);
    });
  });

  it('a replica that only loaded rows is told to leave too', async () => {
    const o = await replicated();
    await inCore(o, async (core) => {
      const left: string[] = [];
      const leave = async () => left.push('oc');
      core.replica = () => ({ leave, push: async () => null }) as never;
      rowsFrom(core, askFor(core), null);
      expect(leases(core).live(core.now())).toEqual([]);
      const row = core.rows.get('org', o.id);
      core.rows.put('org', { ...row, regions: [] } as never);
      expect(await dismiss(core, core.now())).toBeNull();
      expect(left).toEqual(['oc']);
      expect(leases(core).regions()).toEqual([]);
    });
  });

  it('a gate that lost its storage assumes replicas of former regions', async () => {
    const o = await replicated();
    await o.patch('', { regions: [] });
    const never = await newOrg();
    for (const [one, count] of [
      [o, REGIONS.length],
      [never, 0],
    ] as const)
      await inCore(one, (core) => {
        for (const region of leases(core).regions()) leases(core).forget(region);
        journal(core).begin(crypto.randomUUID(), journal(core).last(), 'a record');
        expect(leases(core).live(core.now())).toHaveLength(count);
      });
  });
});
