// What a gate is made of: its own SQLite, D1, and the parts that work on them. One object an org, in the memory of its Durable Object.
// Invariant: the SQLite holds every deciding row of the org, always; D1 is the relational record of the same rows, written first.

import { createRecent } from '../crypto/recent';
import { type Budget, openBudget } from './budget';
import { lineageOf, type Overlaps, type Strangers } from './callers';
import { type Chain, openChain } from './chain';
import { type Database, openDatabase } from './database';
import { createDescendants, type Descendants } from './descendants';
import { type Due, openDue } from './due';
import { type Locks, openLocks } from './locks';
import { type Marks, openMarks } from './marks';
import { type Outbox, openOutbox } from './outbox';
import { createNotedPatterns } from './patterns';
import { recording } from './recording';
import { openReplays, type Replays } from './replay';
import { openRows, type Rows } from './rows';
import { upgrade } from './schema';
import { openSeals, type Seals } from './seals';
import { openUses, type Uses } from './uses';

export interface Core {
  storage: DurableObjectStorage;
  meta: Meta;
  database: Database;
  rows: Rows;
  descendants: Descendants;
  seals: Seals;
  chain: Chain;
  budget: Budget;
  uses: Uses;
  outbox: Outbox;
  replays: Replays;
  marks: Marks;
  due: Due;
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

function openMeta(sql: SqlStorage): Meta {
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
export function openCore(storage: DurableObjectStorage, db: D1Database): Core {
  const { sql } = storage;
  const meta = openMeta(sql);
  upgrade(storage, meta);
  const entries = openChain(sql, meta);
  const rows = openRows(sql);
  const linksOf = (actor: string, parent: string | null) => {
    const row = rows.get('credential', actor);
    if (row) return lineageOf({ rows }, row).map(({ id }) => id);
    return parent === null ? [actor] : [actor, parent];
  };
  const uses = openUses(sql, meta, {
    head: () => entries.head().sequence,
    linksOf,
    isKnown: (credential) => rows.get('credential', credential) !== null,
  });
  const outbox = openOutbox(sql);
  const due = openDue(storage);
  const chain = recording(entries, uses, outbox, due, createNotedPatterns());
  return {
    storage,
    meta,
    database: openDatabase(db),
    rows,
    descendants: createDescendants(sql),
    seals: openSeals(sql),
    chain,
    budget: openBudget(sql, chain, linksOf),
    uses,
    outbox,
    replays: openReplays(sql),
    marks: openMarks(sql),
    due,
    locks: openLocks(),
    strangers: createRecent(5000),
    overlaps: createRecent(2000),
    now: () => Date.now(),
  };
}
