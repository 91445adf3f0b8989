// /healthz and the gates after a clock that was wrong: behind the audit log, or ahead and then put right. Nothing stands still until the
// clock has passed the time that it once showed.

import { describe, expect, it } from 'vitest';
import { closeSegments, SEGMENT } from '../../src/gate/audit/segments';
import { rateLimit, WINDOW } from '../../src/gate/limits/rate-limit';
import { runTasks } from '../../src/gate/tasks/run';
import { newKey } from '../support/credentials';
import { faults } from '../support/faults';
import { evict, inCore } from '../support/gate';
import { lines, schedule, useHealth, verdict } from '../support/health';
import { DAY, HOUR } from '../support/time';
import { BOOTSTRAP, type Caller, newOrg, newSecret, send } from '../support/world';

useHealth();

/** What happens while the clock is ahead by that much; then it is put right. */
async function ahead<T>(ms: number, work: () => Promise<T>): Promise<T> {
  faults.clock = Date.now() + ms;
  const done = await work();
  faults.clock = null;
  return done;
}
const verify = async (o: Caller) => (await o.get('/audit-log/verify')).json.ok;

describe('clock: behind the audit log', () => {
  it('is degraded while the clock is behind the audit log', async () => {
    const o = await newOrg();
    await ahead(HOUR, () => newSecret(o));
    await schedule();
    expect(await verdict()).toEqual([200, 'degraded', ['clock']]);
    expect(lines()).toContainEqual(expect.objectContaining({ event: 'clock_behind', org: o.id }));
    faults.clock = Date.now() + HOUR;
    await schedule();
    expect(await verdict()).toEqual([200, 'ok', []]);
  });
});

describe('rate limit: after the clock was ahead', () => {
  /** Whether a request of a caller with a limit of five a minute is admitted. */
  const admits = (o: Caller, id: string, now: number) => inCore(o, (core) => rateLimit(core).take([{ id, limit: 5 }], now, 'no').ok);

  it('requests made meanwhile leave the window a minute after it was put right', async () => {
    const o = await newOrg();
    const key = await newKey(o);
    await ahead(30 * DAY, async () => {
      for (let n = 0; n < 5; n++) await key.o.get('/secrets');
    });
    const now = Date.now();
    expect(await admits(o, key.id, now)).toBe(false);
    expect(await admits(o, key.id, now + WINDOW + 1000)).toBe(true);
  });

  it('a gate that starts counts the requests of the last minute, and no earlier ones', async () => {
    const o = await newOrg();
    const [busy, idle] = [await newKey(o), await newKey(o)];
    await ahead(30 * DAY, async () => {
      for (let n = 0; n < 5; n++) await idle.o.get('/secrets');
    });
    const later = Date.now() + 10 * WINDOW;
    faults.clock = later - 2 * WINDOW;
    for (let n = 0; n < 5; n++) await idle.o.get('/secrets');
    faults.clock = later;
    for (let n = 0; n < 5; n++) await busy.o.get('/secrets');
    const counted = await inCore(o, ({ auditLog }) => [...auditLog.since(later - WINDOW, later)].map(({ actor }) => actor));
    expect(counted).toEqual(Array(5).fill(busy.id));
  });
});

describe('audit log: after the clock was ahead', () => {
  it('moves to the database, and leaves the gate', async () => {
    const o = await newOrg();
    await ahead(300 * DAY, () => newSecret(o));
    const { size, kept } = await inCore(o, async (core) => {
      const append = (now: number) => {
        const draft = { ...core.auditLog.newest({}, Number.MAX_SAFE_INTEGER, 1).entries[0] } as never;
        for (let n = 0; n < SEGMENT; n++) core.auditLog.append(draft, 200, now);
      };
      const now = Date.now();
      append(now);
      await closeSegments(core, now);
      append(now + 2 * WINDOW);
      await closeSegments(core, now + 2 * WINDOW);
      return { size: core.auditLog.size(), kept: core.storage.sql.exec('select count(*) n from audit').one().n };
    });
    expect(size).toBeLessThan(SEGMENT);
    // The newest ones stay for a minute, for the rate limits.
    expect(kept).toBeLessThanOrEqual(SEGMENT);
    expect(await verify(o)).toBe(true);
  });
});
