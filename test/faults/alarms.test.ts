// The alarm of a gate: the platform repeats one that fails at ever longer intervals, and gives it up after
// some. A gate whose alarm is gone sets it again, so that its tasks go on: D1 follows, deliveries are sent.
import { describe, expect, it, vi } from 'vitest';
import { vitalsOf } from '../../src/gate/answer/vitals';
import { mirror } from '../../src/gate/journal/mirror';
import { journal } from '../../src/gate/journal/records';
import { TERM } from '../../src/gate/replicas/messages';
import { runTasks } from '../../src/gate/tasks/run';
import { faults } from '../support/faults';
import { evict, inCore, inGate } from '../support/gate';
import { slow } from '../support/slow';
import { draft, evictReplica, inReplica, replicated, warm } from '../support/storage/replicas';
import { type Caller, db, newOrg, newSecret, useWorld } from '../support/world';

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

const mirrored = (o: Caller) => inCore(o, (core) => mirror(core).follow());
const rowsOf = async ({ id }: Caller) =>
  (
    await db
      .prepare('select (select count(*) from secret_versions where org_id = ?1) n')
      .bind(id)
      .first<{ n: number }>()
  )?.n;

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

describe('schedule: times that were lost or altered', () => {
  const timesOf = (o: Caller) =>
    inCore(o, ({ storage }) =>
      storage.sql.exec<{ task: string; at: SqlStorageValue }>('select task, at from due').toArray(),
    );
  const alter = async (o: Caller, sql: string) => {
    await inCore(o, ({ storage }) => void storage.sql.exec(sql));
    await evict(o);
  };

  it('a gate without a time for retention tells of it, and makes all tasks due', async () => {
    const o = await newOrg();
    await newSecret(o);
    await mirrored(o);
    const before = await rowsOf(o);
    faults.isAlarmHeld = true;
    await alter(o, 'delete from due');
    const told = vi.spyOn(console, 'error').mockImplementation(() => {});
    expect((await timesOf(o)).map(({ task }) => task)).toContain('deliveries');
    const lines = told.mock.calls.map(([line]) => JSON.parse(line));
    told.mockRestore();
    expect(lines).toMatchObject([{ event: 'schedule_lost', org: o.id }]);
    await inCore(o, (core) => runTasks(core));
    expect((await timesOf(o)).map(({ task }) => task)).toContain('retention');
    // A task that has nothing to do changes nothing: above all, the organisation does not end.
    expect(await rowsOf(o)).toEqual(before);
    faults.isAlarmHeld = false;
  });

  it('a gate without a single one of its times tells of it, and makes all tasks due', async () => {
    const o = await newOrg();
    await newSecret(o);
    await mirrored(o);
    faults.isAlarmHeld = true;
    // An idle task keeps its row, so `mirror`, which has nothing to do here, is missed as well.
    for (const lost of (await timesOf(o)).map(({ task }) => task)) {
      await alter(o, `delete from due where task = '${lost}'`);
      const told = vi.spyOn(console, 'error').mockImplementation(() => {});
      expect((await timesOf(o)).map(({ task }) => task)).toContain(lost);
      const lines = told.mock.calls.map(([line]) => JSON.parse(line));
      told.mockRestore();
      expect(lines).toMatchObject([{ event: 'schedule_lost', org: o.id }]);
      await inCore(o, (core) => runTasks(core));
    }
    faults.isAlarmHeld = false;
  });

  it('a gate that starts with all its times tells of nothing', async () => {
    const o = await newOrg();
    await newSecret(o);
    await mirrored(o);
    await inCore(o, (core) => runTasks(core));
    await evict(o);
    const told = vi.spyOn(console, 'error').mockImplementation(() => {});
    await o.get('/secrets');
    expect(told.mock.calls).toEqual([]);
    told.mockRestore();
  });

  it('a time that is no number is due', async () => {
    const o = await newOrg();
    faults.isAlarmHeld = true;
    await alter(o, "update due set at = 'garbage'");
    await inCore(o, (core) => runTasks(core));
    const times = await timesOf(o);
    expect(times.find(({ task }) => task === 'retention')?.at).toBeGreaterThan(Date.now());
    faults.isAlarmHeld = false;
  });

  it('an organisation that is not deleted does not end, whatever is scheduled', async () => {
    const o = await newOrg();
    await newSecret(o);
    await mirrored(o);
    const before = await rowsOf(o);
    await inCore(o, async (core) => {
      core.schedule.at('end', core.now());
      await runTasks(core);
    });
    expect(before).toBeGreaterThan(0);
    expect(await rowsOf(o)).toBe(before);
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
