// Intents (a write-ahead log): what a commit is about to do, written before D1 is asked. An intent holds the rows as they will be, the
// audit entry and the response to store, so that whatever a crash leaves can be settled: done if D1 holds the commit's marker, else not.
// Invariant: while the outcome of an intent is in doubt, its rows are answered neither old nor new. The table keeps its first name, `marks`.

import type { RowKind, RowTypes } from '../db/rows';
import type { Draft } from './audit-log';
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

export function createIntents(sql: SqlStorage): Intents {
  sql.exec('create table if not exists marks (id text primary key, body text not null) without rowid');
  const all = new Map<string, Intent>();
  for (const { body } of sql.exec<{ body: string }>('select body from marks')) {
    const intent = JSON.parse(body) as Intent;
    all.set(intent.id, intent);
  }
  const running = new Set<string>();
  const unsettled = () => [...all.values()].filter((intent) => !running.has(intent.id));
  return {
    put(intent) {
      // safety: intent-durable
      sql.exec('insert into marks values (?, ?)', intent.id, JSON.stringify(intent));
      all.set(intent.id, intent);
    },
    drop(id) {
      sql.exec('delete from marks where id = ?', id);
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
