// The rows that a plan writes and removes: new rows, changed rows and deletions. Invariant: every row has a
// MAC over its new state, and a changed row names the revision that it replaces.

import { getTableColumns } from 'drizzle-orm';
import { utf8 } from '../../crypto/bytes';
import { kindOf, macOf, type RowKind, type RowTypes } from '../../db/rows';
import { ApiError, refuse } from '../../errors';
import type { Call, LentKeys } from './call';
import type { Put } from './plan';

/**
 * The most rows that one part of a longer task changes, and their most total bytes: the gate does nothing
 * else while it applies a plan.
 */
const MOST_PUTS = 1000;
const MOST_BYTES = 800_000;

/** As many of the first rows as one plan can change and list in its response. */
export function portion<T extends object>(rows: T[]): T[] {
  let bytes = 0;
  const past = rows.slice(0, MOST_PUTS).findIndex((row) => {
    bytes += utf8(JSON.stringify(row)).length;
    return bytes > MOST_BYTES;
  });
  // safety: batch-size-limited
  return rows.slice(0, past < 0 ? MOST_PUTS : past);
}

type Fields<K extends RowKind> = Omit<RowTypes[K], 'revision' | 'mac'>;
type Nullable<T> = { [F in keyof T]-?: null extends T[F] ? F : never }[keyof T];
/** Nullable fields may be omitted. */
export type New<K extends RowKind> = Omit<Fields<K>, Nullable<Fields<K>>> &
  Partial<Pick<Fields<K>, Nullable<Fields<K>> & keyof Fields<K>>>;

const blanks = new Map<RowKind, object>();

/** A row of a kind whose columns are all null. */
function blank(kind: RowKind): object {
  const known =
    blanks.get(kind) ??
    Object.fromEntries(Object.keys(getTableColumns(kindOf(kind).table)).map((name) => [name, null]));
  blanks.set(kind, known);
  return known;
}

/** A new row. */
export const insertion = <K extends RowKind>(call: Call<unknown>, kind: K, fields: New<K>): Put =>
  authenticated(
    call,
    kind,
    { ...blank(kind), ...fields, revision: 1 } as unknown as Omit<RowTypes[K], 'mac'>,
    0,
  );

/** A changed row: the current one with other fields. */
export function revision<K extends RowKind>(
  call: Call<unknown>,
  kind: K,
  before: RowTypes[K],
  fields: Partial<Fields<K>>,
): Put {
  return authenticated(call, kind, { ...before, ...fields, revision: before.revision + 1 }, before.revision);
}

function authenticated<K extends RowKind>(
  call: Call<unknown>,
  kind: K,
  row: Omit<RowTypes[K], 'mac'>,
  from: number,
): Put {
  return { kind, row: { ...row, mac: macOf(rowKeyOf(call), kind, row) }, from } as unknown as Put;
}

/** The key for row MACs, which every change needs. */
export const rowKeyOf = (call: Call<unknown>): Uint8Array => keysOf(call).row;

/** The key for what the gate stores encrypted. */
export const answerKeyOf = (call: Call<unknown>): Uint8Array => keysOf(call).answer;

function keysOf({ ask }: Call<unknown>): LentKeys {
  if (!ask.keys) throw new ApiError(refuse('UNAVAILABLE', { retry_after: 1 }));
  return ask.keys;
}
