// What deciders are shown of held requests, encrypted, and which requests are void for good. Only in the
// gate, apart from the rows of approvals, so that it ends in the turn in which its approval does. Invariants:
// the bytes of a root and of an organisation are bounded; an approval that became void stays void, whatever
// is forgotten about its requester, also if the gate loses its storage.

import { part } from '../part';
import type { ApprovalDetails } from '../request/plan';

export interface ApprovalDetailsTable {
  save(details: ApprovalDetails): void;
  /** The encrypted details; null if there are none, or none any more. */
  of(id: string): string | null;
  /**
   * Whether an open approval is void for good: it became so, or what made it so may be forgotten. A gate that
   * has lost its storage has no details, and knows neither.
   */
  isVoid(id: string): boolean;
  /** Makes an approval void, and erases its details. */
  void(id: string): void;
  /** The same for everything that a credential asked for. */
  voidOf(credential: string): void;
  /** The approval was approved, and can be used until then. */
  extend(id: string, until: number): void;
  /** The approval has ended. */
  forget(id: string): void;
  /** Whether a root may store this much more. */
  hasRoom(root: string, bytes: number): boolean;
  /** Up to `limit` ids of approvals that are not void, after an id. */
  after(id: string, limit: number): string[];
  /** Deletes what has expired. Returns when the next expires, or null. */
  sweep(now: number): number | null;
  isAny(): boolean;
  clear(): void;
}

/** The most bytes of a root and of an organisation. */
const MOST_ROOT = 16 * 1024 ** 2;
const MOST_ALL = 256 * 1024 ** 2;

export function createApprovalDetails(sql: SqlStorage): ApprovalDetailsTable {
  sql.exec(`create table if not exists approval_details (id text primary key, root text not null, credential text not null, bytes integer not null,
    sealed text, until integer not null, void integer not null default 0) without rowid`);
  sql.exec('create index if not exists approval_details_root on approval_details (root, bytes)');
  sql.exec('create index if not exists approval_details_credential on approval_details (credential)');
  const find = (id: string) =>
    sql
      .exec<{ sealed: string | null; void: number }>(
        'select sealed, void from approval_details where id = ?',
        id,
      )
      .toArray()[0];
  const sum = (where: string, ...values: string[]) =>
    sql
      .exec<{ n: number }>(`select coalesce(sum(bytes), 0) n from approval_details ${where}`, ...values)
      .one().n;
  const end = (where: string, value: string) =>
    void sql.exec(`update approval_details set void = 1, sealed = null, bytes = 0 where ${where}`, value);
  // Every commit asks whether there are any. Null: not known since some were deleted.
  let any: boolean | null = null;
  return {
    save({ id, root, credential, sealed, until }) {
      sql.exec(
        'insert or replace into approval_details values (?, ?, ?, ?, ?, ?, 0)',
        ...[id, root, credential, sealed.length, sealed, until],
      );
      any = true;
    },
    of: (id) => find(id)?.sealed ?? null,
    // safety: approval-void-without-details
    isVoid: (id) => find(id)?.void !== 0,
    void: (id) => end('id = ?', id),
    voidOf: (credential) => end('credential = ?', credential),
    extend: (id, until) => void sql.exec('update approval_details set until = ? where id = ?', until, id),
    forget(id) {
      sql.exec('delete from approval_details where id = ?', id);
      any = null;
    },
    // safety: approval-details-bounded
    hasRoom: (root, bytes) => sum('where root = ?', root) + bytes <= MOST_ROOT && sum('') + bytes <= MOST_ALL,
    after: (id, limit) =>
      sql
        .exec<{ id: string }>(
          'select id from approval_details where id > ? and void = 0 order by id limit ?',
          id,
          limit,
        )
        .toArray()
        .map((row) => row.id),
    sweep(now) {
      // safety: approval-details-end
      sql.exec('delete from approval_details where until <= ?', now);
      any = null;
      return sql.exec<{ n: number | null }>('select min(until) n from approval_details').one().n;
    },
    isAny() {
      any ??= sql.exec('select 1 from approval_details limit 1').toArray().length > 0;
      return any;
    },
    clear() {
      sql.exec('delete from approval_details');
      any = null;
    },
  };
}

export const approvalDetails = part(({ storage }) => createApprovalDetails(storage.sql));
