// How far each log stream has come, in the gate's own storage: the last entry that its target took, the batch
// under way, and its failures. Also the earlier targets of changed streams, which get the entries up to the
// change. Invariants: the position moves only by a reported success, by what retention or a loss took away,
// or back by a seek; one batch of a stream is under way at a time; a lease ends by itself.

import type { LogStreamRow } from '../../../db/schema';
import { FAILING_FOR, type Found, LEASE } from '../../../delivery/gate/endpoints';
import { RETRIES, retryIn } from '../../../delivery/gate/retries';
import { part } from '../../../gate/part';

export interface StreamState {
  id: string;
  /** The sequence of the last entry that was taken, its hash if it is known, and its time. */
  position: number;
  hash: string | null;
  time: number | null;
  /** Up to this sequence, entries are sent at a limited rate: the minute, and its bytes. */
  catch_up: number;
  window_at: number;
  window_bytes: number;
  /** The last entry of a batch whose success was not reported: it is sent again as it was. */
  batch_to: number | null;
  lease: number;
  lease_until: number | null;
  /** When a job was requested or last heard of; null for none. */
  attended: number | null;
  /** Failed attempts since the last success. */
  attempts: number;
  next_at: number;
  failing_since: number | null;
  disabling: 'failing' | 'gone' | null;
  /** The last failure. */
  status: number | null;
  error: string | null;
  error_at: number | null;
  /** Its maker's end was told by an event. */
  told: number;
  /** The position as it is stored in D1, its MAC, and when it was stored. */
  mac: string | null;
  stored: number | null;
  stored_at: number;
  /** The row is deleted: the state leaves once D1 has forgotten the position. */
  gone: number;
}

/** An earlier target: the row before a change, whose own entry is `upto`. */
export interface Drain {
  id: string;
  upto: number;
  /** Until when it is tried. */
  until: number;
  row: LogStreamRow;
}

/** For how long the target before a change is tried, and how often. */
export const DRAINED_FOR = 60_000;
const DRAIN_RETRY = 5000;
/** How many earlier targets of a stream may wait. */
export const MOST_DRAINS = 10;

/** How many deleted streams may still get their last entries before one is made. */
export const MOST_GONE = 20;

/** Entries of `beginning` and `seek` are sent at this rate, in bytes a minute. */
export const CATCH_UP = 10_000_000;
export const MINUTE = 60_000;
export const MOST_BATCH = 1_048_576;

export interface States {
  get(id: string): StreamState | null;
  all(): StreamState[];
  /** How many are of deleted streams. */
  gone(): number;
  begin(id: string, position: number, catchUp: number): void;
  set(id: string, fields: Partial<StreamState>): void;
  /** Marks a batch as under way. Returns its lease. */
  take(state: StreamState, to: number, now: number): number;
  /** The target took a batch. */
  took(state: StreamState, last: { sequence: number; hash: string | null; time: number | null }): void;
  failed(state: StreamState, failure: Failure, isDraining: boolean, now: number): void;
  /** The target is another one, or is tried again: its failures count no longer. */
  reset(id: string, now: number): void;
  drains(id: string): Drain[];
  drain(drain: Drain): void;
  drained(id: string, upto: number): void;
  forget(id: string): void;
  bringForward(now: number): void;
  clear(): void;
}

export interface Failure {
  status: number | null;
  error: string;
  /** In seconds, as the target asked. */
  retry_after: number | null;
}

const COLUMNS: Record<Exclude<keyof StreamState, 'id'>, string> = {
  position: 'integer not null',
  hash: 'text',
  time: 'integer',
  catch_up: 'integer not null default 0',
  window_at: 'integer not null default 0',
  window_bytes: 'integer not null default 0',
  batch_to: 'integer',
  lease: 'integer not null default 0',
  lease_until: 'integer',
  attended: 'integer',
  attempts: 'integer not null default 0',
  next_at: 'integer not null default 0',
  failing_since: 'integer',
  disabling: 'text',
  status: 'integer',
  error: 'text',
  error_at: 'integer',
  told: 'integer not null default 0',
  mac: 'text',
  stored: 'integer',
  stored_at: 'integer not null default 0',
  gone: 'integer not null default 0',
};

