// Intents (a write-ahead log): what a commit is about to do, written before D1 is asked. An intent holds the rows as they will be, the
// audit entry and the response to store, so that whatever a crash leaves can be settled: done if D1 holds the commit's marker, else not.
// Invariants: while the outcome of an intent is in doubt, its rows are answered neither old nor new; one that takes several rows of the table is
// written and deleted whole. The table keeps its first name, `marks`.

import type { RowKind, RowTypes } from '../db/rows';
import type { Draft } from './audit-entry';
import type { Raised } from './outbox';
import type { StoredResponse } from './stored-responses';

export interface Intent {
  /** The commit's id: that of its request. */
  id: string;
  at: number;
  puts: { [K in RowKind]: { kind: K; row: RowTypes[K] } }[RowKind][];
  gone: { kind: RowKind; id: string }[];
  /** Environments whose secrets change. */
  environments: string[];
  draft: Draft;
  status: number;
  /** What it raises. */
  events?: Raised[];
  keep: StoredResponse | null;
  /** Secrets whose ciphertexts and kept one-time values are to be destroyed. */
  destroyed: string[];
  /** Versions of a secret that go because newer ones came, up to and including. */
  trimmed: { secret: string; version: number }[];
}

export interface Intents {
  put(intent: Intent): void;
  drop(id: string): void;
  /** Intents whose outcome nobody here is waiting for. */
  unsettled(): Intent[];
  /** Whether a commit under way adds a secret to an environment, or takes the environment away. */
  concerns(environment: string): { filling: boolean; leaving: boolean };
  /** True while the row is part of a commit whose outcome is unknown. */
  isOpen(id: string): boolean;
  /** Commits that run here and now. */
  running: Set<string>;
  /** While true no commit begins. */
  held: boolean;
}

/** UTF-16 units of an intent in one row of the table, which holds 2 MB: a unit takes up to three bytes. */
const PART = 600_000;

/** A text in parts, of which none ends within a character. */
function partsOf(text: string): string[] {
  const parts: string[] = [];
  for (let at = 0; at < text.length; ) {
    const isSplit = /[\uD800-\uDBFF]/.test(text[at + PART - 1] ?? '');
    const end = at + PART - (isSplit ? 1 : 0);
    parts.push(text.slice(at, end));
    at = end;
  }
  return parts;
}

export function createIntents(sql: SqlStorage): Intents {
  sql.exec('create table if not exists marks (id text primary key, body text not null) without rowid');
  // The rest of those that are too long for one row.
  sql.exec(
    'create table if not exists mark_parts (id text not null, part integer not null, body text not null, primary key (id, part)) without rowid',
  );
  // What a statement that failed between the two has left.
  sql.exec('delete from mark_parts where id not in (select id from marks)');
  const all = new Map<string, Intent>();
  /** Those that take several rows. */
  const parted = new Set<string>();
  for (const { id, body } of sql.exec<{ id: string; body: string }>('select id, body from marks').toArray()) {
    const rest = sql.exec<{ body: string }>('select body from mark_parts where id = ? order by part', id).toArray();
    const intent = JSON.parse([body, ...rest.map((part) => part.body)].join('')) as Intent;
    all.set(intent.id, intent);
    if (rest.length) parted.add(id);
  }
  const running = new Set<string>();
  const unsettled = () => [...all.values()].filter((intent) => !running.has(intent.id));
  return {
    put(intent) {
      // Written in one turn, and so durable together or not at all.
      const [first, ...rest] = partsOf(JSON.stringify(intent));
      if (rest.length) parted.add(intent.id);
      rest.forEach((body, part) => void sql.exec('insert or replace into mark_parts values (?, ?, ?)', intent.id, part, body));
      // safety: intent-durable
      sql.exec('insert into marks values (?, ?)', intent.id, first);
      all.set(intent.id, intent);
    },
    drop(id) {
      sql.exec('delete from marks where id = ?', id);
      if (parted.delete(id)) sql.exec('delete from mark_parts where id = ?', id);
      all.delete(id);
    },
    unsettled,
    concerns: (environment) => ({
      filling: [...all.values()].some(({ puts }) => puts.some(({ kind, row }) => kind === 'secret' && row.environment_id === environment)),
      leaving: [...all.values()].some(({ gone }) => gone.some(({ id }) => id === environment)),
    }),
    isOpen: (id) =>
      all.size > running.size &&
      unsettled().some((intent) => intent.puts.some(({ row }) => row.id === id) || intent.gone.some((row) => row.id === id)),
    running,
    held: false,
  };
}
