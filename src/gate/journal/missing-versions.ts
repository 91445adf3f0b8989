// The versions that an adoption finds without a stored value, because the database lost single rows of them.
// Invariant: it changes nothing, so that restoring the rows later still brings the values back.
import type { SecretRow } from '../../db/schema';
import type { Core } from '../core';
import { slugOf } from '../request/target';
import type { Report } from './adoption';

/** Secrets a query. */
const PAGE = 200;

/** Names the versions without a stored value: D1 has lost single rows of them. */
export async function nameMissing(core: Core, { found, name }: Report): Promise<void> {
  for (let after = ''; ; ) {
    const page = await core.database.all<{ id: string; versions: string }>({
      sql: `select id, (select json_group_array(version) from secret_versions where org_id = s.org_id and secret_id = s.id) versions
        from secrets s where org_id = ? and id > ? order by id limit ?`,
      params: [core.org, after, PAGE],
    });
    for (const { id, versions } of page) {
      const row = core.rows.get('secret', id);
      if (!row) continue;
      const at = { id, name: row.name, environment: slugOf(core, row.environment_id) };
      for (const [from, to] of missingVersions(row, JSON.parse(versions)))
        name(found.lost_versions, { ...at, from, to });
    }
    if (page.length < PAGE) break;
    after = String(page.at(-1)?.id);
  }
}

/** The ranges of versions that a secret has, and of which none is stored. */
function missingVersions(row: SecretRow, stored: number[]): [number, number][] {
  const has = new Set(stored);
  const isLost = (n: number) => row.lost_versions?.some(([from, to]) => n >= from && n <= to) ?? false;
  const ranges: [number, number][] = [];
  for (let version = row.oldest_version; version <= row.version; version++) {
    // safety: adoption-names-lost-versions
    if (has.has(version) || isLost(version)) continue;
    const last = ranges.at(-1);
    if (last?.[1] === version - 1) last[1] = version;
    else ranges.push([version, version]);
  }
  return ranges;
}
