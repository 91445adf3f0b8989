// The kinds of rows that authorisation decisions depend on: what each domain declares of its own, MACs, and
// rows from D1. Invariant: a row keeps its MAC when a later release adds columns.
import { getTableColumns, getTableName } from 'drizzle-orm';
import type { SQLiteTable } from 'drizzle-orm/sqlite-core';
import { tuple } from '../crypto/bytes';
import { hmacHex } from '../crypto/digest';
import type { secrets } from './schema';

/** The row of each kind. A domain adds its own kinds: `declare module '../../db/rows'` in its `rows.ts`. */
// biome-ignore lint/suspicious/noEmptyInterface: domains add to it.
export interface RowTypes {}
export type RowKind = keyof RowTypes;

/** Finds rows by id. */
export interface RowReader {
  get<K extends RowKind>(kind: K, id: string): RowTypes[K] | null;
}

/** How many, and how many bytes of the gate's storage. */
export interface Usage {
  count: number;
  bytes: number;
}

/**
 * The quota of a kind of row that stays until it is removed. `root`: where others than administrators create
 * it.
 */
export interface Lasting {
  most: number;
  root?: number;
  message: string;
}

/**
 * The quota of a kind of row that stays for a while: the oldest finished ones leave first. `open`: how many
 * may be unfinished.
 */
export interface Passing {
  org: Usage & { open?: number };
  root: Usage & { open?: number };
  /** What a caller can do where nothing has finished. */
  message: string;
}

/** A kind of row, as its domain declares it. */
export interface KindOfRow<Row> {
  /** Its table in D1: tenant first, with `id`, `revision` and `mac`. */
  table: SQLiteTable;
  /** The unique key that finds a row within a space; null for a row that is found by id alone. */
  space(row: Row): string;
  key(row: Row): string | null;
  /** Columns added after the first release. */
  added?: readonly (keyof Row & string)[];
  /** When a row may be deleted, in D1 too; null if it stays. Without, rows stay until they are removed. */
  sweepAt?(row: Row): number | null;
  /**
   * Whether Workers read what changed of a row in D1, before they ask a gate. `before`: null if it is new.
   */
  isReadFirst?(row: Row, before: Row | null): boolean;
  /**
   * Who made a row: a member, a credential or a connection. Rows of kinds without it are not counted by root.
   */
  maker?(row: Row): string;
  /** When a row has finished, and may leave for others; null while that is not known. */
  ends?(row: Row): number | null;
  /** How many there may be. Where another row or the domain bounds them, a sentence says which. */
  quota: Lasting | Passing | string;
}

const kinds = new Map<RowKind, KindOfRow<never>>();

/** Declares a kind of row. Called once a kind, by the `rows.ts` of its domain. */
export function rowKind<K extends RowKind>(kind: K, declared: KindOfRow<RowTypes[K]>): K {
  if (kinds.has(kind)) throw new Error(`the kind of row ${kind} is declared twice`);
  kinds.set(kind, declared as KindOfRow<never>);
  return kind;
}

/**
 * What is declared of a kind. Throws where its domain is not loaded, because a MAC would then leave out what
 * was added.
 */
export function kindOf<K extends RowKind>(
  kind: K,
): Omit<KindOfRow<RowTypes[K]>, 'table'> & { table: typeof secrets } {
  const declared = kinds.get(kind);
  if (!declared) throw new Error(`the kind of row ${kind} is not declared`);
  return declared as never;
}

/** All kinds of rows that decide. */
export const rowKinds = (): RowKind[] => [...kinds.keys()];

/** Columns of versions added after the first release. Their rows do not decide, but have MACs. */
const ADDED_TO_VERSIONS: readonly string[] = ['generated', 'binary', 'request_token'];
const addedTo = (kind: RowKind | 'version'): readonly string[] =>
  kind === 'version' ? ADDED_TO_VERSIONS : ((kindOf(kind).added as readonly string[] | undefined) ?? []);

/** A stored row. An earlier release may have written it without columns that were added later. */
export const rowOf = <K extends RowKind>(kind: K, body: string): RowTypes[K] => {
  const row = JSON.parse(body);
  for (const column of addedTo(kind)) row[column] ??= null;
  return row;
};

export const DAY = 86_400_000;
/** How long a deleted secret can be restored, and how long an ended credential is remembered. */
export const RESTORABLE = 7 * DAY;
export const REMEMBERED = 90 * DAY;

/** When a row may be swept, or null if it stays. */
export const sweepAt = <K extends RowKind>(kind: K, row: RowTypes[K]): number | null =>
  kindOf(kind).sweepAt?.(row) ?? null;

/**
 * The MAC of a row: over its kind and every column except the MAC itself and ciphertext, which is
 * authenticated on its own. A column added by a later release is left out while it is null, so rows of
 * earlier releases keep their MACs.
 */
export function macOf(key: Uint8Array, kind: RowKind | 'version', row: object): string {
  const values = row as Record<string, unknown>;
  const added = addedTo(kind);
  const columns = Object.keys(row)
    .filter(
      (name) =>
        name !== 'mac' && !name.endsWith('_sealed') && !(values[name] === null && added.includes(name)),
    )
    .sort()
    .map((name) => [name, values[name]]);
  return hmacHex(key, tuple('svc/v1/row', kind, JSON.stringify(columns)));
}

/** A row from a raw D1 query, with its JSON columns parsed. */
export function fromD1<T>(table: SQLiteTable, raw: Record<string, unknown>): T {
  const row: Record<string, unknown> = {};
  for (const [name, column] of Object.entries(getTableColumns(table)))
    row[name] = raw[name] === null ? null : column.mapFromDriverValue(raw[name] as never);
  return row as T;
}

/** The same for a row that may have been altered: null if a column does not parse. */
export function readable<K extends RowKind>(kind: K, raw: Record<string, unknown>): RowTypes[K] | null {
  try {
    return fromD1<RowTypes[K]>(kindOf(kind).table, raw);
  } catch {
    return null;
  }
}

/** A table's name in SQL. */
export const tableName = (kind: RowKind): string => getTableName(kindOf(kind).table);
