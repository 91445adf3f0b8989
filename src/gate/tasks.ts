// The tasks of a gate, run by its schedule in bounded batches: settle changes in doubt, close minutes of the rate limit, move audit
// segments to D1, request checkpoints, purge ended rows, find secrets due for rotation, raise expiries. Invariant: each task can be
// interrupted at any point and simply runs again.

import { endApprovals } from './approval-state';
import { requestCheckpoint } from './checkpoint-task';
import { settle } from './commit';
import type { Core } from './core';
import { deliver } from './delivery-task';
import { endOrg } from './end-org';
import { closeEvents } from './event-segments';
import { tellExpiries } from './expiry';
import { purgePast, purgeRows } from './purge';
import { WINDOW } from './rate-limit';
import { retain } from './retention';
import { findDue } from './rotation';
import type { Task } from './schedule';
import { closeSegments } from './segments';
import { runSyncs } from './sync-task';

/** The most stored responses that one run deletes; it runs again immediately while there are more. */
const PER_RUN = 1000;

/** Each task returns when to run next, or null. */
const tasks: Record<Task, (core: Core, org: string, now: number) => Promise<number | null> | number | null> = {
  settle: async (core, org, now) => ((await settle(core, org)) ? null : now + 5000),
  minutes: (core, _org, now) =>
    core.storage.transactionSync(() => {
      const times = [core.rateLimit.flush(now), core.outbox.flush(now)].filter((time) => time !== null);
      return times.length ? Math.min(...times) : null;
    }),
  segments: closeSegments,
  checkpoint: requestCheckpoint,
  replays: (core, _org, now) => {
    const next = core.storedResponses.sweep(now, PER_RUN);
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
  core.backlogs.warn(org, core.now());
  core.schedule.arm();
}
