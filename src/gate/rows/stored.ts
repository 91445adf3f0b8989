// How much each root stores of each kind of row that it can create. Invariants: written in the turn in which
// the row is; a row keeps its root after the credential that made it is forgotten.
import QuickLRU from 'quick-lru';
import { utf8 } from '../../crypto/bytes';
import { isBrief } from '../../db/credential-kinds';
import { kindOf, type RowKind, type RowReader, type RowTypes, rowKinds, type Usage } from '../../db/rows';
import type { CredentialRow, SecretRow } from '../../db/schema';
import { rootOfCredential } from './quota-root';

/** What is counted of a row. */
export interface Stored extends Usage {
  id: string;
  root: string;
  /** When it has finished, and may leave; null while that is not known. */
  ends: number | null;
}

export interface StoredRows {
  /**
   * What is counted of a row as it would be stored; null if it is not counted. `root`: of a new row whose
   * columns do not say who made it.
   */
  of<K extends RowKind>(kind: K, row: RowTypes[K], root?: string): Stored | null;
  note<K extends RowKind>(kind: K, row: RowTypes[K], root?: string): void;
  forget(kind: RowKind, id: string): void;
  /** Notes that a credential was revoked, and with it everything that ends with it. */
  endBelow(id: string, at: number): void;
  /** Counts everything anew: who made a row may have been loaded after it. */
  recount(): void;
  clear(kind: RowKind): void;
  /** The root that a row counts for; null if it is not counted. */
  rootOf(kind: RowKind, id: string): string | null;
  /** What is stored of a kind, of all roots or of one. */
  usage(kind: RowKind, root: string | null): Usage;
  /** How many rows have not finished. */
  open(kind: RowKind, root: string | null, now: number): number;
  /** Finished rows, the oldest first. */
  finished(kind: RowKind, root: string | null, now: number, limit: number): Stored[];
}

/** The size of a row in addition to its texts. */
const OVERHEAD = 200;
/** How many rows stay known in memory. */
const RECENT = 2000;

/** What is known of a counted row. */
type Counted = Pick<Stored, 'root' | 'bytes' | 'ends'>;

/**
 * The kinds that are counted: those that say who made a row. Session tokens and browser sessions are not: see
 * session-counts.ts.
 */
const countedKinds = (): RowKind[] => rowKinds().filter((kind) => kindOf(kind).maker);

/** Notes an end for all credentials that end with one, through every link. */
const END_BELOW = `update stored_rows set ends = ?1 where kind = 'credential' and (ends is null or ends > ?1) and id in (
  with recursive below(id) as (
    select r.id from rows r indexed by rows_dies_with where r.kind = 'credential' and r.body ->> 'dies_with' = ?2
    union select r.id from below b cross join rows r indexed by rows_dies_with on r.kind = 'credential' and r.body ->> 'dies_with' = +b.id
  ) select id from below)`;

function createTables(sql: SqlStorage): void {
  sql.exec(`create table if not exists stored_rows (kind text not null, id text not null, root text not null, bytes integer not null, ends integer,
    primary key (kind, id)) without rowid`);
  // Most rows are secrets, which never finish: they are in neither index. Earlier ones had them.
  for (const name of ['stored_rows_root', 'stored_rows_ends']) sql.exec(`drop index if exists ${name}`);
  sql.exec(
    "create index if not exists stored_rows_of_root on stored_rows (kind, root, ends) where kind <> 'secret'",
  );
  sql.exec(
    "create index if not exists stored_rows_finished on stored_rows (kind, ends) where kind <> 'secret'",
  );
}

/**
 * Each change asks several times for the roots of its caller and of its rows. A row that is not counted is
 * remembered too.
 */
function recentlyCounted(all: Query, isThere: (kind: RowKind, id: string) => boolean) {
  const recent = new QuickLRU<string, Counted | null>({ maxSize: RECENT });
  const known = (kind: RowKind, id: string): Counted | null => {
    const place = `${kind} ${id}`;
    const before = recent.get(place);
    if (before !== undefined) return before;
    // A new row is not there yet, and what is not there is not counted.
    const found = isThere(kind, id)
      ? all<Counted>('select root, bytes, ends from stored_rows where kind = ? and id = ?', kind, id)[0]
      : null;
    recent.set(place, found ?? null);
    return found ?? null;
  };
  return { recent, known };
}

