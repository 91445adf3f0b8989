// What a gate is made of: its own SQLite, D1, and the parts that work on them. One object an org, in the memory of its Durable Object.
// Invariant: the SQLite holds every deciding row of the org, always; D1 is the relational record of the same rows, written first.

import { createRecent } from '../crypto/recent';
import { type AuditLog, createAuditLog } from './audit-log';
import { type CiphertextCache, createCiphertextCache } from './ciphertext-cache';
import { createDatabase, type Database } from './database';
import { createDescendants, type Descendants } from './descendants';
import { createStoredResponses, type StoredResponses } from './idempotency';
import { lineageOf, type Overlaps, type Strangers } from './identity';
import { createIntents, type Intents } from './intents';
import { createLastUsed, type LastUsed } from './last-used';
import { createLocks, type Locks } from './locks';
import { createNotedPatterns } from './noted-patterns';
import { createOutbox, type Outbox } from './outbox';
import { createRateLimit, type RateLimit } from './rate-limit';
import { recording } from './recording';
import { createRows, type Rows } from './rows';
import { createSchedule, type Schedule } from './schedule';
import { upgrade } from './storage-version';

export interface Core {
  storage: DurableObjectStorage;
  meta: Meta;
  database: Database;
  rows: Rows;
  descendants: Descendants;
  ciphertexts: CiphertextCache;
  auditLog: AuditLog;
  rateLimit: RateLimit;
  lastUsed: LastUsed;
  outbox: Outbox;
  storedResponses: StoredResponses;
  intents: Intents;
  schedule: Schedule;
  locks: Locks;
  strangers: Strangers;
  overlaps: Overlaps;
  now(): number;
}

/** Small facts that outlive the memory of the gate. */
export interface Meta {
  get(key: string): string | null;
  set(key: string, value: string): void;
  forget(key: string): void;
  /** Forgets every key that begins with a prefix, which ends in a colon. */
  drop(prefix: string): void;
}

function createMeta(sql: SqlStorage): Meta {
  sql.exec('create table if not exists meta (key text primary key, value text not null) without rowid');
  const recent = createRecent<{ value: string | null }>(1000);
  return {
    get(key) {
      const known = recent.get(key);
      if (known) return known.value;
      const value = sql.exec<{ value: string }>('select value from meta where key = ?', key).toArray()[0]?.value ?? null;
      recent.set(key, { value });
      return value;
    },
    set(key, value) {
      recent.delete(key);
      sql.exec('insert or replace into meta values (?, ?)', key, value);
      recent.set(key, { value });
    },
    forget(key) {
      recent.delete(key);
      sql.exec('delete from meta where key = ?', key);
    },
    drop(prefix) {
      recent.clear();
      sql.exec('delete from meta where key >= ? and key < ?', prefix, `${prefix.slice(0, -1)};`);
    },
  };
}

/** Opens the parts of a gate over its storage; makes its tables on first use. */
export function createCore(storage: DurableObjectStorage, db: D1Database): Core {
  const { sql } = storage;
  const meta = createMeta(sql);
  upgrade(storage, meta);
  const entries = createAuditLog(sql, meta);
  const rows = createRows(sql);
  const linksOf = (actor: string, parent: string | null) => {
    const row = rows.get('credential', actor);
    if (row) return lineageOf({ rows }, row).map(({ id }) => id);
    return parent === null ? [actor] : [actor, parent];
  };
  const lastUsed = createLastUsed(sql, meta, {
    head: () => entries.head().sequence,
    linksOf,
    isKnown: (credential) => rows.get('credential', credential) !== null,
  });
  const outbox = createOutbox(sql);
  const schedule = createSchedule(storage);
  const auditLog = recording(entries, lastUsed, outbox, schedule, createNotedPatterns());
  return {
    storage,
    meta,
    database: createDatabase(db),
    rows,
    descendants: createDescendants(sql),
    ciphertexts: createCiphertextCache(sql),
    auditLog,
    rateLimit: createRateLimit(sql, auditLog, linksOf),
    lastUsed,
    outbox,
    storedResponses: createStoredResponses(sql),
    intents: createIntents(sql),
    schedule,
    locks: createLocks(),
    strangers: createRecent(5000),
    overlaps: createRecent(2000),
    now: () => Date.now(),
  };
}
