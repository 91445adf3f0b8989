// The audit log: one entry a request, chained by hash. The newest entries lie here; closed segments move to
// D1 (`archive/segments.ts`). Invariants: an entry is appended once, when its outcome is known, and never
// changed; sequence and time only grow; whoever follows the log hears of each entry in the turn that appends
// it.

import type { Meta } from '../meta';
import { type Draft, type Entry, entryOf } from './entry';
import { conditionsOf, type Filter } from './filter';
import { createNotedLists } from './noted-lists';

/** A page of entries. `next` is where to continue; null if there are no more here. */
export interface EntryPage {
  entries: Entry[];
  next: number | null;
}

export interface AuditLog {
  /** `made`: when it was made elsewhere, if it was. */
  append(draft: Draft, status: number, now: number, count?: number, made?: number): Entry;
  /** Calls this for each entry, in the turn that appends it. */
  follow(appended: (entry: Entry, now: number) => void): void;
  head(): { sequence: number; hash: string };
  /** The time of the newest entry; 0 if there is none. */
  time(): number;
  /**
   * Up to `limit` matching entries that `shows` accepts, newest first, older than `before`. A page is limited
   * in bytes and in examined entries.
   */
  newest(
    filter: Filter,
    before: number,
    limit: number,
    shows?: (entry: Entry) => boolean,
    lookedAt?: number,
  ): EntryPage;
  /** Up to `limit` entries from a sequence on, oldest first, limited in bytes. */
  from(sequence: number, limit: number, mostBytes?: number): EntryPage;
  /** The sequence of the oldest entry that has not moved to D1; head + 1 if none is left. */
  oldest(): number;
  /** How many entries have not moved to D1. */
  size(): number;
  /**
   * Requests since a time, newest first, for rate limits. `worker`: the name of a bound Worker, unless it was
   * refused for its rate.
   */
  since(
    time: number,
    now: number,
  ): Iterable<{ actor: string; parent: string | null; at: number; worker: string | null }>;
  /**
   * Records that entries up to a sequence are in D1. They are deleted here; those of the last minute later,
   * because rate limits are counted from them.
   */
  moved(sequence: number, now: number): void;
  /** Keeps an entry here that D1 refuses, so that later entries can move. */
  hold(sequence: number): void;
  /** Entries that D1 refused, oldest first. */
  held(): Entry[];
  /** Deletes these entries up to a sequence: they are past retention. */
  dropHeld(upTo: number): void;
  /** Starts the chain of an org, or continues it after the entries that a lost gate had moved to D1. */
  begin(sequence: number, hash: string): void;
}

/**
 * The number of entries that a gate holds before it refuses requests, and how many more are reserved for
 * requests that revoke credentials.
 */
export const MOST_ENTRIES = 100_000;
export const RESERVE = 10_000;

/** The name of the bound Worker of an entry. Other actors' entries are not parsed. */
const WORKER = `case when actor like 'trs\\_%' escape '\\' and json_extract(body, '$.actor.kind') = 'workload' and json_extract(body, '$.status') != 429 then json_extract(body, '$.actor.name') end`;

/** The maximum size of one page of entries in bytes: an RPC carries up to 32 MiB. */
const MOST_PAGE = 4 * 1024 * 1024;
/** The number of entries that one page of a filtered list examines. */
export const LOOKED_AT = 5000;
/** For how long moved entries stay for the rate limits: their window, plus a margin for clock differences. */
const COUNTED = 65_000;
/**
 * From when on the time of an entry counts as ahead of the clock: those of concurrent requests are by
 * milliseconds.
 */
const AHEAD = 5000;

