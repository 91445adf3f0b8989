// How many tombstones of deleted rows a gate keeps, in all and of what each root created: the newest. The
// column `space` of a tombstone names the root. Invariant: a root that creates and deletes without end pushes
// out its own tombstones, not those of others.
import type { TableQuota } from './oldest-leave';

export interface Tombstones {
  /** A tombstone was left (1) or has gone (-1). `root`: null if its kind is not counted. */
  note(root: string | null, change: 1 | -1): void;
  /** Deletes up to `limit` of the oldest beyond the quotas. Returns whether more are left. */
  forgetOldest(limit: number): boolean;
  recount(): void;
}

export const tombstoneQuota: TableQuota = { org: 1_000_000, root: 250_000 };

export function createTombstones(sql: SqlStorage, quota: TableQuota): Tombstones {
  sql.exec('create index if not exists rows_buried on rows (sweep_at) where body is null');
  sql.exec('create index if not exists rows_buried_root on rows (space, sweep_at) where body is null');
  const roots = new Map<string | null, number>();
  let all = 0;
  const note = (root: string | null, change: number) => {
    all += change;
    const left = (roots.get(root) ?? 0) + change;
    if (left > 0) roots.set(root, left);
    else roots.delete(root);
  };
  const recount = () => {
    all = 0;
    roots.clear();
    for (const { space, n } of sql.exec<{ space: string | null; n: number }>(
      'select space, count(*) n from rows indexed by rows_buried_root where body is null group by space',
    ))
      note(space, n);
  };
  recount();
  /** Deletes the oldest, of a root or of all. */
  const forget = (where: string, limit: number, ...params: string[]): number => {
    if (limit <= 0) return 0;
    const gone = sql
      .exec<{ space: string | null }>(
        `delete from rows where (kind, id) in (select kind, id from rows where body is null ${where} order by sweep_at limit ?) returning space`,
        ...params,
        limit,
      )
      .toArray();
    for (const { space } of gone) note(space, -1);
    return gone.length;
  };
  return {
    note,
    recount,
    forgetOldest(limit) {
      let left = limit;
      // safety: tombstones-of-root-bounded
      for (const [root, n] of [...roots])
        if (root !== null) left -= forget('and space = ?', Math.min(left, n - quota.root), root);
      forget('', Math.min(left, all - quota.org));
      return all > quota.org || [...roots].some(([root, n]) => root !== null && n > quota.root);
    },
  };
}
