// Runs the tasks of a gate, by its schedule. Invariants: each task is bounded, can be interrupted at any
// point, and simply runs again; a task that is due without need does nothing.
import type { Core } from '../core';
import { mirror } from '../journal/mirror';
import { journal } from '../journal/records';
import { WINDOW } from '../limits/rate-limit';
import { backlogs } from './backlog';

/**
 * A gate starts. If a task lacks its row, or retention, which runs every hour for ever, its time, the
 * schedule has lost times. Then all tasks are due: each finds out itself whether there is something to do,
 * and when to run next.
 */
export function mendSchedule(core: Core): void {
  const { meta, schedule } = core;
  if (meta.get('org') === null || (schedule.has('retention') && !schedule.lacksTimes)) return;
  console.error(JSON.stringify({ level: 'error', event: 'schedule_lost', org: core.org }));
  // safety: lost-schedule-mended
  for (const task of Object.keys(core.rules.tasks)) core.schedule.at(task, core.now());
}

/** When a task that only a newer release knows is looked at again. */
const UNKNOWN = 3_600_000;

/** Runs due tasks. Never throws: a failed task is retried a minute later. */
export async function runTasks(core: Core, now = core.now()): Promise<void> {
  for (const task of core.schedule.now(now)) {
    core.schedule.begin(task);
    try {
      const run = core.rules.tasks[task];
      core.schedule.done(task, run ? await run(core, core.now()) : now + UNKNOWN);
    } catch (error) {
      console.error(
        JSON.stringify({
          level: 'error',
          event: 'task_failed',
          org: core.org,
          task,
          why: error instanceof Error ? error.message.slice(0, 200) : 'unknown',
        }),
      );
      core.schedule.done(task, now + WINDOW);
    }
  }
  // What the tasks recorded.
  if (journal(core).extent().records > 0) await mirror(core).follow();
  backlogs(core).warn(core.org, core.now());
  core.schedule.arm();
}