// biome-ignore lint/complexity/noExcessiveLinesPerFunction: its methods share the head of the chain and the statements.
export function createAuditLog(sql: SqlStorage, meta: Meta): AuditLog {
  sql.exec(`create table if not exists audit (sequence integer primary key, at integer not null, actor text not null, parent text, action text not null,
    resource text, outcome text not null, body text not null)`);
  // When entries were made whose time is ahead of the clock, because the clock was ahead before them.
  sql.exec('create table if not exists late_entries (sequence integer primary key, made integer not null)');
  sql.exec('create table if not exists held_entries (sequence integer primary key, body text not null)');
  const last = sql
    .exec<{ at: number; body: string }>('select at, body from audit order by sequence desc limit 1')
    .toArray()[0];
  const start = JSON.parse(meta.get('chain') ?? '{"sequence":0,"hash":"","at":0}') as {
    sequence: number;
    hash: string;
    at: number;
  };
  let { sequence, hash, at } = start;
  // Releases before 0.4.0 deleted entries as soon as they had moved: then the first row is the oldest.
  const first = sql.exec<{ n: number | null }>('select min(sequence) n from audit').one().n ?? sequence + 1;
  let oldest = Math.max(first, Number(meta.get('oldest') ?? 0));
  if (last) ({ sequence, hash, at } = { ...(JSON.parse(last.body) as Entry), at: last.at });

  let isLate = sql.exec('select 1 from late_entries limit 1').toArray().length > 0;

  const lists = createNotedLists();
  const followers: ((entry: Entry, now: number) => void)[] = [];

  return {
    append(draft, status, now, count = 1, made = undefined) {
      at = Math.max(at, now);
      const { text, entry } = entryOf(lists.noted(draft, now), status, count, {
        sequence: sequence + 1,
        at: made ?? at,
        hash,
      });
      sql.exec(
        'insert into audit values (?, ?, ?, ?, ?, ?, ?, ?)',
        entry.sequence,
        at,
        entry.actor.id ?? '',
        entry.actor.parent_id,
        entry.action,
        entry.resource,
        entry.outcome,
        text,
      );
      ({ sequence, hash } = entry);
      if (at > now + AHEAD) {
        sql.exec('insert into late_entries values (?, ?)', sequence, now);
        isLate = true;
      }
      for (const appended of followers) appended(entry, now);
      return entry;
    },
    follow: (appended) => void followers.push(appended),
    head: () => ({ sequence, hash }),
    time: () => at,
    newest(filter, before, limit, shows = () => true, lookedAt = LOOKED_AT) {
      const { where, params } = conditionsOf(filter);
      const rows = sql.exec<{ sequence: number; body: string }>(
        `select sequence, body from audit where ${['sequence < ?', 'sequence >= ?', ...where].join(' and ')} order by sequence desc limit ?`,
        before,
        oldest,
        ...params,
        lookedAt,
      );
      return pageOf(rows, limit, MOST_PAGE, shows, lookedAt);
    },
    from(start, limit, mostBytes = MOST_PAGE) {
      const rows = sql.exec<{ sequence: number; body: string }>(
        'select sequence, body from audit where sequence >= ? order by sequence limit ?',
        Math.max(start, oldest),
        limit,
      );
      return pageOf(rows, limit, mostBytes);
    },
    oldest: () => oldest,
    size: () => sequence + 1 - oldest,
    *since(time, now) {
      // An entry is not younger than those after it, which tells of those that were made while the clock was
      // ahead.
      let latest = now;
      for (const { actor, parent, worker, ...row } of sql.exec<{
        actor: string;
        parent: string | null;
        worker: string | null;
        at: number;
        made: number | null;
      }>(
        `select actor, parent, ${WORKER} worker, at, ${isLate ? 'made from audit left join late_entries using (sequence)' : 'null made from audit'} order by sequence desc`,
      )) {
        latest = Math.min(latest, row.made ?? row.at);
        if (latest < time) return;
        yield { actor, parent, at: latest, worker };
      }
    },
    moved(upTo, now) {
      oldest = Math.max(oldest, upTo + 1);
      meta.set('chain', JSON.stringify({ sequence, hash, at }));
      meta.set('oldest', String(oldest));
      const past = now - COUNTED;
      sql.exec('delete from audit where sequence < ? and at <= ?', oldest, past);
      if (!isLate) return;
      const late =
        sql.exec<{ n: number | null }>('select max(sequence) n from late_entries where made <= ?', past).one()
          .n ?? 0;
      sql.exec('delete from audit where sequence < ? and sequence <= ?', oldest, late);
      sql.exec(
        'delete from late_entries where sequence < (select coalesce(min(sequence), ?) from audit)',
        oldest,
      );
      isLate = sql.exec('select 1 from late_entries limit 1').toArray().length > 0;
    },
    hold(at) {
      sql.exec('insert or ignore into held_entries select sequence, body from audit where sequence = ?', at);
    },
    held: () =>
      sql
        .exec<{ body: string }>('select body from held_entries order by sequence')
        .toArray()
        .map(({ body }) => JSON.parse(body)),
    dropHeld: (upTo) => void sql.exec('delete from held_entries where sequence <= ?', upTo),
    begin(first, prev) {
      sequence = first;
      hash = prev;
      oldest = first + 1;
      meta.set('chain', JSON.stringify({ sequence, hash, at }));
      meta.set('oldest', String(oldest));
    },
  };
}

/** Reads rows until a page is full. If the rows end at their own limit, the page says where to continue. */
function pageOf(
  rows: Iterable<{ sequence: number; body: string }>,
  limit: number,
  mostBytes: number,
  shows: (entry: Entry) => boolean = () => true,
  lookedAt = limit,
): EntryPage {
  const entries: Entry[] = [];
  let bytes = 0;
  let looked = 0;
  let last = 0;
  for (const { sequence, body } of rows) {
    if (entries.length === limit || (entries.length && bytes + body.length > mostBytes))
      return { entries, next: last };
    looked++;
    last = sequence;
    const entry = JSON.parse(body) as Entry;
    if (!shows(entry)) continue;
    entries.push(entry);
    bytes += body.length;
  }
  return { entries, next: looked >= lookedAt ? last : null };
}
