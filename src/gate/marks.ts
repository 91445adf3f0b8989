// Marks: what a commit is about to do, written down before D1 hears of it. A mark says which rows will stand how, and what the audit
// entry and the kept answer will be, so that whatever a crash leaves can be settled: done if D1 holds the commit's marker, else not.
// Invariant: while a mark's outcome is unknown, its rows are answered neither old nor new.
import type { Draft } from './chain';
import type { Raised } from './outbox';
import type { Keep } from './replay';
import type { RowKind, RowTypes } from './rows';

export interface Mark {
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
  keep: Keep | null;
  /** Secrets whose ciphertexts and kept one-time values are to be destroyed. */
  destroyed: string[];
  /** Versions of a secret that go because newer ones came, up to and including. */
  trimmed: { secret: string; version: number }[];
}

export interface Marks {
  put(mark: Mark): void;
  drop(id: string): void;
  /** Marks whose outcome nobody here is waiting for. */
  unsettled(): Mark[];
  /** Whether a commit under way adds a secret to an environment, or takes the environment away. */
  concerns(environment: string): { filling: boolean; leaving: boolean };
  /** True while the row is part of a commit whose outcome is unknown. */
  isOpen(id: string): boolean;
  /** Commits that run here and now. */
  running: Set<string>;
  /** While true no commit begins. */
  held: boolean;
}

export function openMarks(sql: SqlStorage): Marks {
  sql.exec('create table if not exists marks (id text primary key, body text not null) without rowid');
  const all = new Map<string, Mark>();
  for (const { body } of sql.exec<{ body: string }>('select body from marks')) {
    const mark = JSON.parse(body) as Mark;
    all.set(mark.id, mark);
  }
  const running = new Set<string>();
  const unsettled = () => [...all.values()].filter((mark) => !running.has(mark.id));
  return {
    put(mark) {
      sql.exec('insert into marks values (?, ?)', mark.id, JSON.stringify(mark));
      all.set(mark.id, mark);
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
      unsettled().some((mark) => mark.puts.some(({ row }) => row.id === id) || mark.gone.some((row) => row.id === id)),
    running,
    held: false,
  };
}
