// The rows of an organisation that decisions depend on, complete and durable: organisation, environments, members and their grants,
// credentials, and the state of secrets (not their ciphertext). Invariants: only a settled commit (or the recovery of a lost gate) writes
// here; a deleted row leaves a tombstone with its revision, so an old copy restored to D1, with a correct MAC, has no effect.
import QuickLRU from 'quick-lru';
import { DAY, places, type RowKind, type RowTypes, rowOf, sweepAt } from '../db/rows';
import type { SecretRow } from '../db/schema';
import { type CredentialQueries, createCredentialQueries } from './credential-queries';
import { createSecretQueries, type SecretQueries } from './secret-queries';

/** A row that may be swept, or a tombstone. */
export interface Sweepable {
  kind: RowKind;
  id: string;
  buried: number;
}

export interface Rows extends SecretQueries, CredentialQueries {
  get<K extends RowKind>(kind: K, id: string): RowTypes[K] | null;
  /** By unique key: an environment's slug, a token's hash, a secret's name in its environment. */
  find<K extends RowKind>(kind: K, space: string, key: string): RowTypes[K] | null;
  /** Up to `limit` rows of a kind after an id, in id order. */
  after<K extends RowKind>(kind: K, id: string, limit: number): RowTypes[K][];
  /** Up to `limit` rows of a kind whose ids have this prefix, newest first; only those before an id, if given. */
  newest<K extends RowKind>(kind: K, prefix: string, limit: number, before?: string | null): RowTypes[K][];
  /** All rows of a kind in a space: the grants of a grantee, the teams of a member. */
  within<K extends RowKind>(kind: K, space: string): RowTypes[K][];
  put<K extends RowKind>(kind: K, row: RowTypes[K]): void;
  /** Leaves a tombstone, for at most 400 days. */
  bury(kind: RowKind, id: string, now: number): void;
  /** Deletes up to `limit` of the oldest tombstones beyond the limit. Returns whether more are left. */
  forgetOldest(limit: number): boolean;
  /** Deletes without a tombstone: for rows that expired and can never become valid again. */
  forget(kind: RowKind, id: string): void;
  /** Deletes all rows of some kinds: their organisation was deleted. */
  clear(kinds: RowKind[]): void;
  /** Up to `limit` rows that may be swept, and when the next one may. */
  sweepable(now: number, limit: number): { rows: Sweepable[]; next: number | null };
  count(kind: RowKind): number;
  /**
   * How often a row other than a secret was written: while it stays the same, so does the validity of credentials, except for expiry. Or
   * how often a row of one kind was written.
   */
  edits(kind?: RowKind): number;
  /** Whether a row of this id existed and was permanently deleted. */
  isBuried(kind: RowKind, id: string): boolean;
  /** The ciphertext size of all secrets, in bytes. */
  sealedBytes(): number;
}

/** How long a tombstone is kept, longer than any useful backup; and how many are kept, the newest. */
const BURIED = 400 * DAY;
const MOST_BURIED = 1_000_000;

interface Parsed {
  kind: RowKind;
  row: { id: string };
}

/** How many rows stay parsed in memory, most of 1 to 3 kB, and the longest of them in characters: a gate shares 128 MB with others. */
const RECENT = 2000;
const LONGEST_KEPT = 8192;

