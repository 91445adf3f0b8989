// Queries about secrets on the gate's rows: their names in order, for lists and folders; those with a
// rotation period; those with a given value; and the deleted one of a name. Invariant: each query is answered
// from an index, so its cost does not depend on the number of other secrets.
import QuickLRU from 'quick-lru';
import { rowOf } from '../../db/rows';
import type { SecretRow } from '../../db/schema';

export interface Named {
  name: string;
  id: string;
}

/** How many lists of names stay in memory, at most 1,000 names each. */
const LISTS = 16;
const MOST_NAMES = 1000;

export interface SecretQueries {
  /**
   * Names and ids of up to `limit` secrets of an environment whose names have this prefix and come after
   * `after`, in name order.
   */
  named(environment: string, prefix: string, after: string, limit: number): readonly Named[];
  /**
   * The first of the next `most` names, in the order of `named`, with a `/` after its first `length`
   * characters. If there is none, `last` is where to continue, or null at the end. `looked` is the number of
   * examined names.
   */
  nested(
    place: { environment: string; prefix: string; length: number },
    after: string,
    most: number,
  ): { found: { name: string; id: string } | null; last: string | null; looked: number };
  /**
   * Of the next `most` names of an environment after `after`, those that contain a text in lower case, in
   * name order; and where to continue, null at the end.
   */
  containing(
    environment: string,
    text: string,
    after: string,
    most: number,
  ): { found: Named[]; last: string | null };
  /**
   * The live secrets whose current value has one of these keyed digests, with the environment and name of
   * each.
   */
  withFingerprints(
    fingerprints: readonly string[],
  ): Iterable<{ id: string; environment: string; name: string; fingerprint: string }>;
  /** The names of the live secrets of an environment. */
  names(environment: string): string[];
  /** The secret of an environment that had this name and was deleted last; null if there is none. */
  deleted(environment: string, name: string): SecretRow | null;
  /** Up to `limit` live secrets after an id that have `rotate_every_seconds`, in id order. */
  rotating(id: string, limit: number): SecretRow[];
}

/**
 * Selects the names with a prefix that come after a given name, in order. Only one lower bound: of two,
 * SQLite would seek to one and scan to the other.
 */
const namesFrom = (prefix: string, after: string): string =>
  `from rows where kind = 'secret' and space = ? and key ${after >= prefix ? '>' : '>='} ? and key < ? order by key`;
const rangeOf = (environment: string, prefix: string, after: string): [string, string, string] => [
  environment,
  after >= prefix ? after : prefix,
  // Names are ASCII: this sorts after every name that begins with the prefix.
  `${prefix}\u007f`,
];

function lastDeleted(sql: SqlStorage, environment: string, name: string): SecretRow | null {
  // Only an organisation that asks pays for this index, which holds deleted secrets alone.
  sql.exec(
    "create index if not exists rows_deleted on rows (space, body ->> 'name') where kind = 'secret' and key is null and body is not null",
  );
  const [found] = sql
    .exec<{ body: string }>(
      `select body from rows indexed by rows_deleted
        where kind = 'secret' and key is null and body is not null and space = ? and body ->> 'name' = ?
        order by body ->> 'deleted_at' desc limit 1`,
      environment,
      name,
    )
    .toArray();
  return found ? rowOf('secret', found.body) : null;
}

function containing(
  sql: SqlStorage,
  environment: string,
  text: string,
  after: string,
  most: number,
): ReturnType<SecretQueries['containing']> {
  // One pass, since rows that a statement reads are billed.
  const { count, last, found } = sql
    .exec<{ count: number; last: string | null; found: string }>(
      `select count(*) count, max(key) last, json_group_array(json_object('name', key, 'id', id) order by key) filter (where instr(lower(key), ?) > 0) found
        from (select key, id ${namesFrom('', after)} limit ?)`,
      text,
      ...rangeOf(environment, '', after),
      most,
    )
    .one();
  return { found: JSON.parse(found), last: count === most ? last : null };
}

/** @param edits how often a secret's row was written */
export function createSecretQueries(sql: SqlStorage, edits: () => number): SecretQueries {
  sql.exec(
    "create index if not exists rows_rotating on rows (id) where kind = 'secret' and key is not null and body ->> 'rotate_every_seconds' is not null",
  );
  // Programs read the same environment again and again: the lists of names, each valid until a secret's row
  // is written.
  const lists = new QuickLRU<string, { edits: number; names: readonly Named[] }>({ maxSize: LISTS });

  return {
    named(environment, prefix, after, limit) {
      const place = JSON.stringify([environment, prefix, after, limit]);
      const known = lists.get(place);
      // safety: names-end-with-a-write
      if (known?.edits === edits()) return known.names;
      const names = sql
        .exec<Named & Record<string, string>>(
          `select key name, id ${namesFrom(prefix, after)} limit ?`,
          ...rangeOf(environment, prefix, after),
          limit,
        )
        .toArray();
      if (names.length <= MOST_NAMES) lists.set(place, { edits: edits(), names });
      return names;
    },
    nested({ environment, prefix, length }, after, most) {
      const range = rangeOf(environment, prefix, after);
      const names = sql.exec<{ name: string; id: string }>(
        `select key name, id from (select key, id ${namesFrom(prefix, after)} limit ?) where instr(substr(key, ?), '/') > 0 limit 1`,
        ...range,
        most,
        length + 1,
      );
      const [found = null] = names.toArray();
      if (found) return { found, last: found.name, looked: names.rowsRead };
      const [last] = sql
        .exec<{ key: string }>(`select key ${namesFrom(prefix, after)} limit 1 offset ?`, ...range, most - 1)
        .toArray();
      return { found, last: last?.key ?? null, looked: names.rowsRead };
    },
    containing: (environment, text, after, most) => containing(sql, environment, text, after, most),
    *withFingerprints(fingerprints) {
      // Only an organisation that scans pays for this index, at each change of a secret.
      sql.exec(
        "create index if not exists rows_fingerprint on rows (body ->> 'fingerprint') where kind = 'secret' and key is not null",
      );
      for (let at = 0; at < fingerprints.length; at += 1000)
        yield* sql.exec<{ id: string; environment: string; name: string; fingerprint: string }>(
          `select rows.id, space environment, rows.key name, value fingerprint from json_each(?) cross join rows indexed by rows_fingerprint
            where kind = 'secret' and rows.key is not null and body ->> 'fingerprint' = value`,
          JSON.stringify(fingerprints.slice(at, at + 1000)),
        );
    },
    names: (environment) =>
      sql
        .exec<{ key: string }>(
          "select key from rows where kind = 'secret' and space = ? and key is not null",
          environment,
        )
        .toArray()
        .map(({ key }) => key),
    deleted: (environment, name) => lastDeleted(sql, environment, name),
    rotating: (id, limit) =>
      sql
        .exec<{ body: string }>(
          `select body from rows indexed by rows_rotating
            where kind = 'secret' and key is not null and body ->> 'rotate_every_seconds' is not null and id > ? order by id limit ?`,
          id,
          limit,
        )
        .toArray()
        .map(({ body }) => rowOf('secret', body)),
  };
}
