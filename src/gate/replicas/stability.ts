// Which records are stable: all replicas that might answer have them, or may no longer answer. Invariants:
// nothing leaves the gate before all that it looked at is stable; a record waits for the ends that leases had
// when it was written, so for one term at most; without replicas, everything is stable.

import { REGIONS, type Region } from '../../db/regions';
import type { Core } from '../core';
import { type JournalRecord, journal } from '../journal/records';
import { part } from '../part';
import { CLOCKS, type Lease, leases } from './leases';
import { type Changes, changesOf, type Looked, restsOn } from './looked';
import { TERM } from './messages';

interface Waiting extends Changes {
  /** A term began: no replica acknowledges that. */
  isTerm?: true;
  /** The leases that it waits for, with their ends at that time. */
  leases: Lease[];
}

export interface Stability {
  /** The last record of those before which all are stable. */
  stable(): number;
  /** The last record that is not stable and that a request rests on; 0 if there is none. */
  restsOn(looked: Looked | 'everything'): number;
  /** Until a record is stable. Returns the regions that did not acknowledge it before their leases ended. */
  settled(n: number): Promise<readonly Region[]>;
  /** Looks again: a replica has acknowledged something. */
  advance(): void;
  /** Calls this when more records are stable. */
  follow(advanced: () => void): void;
}

/** When the term began. */
const BEGUN = 'term_begun';

/** What a new term changes. */
const termFrom = (n: number) => ({ n, isGeneral: true, secrets: new Set<string>(), isTerm: true as const });

function noteBegun(core: Core): void {
  leases(core).begun(mayHaveLeases(core), core.now());
  core.meta.set(BEGUN, String(core.now()));
}

/** Whether a term began so lately that replicas may hold leases of the one before. */
const hasJustBegun = (core: Core): boolean => Number(core.meta.get(BEGUN) ?? 0) > core.now() - TERM - CLOCKS;

/** A replica kept a record waiting: changes do not wait for it again for a while. */
function pauseOf(core: Core, { region }: Lease, now: number): void {
  leases(core).pause(region, now);
  console.warn(JSON.stringify({ level: 'warn', event: 'replica_late', org: core.org, region }));
}

/** How many outcomes of waiting are remembered: a repeat is told the same. */
const REMEMBERED = 1000;

function createStability(core: Core): Stability {
  const own = journal(core);
  let waiting: Waiting[] = [];
  const waitedOut = new Map<number, readonly Region[]>();
  const followers: (() => void)[] = [];
  const waiters = new Set<{ n: number; done(): void }>();
  let timer: ReturnType<typeof setTimeout> | null = null;

  const has = ({ n, isTerm }: Waiting, { region, holder }: Lease) =>
    !isTerm && leases(core).acknowledged(region, holder) >= n;
  const isOver = (one: Waiting, now: number) =>
    one.leases.every((lease) => lease.until <= now || has(one, lease));
  /** Ends the wait for a record. Regions that kept it waiting pause. */
  const settle = (one: Waiting, now: number) => {
    const { n } = one;
    // A lease that a gate without storage assumed may never have been.
    const late = one.isTerm ? [] : one.leases.filter((lease) => lease.holder !== '' && !has(one, lease));
    // safety: waited-out-region-pauses
    for (const lease of late) if (!lease.isAssumed) pauseOf(core, lease, now);
    if (late.length) waitedOut.set(n, [...new Set(late.map(({ region }) => region))]);
    for (const old of waitedOut.keys()) if (waitedOut.size > REMEMBERED) waitedOut.delete(old);
  };
  const advance = () => {
    const now = core.now();
    const before = waiting.length;
    // In order: a record is stable once all before it are.
    while (waiting[0] && isOver(waiting[0], now)) settle(waiting.shift() as Waiting, now);
    if (waiting.length !== before) {
      own.trim();
      for (const advanced of followers) advanced();
    }
    const next = waiting[0]?.n ?? Number.POSITIVE_INFINITY;
    for (const waiter of waiters)
      if (waiter.n < next) {
        waiters.delete(waiter);
        waiter.done();
      }
    arm(now);
  };
  function arm(now: number) {
    if (timer !== null) clearTimeout(timer);
    timer = null;
    const [first] = waiting;
    if (!first) return;
    const ends = first.leases.map(({ until }) => until).filter((until) => until > now);
    timer = setTimeout(advance, Math.max(1, Math.min(...ends, now + 1000) - now));
  }
  const wait = (changes: (Changes & { isTerm?: true }) | null) => {
    const held = leases(core).live(core.now());
    if (!changes || held.length === 0) return;
    // Renewals make new ones.
    waiting.push({ ...changes, leases: held });
    arm(core.now());
  };
  own.follow({
    appended: (record: JournalRecord) => wait(changesOf(record)),
    // Rows change without a record. Nothing acknowledges this: it waits for the leases to end.
    // safety: new-term-waits-for-leases
    begun: () => {
      waiting = [];
      noteBegun(core);
      wait(termFrom(Math.max(1, own.last())));
    },
  });
  // safety: new-term-waits-at-start
  if (hasJustBegun(core)) wait(termFrom(1));
  // What was not stable when the gate ended is not stable now.
  // safety: records-unstable-at-start
  for (const record of own.kept()) wait(changesOf(record));
  const stable = () => (waiting[0] ? waiting[0].n - 1 : own.last());

  return {
    stable,
    restsOn: (looked) => restsOn(waiting, looked),
    async settled(n) {
      if (waiting.some((one) => one.n <= n)) await new Promise<void>((done) => void waiters.add({ n, done }));
      return waitedOut.get(n) ?? [];
    },
    advance,
    follow: (advanced) => void followers.push(advanced),
  };
}

/**
 * The regions that may hold a lease of which a gate without storage knows nothing: all, if the organisation
 * ever had regions.
 */
const mayHaveLeases = ({ rows, org }: Core): readonly Region[] =>
  rows.get('org', org)?.regions ? REGIONS : [];

export const stability = part(createStability);