// biome-ignore lint/complexity/noExcessiveLinesPerFunction: its methods share the rows in memory, the counts, and the statements.
export function createRows(sql: SqlStorage, mostBuried = MOST_BURIED): Rows {
  sql.exec(`create table if not exists rows (kind text not null, id text not null, revision integer not null, space text, key text, body text, sweep_at integer,
    primary key (kind, id)) without rowid`);
  sql.exec('create index if not exists rows_sweep on rows (sweep_at) where sweep_at is not null');
  sql.exec('create unique index if not exists rows_key on rows (kind, space, key) where key is not null');
  sql.exec('create index if not exists rows_buried on rows (sweep_at) where body is null');
  const counts = new Map<string, number>();
  for (const { kind, n } of sql.exec<{ kind: string; n: number }>('select kind, count(*) n from rows where body is not null group by kind'))
    counts.set(kind, n);
  let buried = sql.exec<{ n: number }>('select count(*) n from rows where body is null').one().n;
  let sealed = sql
    .exec<{ n: number }>("select coalesce(sum(body ->> 'sealed_size'), 0) n from rows where kind = 'secret' and body is not null")
    .one().n;

  // Recently read rows, parsed, and the ids behind keys. A failed transaction resets the gate, so cached rows always equal stored rows. Row
  // objects are never modified.
  const parsed = new QuickLRU<string, Parsed>({ maxSize: RECENT });
  const ids = new QuickLRU<string, string>({ maxSize: RECENT });
  const forget = (kind: RowKind, id: string, row: object | null) => {
    parsed.delete(id);
    const { space, key } = places[kind] as { space(row: object): string; key(row: object): string | null };
    if (row) ids.delete(`${kind} ${space(row)} ${key(row)}`);
  };
  const keep = (kind: RowKind, row: { id: string }, body: string) => {
    // A sync or an approval may name 1,000 secrets.
    // safety: parsed-rows-bounded
    if (body.length <= LONGEST_KEPT) parsed.set(row.id, { kind, row });
  };
  const parse = <T extends { id: string }>(kind: RowKind, found: { body: string | null } | undefined): T | null => {
    if (!found?.body) return null;
    const row = rowOf(kind, found.body) as unknown as T;
    keep(kind, row, found.body);
    return row;
  };
  const list = <K extends RowKind>(kind: K, query: string, ...params: SqlStorageValue[]) =>
    sql
      .exec<{ body: string }>(`select body from rows where kind = ? and ${query}`, kind, ...params)
      .toArray()
      .map(({ body }) => rowOf(kind, body));
  const one = (query: string, ...params: string[]) => sql.exec<{ body: string | null }>(query, ...params).toArray()[0];
  const get = <K extends RowKind>(kind: K, id: string) => {
    const known = parsed.get(id);
    if (known?.kind === kind) return known.row as RowTypes[K];
    return parse<RowTypes[K]>(kind, one('select body from rows where kind = ? and id = ?', kind, id));
  };
  const find = <K extends RowKind>(kind: K, space: string, key: string): RowTypes[K] | null => {
    const place = `${kind} ${space} ${key}`;
    const id = ids.get(place);
    if (id !== undefined) return get(kind, id);
    const row = parse<RowTypes[K]>(kind, one('select body from rows where kind = ? and space = ? and key = ?', kind, space, key));
    if (row) ids.set(place, row.id);
    return row;
  };

  let edits = 0;
  const editsOf = new Map<RowKind, number>();
  const edited = (kind: RowKind) => {
    if (kind !== 'secret') edits++;
    editsOf.set(kind, (editsOf.get(kind) ?? 0) + 1);
  };
  /** Updates the totals for what a write replaces. */
  const tally = (kind: RowKind, id: string, after: object | null) => {
    const before = get(kind, id);
    forget(kind, id, before);
    counts.set(kind, (counts.get(kind) ?? 0) + (after ? 1 : 0) - (before ? 1 : 0));
    edited(kind);
    if (kind === 'secret') sealed += ((after as SecretRow | null)?.sealed_size ?? 0) - ((before as SecretRow | null)?.sealed_size ?? 0);
  };
  const drop = (kind: RowKind, id: string) => tally(kind, id, null);

  return {
    ...createSecretQueries(sql),
    ...createCredentialQueries(sql),
    get,
    find,
    after: (kind, id, limit) => list(kind, 'id > ? and body is not null order by id limit ?', id, limit),
    newest: (kind, prefix, limit, before = null) =>
      list(
        kind,
        'id > ? and id < ? and body is not null order by id desc limit ?',
        `${prefix}_`,
        // The character after `_`.
        before ?? `${prefix}\u0060`,
        limit,
      ),
    within: (kind, space) => list(kind, 'space = ? and key is not null', space),
    put(kind, row) {
      tally(kind, row.id, row);
      const { space, key } = places[kind];
      const body = JSON.stringify(row);
      sql.exec(
        'insert or replace into rows values (?, ?, ?, ?, ?, ?, ?)',
        kind,
        row.id,
        row.revision,
        space(row),
        key(row),
        body,
        sweepAt(kind, row),
      );
      keep(kind, row, body);
    },
    bury(kind, id, now) {
      drop(kind, id);
      const { rowsWritten } = sql.exec(
        // safety: deletion-leaves-tombstone
        'update rows set revision = revision + 1, space = null, key = null, body = null, sweep_at = ? where kind = ? and id = ? and body is not null',
        now + BURIED,
        kind,
        id,
      );
      if (rowsWritten) buried++;
    },
    forget(kind, id) {
      drop(kind, id);
      const [gone] = sql.exec<{ body: string | null }>('delete from rows where kind = ? and id = ? returning body', kind, id).toArray();
      if (gone?.body === null) buried--;
    },
    forgetOldest(limit) {
      const surplus = Math.min(limit, buried - mostBuried);
      if (surplus <= 0) return false;
      buried -= sql
        .exec<{ id: string }>(
          'delete from rows where (kind, id) in (select kind, id from rows where body is null order by sweep_at limit ?) returning id',
          surplus,
        )
        .toArray().length;
      return buried > mostBuried;
    },
    clear(kinds) {
      parsed.clear();
      ids.clear();
      for (const kind of kinds) {
        edited(kind);
        sql.exec('delete from rows where kind = ?', kind);
        counts.set(kind, 0);
        if (kind === 'secret') sealed = 0;
      }
    },
    sweepable: (now, limit) => ({
      rows: sql
        .exec<Sweepable & Record<string, SqlStorageValue>>(
          'select kind, id, body is null buried from rows where sweep_at <= ? order by sweep_at limit ?',
          now,
          limit,
        )
        .toArray(),
      next: sql.exec<{ n: number | null }>('select min(sweep_at) n from rows').one().n,
    }),
    count: (kind) => counts.get(kind) ?? 0,
    edits: (kind) => (kind === undefined ? edits : (editsOf.get(kind) ?? 0)),
    isBuried: (kind, id) => sql.exec('select 1 from rows where kind = ? and id = ? and body is null', kind, id).toArray().length > 0,
    sealedBytes: () => sealed,
  };
}
