// What a gate does for its replicas: gives leases, rows and records, takes audit entries, and asks for
// requests that it lent. Invariants: a lease names the last record decided before it, and a replica answers
// only once it has that one; entries are taken once each, by the number that their storage gave them, in the
// transaction that appends them to the chain.

import type { Region } from '../../db/regions';
import { type RowKind, rowKinds } from '../../db/rows';
import { systemEntry } from '../audit/entry';
import { MOST_ENTRIES } from '../audit/log';
import type { Core } from '../core';
import { withinTime } from '../d1';
import { environmentRevision } from '../journal/apply';
import { journal } from '../journal/records';
import { lastUsed } from '../limits/last-used';
import type { Allowance } from '../limits/rate-limit';
import { part } from '../part';
import { demand } from './demand';
import { leases } from './leases';
import { lending } from './lending';
import {
  FORMAT,
  type Follower,
  type LeaseAnswer,
  type LeaseAsk,
  type ReplicaEntry,
  type RowPage,
} from './messages';
import { pushes } from './pushes';
import { isAuto, regionsForWorkers, regionsOf } from './regions';
import { stability } from './stability';
import { replicaIn } from './stub';

const MOST_RECORDS = 500;
const MOST_BYTES = 1_000_000;
const ROWS = 500;
/** How long a replica waits whose release differs from the gate's. */
const OTHER_RELEASE = 5000;
/** How long one waits while the audit log takes no entries but those of urgent requests. */
const FULL = 5000;
/** How long the gate waits for replicas whose entries it asks for. */
const PATIENCE = 1000;

/** How many requests each region answered in the minute before it asked last. */
const reads = part(() => new Map<Region, { count: number; at: number }>());

export function readsPerMinute(core: Core, region: Region, now: number): number {
  const last = reads(core).get(region);
  return last && now - last.at < 60_000 ? last.count : 0;
}

/** Gives or renews a lease. */
export function lease(core: Core, ask: LeaseAsk): LeaseAnswer {
  const now = core.now();
  const own = journal(core);
  if (!regionsOf(core).includes(ask.region)) return { kind: 'end' };
  demand(core).used(ask.region, now);
  if (isAuto(core))
    for (const [region, count] of ask.for_others ?? []) demand(core).asked(region, count, now);
  // safety: lease-of-same-format
  if (ask.format !== FORMAT) return { kind: 'wait', for: OTHER_RELEASE };
  // safety: full-log-gives-no-lease
  if (isFull(core)) return { kind: 'wait', for: FULL };
  // It is told before its loans are given back: it has stopped using them.
  lending(core).returned(ask.returns);
  const records = follows(core, ask) ? own.after(ask.position, MOST_RECORDS, MOST_BYTES) : null;
  // safety: lease-of-this-term
  if (records === null) return { kind: 'restart' };
  const wait = leases(core).grant(ask, ask.position, now);
  if (wait !== null) return { kind: 'wait', for: wait };
  const until = leases(core).of(ask.region)?.lease?.until ?? now;
  reads(core).set(ask.region, { count: ask.reads_per_minute, at: now });
  const lent = ask.wants.flatMap(
    ({ credential, count }) => lending(core).lend(ask.region, credential, count, until) ?? [],
  );
  stability(core).advance();
  // safety: lease-names-last-record
  return {
    kind: 'lease',
    last: own.last(),
    stable: stability(core).stable(),
    records,
    lent,
    regions: regionsForWorkers(core),
    taken: taken(core).of(ask.storage) ?? 0,
  };
}

/**
 * Whether a replica has followed this journal, and no other one with the same numbers, as after the storage
 * of the gate was put back from a copy.
 */
function follows(core: Core, { term, position, record, region, holder }: LeaseAsk): boolean {
  if (term !== journal(core).term()) return false;
  const id = journal(core).idOf(position);
  // safety: replica-of-this-journal
  if (id !== null) return id === record;
  // Ids of records that D1 has are not known, but the instance was compared before, or got its rows here.
  return leases(core).of(region)?.lease?.holder === holder || pushes(core).isJoining(holder);
}

/** Whether the rest of the audit log is for requests that end access. */
const isFull = ({ auditLog }: Core): boolean => auditLog.size() >= MOST_ENTRIES;

/** A page of rows for a replica that begins. Null if it may not. */
export function rowsFrom(
  core: Core,
  follower: Follower,
  from: [kind: string, id: string] | null,
): RowPage | null {
  if (!regionsOf(core).includes(follower.region) || follower.format !== FORMAT) return null;
  const own = journal(core);
  const term = own.term();
  if (term === null) return null;
  // safety: copies-known
  leases(core).copying(follower);
  pushes(core).joining(follower.holder, own.last(), core.now());
  const kinds = rowKinds().toSorted();
  let kind = (from?.[0] ?? kinds[0]) as RowKind;
  const rows = core.rows.after(kind, from?.[1] ?? '', ROWS);
  const last = rows.at(-1)?.id;
  let next: RowPage['next'] = null;
  if (rows.length === ROWS && last !== undefined) next = [kind, last];
  else {
    kind = kinds[kinds.indexOf(kind) + 1] as RowKind;
    if (kind !== undefined) next = [kind, ''];
  }
  const revised = from
    ? {}
    : Object.fromEntries(
        core.rows.after('environment', '', 1000).map(({ id }) => [id, environmentRevision(core, id)]),
      );
  const of = (from?.[0] ?? kinds[0]) as RowKind;
  const position = own.last();
  const record = own.idOf(position) ?? '';
  return { term, position, record, rows: rows.map((row) => ({ kind: of, row })), revised, next };
}

