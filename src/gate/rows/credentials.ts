// Queries about credentials on the gate's rows: how many are live by their own rows, and which a panic has
// revoked. Invariant: live credentials are counted from indexes; whether their ancestors are live is for the
// caller to judge.
import { BRIEF_KINDS, type CredentialKind, leastGeneration } from '../../db/credential-kinds';
import { idEnd } from '../../db/ids';
import type { OrgRow } from '../../db/schema';

export interface CredentialQueries {
  /**
   * How many credentials, except short-lived ones, are live by their own row and generation, by the parent
   * they are revoked together with; null for those without one.
   */
  liveBelow(now: number, org: OrgRow): { parent: string | null; n: number }[];
  /** How many session tokens and browser sessions are live by their own rows. */
  liveSessions(now: number): { sessions: number; browsers: number };
  /** The ids and names of up to `limit` credentials of a kind after an id; revoked ones are left out. */
  credentialNames(kind: CredentialKind, id: string, limit: number): { id: string; name: string | null }[];
  /** Up to `limit` credentials, except short-lived ones, that a panic has revoked. */
  endedByPanic(org: OrgRow, limit: number): string[];
}

export function createCredentialQueries(sql: SqlStorage): CredentialQueries {
  // A covering index for counting live credentials.
  sql.exec(`create index if not exists rows_live on rows (body ->> 'dies_with', space, body ->> 'expires_at', body ->> 'generation', id)
    where kind = 'credential' and space not in ${BRIEF_KINDS} and body ->> 'revoked_at' is null`);

  return {
    liveBelow: (now, { generation, keys_generation, spared }) =>
      sql
        .exec<{ parent: string | null; n: number }>(
          `select body ->> 'dies_with' parent, count(*) n from rows indexed by rows_live
            where kind = 'credential' and space not in ${BRIEF_KINDS} and body ->> 'revoked_at' is null
              and coalesce(body ->> 'expires_at', 9e15) > ? and (coalesce(body ->> 'generation', 0) >= ${leastGeneration('space')} or id = ?)
            group by parent`,
          now,
          keys_generation ?? 0,
          generation ?? 0,
          spared,
        )
        .toArray(),
    // By two indexes of identity/descendants.ts.
    liveSessions(now) {
      const live = (index: string, space: string) =>
        sql
          .exec<{ n: number }>(
            `select count(*) n from rows indexed by ${index} where kind = 'credential' and space = '${space}' and body ->> 'revoked_at' is null
              and body ->> 'expires_at' > ?`,
            now,
          )
          .one().n;
      return { sessions: live('rows_sessions', 'session'), browsers: live('rows_browser', 'browser') };
    },
    credentialNames: (kind, id, limit) =>
      sql
        .exec<{ id: string; name: string | null }>(
          `select id, body ->> 'name' name from rows
            where kind = 'credential' and id > ? and id < ? and body is not null and body ->> 'revoked_at' is null order by id limit ?`,
          ...[id, idEnd(kind), limit],
        )
        .toArray(),
    endedByPanic: ({ generation, keys_generation, spared }, limit) =>
      sql
        .exec<{ id: string }>(
          `select id from rows where kind = 'credential' and space not in ${BRIEF_KINDS} and body is not null and id is not ?
            and coalesce(body ->> 'generation', 0) < ${leastGeneration('space')} limit ?`,
          spared,
          keys_generation ?? 0,
          generation ?? 0,
          limit,
        )
        .toArray()
        .map(({ id }) => id),
  };
}
