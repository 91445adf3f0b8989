// The leases of replicas: which instance of which region may answer alone, and until when. Invariants: a
// lease is stored before it is given; one instance of a region has one at a time, and another waits until the
// earlier one has ended; a gate that starts counts each stored lease as good for a whole term by its own
// clock, since the stored end is a time of another machine.

import type { Region } from '../../db/regions';
import type { Core } from '../core';
import { part } from '../part';
import { TERM } from './messages';

/** By how much the clocks of two machines may differ, in milliseconds. */
export const CLOCKS = 60_000;
/** How long a replica that was waited out gets no lease: at first, and at most. */
const PAUSE = 30_000;
const LONGEST_PAUSE = 600_000;
/** After this long without being waited out, the next pause is a short one again. */
const HEALED = 3_600_000;

export interface Lease {
  region: Region;
  holder: string;
  storage: string;
  until: number;
  /** The gate read it at its start, and has not renewed it: its holder may have ended with the gate. */
  isAssumed?: true;
}

/** What is known of a region in memory. */
interface Standing {
  lease: Lease | null;
  /** Whether it may have answered requests whose entries the gate does not have. */
  owes: boolean;
  /** The last record that the holder of the lease has. */
  acknowledged: number;
  pausedUntil: number;
  pause: number;
}

export interface Leases {
  /** Those that have not ended. */
  live(now: number): Lease[];
  /** Whether there is, or may be, a replica. */
  any(): boolean;
  of(region: Region): Standing | undefined;
  /** Gives or renews a lease. Returns for how long the replica has to wait instead, or null. */
  grant(lease: Omit<Lease, 'until'>, position: number, now: number): number | null;
  /**
   * A term begins: nothing that replicas have belongs to it. Those of the regions that the gate knows nothing
   * of may hold a lease that it has lost.
   */
  begun(regions: readonly Region[], now: number): void;
  /** The regions of stored leases. */
  regions(): Region[];
  /** Those that may have answered requests whose entries the gate does not have. */
  owing(): Region[];
  /** A replica loads rows: its region is known from now on, so that it is told to delete them. */
  copying(of: Omit<Lease, 'until'>): void;
  /** All entries of a region have been taken. */
  settled(region: Region, now: number): void;
  /** The replica of a region has deleted everything. */
  forget(region: Region): void;
  /** A holder has the records up to this one. */
  acknowledge(region: Region, holder: string, n: number): void;
  /** A replica did not answer until its lease ended: it gets none for a while. */
  pause(region: Region, now: number): void;
  acknowledged(region: Region, holder: string): number;
}

/** A region without a lease, as far as the gate knows. */
const unknown = { owes: true, acknowledged: 0, pausedUntil: 0, pause: PAUSE };

/** The stored leases, as a gate that starts counts them. */
function storedIn(sql: SqlStorage): Map<Region, Standing> {
  sql.exec(
    'create table if not exists leases (region text primary key, holder text not null, storage text not null, until integer not null) without rowid',
  );
  const started = Date.now();
  const stored = sql
    .exec<{ region: Region; holder: string; storage: string; until: number }>(
      'select region, holder, storage, until from leases',
    )
    .toArray();
  return new Map(
    stored.map((row) => [
      row.region,
      // safety: lease-whole-term-at-start
      {
        ...unknown,
        lease: row.until > started - CLOCKS ? { ...row, until: started + TERM, isAssumed: true } : null,
      },
    ]),
  );
}

function createLeases({ storage: { sql } }: Core): Leases {
  const regions = storedIn(sql);
  const store = ({ region, holder, storage, until }: Lease) =>
    sql.exec('insert or replace into leases values (?, ?, ?, ?)', region, holder, storage, until);
  const holderOf = (region: Region, holder: string) => {
    const standing = regions.get(region);
    return standing?.lease?.holder === holder ? standing : null;
  };
  return {
    live: (now) => [...regions.values()].flatMap(({ lease }) => (lease && lease.until > now ? [lease] : [])),
    any: () => [...regions.values()].some(({ lease }) => lease !== null),
    of: (region) => regions.get(region),
    grant(asked, position, now) {
      const before = regions.get(asked.region);
      if (before && before.pausedUntil > now) return before.pausedUntil - now;
      const held = before?.lease;
      // safety: one-holder-a-region
      if (held && held.holder !== asked.holder && held.until > now) return held.until - now;
      const lease = { ...asked, until: now + TERM };
      // safety: lease-stored
      store(lease);
      const isRenewed = held?.holder === asked.holder;
      regions.set(asked.region, {
        lease,
        owes: true,
        acknowledged: isRenewed ? Math.max(before?.acknowledged ?? 0, position) : position,
        pausedUntil: before?.pausedUntil ?? 0,
        pause: before && now - before.pausedUntil < HEALED ? before.pause : PAUSE,
      });
      return null;
    },
    begun(all, now) {
      for (const standing of regions.values()) standing.acknowledged = 0;
      // safety: lost-leases-waited-out
      for (const region of all)
        if (!regions.has(region)) {
          const lease: Lease = { region, holder: '', storage: '', until: now + TERM, isAssumed: true };
          // safety: lost-lease-stored
          store(lease);
          regions.set(region, { ...unknown, lease });
        }
    },
    copying({ region, holder, storage }) {
      if (regions.has(region)) return;
      sql.exec('insert or replace into leases values (?, ?, ?, 0)', region, holder, storage);
      regions.set(region, { ...unknown, lease: null });
    },
    regions: () => [...regions.keys()],
    owing: () => [...regions].flatMap(([region, { owes }]) => (owes ? [region] : [])),
    settled(region, now) {
      const standing = regions.get(region);
      // safety: live-replica-owes
      if (standing && (standing.lease?.until ?? 0) <= now) standing.owes = false;
    },
    forget(region) {
      sql.exec('delete from leases where region = ?', region);
      regions.delete(region);
    },
    acknowledge(region, holder, n) {
      const standing = holderOf(region, holder);
      // safety: acknowledged-by-holder
      if (standing) standing.acknowledged = Math.max(standing.acknowledged, n);
    },
    pause(region, now) {
      const standing = regions.get(region);
      if (!standing || standing.pausedUntil > now) return;
      standing.pausedUntil = now + standing.pause;
      standing.pause = Math.min(standing.pause * 2, LONGEST_PAUSE);
    },
    acknowledged: (region, holder) => holderOf(region, holder)?.acknowledged ?? 0,
  };
}

export const leases = part(createLeases);
