// When secrets are due for rotation. Pure. Invariant: a period is identified by its start, so a task that
// remembers the start raises an event or rotates once per period, however late or often it runs.
import { Cron } from 'croner';
import QuickLRU from 'quick-lru';
import type { RotationConfig } from '../../db/schema';

/**
 * A cron expression with five fields, with month and weekday names replaced. The minute is a number, so
 * nothing is due more often than once an hour.
 */
const FIELDS = /^\d{1,2}( [0-9*,/-]{1,40}){4}$/;
const NAMES = /\b(JAN|FEB|MAR|APR|MAY|JUN|JUL|AUG|SEP|OCT|NOV|DEC|SUN|MON|TUE|WED|THU|FRI|SAT)\b/g;
export const MOST_CRON = 100;

const parsed = (cron: string) => new Cron(cron, { mode: '5-part', utcOffset: 0 });

/** What is wrong with a cron expression, or null. */
export function cronProblem(cron: string): string | null {
  const shape =
    'must have five fields: minute (one number), hour, day of month, month and day of week, such as 0 3 1 * *';
  if (!FIELDS.test(cron.replaceAll(NAMES, '1'))) return shape;
  try {
    return parsed(cron).nextRun(new Date(0)) === null ? 'never matches' : null;
  } catch {
    return shape;
  }
}

/**
 * The last time of a cron expression up to a time, and its next times after it. They are the same within a
 * minute.
 */
interface Around {
  last: number | null;
  next: number[];
}
const around = new QuickLRU<string, Around>({ maxSize: 200 });
const SHOWN = 5;
const MINUTE = 60_000;

function timesAround(cron: string, now: number): Around {
  const minute = Math.floor(now / MINUTE) * MINUTE;
  const key = `${minute} ${cron}`;
  let times = around.get(key);
  if (!times) {
    const schedule = parsed(cron);
    const [last] = schedule.previousRuns(1, new Date(minute + 1000));
    times = {
      last: last?.getTime() ?? null,
      next: schedule.nextRuns(SHOWN, new Date(minute)).map((time) => time.getTime()),
    };
    around.set(key, times);
  }
  return times;
}

/** The next five times of a cron expression. */
export const nextTimes = (cron: string, now: number): number[] => timesAround(cron, now).next;

/** A rule by which a value becomes due. */
export type RotationRule = Pick<RotationConfig, 'cron'> & { every?: number };

/** When a value created at `since` first becomes due under a rule. */
export const firstDue = ({ cron, every = Number.POSITIVE_INFINITY }: RotationRule, since: number): number =>
  cron === undefined ? since + every : (nextTimes(cron, since)[0] ?? Number.POSITIVE_INFINITY);

/** The length of a rule's period in milliseconds; for a cron expression, of the period around `now`. */
function lengthOf({ cron, every = Number.POSITIVE_INFINITY }: RotationRule, now: number): number {
  if (cron === undefined) return every;
  const { last, next } = timesAround(cron, now);
  return last === null || next[0] === undefined ? Number.POSITIVE_INFINITY : next[0] - last;
}

/** When the current period of a rule began, for a value created at `since`; null while it is not due. */
function begunAt(
  { cron, every = Number.POSITIVE_INFINITY }: RotationRule,
  since: number,
  now: number,
): number | null {
  if (cron === undefined)
    return now - since < every ? null : since + Math.floor((now - since) / every) * every;
  const { last } = timesAround(cron, now);
  return last !== null && last > since ? last : null;
}

/**
 * Since when a value created at `since` has been due, in the current period; null while no rule makes it due.
 * If several rules do, the one with the shortest period counts: the secret is reported as due once in each of
 * its periods.
 */
export function dueSince(rules: readonly RotationRule[], since: number, now: number): number | null {
  let begun: number | null = null;
  let shortest: number = Number.POSITIVE_INFINITY;
  for (const rule of rules) {
    const at = begunAt(rule, since, now);
    if (at === null) continue;
    const length = lengthOf(rule, now);
    if (begun === null || length < shortest) [begun, shortest] = [at, length];
  }
  return begun;
}
