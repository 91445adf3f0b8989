// Intents (a write-ahead log): what a commit is about to do, written before D1 is called. An intent contains
// the new rows, the audit entry and the response to store, so a commit interrupted by a crash can be settled:
// done if D1 has the commit's marker, otherwise not. Invariants: while an intent is in doubt, neither the old
// nor the new state of its rows is returned; an intent that spans several table rows is written and deleted
// as a whole. The table keeps its original name, `marks`.

import type { RowKind, RowTypes } from '../../db/rows';
import type { ApprovalDetails } from '../approvals/details';
import type { Draft } from '../audit/entry';
import type { Raised } from '../events/outbox';
import { part } from '../part';
import type { StoredResponse } from '../request/stored-responses';

export interface Intent {
  /** The commit's id, equal to its request id. */
  id: string;
  at: number;
  /** See marks.ts; absent before 0.5.0. */
  mark?: number;
  puts: { [K in RowKind]: { kind: K; row: RowTypes[K] } }[RowKind][];
  gone: { kind: RowKind; id: string }[];
  /** The root of whoever makes its new rows; absent before 0.5.0. */
  root?: string;
  /** Environments whose secrets change. */
  environments: string[];
  draft: Draft;
  status: number;
  /** What it raises. */
  events?: Raised[];
  keep: StoredResponse | null;
  /** What deciders are shown of the request that waits. */
  details?: ApprovalDetails;
  /** Secrets whose ciphertexts and stored one-time values must be destroyed. */
  destroyed: string[];
  /** Versions of a secret destroyed because newer ones were added, up to and including this one. */
  trimmed: { secret: string; version: number }[];
}

export interface Intents {
  put(intent: Intent): void;
  drop(id: string): void;
  /** Intents that no running request waits for. */
  unsettled(): Intent[];
  /** Whether a running commit adds a secret to an environment, or deletes the environment. */
  concerns(environment: string): { filling: boolean; leaving: boolean };
  /**
   * The rows of a kind that commits are writing, each with the root of whoever does, and the new ones among
   * them; and the ids of all rows that commits are changing or removing.
   */
  writing<K extends RowKind>(kind: K): { row: RowTypes[K]; root: string | undefined }[];
  adding<K extends RowKind>(kind: K): RowTypes[K][];
  touched(): Set<string>;
  /** The responses that commits are about to store. */
  storing(): StoredResponse[];
  /** True while the row belongs to a commit in doubt. */
  isOpen(id: string): boolean;
  /** Commits that are currently running. */
  running: Set<string>;
  /** While true, no commit can begin. */
  isPaused: boolean;
}

/** UTF-16 units of an intent per table row, which holds 2 MB: a unit takes up to three bytes. */
const PART = 600_000;

/** Splits a text without breaking a character. */
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
  // The further parts of intents too long for one row.
  sql.exec(
    'create table if not exists mark_parts (id text not null, part integer not null, body text not null, primary key (id, part)) without rowid',
  );
  // Left by a statement that failed between the two.
  sql.exec('delete from mark_parts where id not in (select id from marks)');
  const all = new Map<string, Intent>();
  /** Intents in several rows. */
  const parted = new Set<string>();
  for (const { id, body } of sql.exec<{ id: string; body: string }>('select id, body from marks').toArray()) {
    const rest = sql
      .exec<{ body: string }>('select body from mark_parts where id = ? order by part', id)
      .toArray();
    const intent = JSON.parse([body, ...rest.map((part) => part.body)].join('')) as Intent;
    all.set(intent.id, intent);
    if (rest.length) parted.add(id);
  }
  const running = new Set<string>();
  const writing = <K extends RowKind>(kind: K) =>
    [...all.values()].flatMap(({ puts, root }) =>
      puts.flatMap((put) => (put.kind === kind ? [{ row: put.row as RowTypes[K], root }] : [])),
    );
  const unsettled = () => [...all.values()].filter((intent) => !running.has(intent.id));
  return {
    put(intent) {
      // Written in one turn, so they are durable together or not at all.
      const [first, ...rest] = partsOf(JSON.stringify(intent));
      if (rest.length) parted.add(intent.id);
      rest.forEach(
        (body, part) =>
          void sql.exec('insert or replace into mark_parts values (?, ?, ?)', intent.id, part, body),
      );
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
      filling: [...all.values()].some(({ puts }) =>
        puts.some(({ kind, row }) => kind === 'secret' && row.environment_id === environment),
      ),
      leaving: [...all.values()].some(({ gone }) => gone.some(({ id }) => id === environment)),
    }),
    storing: () => [...all.values()].flatMap(({ keep }) => (keep ? [keep] : [])),
    writing,
    adding: (kind) =>
      writing(kind)
        .map(({ row }) => row)
        .filter(({ revision }) => revision === 1),
    touched: () =>
      new Set(
        [...all.values()].flatMap(({ puts, gone }) => [
          ...puts.map(({ row }) => row.id),
          ...gone.map(({ id }) => id),
        ]),
      ),
    isOpen: (id) =>
      all.size > running.size &&
      unsettled().some(
        (intent) => intent.puts.some(({ row }) => row.id === id) || intent.gone.some((row) => row.id === id),
      ),
    running,
    isPaused: false,
  };
}

export const intents = part(({ storage }) => createIntents(storage.sql));
