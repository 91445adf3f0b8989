// The batch of a commit: its rows, and the marker, which D1 accepts only if every row is as planned under the
// gate's epoch.

import { isLocal } from '../../db/credential-kinds';
import { kindOf, tableName } from '../../db/rows';
import { secretVersions } from '../../db/schema';
import { insertAllOf, insertOf, reviseOf, type Statement, updateOf } from '../../db/statements';
import type { Intent } from './intents';
import type { Plan, Put } from './plan';

/**
 * Up to this many puts of a kind are written one by one with the prebuilt SQL; more are written together,
 * because D1 allows 100 parameters per statement.
 */
const FEW = 8;

/** D1 is not an older copy of itself. */
const MARK_GUARD = 'coalesce((select max(created_at) from commits where org_id = ?), 0) >= ?';

/** `after`: the highest mark that D1 took before. */
export function batchOf(
  org: string,
  intent: Intent,
  plan: Plan,
  { epoch, after }: { epoch: number; after: number },
): Statement[] {
  const puts = (plan.writes ?? []).filter(isInD1);
  const groups = [...new Set(puts.map(({ kind }) => kind))].map((kind) =>
    puts.filter((put) => put.kind === kind),
  );
  const guards = groups.flatMap((group) =>
    group.length > FEW ? [guardOf(org, group)] : group.map((put) => guardOf(org, [put])),
  );
  return [
    ...(plan.statements ?? []),
    ...groups.flatMap((group) => statementsOf(org, group)),
    ...insertsOf(secretVersions, plan.versions ?? []),
    ...trimsOf(org, plan.trimmed ?? []),
    {
      // safety: batch-epoch-guard, batch-row-guards, batch-mark-guard
      sql: `insert into commits (id, org_id, holds, created_at) values (?, ?, ${['(select epoch from fences where org_id = ?) = ?', MARK_GUARD, ...guards.map((guard) => guard.sql)].join(' and ')}, ?)`,
      params: [
        intent.id,
        org,
        org,
        epoch,
        org,
        after,
        ...guards.flatMap((guard) => guard.params),
        intent.mark ?? intent.at,
      ],
    },
  ];
}

/** Whether D1 has a row for it. */
export const isInD1 = ({ kind, row }: Intent['puts'][number]): boolean =>
  kind !== 'credential' || !isLocal(row.kind);

/** Whether a plan makes session tokens, and does nothing that D1 has to know. */
export const isLocalPlan = ({ writes = [], deletes = [], statements = [], versions = [] }: Plan): boolean =>
  // An ending is known to D1 by its marker: a gate whose storage is put back from a copy notices it.
  // safety: endings-marked-in-d1
  writes.every((put) => !isInD1(put) && put.from === 0) &&
  deletes.length + statements.length + versions.length === 0;

const insertsOf = (table: Parameters<typeof insertOf>[0], rows: object[]): Statement[] =>
  rows.length > FEW ? insertAllOf(table, rows) : rows.map((row) => insertOf(table, row));

/** Deletes versions beyond the limit of a secret. */
function trimsOf(org: string, trimmed: NonNullable<Plan['trimmed']>): Statement[] {
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

/**
 * True if D1 has these rows of one kind. Compared by MAC, not only by revision: another row with the planned
 * revision does not belong to this commit.
 */
function guardOf(org: string, group: Put[]): Statement {
  const [{ kind, row }] = group as [Put];
  const table = tableName(kind);
  if (kind === 'org')
    return { sql: `(select mac from ${table} where id = ?) = ?`, params: [row.id, row.mac] };
  // safety: batch-row-mac
  if (group.length === 1)
    return {
      sql: `(select mac from ${table} where org_id = ? and id = ?) = ?`,
      params: [org, row.id, row.mac],
    };
  return {
    // safety: batch-rows-counted
    sql: `(select count(*) from json_each(?) w cross join ${table} t on t.org_id = ? and t.id = w.value ->> 0 and t.mac = w.value ->> 1) = ?`,
    params: [JSON.stringify(group.map((put) => [put.row.id, put.row.mac])), org, group.length],
  };
}

function statementsOf(org: string, group: Put[]): Statement[] {
  const changed = group.filter(({ from }) => from > 0);
  const [{ kind }] = group as [Put];
  if (group.length <= FEW || kind === 'org') return group.map(statementOf);
  const { table } = kindOf(kind);
  const rowsOf = (puts: Put[]) => puts.map(({ row }) => row);
  return [
    ...insertsOf(table, rowsOf(group.filter(({ from }) => from === 0))),
    ...(changed.length > FEW ? reviseOf(table, org, rowsOf(changed)) : changed.map(statementOf)),
  ];
}

function statementOf({ kind, row, from }: Put): Statement {
  const { table } = kindOf(kind);
  if (from === 0) return insertOf(table, row);
  const tenant = kind === 'org' ? {} : { org_id: (row as { org_id: string }).org_id };
  // safety: update-from-planned-revision
  return updateOf(table, row, { ...tenant, id: row.id, revision: from });
}
