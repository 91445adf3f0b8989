// The batch of a commit: its rows, and the marker that D1 takes only if every row then stands as planned, under the gate's epoch.

import { places, tableName } from '../db/rows';
import { secretVersions } from '../db/schema';
import { insertOf, reviseOf, type Statement, updateOf } from '../db/statements';
import type { Intent } from './intents';
import type { Plan, Put } from './plan';

/** Puts of a kind that go one by one, in the SQL that is spelled once; more of them go together, for D1 takes 100 parameters a statement. */
const FEW = 8;

export function batchOf(org: string, intent: Intent, plan: Plan, epoch: number): Statement[] {
  const puts = plan.puts ?? [];
  const groups = [...new Set(puts.map(({ kind }) => kind))].map((kind) => puts.filter((put) => put.kind === kind));
  const guards = groups.flatMap((group) => (group.length > FEW ? [guardOf(org, group)] : group.map((put) => guardOf(org, [put]))));
  return [
    ...(plan.also ?? []),
    ...groups.flatMap((group) => statementsOf(org, group)),
    ...(plan.versions ?? []).map((version) => insertOf(secretVersions, version)),
    ...(plan.trimmed ?? []).map(({ secret, version }) => ({
      sql: 'delete from secret_versions where org_id = ? and secret_id = ? and version <= ?',
      params: [org, secret, version],
    })),
    {
      // safety: batch-epoch-guard, batch-row-guards
      sql: `insert into commits (id, org_id, holds, created_at) values (?, ?, ${['(select epoch from fences where org_id = ?) = ?', ...guards.map((guard) => guard.sql)].join(' and ')}, ?)`,
      params: [intent.id, org, org, epoch, ...guards.flatMap((guard) => guard.params), intent.at],
    },
  ];
}

/** Holds where D1 has these rows, of one kind. By their MACs, not their revisions alone: another row under the planned revision is not this commit's. */
function guardOf(org: string, group: Put[]): Statement {
  const [{ kind, row }] = group as [Put];
  const table = tableName(kind);
  if (kind === 'org') return { sql: `(select mac from ${table} where id = ?) = ?`, params: [row.id, row.mac] };
  // safety: batch-row-mac
  if (group.length === 1) return { sql: `(select mac from ${table} where org_id = ? and id = ?) = ?`, params: [org, row.id, row.mac] };
  return {
    // safety: batch-rows-counted
    sql: `(select count(*) from json_each(?) w cross join ${table} t on t.org_id = ? and t.id = w.value ->> 0 and t.mac = w.value ->> 1) = ?`,
    params: [JSON.stringify(group.map((put) => [put.row.id, put.row.mac])), org, group.length],
  };
}

function statementsOf(org: string, group: Put[]): Statement[] {
  const changed = group.filter(({ from }) => from > 0);
  const [{ kind }] = group as [Put];
  if (changed.length <= FEW || kind === 'org') return group.map(statementOf);
  const rows = changed.map(({ row }) => row);
  return [...group.filter(({ from }) => from === 0).map(statementOf), reviseOf(places[kind].table, org, rows)];
}

function statementOf({ kind, row, from }: Put): Statement {
  const { table } = places[kind];
  if (from === 0) return insertOf(table, row);
  const tenant = kind === 'org' ? {} : { org_id: (row as { org_id: string }).org_id };
  // safety: update-from-planned-revision
  return updateOf(table, row, { ...tenant, id: row.id, revision: from });
}
