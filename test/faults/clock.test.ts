// /healthz and the gates after a clock that was wrong: behind the audit log, or ahead and then put right.
// Nothing stands still until the clock has passed the time that it once showed.

import { describe, expect, it } from 'vitest';
import { closeSegments, SEGMENT } from '../../src/gate/archive/segments';
import type { Core } from '../../src/gate/core';
import { rateLimit, WINDOW } from '../../src/gate/limits/rate-limit';
import { runTasks } from '../../src/gate/tasks/run';
import { newKey } from '../support/credentials';
import { faults } from '../support/faults';
import { evict, inCore } from '../support/gate';
import { slow } from '../support/slow';
import { events, healthz, lines, schedule, useHealth, verdict } from '../support/storage/health';
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
  slow('is degraded while the clock is behind the audit log', async () => {
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

describe('clock: moved while the service runs', () => {
  it.each([
    ['ahead', -26 * HOUR, '1,560 minutes ahead of'],
    ['behind', 3 * HOUR, '180 minutes behind'],
  ])('is degraded while the clock is %s of that of the schedule', async (_where, by, words) => {
    await newOrg();
    await schedule(1, new Date(Date.now() + by));
    expect(await verdict()).toEqual([200, 'degraded', ['clock']]);
    const { checks } = await healthz();
    expect(checks.find(({ name }) => name === 'clock')?.message).toContain(words);
    expect(events()).toContain('clock_apart');
    await schedule();
    expect(await verdict()).toEqual([200, 'ok', []]);
  });

  it('is not taken from a scheduled run that is late', async () => {
    await newOrg();
    await schedule(1, new Date(Date.now() - 10 * WINDOW));
    expect(await verdict()).toEqual([200, 'ok', []]);
  });
});

describe('rate limit: after the clock was ahead', () => {
  /** Whether a request of a caller with a limit of five a minute is admitted. */
  const admits = (o: Caller, id: string, now: number) =>
    inCore(o, (core) => rateLimit(core).take([{ id, limit: 5 }], now, 'no').ok);

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

  slow('a gate that starts counts the requests of the last minute, and no earlier ones', async () => {
    const o = await newOrg();
    const busy = await newKey(o);
    const idle = await newKey(o);
    await ahead(30 * DAY, async () => {
      for (let n = 0; n < 5; n++) await idle.o.get('/secrets');
    });
    const later = Date.now() + 10 * WINDOW;
    faults.clock = later - 2 * WINDOW;
    for (let n = 0; n < 5; n++) await idle.o.get('/secrets');
    faults.clock = later;
    for (let n = 0; n < 5; n++) await busy.o.get('/secrets');
    const counted = await inCore(o, ({ auditLog }) =>
      [...auditLog.since(later - WINDOW, later)].map(({ actor }) => actor),
    );
    expect(counted).toEqual(Array(5).fill(busy.id));
  });
});

describe('audit log: after the clock was ahead', () => {
  slow('moves to the database, and leaves the gate', async () => {
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
      return {
        size: core.auditLog.size(),
        kept: core.storage.sql.exec('select count(*) n from audit').one().n,
      };
    });
    expect(size).toBeLessThan(SEGMENT);
    // The newest ones stay for a minute, for the rate limits.
    expect(kept).toBeLessThanOrEqual(SEGMENT);
    expect(await verify(o)).toBe(true);
  });
});

