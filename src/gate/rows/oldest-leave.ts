// Quotas of tables whose rows decide nothing: past them the oldest rows leave. Invariant: a root makes room
// among its own rows first, so it never takes more than its quota from what the organisation shares.

/** How many rows of a table an organisation has at most, and one root. */
export interface TableQuota {
  org: number;
  root: number;
}

/**
 * Deletes the oldest rows of a table beyond its quotas. It has an index on (root, at), and another on (at).
 * `key`: its primary key.
 */
export function oldestLeave(
  sql: SqlStorage,
  table: string,
  key: string,
  quota: TableQuota,
  root: string,
): void {
  const past = (where: string, most: number, ...params: string[]) =>
    sql.exec(
      `delete from ${table} where (${key}) in (select ${key} from ${table} ${where} order by at desc limit -1 offset ?)`,
      ...params,
      most,
    );
  // safety: table-of-root-bounded
  past('where root = ?', quota.root, root);
  // safety: table-of-org-bounded
  past('', quota.org);
}
