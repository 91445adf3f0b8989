// Which credentials descend from which: who created them, in which browser session, and which they are
// revoked together with. Answered from indexes on the gate's rows, so it never scans an organisation's
// credentials. Invariant: a credential whose row leaves the gate still leads to what it created, as long as
// that is here (`former-makers.ts`).
import QuickLRU from 'quick-lru';
import { part } from '../part';

/** A credential that another created. `live`: neither revoked nor expired by its own row. */
export interface Made {
  id: string;
  parent_id: string | null;
  live: number;
}

/** A credential below another. */
export interface Below {
  id: string;
  via: string;
  live: number;
}

export interface Descendants {
  /** Credentials, except session tokens, that any of these created, also as a browser session. */
  madeBy(makers: string[], now: number): Made[];
  /**
   * Credentials that any of these created or that are revoked together with any of these, and which one led
   * to each.
   */
  below(parents: string[], now: number): Iterable<Below>;
  /**
   * Whether a credential has at least this many session tokens that are live by their own rows, and were made
   * within `lives`. Those of its session tokens count too.
   */
  hasSessions(key: string, atLeast: number, now: number, lives?: number): boolean;
  /** The ids of a member's browser sessions that have not been revoked. */
  browserSessions(member: string): string[];
  /**
   * Schedules the sweep of everything revoked together with these credentials, no later than its own sweep
   * time.
   */
  orphan(credentials: string[], at: number): void;
}

/** Keys whose session tokens were counted recently. */
const MOST_COUNTED = 1000;

function createIndexes(sql: SqlStorage): void {
  const index = (name: string, columns: string, where: string) =>
    sql.exec(
      `create index if not exists ${name} on rows (${columns}) where kind = 'credential' and ${where}`,
    );
  index('rows_dies_with', "body ->> 'dies_with', id", "body ->> 'dies_with' is not null");
  index('rows_created_by', "body ->> 'created_by', id", "space <> 'session'");
  index('rows_created_in', "body ->> 'created_in', id", "body ->> 'created_in' is not null");
  index(
    'rows_sessions',
    "body ->> 'dies_with', body ->> 'expires_at'",
    "space = 'session' and body ->> 'revoked_at' is null",
  );
  index('rows_browser', "body ->> 'member_id'", "space = 'browser' and body ->> 'revoked_at' is null");
}

/** `edits`: how often a row was written; see `Rows`. */
export function createDescendants(sql: SqlStorage, edits: () => number): Descendants {
  createIndexes(sql);
  // The planner would scan the primary key: it cannot know how few rows an id has.
  const from = (name: string, where: string) =>
    `from json_each(?1) f cross join rows r indexed by ${name} on r.kind = 'credential' and ${where} = f.value`;
  const byMaker = from('rows_created_by', "r.space <> 'session' and r.body ->> 'created_by'");
  const bySession = from('rows_created_in', "r.body ->> 'created_in'");
  const byParent = from('rows_dies_with', "r.body ->> 'dies_with'");
  const live = "r.body ->> 'revoked_at' is null and coalesce(r.body ->> 'expires_at', 9e15) > ?2 live";
  const made = `select r.id, r.body ->> 'dies_with' parent_id, ${live}`;
  const child = `select r.id, f.value via, ${live}`;
  const former = 'from json_each(?1) f cross join former_makers m on m.maker = f.value';
  const formerMade = `union select m.id, null, 0 ${former}`;

  const liveSessions = (key: string, now: number, lives: number | undefined) => {
    const isLive = `r.kind = 'credential' and r.space = 'session' and r.body ->> 'revoked_at' is null
      and r.body ->> 'expires_at' > ?2${lives === undefined ? '' : " and r.body ->> 'created_at' > ?3"}`;
    return (
      sql
        // safety: sessions-of-sessions-count
        .exec<{ n: number }>(
          `with recursive below(id) as (
            select r.id from rows r indexed by rows_sessions where r.body ->> 'dies_with' = ?1 and ${isLive}
            union all select r.id from below b cross join rows r indexed by rows_sessions on r.body ->> 'dies_with' = +b.id and ${isLive}
          ) select count(*) n from below`,
          ...[key, now, ...(lives === undefined ? [] : [now - lives])],
        )
        .one().n
    );
  };
  const counted = new QuickLRU<string, { n: number; edits: number; at: number }>({ maxSize: MOST_COUNTED });

  return {
    madeBy: (makers, now) =>
      sql
        // safety: containment-of-browser-session
        .exec<Made & Record<string, SqlStorageValue>>(
          `${made} ${byMaker} union ${made} ${bySession} ${formerMade}`,
          JSON.stringify(makers),
          now,
        )
        .toArray(),
    below: (parents, now) =>
      sql.exec<Below & Record<string, SqlStorageValue>>(
        `${child} ${byParent} union all ${child} ${byMaker} union all ${child} ${bySession} union all select m.id, f.value via, 0 ${former}`,
        JSON.stringify(parents),
        now,
      ),
    hasSessions(key, atLeast, now, lives) {
      const counting = lives === undefined ? key : `${key} ${lives}`;
      const before = counted.get(counting);
      // No more tokens can have been added since the count than rows were written; if that is too few, skip
      // counting.
      if (before && before.at <= now && before.n + edits() - before.edits < atLeast) return false;
      const n = liveSessions(key, now, lives);
      counted.set(counting, { n, edits: edits(), at: now });
      return n >= atLeast;
    },
    browserSessions: (member) =>
      sql
        .exec<{ id: string }>(
          `select id from rows indexed by rows_browser where kind = 'credential' and space = 'browser' and body ->> 'revoked_at' is null
            and body ->> 'member_id' = ? order by id`,
          member,
        )
        .toArray()
        .map(({ id }) => id),
    orphan(credentials, at) {
      if (credentials.length === 0) return;
      sql.exec(
        `update rows indexed by rows_dies_with set sweep_at = ?1 where kind = 'credential' and body is not null and (sweep_at is null or sweep_at > ?1)
          and body ->> 'dies_with' in (select value from json_each(?2))`,
        at,
        JSON.stringify(credentials),
      );
    },
  };
}

export const descendants = part(({ storage, rows }) => createDescendants(storage.sql, rows.edits));
