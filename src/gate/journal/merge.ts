// Rows of which D1 has a newer state than the gate, as after the storage of either was put back without the
// other: an adoption takes them before it writes the gate's rows to D1. Invariants: what has ended on either
// side stays ended; otherwise the higher revision wins; a row that the gate does not have is never taken, so
// nothing that was deleted comes back.
import { kindOf, macOf, type RowKind, type RowTypes, readable, rowKinds, tableName } from '../../db/rows';
import type { Core } from '../core';
import type { Report } from './adoption';

const PAGE = 1000;

/** Kinds of rows for which the gate's state takes precedence. */
export const governingKinds = () => rowKinds().filter((kind) => kind !== 'secret');

interface Comparable {
  revision: number;
  revoked_at?: number | null;
  deleted_at?: number | null;
  ended_at?: number | null;
  generation?: number;
}

const hasEnded = ({ revoked_at, deleted_at, ended_at }: Comparable): boolean =>
  (revoked_at ?? deleted_at ?? ended_at ?? null) !== null;

/**
 * Whether the row in D1 is to be taken in place of the gate's. A higher generation of an organisation ends
 * what a panic ended.
 */
export function isNewer(stored: Comparable, here: Comparable): boolean {
  const theirs = stored.generation ?? 0;
  const ours = here.generation ?? 0;
  if (theirs !== ours) return theirs > ours;
  // safety: adoption-takes-endings
  if (hasEnded(stored) !== hasEnded(here)) return hasEnded(stored);
  return stored.revision > here.revision;
}

/** Takes the newer rows of D1, a page at a time. */
export async function takeNewer(core: Core, key: Uint8Array, report: Report): Promise<void> {
  for (const kind of governingKinds()) {
    const owner = kind === 'org' ? 'id' : 'org_id';
    for (let after = ''; ; ) {
      const page = await core.database.all<Record<string, unknown>>({
        sql: `select * from ${tableName(kind)} where ${owner} = ? and id > ? order by id limit ${PAGE}`,
        params: [core.org, after],
      });
      const rows = page
        .map((raw) => readable(kind, raw))
        .filter((row) => row !== null && isTaken(core, key, kind, row));
      core.storage.transactionSync(() => {
        for (const row of rows) core.rows.put(kind, row as RowTypes[typeof kind]);
        report.found.newer += rows.length;
        if (rows.length) report.keep();
      });
      if (page.length < PAGE) break;
      after = String(page.at(-1)?.id);
    }
  }
}

function isTaken<K extends RowKind>(core: Core, key: Uint8Array, kind: K, stored: RowTypes[K]): boolean {
  const here = core.rows.get(kind, stored.id);
  // safety: adopted-newer-row-mac
  if (!here || stored.mac !== macOf(key, kind, stored) || !isNewer(stored as Comparable, here as Comparable))
    return false;
  const { space, key: unique } = kindOf(kind) as unknown as {
    space(row: object): string;
    key(row: object): string | null;
  };
  const name = unique(stored);
  const other = name === null ? null : core.rows.find(kind, space(stored), name);
  return other === null || other.id === stored.id;
}
