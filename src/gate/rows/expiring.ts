// Queries about the ends of secrets and credentials on the gate's rows. Invariant: each is answered from an
// index that holds only rows with an end.
import { BRIEF_KINDS } from '../../db/credential-kinds';

/** A row and when it ends. */
export interface Ending {
  id: string;
  at: number;
}

export interface EndingQueries {
  /**
   * Up to `limit` secrets, or credentials except short-lived ones, that end after `after` and up to `until`,
   * in this order. Revoked ones may be among them.
   */
  ending(kind: 'secret' | 'credential', after: Ending, until: number, limit: number): Ending[];
}

const HELD = {
  secret: "kind = 'secret' and key is not null",
  credential: `kind = 'credential' and space not in ${BRIEF_KINDS} and body ->> 'revoked_at' is null`,
} as const;

export function createEndingQueries(sql: SqlStorage): EndingQueries {
  return {
    ending(kind, after, until, limit) {
      const ends = "body ->> 'expires_at'";
      const held = `${HELD[kind]} and ${ends} is not null`;
      // Only an organisation that asks pays for this index.
      sql.exec(`create index if not exists rows_ending_${kind} on rows (${ends}, id) where ${held}`);
      return sql
        .exec<Ending & Record<string, SqlStorageValue>>(
          `select id, ${ends} at from rows indexed by rows_ending_${kind}
            where ${held} and (${ends}, id) > (?, ?) and ${ends} <= ? order by ${ends}, id limit ?`,
          ...[after.at, after.id, until, limit],
        )
        .toArray();
    },
  };
}