/** Opens the counts. `rows`: the rows of the gate, which are counted if they never were. */
export function createStoredRows(
  sql: SqlStorage,
  rows: RowReader & { all<K extends RowKind>(kind: K): RowTypes[K][] },
): StoredRows {
  createTables(sql);
  const all: Query = (query, ...params) => sql.exec<never>(query, ...params).toArray();
  const sums = createSums(all);
  const { recent, known } = recentlyCounted(all, (kind, id) => rows.get(kind, id) !== null);
  const rootOf = (kind: RowKind, id: string) => known(kind, id)?.root ?? null;
  const reader = { rows: { get: rows.get, rootOf } };
  const of = measure(
    all,
    (kind, row, root) =>
      // safety: stored-row-keeps-root
      rootOf(kind, row.id) ?? root ?? rootOfCredential(reader, kindOf(kind).maker?.(row) ?? ''),
  );
  const forget = (kind: RowKind, id: string) => {
    recent.delete(`${kind} ${id}`);
    const [gone] = all<Stored>(
      'delete from stored_rows where kind = ? and id = ? returning root, bytes',
      kind,
      id,
    );
    if (gone) sums.add(kind, gone.root, -1, -gone.bytes);
  };
  const note: StoredRows['note'] = (kind, row, root) => {
    const stored = of(kind, row, root);
    if (!stored) return;
    const before = known(kind, row.id);
    if (before && before.bytes === stored.bytes && before.ends === stored.ends) return;
    sql.exec(
      'insert into stored_rows values (?, ?, ?, ?, ?) on conflict do update set bytes = excluded.bytes, ends = excluded.ends',
      ...[kind, row.id, stored.root, stored.bytes, stored.ends],
    );
    recent.set(`${kind} ${row.id}`, {
      root: before?.root ?? stored.root,
      bytes: stored.bytes,
      ends: stored.ends,
    });
    sums.add(kind, stored.root, before ? 0 : 1, stored.bytes - (before?.bytes ?? 0));
  };
  const clear = (kind: RowKind) => {
    sql.exec('delete from stored_rows where kind = ?', kind);
    recent.clear();
    sums.clear(kind);
  };
  const count = (kind: RowKind) => {
    for (const row of rows.all(kind)) note(kind, row);
  };
  for (const kind of countedKinds()) if (sums.of(kind, null).count === 0) count(kind);
  return {
    of,
    note,
    forget,
    endBelow(id, at) {
      sql.exec(END_BELOW, at, id);
      recent.clear();
    },
    recount() {
      for (const kind of countedKinds()) {
        clear(kind);
        count(kind);
      }
    },
    clear,
    rootOf,
    usage: sums.of,
    ...createFinished(all),
  };
}

type Query = <T extends object>(query: string, ...params: SqlStorageValue[]) => T[];

/** Which rows have finished. */
function createFinished(all: Query): Pick<StoredRows, 'open' | 'finished'> {
  const among = (root: string | null) =>
    `kind = ?${root === null ? '' : ' and root = ?'} and kind <> 'secret'`;
  const named = (kind: RowKind, root: string | null) => (root === null ? [kind] : [kind, root]);
  return {
    open: (kind, root, now) =>
      all<{ n: number }>(
        `select count(*) n from stored_rows where ${among(root)} and (ends is null or ends > ?)`,
        ...[...named(kind, root), now],
      )[0]?.n ?? 0,
    finished: (kind, root, now, limit) =>
      all<Stored>(
        `select id, root, 1 count, bytes, ends from stored_rows where ${among(root)} and ends <= ? order by ends limit ?`,
        ...[...named(kind, root), now, limit],
      ),
  };
}

/** The usage of each kind and root: counted once when the gate starts, then updated. */
function createSums(all: Query) {
  const sums = new Map<string, Usage>();
  const key = (kind: RowKind, root: string | null) => (root === null ? kind : `${kind} ${root}`);
  const add = (kind: RowKind, root: string, count: number, bytes: number) => {
    for (const one of [key(kind, null), key(kind, root)]) {
      const before = sums.get(one) ?? { count: 0, bytes: 0 };
      const after = { count: before.count + count, bytes: before.bytes + bytes };
      if (after.count) sums.set(one, after);
      else sums.delete(one);
    }
  };
  for (const one of all<Stored & { kind: RowKind }>(
    'select kind, root, count(*) count, sum(bytes) bytes from stored_rows group by kind, root',
  ))
    add(one.kind, one.root, one.count, one.bytes);
  return {
    add,
    of: (kind: RowKind, root: string | null): Usage => sums.get(key(kind, root)) ?? { count: 0, bytes: 0 },
    clear(kind: RowKind) {
      for (const one of [...sums.keys()]) if (one === kind || one.startsWith(`${kind} `)) sums.delete(one);
    },
  };
}

/** What is counted of a row. */
function measure(
  all: Query,
  rootOf: <K extends RowKind>(kind: K, row: RowTypes[K], root?: string) => string,
): StoredRows['of'] {
  /** The bytes that a finished sync has in the table of results. */
  const resultsOf = (sync: string) =>
    all<{ n: number }>(
      'select coalesce(sum(60 + octet_length(name) + coalesce(octet_length(target), 0) + coalesce(octet_length(message), 0)), 0) n from sync_results where sync = ?',
      sync,
    )[0]?.n ?? 0;
  const bytesOf = (kind: RowKind, row: object & { id: string }, end: number | null): number => {
    if (kind === 'secret') return (row as SecretRow).sealed_size;
    return (
      OVERHEAD + utf8(JSON.stringify(row)).length + (kind === 'sync' && end !== null ? resultsOf(row.id) : 0)
    );
  };
  return (kind, row, root) => {
    if (!kindOf(kind).maker || (kind === 'credential' && isBrief((row as CredentialRow).kind))) return null;
    const end = kindOf(kind).ends?.(row) ?? null;
    return { id: row.id, root: rootOf(kind, row, root), count: 1, bytes: bytesOf(kind, row, end), ends: end };
  };
}
