// The tasks of a gate, run by its schedule in bounded batches: settle changes in doubt, close minutes of the rate limit, move audit
// segments to D1, request checkpoints, purge ended rows, find secrets due for rotation, raise expiries. Invariant: each task can be
// interrupted at any point and simply runs again.

import { endApprovals } from '../approvals/state';
import { requestCheckpoint } from '../audit/checkpoints';
import { retain } from '../audit/retention';
import { closeSegments } from '../audit/segments';
import type { Core } from '../core';
import { deliver } from '../delivery-task';
import { emergencies } from '../events/emergencies';
import { closeEvents } from '../events/segments';
import { settle } from '../journal/commit';
import { rateLimit, WINDOW } from '../limits/rate-limit';
import { storedResponses } from '../request/stored-responses';
import { findDue } from '../rotation';
import { runSyncs } from '../sync-task';
import { tellExpiries } from './expiry';
import { endOrg, purgePast, purgeRows } from './purge';
import type { Task } from './schedule';

/** The most stored responses that one run deletes; it runs again immediately while there are more. */
const PER_RUN = 1000;

/** Each task returns when to run next, or null. */
const tasks: Record<Task, (core: Core, org: string, now: number) => Promise<number | null> | number | null> = {
  settle: async (core, org, now) => ((await settle(core, org)) ? null : now + 5000),
  minutes: (core, _org, now) =>
    core.storage.transactionSync(() => {
      const times = [rateLimit(core).flush(now), emergencies(core).flush(now)].filter((time) => time !== null);
      return times.length ? Math.min(...times) : null;
    }),
  segments: closeSegments,
  checkpoint: requestCheckpoint,
  replays: (core, _org, now) => {
    const next = storedResponses(core).sweep(now, PER_RUN);
    return next === null ? null : next <= now ? now : Math.max(next, now + WINDOW);
  },
  rows: purgeRows,
  past: purgePast,
  retention: retain,
  rotation: findDue,
  deliveries: deliver,
  expiry: tellExpiries,
  events: closeEvents,
  syncs: runSyncs,
  approvals: (core, _org, now) => endApprovals(core, now),
  end: endOrg,
};

/** Runs due tasks. Never throws: a failed task is retried a minute later. */
export async function runTasks(core: Core, org: string, now = core.now()): Promise<void> {
  for (const task of core.schedule.now(now)) {
    core.schedule.begin(task);
    try {
      core.schedule.done(task, await tasks[task](core, org, core.now()));
    } catch (error) {
      console.error(
        JSON.stringify({
          level: 'error',
          event: 'task_failed',
          org,
          task,
          why: error instanceof Error ? error.message.slice(0, 200) : 'unknown',
        }),
      );
      core.schedule.done(task, now + WINDOW);
    }
  }
  core.schedule.arm();
}