describe('clock: accepted by the operator', () => {
  const accept = (o: Caller, token = BOOTSTRAP) =>
    send('POST', `/api/v1/orgs/${o.id}/clock/accept`, {
      token,
      body: { reason: 'the battery of the clock was empty' },
    });

  it('is ok from then on, and degraded again once the clock is set back further, or leaps again', async () => {
    const o = await newOrg();
    await ahead(30 * DAY, () => newSecret(o));
    await schedule();
    expect(await verdict()).toEqual([200, 'degraded', ['clock']]);
    expect((await accept(o)).json.ahead_seconds).toBeGreaterThan((30 * DAY) / 1000 - 100);
    expect(await verdict(), 'at once').toEqual([200, 'ok', []]);
    await evict(o);
    await schedule();
    expect(await verdict()).toEqual([200, 'ok', []]);

    faults.clock = Date.now() - HOUR;
    await schedule();
    expect(await verdict(), 'set back').toEqual([200, 'degraded', ['clock']]);
    await ahead(2 * HOUR, () => schedule());
    expect(await verdict()).toEqual([200, 'ok', []]);
    await schedule();
    expect(await verdict(), 'set back from what it has shown since').toEqual([200, 'degraded', ['clock']]);
    await accept(o);
    await ahead(60 * DAY, () => newSecret(o));
    await schedule();
    expect(await verdict(), 'ahead further than before').toEqual([200, 'degraded', ['clock']]);
  });

  slow('the health check writes the time only now and then', async () => {
    const o = await newOrg();
    await ahead(DAY, () => newSecret(o));
    await accept(o);
    const kept = () => inCore(o, ({ meta }) => meta.get('clock_accepted'));
    const before = await kept();
    await schedule();
    expect(await kept()).toBe(before);
    faults.clock = Date.now() + 5 * WINDOW;
    await schedule();
    expect(await kept()).not.toBe(before);
  });

  it('is recorded with its reason, and safe to repeat; only the bootstrap token may say so', async () => {
    const o = await newOrg();
    expect((await accept(o, o.token)).status).toBe(403);
    expect([(await accept(o)).status, (await accept(o)).json]).toEqual([200, { ahead_seconds: 0 }]);
    const [entry] = (await o.get('/audit-log?action=org.accept_clock&outcome=success')).json.data;
    expect([entry.actor.id, entry.reason]).toEqual(['bootstrap', 'the battery of the clock was empty']);
    expect(await verify(o)).toBe(true);
  });

  slow('brings nothing back to life, and deletes nothing early', async () => {
    const o = await newOrg();
    const revoked = await newKey(o);
    const expired = await newKey(o, { expires_at: new Date(Date.now() + 2 * DAY).toISOString() });
    const { id } = await newSecret(o);
    await ahead(30 * DAY, async () => {
      await o.del(`/api-keys/${revoked.id}`);
      await o.del(`/secrets/${id}`);
      await expired.o.get('/secrets');
    });
    await accept(o);
    for (let n = 0; n < 5; n++) await inCore(o, (core) => runTasks(core));
    expect((await revoked.o.get('/secrets')).json.error.code).toBe('TOKEN_REVOKED');
    expect((await o.post(`/secrets/${id}/restore`, {})).status).toBe(200);
  });

  it('work that waits for a time which only the clock ahead showed goes on', async () => {
    const o = await newOrg();
    const hook = await o.post('/webhooks', { url: 'https://example.com/hook', events: ['SECRET_CREATED'] });
    expect(hook.status).toBe(201);
    await ahead(30 * DAY, async () => {
      await newSecret(o);
      await inCore(o, (core) => runTasks(core));
      await inCore(o, (core) => runTasks(core, core.now() + 1000));
    });
    const put = (core: Core) => {
      const far = Date.now() + 30 * DAY;
      core.storage.sql.exec('update deliveries set next_at = ?', far);
      core.storage.sql.exec("insert into sync_runs values ('syn_x', ?1, 1, ?1, ?1, 0)", far);
      core.storage.sql.exec("insert into sync_due values ('int_x', 'env_x', ?)", far);
    };
    await inCore(o, put);
    const asked = () =>
      faults.queued.filter((message) => (message as { job?: string }).job === 'deliver').length;
    const run = () => inCore(o, (core) => runTasks(core, Date.now() + 2 * WINDOW));
    const before = asked();
    await run();
    expect(asked(), 'it waits').toBe(before);
    await accept(o);
    await run();
    expect(asked()).toBe(before + 1);
    const due = await inCore(
      o,
      ({ storage }) =>
        storage.sql.exec<{ at: number }>("select at from due where task = 'retention'").one().at,
    );
    expect(due).toBeLessThan(Date.now() + 3 * HOUR);
    const latest = await inCore(o, ({ storage }) =>
      storage.sql
        .exec<{ n: number }>(
          'select max(leased_until, asked_until, started, (select at from sync_due)) n from sync_runs',
        )
        .one(),
    );
    expect(latest.n).toBeLessThan(Date.now() + HOUR);
  });
});
