// The rows of an organisation that decisions depend on, complete and durable: organisation, environments,
// members and their grants, credentials, and the state of secrets (not their ciphertext). Invariants: only a
// settled commit (or the recovery of a lost gate) writes here; a deleted row leaves a tombstone with its
// revision, so an old copy restored to D1, with a correct MAC, has no effect.

import QuickLRU from 'quick-lru';
import { BRIEF_KINDS } from '../../db/credential-kinds';
import { DAY, kindOf, type RowKind, type RowTypes, rowOf, sweepAt } from '../../db/rows';
import type { CredentialRow } from '../../db/schema';
import { type CredentialQueries, createCredentialQueries } from './credentials';
import { createExpiringQueries, type ExpiringQueries } from './expiring';
import { createSecretQueries, type SecretQueries } from './secrets';
import { createSessionCounts, type SessionCounts } from './session-counts';
import { createStoredRows, type StoredRows } from './stored';
import { createTombstones, tombstoneQuota } from './tombstones';

/** A row that may be swept, or a tombstone. */
export interface Sweepable {
  kind: RowKind;
  id: string;
  buried: number;
}

export interface Rows extends SecretQueries, CredentialQueries, ExpiringQueries {
  get<K extends RowKind>(kind: K, id: string): RowTypes[K] | null;
  /** By unique key: an environment's slug, a token's hash, a secret's name in its environment. */
  find<K extends RowKind>(kind: K, space: string, key: string): RowTypes[K] | null;
  /** Up to `limit` rows of a kind after an id, in id order. */
  after<K extends RowKind>(kind: K, id: string, limit: number): RowTypes[K][];
  /**
   * Up to `limit` rows of a kind whose ids have this prefix, newest first; only those before an id, if given.
   */
  newest<K extends RowKind>(kind: K, prefix: string, limit: number, before?: string | null): RowTypes[K][];
  /** All rows of a kind in a space: the grants of a grantee, the teams of a member. */
  within<K extends RowKind>(kind: K, space: string): readonly RowTypes[K][];
  /** `root`: of whoever makes it, if it is new. */
  put<K extends RowKind>(kind: K, row: RowTypes[K], root?: string): void;
  /** Leaves a tombstone, for at most 400 days. */
  bury(kind: RowKind, id: string, now: number): void;
  /** Deletes up to `limit` of the oldest tombstones beyond the limit. Returns whether more are left. */
  forgetOldest(limit: number): boolean;
  /** Deletes without a tombstone: for rows that expired and can never become valid again. */
  forget(kind: RowKind, id: string): void;
  /** Deletes all rows of some kinds: their organisation was deleted. */
  clear(kinds: RowKind[]): void;
  /**
   * Up to `limit` rows that may be swept, and when the next one may. `age`: for all but sessions, if it is
   * behind the clock.
   */
  sweepable(now: number, limit: number, age?: number): { rows: Sweepable[]; next: number | null };
  count(kind: RowKind): number;
  /**
   * How often a row other than a secret was written: while it stays the same, so does the validity of
   * credentials, except for expiry. Or how often a row of one kind was written.
   */
  edits(kind?: RowKind): number;
  /** Whether a row of this id existed and was permanently deleted. */
  isBuried(kind: RowKind, id: string): boolean;
  /** The ciphertext size of all secrets, in bytes. */
  sealedBytes(): number;
  /** What each root stores of each kind that it can create. */
  stored: Pick<StoredRows, 'of' | 'usage' | 'open' | 'finished' | 'recount'>;
  /** The root that a row counts for. */
  rootOf: StoredRows['rootOf'];
  /** The session tokens of each root. */
  sessions: Pick<SessionCounts, 'of' | 'all'>;
}

/** How long a tombstone is kept, longer than any useful backup. */
const BURIED = 400 * DAY;

/** Sessions are many and end soon, so they are swept by the clock in any case. */
const SWEPT_BY_AGE = `and (sweep_at <= ? or (kind = 'credential' and body ->> '$.kind' in ${BRIEF_KINDS}))`;

/**
 * Selects the rows of a kind. As a literal: SQLite prepares a statement anew for each value of a parameter
 * that decides whether a partial index can be used.
 */