function createTables(sql: SqlStorage): void {
  const columns = Object.entries(COLUMNS).map(([name, type]) => `${name} ${type}`);
  sql.exec(
    `create table if not exists log_stream_states (id text primary key, ${columns.join(', ')}) without rowid`,
  );
  sql.exec(
    'create table if not exists log_stream_drains (id text not null, upto integer not null, until integer not null, body text not null, primary key (id, upto)) without rowid',
  );
}

// biome-ignore lint/complexity/noExcessiveLinesPerFunction: its methods share the statements.
export function createStates(sql: SqlStorage): States {
  createTables(sql);
  const rows = <T>(query: string, ...params: SqlStorageValue[]) =>
    sql.exec<Found<T>>(query, ...params).toArray();
  const set = (id: string, fields: Partial<StreamState>) => {
    const names = Object.keys(fields).filter((name) => Object.hasOwn(COLUMNS, name));
    const values = names.map((name) => (fields as Record<string, SqlStorageValue>)[name] ?? null);
    sql.exec(
      `update log_stream_states set ${names.map((name) => `${name} = ?`).join(', ')} where id = ?`,
      ...values,
      id,
    );
  };
  const fresh = {
    attempts: 0,
    failing_since: null,
    disabling: null,
    status: null,
    error: null,
    error_at: null,
  };
  return {
    get: (id) => rows<StreamState>('select * from log_stream_states where id = ?', id)[0] ?? null,
    all: () => rows<StreamState>('select * from log_stream_states'),
    gone: () => rows<{ n: number }>('select count(*) n from log_stream_states where gone = 1')[0]?.n ?? 0,
    begin: (id, position, catchUp) =>
      void sql.exec(
        'insert or ignore into log_stream_states (id, position, catch_up) values (?, ?, ?)',
        id,
        position,
        catchUp,
      ),
    set,
    take(state, to, now) {
      const lease = state.lease + 1;
      set(state.id, { lease, lease_until: now + LEASE, attended: now, batch_to: to });
      return lease;
    },
    took({ id }, { sequence, hash, time }) {
      set(id, {
        position: sequence,
        hash,
        ...(time !== null && { time }),
        batch_to: null,
        lease_until: null,
      });
      set(id, fresh);
    },
    failed(state, { status, error, retry_after }, isDraining, now) {
      const attempts = state.attempts + 1;
      const since = state.failing_since ?? now;
      const wait = retryIn(Math.min(attempts, RETRIES.length), retry_after) ?? 0;
      // safety: log-stream-disabled-after-failing
      const disabling = status === 410 ? 'gone' : now - since >= FAILING_FOR ? 'failing' : null;
      if (isDraining) set(state.id, { lease_until: null, next_at: now + DRAIN_RETRY });
      else {
        set(state.id, { attempts, failing_since: since, next_at: now + wait, lease_until: null });
        set(state.id, { disabling, status, error, error_at: now });
      }
    },
    reset: (id, now) => set(id, { ...fresh, next_at: now, batch_to: null }),
    drains: (id) =>
      rows<{ upto: number; until: number; body: string }>(
        'select upto, until, body from log_stream_drains where id = ? order by upto',
        id,
      ).map(({ upto, until, body }) => ({ id, upto, until, row: JSON.parse(body) })),
    drain: ({ id, upto, until, row }) =>
      void sql.exec(
        'insert or replace into log_stream_drains values (?, ?, ?, ?)',
        id,
        upto,
        until,
        JSON.stringify(row),
      ),
    drained: (id, upto) =>
      void sql.exec('delete from log_stream_drains where id = ? and upto <= ?', id, upto),
    forget(id) {
      sql.exec('delete from log_stream_states where id = ?', id);
      sql.exec('delete from log_stream_drains where id = ?', id);
    },
    bringForward: (now) =>
      void sql.exec(
        `update log_stream_states set next_at = min(next_at, ?1), window_at = min(window_at, ?1), stored_at = min(stored_at, ?1),
          lease_until = min(lease_until, ?1 + ?2), attended = iif(attended > ?1, null, attended), failing_since = min(failing_since, ?1)`,
        now,
        LEASE,
      ),
    clear() {
      sql.exec('delete from log_stream_states');
      sql.exec('delete from log_stream_drains');
    },
  };
}

export const states = part(({ storage }) => createStates(storage.sql));
