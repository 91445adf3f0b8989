// The schedule: which task is due when, in one table, behind the Durable Object's single alarm. Nothing
// depends on punctuality: expired things are refused by time, and tasks only clean up. Invariant: a task that
// was ever scheduled keeps its row, so a row that was lost is missed when the gate starts.
import type { Meta } from './meta';

/** The name of a task that an area of the gate or a domain declares. */
export type Task = string;

export interface Schedule {
  /** Schedules a task; an earlier time for it stays. */
  at(task: Task, time: number): void;
  /** Whether there is a time for a task. */
  has(task: Task): boolean;
  /** Whether a task that was ever scheduled had no row when the gate started. */
  lacksTimes: boolean;
  /** The due tasks, earliest first. */
  now(time: number): Task[];
  /** A task begins: a time set for it from now on takes effect once it is done. */
  begin(task: Task): void;
  /** A task is done for now; `next` is when to run it again, or null. */
  done(task: Task, next: number | null): void;
  /** All tasks are due: they find out themselves when to run next. */
  bringForward(time: number): void;
  /** Sets the alarm to the earliest due time. */
  arm(): void;
  /** Sets it again if the platform lost it. Called often, since nothing else would run a task then. */
  keepArmed(): void;
}

/**
 * How long a task may be overdue. The platform repeats an alarm that fails at ever longer intervals, and
 * gives it up after some: a full disk or a release that cannot read the storage may last longer.
 */
const OVERDUE = 60_000;
/** The time of a task that is not to run. */
export const NEVER = Number.MAX_SAFE_INTEGER;

/** The stored times, and what writes one of them. */
function storedTimes(sql: SqlStorage, meta: Meta) {
  sql.exec('create table if not exists due (task text primary key, at integer not null) without rowid');
  const stored = sql.exec<{ task: Task; at: SqlStorageValue }>('select task, at from due').toArray();
  const times = new Map(
    stored
      .filter(({ at }) => at !== NEVER)
      // A time that was altered to something else would never come.
      .map(({ task, at }) => [task, Number.isSafeInteger(at) ? (at as number) : 0]),
  );
  // A gate of an earlier release has no list.
  let listed = meta.get('schedule:tasks')?.split(' ') ?? [];
  const rows = new Set(stored.map(({ task }) => task));
  const lacksTimes = listed.some((task) => !rows.has(task));
  const write = (task: Task, time: number) => {
    sql.exec('insert or replace into due values (?, ?)', task, time);
    if (rows.has(task) && rows.size === listed.length) return;
    // Only a task's first time comes here, so a change writes no further row.
    rows.add(task);
    listed = [...rows];
    // safety: lost-time-missed
    meta.set('schedule:tasks', listed.join(' '));
  };
  return { times, lacksTimes, write };
}

export function createSchedule(storage: DurableObjectStorage, meta: Meta): Schedule {
  const { times, lacksTimes, write } = storedTimes(storage.sql, meta);
  /** Running tasks, and the times set for them since they began. */
  const running = new Map<Task, number>();
  let armed: number | null = null;
  let armedAt = 0;
  const setAlarm = (earliest: number, time: number) => {
    armed = earliest;
    armedAt = Date.now();
    void storage.setAlarm(time);
  };
  const earliestTime = () => (times.size ? Math.min(...times.values()) : null);
  // Alarms go by the real clock.
  const keepArmed = () => {
    const earliest = earliestTime();
    const longAgo = Date.now() - OVERDUE;
    if (earliest === null || earliest > longAgo || armedAt > longAgo || running.size > 0) return;
    // At another time than that of the alarm that was lost: setting the same one again may change nothing.
    // safety: lost-alarm-set-again
    setAlarm(earliest, Date.now());
  };
  const arm = () => {
    const earliest = earliestTime();
    if (earliest === armed) keepArmed();
    else if (earliest !== null) setAlarm(earliest, earliest);
  };
  const set = (task: Task, time: number) => {
    times.set(task, time);
    write(task, time);
  };
  return {
    at(task, time) {
      const meanwhile = running.get(task);
      if (meanwhile !== undefined) running.set(task, Math.min(meanwhile, time));
      const wished = times.get(task);
      if (wished !== undefined && wished <= time) return keepArmed();
      set(task, time);
      arm();
    },
    has: (task) => times.has(task),
    lacksTimes,
    now: (time) =>
      [...times]
        .filter(([, at]) => at <= time)
        .sort(([, a], [, b]) => a - b)
        .map(([task]) => task),
    begin: (task) => void running.set(task, Number.POSITIVE_INFINITY),
    done(task, next) {
      const time = Math.min(next ?? Number.POSITIVE_INFINITY, running.get(task) ?? Number.POSITIVE_INFINITY);
      running.delete(task);
      if (Number.isFinite(time)) return set(task, time);
      times.delete(task);
      write(task, NEVER);
    },
    bringForward(time) {
      for (const [task, at] of [...times]) if (at > time) set(task, time);
      arm();
    },
    arm() {
      armed = null;
      arm();
    },
    keepArmed,
  };
}
