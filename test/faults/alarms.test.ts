// The alarm of a gate: the platform repeats one that fails at ever longer intervals, and gives it up after
// some. A gate whose alarm is gone sets it again, so that its tasks go on: D1 follows, deliveries are sent.
import { describe, expect, it, vi } from 'vitest';
import { vitalsOf } from '../../src/gate/answer/vitals';
import { journal } from '../../src/gate/journal/records';
import { TERM } from '../../src/gate/replicas/messages';
import { faults } from '../support/faults';
import { evict, inCore, inGate } from '../support/gate';
import { draft, evictReplica, inReplica, replicated, warm } from '../support/replicas';
import { slow } from '../support/slow';
import { type Caller, newOrg, newSecret, useWorld } from '../support/world';

useWorld();

const lagOf = (o: Caller) => inCore(o, (core) => journal(core).last() - journal(core).position());

/** An organisation with a change that D1 lacks, whose alarm was given up two minutes ago. */
async function withoutAlarm() {
  const o = await newOrg();
  faults.lags = true;
  faults.isAlarmHeld = true;
  await newSecret(o);
  await loseAlarm(o);
  return o;
}

async function loseAlarm(o: Caller) {
  await inGate(o, async (_gate, { storage }) => {
    storage.sql.exec("update due set at = ? where task = 'mirror'", Date.now() - 120_000);
    await storage.deleteAlarm();
  });
  await evict(o);
  expect(await inGate(o, (_gate, { storage }) => storage.getAlarm())).toBe(null);
  faults.isAlarmHeld = false;
}

const follows = (o: Caller) => vi.waitFor(async () => expect(await lagOf(o)).toBe(0), 5000);

describe('schedule: an alarm that the platform gave up', () => {
  it('is set again by the next change', async () => {
    const o = await withoutAlarm();
    await newSecret(o);
    await follows(o);
  });

  it('is set again by the health check, in a gate without requests', async () => {
    const o = await withoutAlarm();
    expect(await inCore(o, vitalsOf)).toBe('well');
    await follows(o);
  });

  it('is set again in a gate that lives on, once a minute at most', async () => {
    const o = await withoutAlarm();
    faults.isAlarmHeld = true;
    await inGate(o, async ({ core }, { storage }) => {
      const before = faults.alarms;
      for (let n = 0; n < 3; n++) core.schedule.at('mirror', Date.now());
      expect(faults.alarms - before).toBe(1);
      await storage.deleteAlarm();
      vi.setSystemTime(Date.now() + 61_000);
      core.schedule.at('mirror', Date.now());
      core.schedule.at('mirror', Date.now());
      vi.useRealTimers();
      expect(faults.alarms - before).toBe(2);
    });
  });

  it('is left alone while it is not overdue', async () => {
    const o = await newOrg();
    faults.lags = true;
    faults.isAlarmHeld = true;
    await newSecret(o);
    await inCore(o, (core) => {
      const before = faults.alarms;
      core.schedule.keepArmed();
      core.schedule.at('mirror', Date.now() + 1000);
      expect(faults.alarms).toBe(before);
    });
  });
});

describe('replicas: an alarm that the platform gave up', () => {
  slow(
    'keeps no audit entry in a region that nobody reads: the health check of the gate asks for it',
    async () => {
      const o = await replicated(['oc']);
      const { id } = await newSecret(o);
      await warm(o, `/secrets/${id}`, 'oc');
      await inReplica(o, 'oc', (replica) => replica.flush());
      await evictReplica(o, 'oc');
      await inReplica(o, 'oc', async (replica) => {
        replica.entries.write({ draft: draft('req_left'), status: 200, used: null, place: null }, Date.now());
        await replica.core.storage.deleteAlarm();
      });
      await evictReplica(o, 'oc');
      const taken = () => inCore(o, (core) => core.auditLog.head().sequence);
      const before = await taken();
      // While the lease holds, the next read sends it.
      await inCore(o, async (core) => {
        faults.clock = Date.now() + TERM;
        await vitalsOf(core);
        faults.clock = null;
      });
      await vi.waitFor(async () => expect(await taken()).toBe(before + 1), 5000);
      expect(await inReplica(o, 'oc', (replica) => replica.entries.count())).toBe(0);
    },
  );
});