/** How long the number of the last entry of a storage is remembered. */
const REMEMBERED = 7 * 86_400_000;

const taken = part(({ storage: { sql } }) => {
  sql.exec(
    'create table if not exists replica_entries (storage text primary key, region text not null, taken integer not null, at integer not null) without rowid',
  );
  return {
    of: (storage: string) =>
      sql.exec<{ taken: number }>('select taken from replica_entries where storage = ?', storage).toArray()[0]
        ?.taken ?? null,
    set(storage: string, region: Region, n: number, now: number) {
      sql.exec('insert or replace into replica_entries values (?, ?, ?, ?)', storage, region, n, now);
      // One that a replica still has may be idle for long.
      // safety: storage-of-lease-remembered
      sql.exec(
        'delete from replica_entries where at < ? and storage not in (select storage from leases)',
        now - REMEMBERED,
      );
    },
  };
});

/** Takes the entries of a replica. Returns the number of the last one that the gate has. */
export function takeEntries(
  core: Core,
  region: Region,
  storage: string,
  entries: readonly ReplicaEntry[],
): number {
  return core.storage.transactionSync(() => {
    const now = core.now();
    const before = taken(core).of(storage);
    // A replica sends all that no gate said that it took. So a gate that does not know of the entries before
    // the first one lost its storage, was put back from a copy, or has not heard of the region for a week.
    // safety: unknown-entries-taken
    let last = Math.max(before ?? 0, (entries[0]?.n ?? 1) - 1);
    // Entries before may be lost, with the storage before it or with that of the gate: the log says so.
    if (last !== before) noteBegun(core, region, storage, now);
    for (const { n, draft, status, age, used, place } of entries) {
      // The replica keeps the others, and answers nothing once it has too many.
      // safety: full-log-takes-no-entries
      if (isFull(core)) break;
      // safety: entry-taken-once
      if (n !== last + 1) continue;
      core.auditLog.append({ ...draft, region }, status, now, 1, now - age);
      if (used) {
        lending(core).used(used.lent, now);
        lastUsed(core).note(used.credential, used.above, now - age, place);
      }
      last = n;
    }
    taken(core).set(storage, region, last, now);
    return last;
  });
}

function noteBegun(core: Core, region: Region, storage: string, now: number): void {
  core.auditLog.append(
    systemEntry({
      action: 'replica.begin',
      resource: core.org,
      region,
      reason: `storage ${storage}`,
    }),
    200,
    now,
  );
}

/**
 * The task: idle regions of `auto` end, and replicas of regions that ended or were taken out delete
 * everything. Returns when to run again: for those that did not answer, or for the next that may be idle.
 */
export async function dismiss(core: Core, now: number): Promise<number | null> {
  const next = demand(core).end(now);
  const left = leases(core)
    .regions()
    .filter((region) => !regionsOf(core).includes(region));
  for (const region of left) {
    const isGone = await withinTime(
      replicaIn(core, region)
        .leave()
        .catch(() => false),
      PATIENCE,
    );
    // safety: dismissed-after-lease
    if (
      isGone &&
      !leases(core)
        .live(core.now())
        .some((one) => one.region === region)
    )
      leases(core).forget(region);
  }
  return leases(core)
    .regions()
    .some((region) => !regionsOf(core).includes(region))
    ? now + AGAIN
    : next;
}

/** When a replica that did not leave is asked again. */
const AGAIN = 10_000;

/**
 * Before a request is refused by a rate limit: replicas give back what they were lent of it. Returns whether
 * there was something to ask for.
 */
export async function recall(core: Core, allowances: readonly Allowance[]): Promise<boolean> {
  const held = lending(core).holders(allowances, core.now());
  await Promise.all(
    held.map(async ({ region, credential }) => {
      const answer = await withinTime(
        replicaIn(core, region)
          .recall(credential)
          .catch(() => null),
        PATIENCE,
      );
      if (answer) lending(core).returned(answer.returns);
    }),
  );
  return held.length > 0;
}

/**
 * Asks replicas for the entries that the gate does not have. Returns the regions that did not reply within a
 * second.
 */
export async function gather(core: Core, regions = leases(core).owing()): Promise<Region[]> {
  const missing = await Promise.all(
    regions.map(async (region) => {
      const left = await withinTime(
        replicaIn(core, region)
          .flush()
          .catch(() => null),
        PATIENCE,
      );
      if (left !== 0) return region;
      leases(core).settled(region, core.now());
      return null;
    }),
  );
  return missing.filter((region) => region !== null);
}

/**
 * The same of the regions where nobody reads any more: a replica whose alarm the platform gave up would keep
 * its entries until somebody reads there again, or looks at the audit log.
 */
export async function gatherIdle(core: Core): Promise<void> {
  const live = leases(core)
    .live(core.now())
    .map(({ region }) => region);
  const idle = leases(core)
    .owing()
    .filter((region) => !live.includes(region));
  await gather(core, idle);
}
