// Which secrets and credentials expire when, on the gate's rows. Invariant: each query is answered from an
// index that holds only rows with an expiry.
import { BRIEF_KINDS } from '../../db/credential-kinds';

/** A row and when it expires. */
export interface Expiring {
  id: string;
  at: number;
}

export interface ExpiringQueries {
  /**
   * Up to `limit` secrets, or credentials except short-lived ones, that expire after `after` and up to
   * `until`, in this order. Revoked ones may be among them.
   */
  expiring(kind: 'secret' | 'credential', after: Expiring, until: number, limit: number): Expiring[];
}

const HELD = {
  secret: "kind = 'secret' and key is not null",
  credential: `kind = 'credential' and space not in ${BRIEF_KINDS} and body ->> 'revoked_at' is null`,
} as const;

export function createExpiringQueries(sql: SqlStorage): ExpiringQueries {
  return {
    expiring(kind, after, until, limit) {
      const ends = "body ->> 'expires_at'";
      const held = `${HELD[kind]} and ${ends} is not null`;
      // Only an organisation that asks pays for this index.
      sql.exec(`create index if not exists rows_ending_${kind} on rows (${ends}, id) where ${held}`);
      return sql
        .exec<Expiring & Record<string, SqlStorageValue>>(
          `select id, ${ends} at from rows indexed by rows_ending_${kind}
            where ${held} and (${ends}, id) > (?, ?) and ${ends} <= ? order by ${ends}, id limit ?`,
          ...[after.at, after.id, until, limit],
        )
        .toArray();
    },
  };
}
