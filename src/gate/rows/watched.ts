// Tells which rows a request looks at, for gates with replicas: nothing leaves before all that it looked at
// is everywhere. Invariant: what is not told by id is told as a list.

import type { RowKind } from '../../db/rows';
import type { Rows } from './store';

/** Hears what is looked at: a row by its id, null if there is none; or a list of a kind, without an id. */
export type Look = (kind: RowKind, id: string | null, row: object | null) => void;

export interface Watched extends Rows {
  /** Calls this for what is looked at, until the returned function is called. */
  watch(look: Look): () => void;
}

export function watched(rows: Rows): Watched {
  const looks = new Set<Look>();
  const tell: Look = (kind, id, row) => {
    for (const look of looks) look(kind, id, row);
  };
  /** A query that looks at a list of a kind. */
  const list =
    <A extends unknown[], R>(kind: RowKind, query: (...params: A) => R) =>
    (...params: A) => {
      if (looks.size) tell(kind, null, null);
      return query(...params);
    };
  const listOfKind =
    <K extends RowKind, A extends unknown[], R>(query: (kind: K, ...params: A) => R) =>
    (kind: K, ...params: A) => {
      const found = query(kind, ...params);
      if (looks.size) tell(kind, null, null);
      if (looks.size && Array.isArray(found)) for (const row of found) tell(kind, row.id, row);
      return found;
    };
  // Each query is named, so that a new one has to be placed.
  return {
    ...writesOf(rows),
    ...countsOf(rows),
    get(kind, id) {
      const row = rows.get(kind, id);
      if (looks.size) tell(kind, id, row);
      return row;
    },
    find(kind, space, key) {
      const row = rows.find(kind, space, key);
      // safety: absence-looked-at
      if (looks.size) tell(kind, row?.id ?? null, row);
      return row;
    },
    after: listOfKind(rows.after) as Rows['after'],
    newest: listOfKind(rows.newest) as Rows['newest'],
    within: listOfKind(rows.within) as Rows['within'],
    count: listOfKind(rows.count),
    named: list('secret', rows.named),
    nested: list('secret', rows.nested),
    names: list('secret', rows.names),
    rotating: list('secret', rows.rotating),
    containing: list('secret', rows.containing),
    credentialNames: list('credential', rows.credentialNames),
    expiring(kind, ...rest) {
      if (looks.size) tell(kind, null, null);
      return rows.expiring(kind, ...rest);
    },
    withFingerprints: list('secret', rows.withFingerprints),
    deleted(environment, name) {
      const row = rows.deleted(environment, name);
      if (looks.size) tell('secret', row?.id ?? null, row);
      return row;
    },
    isBuried(kind, id) {
      if (looks.size) tell(kind, id, null);
      return rows.isBuried(kind, id);
    },
    watch(look) {
      looks.add(look);
      return () => void looks.delete(look);
    },
  };
}

const writesOf = ({ put, bury, forget, forgetOldest, clear }: Rows) => ({
  put,
  bury,
  forget,
  forgetOldest,
  clear,
});

/** Of credentials, which every request rests on anyway, and sums that no read answers alone. */
const countsOf = (rows: Rows) => ({
  edits: rows.edits,
  sweepable: rows.sweepable,
  sealedBytes: rows.sealedBytes,
  stored: rows.stored,
  rootOf: rows.rootOf,
  sessions: rows.sessions,
  liveBelow: rows.liveBelow,
  liveSessions: rows.liveSessions,
  endedByPanic: rows.endedByPanic,
});
