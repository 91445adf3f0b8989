// Sends records to the replicas that hold a lease, as they are decided, and tells them what is stable.
// Invariants: only the instance that holds the lease acknowledges for it; records are sent once they are
// durable, because the Durable Object holds outgoing calls until then.

import type { Region } from '../../db/regions';
import type { Core } from '../core';
import { withinTime } from '../d1';
import { journal } from '../journal/records';
import { part } from '../part';
import { type Lease, leases } from './leases';
import { FORMAT } from './messages';
import { stability } from './stability';
import { replicaIn } from './stub';

const MOST_RECORDS = 500;
const MOST_BYTES = 1_000_000;
/** How long one push may take, and how long the next attempt waits after one that failed, in milliseconds. */
const PATIENCE = 2000;
const PAUSE = 200;
/** How many records stay in the journal for a replica that lags; one that lags more begins again. */
export const MOST_RETAINED = 5000;

export interface Pushes {
  /** Sends what the replicas of live leases lack. */
  begin(): void;
  /** A replica loads rows: records after this number stay for a while. */
  joining(holder: string, from: number, now: number): void;
  isJoining(holder: string): boolean;
}

/** For how long records stay for a replica that loads rows, since it asked for the last page. */
const JOINS_FOR = 60_000;

/**
 * Tells a replica what is stable. Beside the pushes of records: the next change would wait a round trip
 * longer if it came meanwhile.
 */
function createTelling(core: Core, leaseOf: (region: Region) => Lease | undefined) {
  const running = new Set<Region>();
  return async (region: Region): Promise<void> => {
    if (running.has(region)) return;
    running.add(region);
    try {
      for (let told = -1; told < stability(core).stable() && leaseOf(region); ) {
        told = stability(core).stable();
        const push = { format: FORMAT, term: journal(core).term() as string, records: [], stable: told };
        const sent = replicaIn(core, region).push(push);
        await withinTime(
          sent.catch(() => null),
          PATIENCE,
        );
      }
    } finally {
      running.delete(region);
    }
  };
}

function createPushes(core: Core): Pushes {
  const running = new Set<Region>();
  const joins = new Map<string, { from: number; until: number }>();
  const own = journal(core);
  const leaseOf = (region: Region) => {
    const live = leases(core).live(core.now());
    return live.find((one) => one.region === region);
  };

  const tell = createTelling(core, leaseOf);

  /** One push to a region. Returns whether to go on. */
  const push = async (region: Region): Promise<boolean> => {
    const lease = leaseOf(region);
    if (!lease) return false;
    const { holder } = lease;
    const from = leases(core).acknowledged(region, holder);
    const records = own.after(from, MOST_RECORDS, MOST_BYTES);
    const stable = stability(core).stable();
    if (!records?.length) {
      if (records) void tell(region);
      return false;
    }
    const message = { format: FORMAT, term: own.term() as string, records, stable };
    const sent = replicaIn(core, region).push(message);
    const taken = await withinTime(
      sent.catch(() => null),
      PATIENCE,
    );
    if (!taken || taken.holder !== holder || taken.term !== own.term()) return failed(region, from);
    leases(core).acknowledge(region, holder, taken.position);
    stability(core).advance();
    return taken.position > from || failed(region, from);
  };
  /** Waits before the next attempt; gives up where nothing waits for the region. */
  const failed = async (region: Region, from: number): Promise<boolean> => {
    await withinTime(null, PAUSE);
    return from < own.last() && leaseOf(region) !== undefined;
  };
  const run = async (region: Region) => {
    if (running.has(region)) return;
    running.add(region);
    try {
      while (await push(region));
    } finally {
      running.delete(region);
    }
  };
  const begin = () => {
    for (const { region } of leases(core).live(core.now())) void run(region);
  };
  own.retain(() => {
    const now = core.now();
    for (const [holder, { until }] of joins) if (until < now) joins.delete(holder);
    const needed = [
      ...leases(core)
        .live(now)
        .map(({ region, holder }) => leases(core).acknowledged(region, holder)),
      ...[...joins.values()].map(({ from }) => from),
    ];
    const least = needed.length ? Math.max(Math.min(...needed), own.last() - MOST_RETAINED) : own.last();
    // safety: unstable-records-stay
    return Math.min(least, stability(core).stable());
  });
  // Replicas answer themselves again what they left to the gate.
  stability(core).follow(begin);
  own.follow({ appended: () => queueMicrotask(begin), begun: () => joins.clear() });
  return {
    begin,
    joining(holder, from, now) {
      joins.set(holder, { from: joins.get(holder)?.from ?? from, until: now + JOINS_FOR });
    },
    isJoining: (holder) => joins.has(holder),
  };
}

export const pushes = part(createPushes);
