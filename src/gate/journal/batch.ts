// The batch of records that D1 takes in one transaction: their rows, in the order in which they were decided,
// and the position, which D1 accepts only if it has exactly the records before, of the same term, and
// afterwards every row as the gate decided it.

import { isLocal } from '../../db/credential-kinds';
import { kindOf, type RowKind, rowKinds, tableName } from '../../db/rows';
import { secretVersions } from '../../db/schema';
import { insertAllOf, insertOf, putAllOf, reviseOf, type Statement, updateOf } from '../../db/statements';
import type { Put } from '../request/plan';
import type { ChangeRecord } from './records';

/**
 * Up to this many rows of a table are written one by one with the prebuilt SQL; more are written together,
 * because D1 allows 100 parameters per statement.
 */
const FEW = 8;

/** Where D1 stands before a batch, and after it. */
export interface Step {
  term: string;
  from: number;
  to: number;
  /** The ids of the records at both. */
  after: string;
  record: string;
}

/** Whether D1 has a row for it. */
export const isInD1 = ({ kind, row }: Pick<Put, 'kind' | 'row'>): boolean =>
  kind !== 'credential' || !isLocal((row as { kind: Parameters<typeof isLocal>[0] }).kind);

/** `isForced`: whatever D1 holds of the rows is replaced. */
export const batchOf = (
  org: string,
  records: readonly ChangeRecord[],
  step: Step,
  isForced = false,
): Statement[] => [...rowsOf(org, records, isForced), positionOf(org, step, guardsOf(org, records))];

/** Moves the position. `guards`: what must hold besides. */
export function positionOf(
  org: string,
  { term, from, to, after, record }: Step,
  guards: Statement[] = [],
): Statement {
  // safety: batch-term-guard, batch-position-guard, batch-row-guards
  const holds = [
    '(select term = ? and position = ? and record = ? from journal_positions where org_id = ?)',
    ...guards.map(({ sql }) => sql),
  ].join(' and ');
  return {
    sql: `insert into journal_positions (org_id, term, position, record, holds) values (?, ?, ?, ?, ${holds})
      on conflict do update set position = excluded.position, record = excluded.record, holds = excluded.holds`,
    params: [org, term, to, record, term, from, after, org, ...guards.flatMap(({ params }) => params)],
  };
}

/** The statements of records. New rows wait for each other, as long as nothing else has to come between. */
function rowsOf(org: string, records: readonly ChangeRecord[], isForced: boolean): Statement[] {
  const made: Statement[] = [];
  const fresh = new Map<Parameters<typeof insertOf>[0], object[]>();
  const insert = isForced ? putAllOf : insertsOf;
  const add = (table: Parameters<typeof insertOf>[0], row: object) => {
    const rows = fresh.get(table) ?? [];
    fresh.set(table, rows);
    rows.push(row);
  };
  const addAfterFresh = (statements: Statement[]) => {
    if (statements.length === 0) return;
    for (const [table, rows] of fresh) made.push(...insert(table, rows));
    fresh.clear();
    made.push(...statements);
  };
  for (const { statements, deletes, writes, versions, trimmed } of records) {
    addAfterFresh([...statements, ...deletionsOf(org, deletes)]);
    // A name that an earlier row gives up may be that of a new one.
    const changed = writes.filter(({ from }) => from > 0);
    addAfterFresh(changedOf(org, changed, isForced));
    for (const { kind, row, from } of writes) if (from === 0) add(kindOf(kind).table, row);
    for (const version of versions) add(secretVersions, version);
    addAfterFresh(trimsOf(org, trimmed));
  }
  for (const [table, rows] of fresh) made.push(...insert(table, rows));
  return made;
}

const insertsOf = (table: Parameters<typeof insertOf>[0], rows: object[]): Statement[] =>
  rows.length > FEW ? insertAllOf(table, rows) : rows.map((row) => insertOf(table, row));

/** Deletes rows; with a secret, its versions. */
function deletionsOf(org: string, deletes: ChangeRecord['deletes']): Statement[] {
  const kinds = [...new Set(deletes.map(({ kind }) => kind))];
  return kinds.flatMap((kind) => {
    const ids = JSON.stringify(deletes.filter((row) => row.kind === kind).map(({ id }) => id));
    const from = (table: string, column: string) => ({
      sql: `delete from ${table} where org_id = ? and ${column} in (select value from json_each(?))`,
      params: [org, ids],
    });
    return [
      // safety: purge-deletes-versions
      ...(kind === 'secret' ? [from('secret_versions', 'secret_id')] : []),
      from(tableName(kind), 'id'),
    ];
  });
}

/** Deletes versions beyond the limit of a secret. */
function trimsOf(org: string, trimmed: ChangeRecord['trimmed']): Statement[] {
  if (trimmed.length <= FEW)
    return trimmed.map(({ secret, version }) => ({
      sql: 'delete from secret_versions where org_id = ? and secret_id = ? and version <= ?',
      params: [org, secret, version],
    }));
  return [
    {
      sql: `delete from secret_versions where (org_id, secret_id, version) in (select v.org_id, v.secret_id, v.version from json_each(?) w
        cross join secret_versions v on v.org_id = ? and v.secret_id = w.value ->> 0 and v.version <= w.value ->> 1)`,
      params: [JSON.stringify(trimmed.map(({ secret, version }) => [secret, version])), org],
    },
  ];
}

function changedOf(org: string, writes: Put[], isForced: boolean): Statement[] {
  return [...new Set(writes.map(({ kind }) => kind))].flatMap((kind) => {
    const own = writes.filter((put) => put.kind === kind);
    const rows = own.map(({ row }) => row);
    if (isForced) return putAllOf(kindOf(kind).table, rows);
    if (own.length <= FEW || kind === 'org') return own.map(updateOfPut);
    return reviseOf(kindOf(kind).table, org, rows);
  });
}

function updateOfPut({ kind, row, from }: Put): Statement {
  const { table } = kindOf(kind);
  const tenant = kind === 'org' ? {} : { org_id: (row as { org_id: string }).org_id };
  // safety: update-from-planned-revision
  return updateOf(table, row, { ...tenant, id: row.id, revision: from });
}

/**
 * True if D1 has the rows as the last of the records leaves them. Compared by MAC, not only by revision:
 * another row with that revision was not written here.
 */
function guardsOf(org: string, records: readonly ChangeRecord[]): Statement[] {
  const macs = new Map(rowKinds().map((kind) => [kind, new Map<string, string>()]));
  for (const { deletes, writes } of records) {
    for (const { kind, id } of deletes) macs.get(kind)?.delete(id);
    for (const { kind, row } of writes) macs.get(kind)?.set(row.id, row.mac);
  }
  return [...macs].flatMap(([kind, rows]) => (rows.size ? [guardOf(org, kind, [...rows])] : []));
}

function guardOf(org: string, kind: RowKind, rows: [id: string, mac: string][]): Statement {
  const table = tableName(kind);
  const [[id, mac]] = rows as [[string, string]];
  if (kind === 'org') return { sql: `(select mac from ${table} where id = ?) = ?`, params: [id, mac] };
  // safety: batch-row-mac
  if (rows.length === 1)
    return { sql: `(select mac from ${table} where org_id = ? and id = ?) = ?`, params: [org, id, mac] };
  return {
    // safety: batch-rows-counted
    sql: `(select count(*) from json_each(?) w cross join ${table} t on t.org_id = ? and t.id = w.value ->> 0 and t.mac = w.value ->> 1) = ?`,
    params: [JSON.stringify(rows), org, rows.length],
  };
}
