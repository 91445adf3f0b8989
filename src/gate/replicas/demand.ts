// Where an organisation with `auto` has replicas: in the regions that read often. Invariants: a region begins
// once more than a few reads came from it within a minute, and ends after an hour without one, whether or not
// anything is called then; there are never more than nine, and none where the gate is.

import { MOST_REGIONS, type Region } from '../../db/regions';
import type { Core } from '../core';
import { part } from '../part';

/** A region begins with this many reads within a minute. */
export const OFTEN = 6;
const MINUTE = 60_000;
/** It ends this long after its last read. */
export const IDLE = 3_600_000;
/** How precisely storage knows the last read: a region that is read costs a row so often. */
const PRECISION = 300_000;

export interface Demand {
  /** Those that have begun. */
  regions(): readonly Region[];
  /** Reads came from a region, and none of its own replica answered them. */
  asked(region: Region, reads: number, now: number): void;
  /** The replica of a region is in use. */
  used(region: Region, now: number): void;
  /** Ends those that are idle. Returns when to look again, or null. */
  end(now: number): number | null;
  clear(): void;
}

function createDemand(core: Core): Demand {
  const { sql } = core.storage;
  sql.exec(
    'create table if not exists demand (region text primary key, used integer not null) without rowid',
  );
  // What was used after it was stored must not end early.
  const begun = new Map(
    sql
      .exec<{ region: Region; used: number }>('select region, used from demand')
      .toArray()
      .map(({ region, used }) => [region, { stored: used, used: used + PRECISION }]),
  );
  /** The times of the last reads of a region that has not begun. */
  const reads = new Map<Region, number[]>();
  const store = (region: Region, now: number) => {
    begun.set(region, { stored: now, used: now });
    sql.exec('insert or replace into demand values (?, ?)', region, now);
  };
  const remove = (region: Region) => {
    begun.delete(region);
    sql.exec('delete from demand where region = ?', region);
  };
  return {
    regions: () => [...begun.keys()],
    asked(region, count, now) {
      const last = [
        ...(reads.get(region) ?? []).filter((at) => at > now - MINUTE),
        ...Array(Math.min(count, OFTEN)).fill(now),
      ].slice(-OFTEN);
      reads.set(region, last);
      // safety: most-regions-begun
      if (last.length < OFTEN || begun.has(region) || begun.size >= MOST_REGIONS) return;
      if (core.rows.get('org', core.org)?.location_hint === region) return;
      reads.delete(region);
      store(region, now);
      core.schedule.at('replicas', now + IDLE);
    },
    used(region, now) {
      const one = begun.get(region);
      if (!one) return;
      one.used = Math.max(one.used, now);
      if (now - one.stored >= PRECISION) store(region, now);
    },
    end(now) {
      for (const [region, { used }] of begun) if (used + IDLE <= now) remove(region);
      return begun.size ? Math.min(...[...begun.values()].map(({ used }) => used)) + IDLE : null;
    },
    clear() {
      for (const region of [...begun.keys()]) remove(region);
      reads.clear();
    },
  };
}

export const demand = part(createDemand);
