// Calls of upstreams that have begun, in the gate's own storage: each is there before its request leaves, and
// until its audit entry is written. From them follow the rates of calls, and how many there are at a time.
// The calls of the last minute are in memory too: each call compares itself with all of them.
// Invariant: a call has one entry, of its answer, of its loss, or of what was altered; an answer whose Worker
// is lost has one more.
import type { Draft } from '../../../gate/audit/entry';
import type { Core } from '../../../gate/core';
import { part } from '../../../gate/part';
import type { Ask } from '../../../gate/request/call';

/** Who makes a call: what it takes to judge them again while it lasts. */
export interface User {
  bearer: Ask['bearer'];
  credential: string;
  root: string;
  ip: string;
  /** The upstream as it was then: see `directionOf`. */
  direction: string;
}

export interface Intent {
  id: string;
  upstream: string;
  user: User;
  draft: Draft;
  at: number;
  /** It counts as under way until then, unless it is heard of. 0: it has ended, and that is recorded. */
  until: number;
  isAnswered: boolean;
}

/** Calls a minute and at a time, of an organisation and of a root. */
export const MOST_CALLS = { minute: 1000, once: 100, rootMinute: 600, rootOnce: 25 };
export const MINUTE = 60_000;
/** For how long an answered call counts that is not heard of: its Worker asks every five seconds. */
export const HEARD = 15_000;
/** For how long no call begins in a gate that is given up. */
const PAUSED = 15_000;

type Stored = Record<string, SqlStorageValue> & {
  id: string;
  upstream: string;
  caller: string;
  draft: string;
  at: number;
  until: number;
  answered: number;
};

/** A call that ended without a word. `intent` is null if what is stored of it was altered. */
export interface Lost {
  id: string;
  upstream: string;
  intent: Intent | null;
}

/** A call of the last minute, as rates count it. */
interface Recent {
  at: number;
  root: string;
  upstream: string;
}

/** Milliseconds until fewer than `most` of these calls, oldest first, are of the last minute. */
function waitOf(calls: readonly Recent[], most: number, now: number): number {
  const oldest = calls.at(-most);
  return oldest ? Math.max(0, oldest.at + MINUTE - now) : 0;
}

function parsed<T>(text: string): T | null {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

// biome-ignore lint/complexity/noExcessiveLinesPerFunction: its methods share the statements.
function createIntents({ storage: { sql }, now: clock }: Pick<Core, 'storage' | 'now'>) {
  sql.exec(
    'create table if not exists use_intents (id text primary key, upstream text not null, root text not null, caller text not null, draft text not null, at integer not null, until integer not null, answered integer not null default 0) without rowid',
  );
  // What has ended has `until` 0, so the oldest of those is found at once.
  sql.exec('create index if not exists use_intents_until_at on use_intents (until, at)');
  const ofRow = ({ id, upstream, at, until, ...row }: Stored): Intent | null => {
    const user = parsed<User>(row.caller);
    const draft = parsed<Draft>(row.draft);
    // safety: altered-call-refused
    if (typeof user?.credential !== 'string' || typeof draft?.action !== 'string' || !draft.actor)
      return null;
    return { id, upstream, at, until, user, draft, isAnswered: row.answered === 1 };
  };
  const stored = (now: number): Recent[] =>
    sql
      .exec<Recent & Record<string, SqlStorageValue>>(
        'select at, root, upstream from use_intents where at > ? order by at',
        now - MINUTE,
      )
      .toArray();
  let recent = stored(clock());
  let pausedUntil = 0;
  return {
    /** No call begins for a while. */
    pause(now: number): void {
      pausedUntil = now + PAUSED;
    },
    begin({ id, upstream, user, draft, at, until }: Omit<Intent, 'isAnswered'>): void {
      const { rowsWritten } = sql.exec(
        // A call whose first reply was lost is the same call.
        'insert into use_intents values (?, ?, ?, ?, ?, ?, ?, 0) on conflict do nothing',
        ...[id, upstream, user.root, JSON.stringify(user), JSON.stringify(draft), at, until],
      );
      if (rowsWritten === 0) return;
      recent = [...recent.filter((call) => call.at > at - MINUTE), { at, root: user.root, upstream }];
    },
    /** Null also if what is stored of it was altered: it may go no further. */
    get(id: string): Intent | null {
      const [row] = sql.exec<Stored>('select * from use_intents where id = ?', id).toArray();
      return row ? ofRow(row) : null;
    },
    answered: (id: string, until: number) =>
      void sql.exec('update use_intents set answered = 1, until = ? where id = ?', until, id),
    heard: (id: string, until: number) =>
      void sql.exec('update use_intents set until = max(until, ?) where id = ?', until, id),
    /** It has ended, and there is nothing left to record of it. */
    over: (id: string) => void sql.exec('update use_intents set answered = 1, until = 0 where id = ?', id),
    /** Milliseconds until a call may begin; 0 for now. A second where too many are under way. */
    wait(
      now: number,
      { root, upstream, rate }: { root: string; upstream: string; rate: number | null },
    ): number {
      const { all, own } = sql
        .exec<{ all: number; own: number }>(
          'select count(*) "all", count(iif(root = ?, 1, null)) own from use_intents where until > ?',
          root,
          now,
        )
        .one();
      // safety: uses-at-a-time-bounded
      const isBusy = now < pausedUntil || all >= MOST_CALLS.once || own >= MOST_CALLS.rootOnce;
      const ofRoot = recent.filter((call) => call.root === root);
      const ofUpstream = recent.filter((call) => call.upstream === upstream);
      return Math.max(
        isBusy ? 1000 : 0,
        // safety: uses-a-minute-bounded
        waitOf(recent, MOST_CALLS.minute, now),
        waitOf(ofRoot, MOST_CALLS.rootMinute, now),
        rate === null ? 0 : waitOf(ofUpstream, rate, now),
      );
    },
    underWay: (now: number): string[] =>
      sql
        .exec<{ id: string }>('select id from use_intents where until > ?', now)
        .toArray()
        .map(({ id }) => id),
    /** Up to `limit` calls, or answers of some, that ended without a word. */
    lost: (now: number, limit: number): Lost[] =>
      sql
        .exec<Stored>(
          'select * from use_intents where until > 0 and until <= ? order by until limit ?',
          now,
          limit,
        )
        .toArray()
        .map((row) => ({ id: row.id, upstream: row.upstream, intent: ofRow(row) })),
    /** Deletes what counts no more. Returns when there is more to do, or null. */
    sweep(now: number): number | null {
      sql.exec('delete from use_intents where until = 0 and at <= ?', now - MINUTE);
      const times = sql
        .exec<{ n: number | null }>(
          'select min(at) + ? n from use_intents where until = 0 union all select min(until) from use_intents where until > 0',
          MINUTE,
        )
        .toArray()
        .flatMap(({ n }) => n ?? []);
      return times.length === 0 ? null : Math.max(Math.min(...times), now + 1000);
    },
    /** The clock was ahead, and is right again. */
    bringForward(now: number): void {
      sql.exec('update use_intents set at = min(at, ?1), until = min(until, ?1 + ?2)', now, 2 * MINUTE);
      recent = stored(now);
    },
    clear(): void {
      sql.exec('delete from use_intents');
      recent = [];
    },
  };
}

export const intents = part(createIntents);