const isOf = (kind: RowKind) => `kind = '${kind}'`;

interface Parsed {
  kind: RowKind;
  row: { id: string };
}

/**
 * How many rows stay parsed in memory, most of 1 to 3 kB, and the longest of them in characters: a gate
 * shares 128 MB with others.
 */
const RECENT = 2000;
const LONGEST_KEPT = 8192;
/** How many lists of a space stay parsed in memory, each at most as long as the longest row. */
const LISTED = 500;

// biome-ignore lint/complexity/noExcessiveLinesPerFunction: its methods share the rows in memory, the counts, and the statements.
export function createRows(sql: SqlStorage, quota = tombstoneQuota): Rows {
  sql.exec(`create table if not exists rows (kind text not null, id text not null, revision integer not null, space text, key text, body text, sweep_at integer,
    primary key (kind, id)) without rowid`);
  sql.exec('create index if not exists rows_sweep on rows (sweep_at) where sweep_at is not null');
  sql.exec('create unique index if not exists rows_key on rows (kind, space, key) where key is not null');
  const tombstones = createTombstones(sql, quota);
  const counts = new Map<string, number>();
  for (const { kind, n } of sql.exec<{ kind: string; n: number }>(
    'select kind, count(*) n from rows where body is not null group by kind',
  ))
    counts.set(kind, n);

  // Recently read rows, parsed, and the ids behind keys. A failed transaction resets the gate, so cached rows
  // always equal stored rows. Row objects are never modified.
  const parsed = new QuickLRU<string, Parsed>({ maxSize: RECENT });
  const ids = new QuickLRU<string, string>({ maxSize: RECENT });
  // Each change looks for its own new id, and a slug is looked for as an id first: what was not found is
  // remembered until it is written.
  const absent = new QuickLRU<string, true>({ maxSize: RECENT });
  // The short lists of spaces, each valid until a row of its kind is written.
  const listed = new QuickLRU<string, { edits: number; rows: readonly object[] }>({ maxSize: LISTED });
  const forget = (kind: RowKind, id: string, row: object | null) => {
    parsed.delete(id);
    const { space, key } = kindOf(kind) as { space(row: object): string; key(row: object): string | null };
    if (row) ids.delete(`${kind} ${space(row)} ${key(row)}`);
  };
  const keep = (kind: RowKind, row: { id: string }, body: string) => {
    // A sync or an approval may name 1,000 secrets.
    // safety: parsed-rows-bounded
    if (body.length <= LONGEST_KEPT) parsed.set(row.id, { kind, row });
  };
  const parse = <T extends { id: string }>(
    kind: RowKind,
    found: { body: string | null } | undefined,
  ): T | null => {
    if (!found?.body) return null;
    const row = rowOf(kind, found.body) as unknown as T;
    keep(kind, row, found.body);
    return row;
  };
  const list = <K extends RowKind>(kind: K, query: string, ...params: SqlStorageValue[]) =>
    sql
      .exec<{ body: string }>(`select body from rows where ${isOf(kind)} and ${query}`, ...params)
      .toArray()
      .map(({ body }) => rowOf(kind, body));
  const one = (query: string, ...params: string[]) =>
    sql.exec<{ body: string | null }>(query, ...params).toArray()[0];
  const get = <K extends RowKind>(kind: K, id: string) => {
    const known = parsed.get(id);
    if (known?.kind === kind) return known.row as RowTypes[K];
    const place = `${kind} ${id}`;
    if (absent.has(place)) return null;
    const row = parse<RowTypes[K]>(kind, one(`select body from rows where ${isOf(kind)} and id = ?`, id));
    if (!row) absent.set(place, true);
    return row;
  };
  const find = <K extends RowKind>(kind: K, space: string, key: string): RowTypes[K] | null => {
    const place = `${kind} ${space} ${key}`;
    const id = ids.get(place);
    if (id !== undefined) return get(kind, id);
    // Each change of a secret asks for kinds of which most organisations have no row.
    if (!counts.get(kind)) return null;
    const row = parse<RowTypes[K]>(
      kind,
      one(`select body from rows where ${isOf(kind)} and space = ? and key = ?`, space, key),
    );
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
    // safety: absence-ends-with-a-write
    absent.delete(`${kind} ${id}`);
    counts.set(kind, (counts.get(kind) ?? 0) + (after ? 1 : 0) - (before ? 1 : 0));
    edited(kind);
    if (kind === 'credential') sessions.note(before as CredentialRow | null, after as CredentialRow | null);
  };
  const within = <K extends RowKind>(kind: K, space: string): readonly RowTypes[K][] => {
    const place = `${kind} ${space}`;
    const now = editsOf.get(kind) ?? 0;
    const known = listed.get(place);
    // safety: list-ends-with-a-write
    if (known?.edits === now) return known.rows as readonly RowTypes[K][];
    const bodies = sql
      .exec<{ body: string }>(
        `select body from rows where ${isOf(kind)} and space = ? and key is not null`,
        space,
      )
      .toArray();
    const rows = bodies.map(({ body }) => rowOf(kind, body));
    const isShort = bodies.reduce((sum, { body }) => sum + body.length, 0) <= LONGEST_KEPT;
    if (isShort) listed.set(place, { edits: now, rows });
    else listed.delete(place);
    return rows;
  };
  const stored = createStoredRows(sql, { get, all: (kind) => list(kind, 'body is not null') });
  const sessions = createSessionCounts(sql, { get, rootOf: stored.rootOf });
  const drop = (kind: RowKind, id: string) => {
    tally(kind, id, null);
    stored.forget(kind, id);
  };

  return {
    ...createSecretQueries(sql, () => editsOf.get('secret') ?? 0),
    ...createCredentialQueries(sql),
    ...createExpiringQueries(sql),
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
    within,
    put(kind, row, root) {
      tally(kind, row.id, row);
      const { space, key } = kindOf(kind);
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
      stored.note(kind, row, root);
      // safety: ended-with-parent-has-finished
      if (kind === 'credential' && (row as CredentialRow).revoked_at !== null)
        stored.endBelow(row.id, (row as CredentialRow).revoked_at as number);
    },
    bury(kind, id, now) {
      const root = stored.rootOf(kind, id);
      drop(kind, id);
      const { rowsWritten } = sql.exec(
        // safety: deletion-leaves-tombstone
        `update rows set revision = revision + 1, space = ?, key = null, body = null, sweep_at = ? where ${isOf(kind)} and id = ? and body is not null`,
        root,
        now + BURIED,
        id,
      );
      if (rowsWritten) tombstones.note(root, 1);
    },
    forget(kind, id) {
      drop(kind, id);
      const [gone] = sql
        .exec<{ body: string | null; space: string | null }>(
          `delete from rows where ${isOf(kind)} and id = ? returning body, space`,
          id,
        )
        .toArray();
      if (gone?.body === null) tombstones.note(gone.space, -1);
    },
    forgetOldest: tombstones.forgetOldest,
    clear(kinds) {
      parsed.clear();
      ids.clear();
      for (const kind of kinds) {
        edited(kind);
        sql.exec(`delete from rows where ${isOf(kind)}`);
        stored.clear(kind);
        counts.set(kind, 0);
        if (kind === 'credential') sessions.clear();
        tombstones.recount();
      }
    },
    sweepable: (now, limit, age = now) => ({
      rows: sql
        .exec<Sweepable & Record<string, SqlStorageValue>>(
          `select kind, id, body is null buried from rows where sweep_at <= ? ${SWEPT_BY_AGE} order by sweep_at limit ?`,
          now,
          age,
          limit,
        )
        .toArray(),
      next: sql.exec<{ n: number | null }>('select min(sweep_at) n from rows').one().n,
    }),
    count: (kind) => counts.get(kind) ?? 0,
    edits: (kind) => (kind === undefined ? edits : (editsOf.get(kind) ?? 0)),
    isBuried: (kind, id) =>
      sql.exec(`select 1 from rows where ${isOf(kind)} and id = ? and body is null`, id).toArray().length > 0,
    sealedBytes: () => stored.usage('secret', null).bytes,
    stored,
    rootOf: stored.rootOf,
    sessions,
  };
}
