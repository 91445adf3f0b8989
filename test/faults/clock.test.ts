// /healthz and the gates after a clock that was wrong: behind the audit log, or ahead and then put right.

import { describe, expect, it } from 'vitest';
import { faults } from '../support/faults';
import { lines, schedule, useHealth, verdict } from '../support/health';
import { newOrg, newSecret } from '../support/world';

useHealth();

describe('clock: behind the audit log', () => {
  it('is degraded while the clock is behind the audit log', async () => {
    const o = await newOrg();
    faults.clock = Date.now() + 3_600_000;
    await newSecret(o);
    faults.clock = null;
    await schedule();
    expect(await verdict()).toEqual([200, 'degraded', ['clock']]);
    expect(lines()).toContainEqual(expect.objectContaining({ event: 'clock_behind', org: o.id }));
    faults.clock = Date.now() + 3_600_000;
    await schedule();
    expect(await verdict()).toEqual([200, 'ok', []]);
    faults.clock = null;
  });
});
