// The journal: every change of an organisation, in the order in which its gate decided them. A record is
// written in the turn that decides the change, and leaves once D1 has it (mirror.ts) and replicas need it no
// more (`retain`). Invariants: a record never changes; records have no gaps; within a term a number is never
// given twice; a record that spans several table rows is written and deleted as a whole.

import type { RowKind } from '../../db/rows';
import type { VersionRow } from '../../db/schema';
import type { Statement } from '../../db/statements';
import type { Meta } from '../meta';
import { part } from '../part';
import type { Put } from '../request/plan';

/** What D1 has to know of a change. */
export interface ChangeRecord {
  /** A random id: a number can be given again by a gate whose storage was put back from a copy. */
  id: string;
  /** The request that decided it, or null for a task. */
  request: string | null;
  at: number;
  /** What it was about. */
  resource: string | null;
  writes: Put[];
  deletes: { kind: RowKind; id: string }[];
  versions: VersionRow[];
  /** Versions of a secret destroyed because newer ones were added, up to and including this one. */
  trimmed: { secret: string; version: number }[];
  /** Further statements, which come first. */
  statements: Statement[];
  /** Whether Workers read some of its rows before they ask a gate. */
  isReadFirst?: true;
  /** Rows that D1 does not get, for replicas: session tokens. */
  local?: Put[];
  /** Environments whose secrets it changes, for replicas: their revisions. */
  revised?: Record<string, number>;
}

export interface JournalRecord extends ChangeRecord {
  n: number;
}

/** How much a journal holds. */
export interface Extent {
  records: number;
  bytes: number;
  /** When its oldest record was decided; null if it is empty. */
  since: number | null;
}

export interface Journal {
  /** A random id. The numbers of another term mean nothing. Null until a gate has one. */
  term(): string | null;
  /** Begins a term: D1 has its records up to `position`, the last of them `record`; the journal is empty. */
  begin(term: string, position: number, record: string): void;
  /** Calls this when a term begins, and for each record, in the turn that decides it. */
  follow(followers: { begun(): void; appended(record: JournalRecord): void }): void;
  /** Writes a record, in the turn that decides the change. Returns its number. */
  append(record: ChangeRecord): number;
  /** The number of the last record, and of the last one that D1 has. */
  last(): number;
  position(): number;
  /** The id of a record that D1 lacks, or of the last one that it has; null of others. */
  idOf(n: number): string | null;
  /** The first records that D1 lacks: at most so many, and so many bytes, but at least one. */
  next(records: number, bytes: number): JournalRecord[];
  /** D1 has the records up to this one. */
  advance(position: number): void;
  /** Records after this number stay, although D1 has them. */
  retain(from: () => number): void;
  /** Deletes the records that D1 has and nothing else needs. */
  trim(): void;
  /** All records that are here. */
  kept(): Iterable<JournalRecord>;
  /**
   * Up to so many records after a number, and so many bytes, but at least one; null if the next one is no
   * longer here.
   */
  after(n: number, records: number, bytes: number): JournalRecord[] | null;
  extent(): Extent;
  /** A version of a secret whose record D1 lacks. */
  version(secret: string, version: number): VersionRow | null;
  /** Whether a record that D1 lacks changes or removes a row of this id. */
  concerns(id: string): boolean;
  /** The record of a request that D1 lacks and Workers read first; null if there is none. */
  readFirstOf(request: string): number | null;
}

/** UTF-16 units of a record per table row, which holds 2 MB: a unit takes up to three bytes. */
const PART = 600_000;

/** Splits a text without breaking a character. */
function partsOf(text: string): string[] {
  const parts: string[] = [];
  for (let at = 0; at < text.length; ) {
    const isSplit = /[\uD800-\uDBFF]/.test(text[at + PART - 1] ?? '');
    const end = at + PART - (isSplit ? 1 : 0);
    parts.push(text.slice(at, end));
    at = end;
  }
  return parts;
}

/** The records after a number and up to another one, one at a time. */
function* recordsIn(sql: SqlStorage, after: number, to: number): Generator<JournalRecord> {
  let at = 0;
  let text = '';
  const record = () => ({ ...(JSON.parse(text) as ChangeRecord), n: at });
  for (const { n, body } of sql.exec<{ n: number; body: string }>(
    'select n, body from journal where n > ? and n <= ? order by n, part',
    after,
    to,
  )) {
    if (n !== at && text) yield record();
    text = n === at ? text + body : body;
    at = n;
  }
  if (text) yield record();
}

/** The first records after a number; null if the next one is no longer there. */
function recordsAfter(sql: SqlStorage, n: number, most: number, mostBytes: number): JournalRecord[] | null {
  const records: JournalRecord[] = [];
  let bytes = 0;
  for (const record of recordsIn(sql, n, n + most)) {
    bytes += JSON.stringify(record).length;
    if (records.length && bytes > mostBytes) break;
    records.push(record);
  }
  return records[0]?.n === n + 1 ? records : null;
}

/** Numbers by key, in ascending order. */
function createIndex() {
  const numbers = new Map<string, number>();
  return {
    note(key: string, n: number) {
      numbers.delete(key);
      numbers.set(key, n);
    },
    get: (key: string) => numbers.get(key),
    forgetThrough(position: number) {
      for (const [key, n] of numbers) {
        if (n > position) break;
        numbers.delete(key);
      }
    },
  };
}

const versionKey = (secret: string, version: number) => `${secret}.${version}`;

/** What is known of the records that D1 lacks, without reading them. */
function createContents() {
  const records = new Map<number, { id: string; at: number; bytes: number }>();
  const rows = createIndex();
  const versions = createIndex();
  const readFirst = createIndex();
  let bytes = 0;
  return {
    note(n: number, record: ChangeRecord, size = JSON.stringify(record).length) {
      records.set(n, { id: record.id, at: record.at, bytes: size });
      bytes += size;
      for (const { row } of record.writes) rows.note(row.id, n);
      for (const { id } of record.deletes) rows.note(id, n);
      for (const { secret_id, version } of record.versions) versions.note(versionKey(secret_id, version), n);
      if (record.isReadFirst && record.request) readFirst.note(record.request, n);
    },
    forgetThrough(position: number) {
      for (const [n, { bytes: size }] of records) {
        if (n > position) break;
        records.delete(n);
        bytes -= size;
      }
      for (const index of [rows, versions, readFirst]) index.forgetThrough(position);
    },
    idOf: (n: number) => records.get(n)?.id ?? null,
    /** The last of the first records that are at most so many, and so many bytes; null if there is none. */
    lastOf(most: number, mostBytes: number): number | null {
      let last: number | null = null;
      let count = 0;
      let size = 0;
      for (const [n, one] of records) {
        count++;
        size += one.bytes;
        if (last !== null && (count > most || size > mostBytes)) break;
        last = n;
      }
      return last;
    },
    /** The numbers of the last records that change a row, or make a version. */
    ofRow: (id: string) => rows.get(id),
    readFirstOf: (request: string) => readFirst.get(request) ?? null,
    ofVersion: (secret: string, version: number) => versions.get(versionKey(secret, version)),
    extent: (): Extent => ({
      records: records.size,
      bytes,
      since: records.values().next().value?.at ?? null,
    }),
  };
}

export function createJournal(sql: SqlStorage, meta: Meta): Journal {
  sql.exec(
    'create table if not exists journal (n integer not null, part integer not null, body text not null, primary key (n, part)) without rowid',
  );
  let [position, record] = JSON.parse(meta.get('position') ?? '[0,""]') as [number, string];
  let last = position;
  const contents = createContents();
  for (const kept of recordsIn(sql, position, Number.MAX_SAFE_INTEGER)) {
    contents.note(kept.n, kept);
    last = kept.n;
  }
  const idOf = (n: number) => (n === position ? record : contents.idOf(n));
  const stand = (at: number, id: string) => {
    [position, record] = [at, id];
    meta.set('position', JSON.stringify([at, id]));
  };
  const followers: Parameters<Journal['follow']>[0][] = [];
  let retained = () => Number.MAX_SAFE_INTEGER;
  const trim = () => void sql.exec('delete from journal where n <= ?', Math.min(position, retained()));
  const advance = (to: number) => {
    stand(to, idOf(to) ?? '');
    trim();
    contents.forgetThrough(to);
  };
  return {
    term: () => meta.get('term'),
    begin(term, from, id) {
      sql.exec('delete from journal');
      contents.forgetThrough(last);
      last = from;
      meta.set('term', term);
      stand(from, id);
      for (const { begun } of followers) begun();
    },
    follow: (follower) => void followers.push(follower),
    append(change) {
      const body = JSON.stringify(change);
      last++;
      // safety: record-durable
      for (const [at, text] of partsOf(body).entries())
        sql.exec('insert into journal values (?, ?, ?)', last, at, text);
      contents.note(last, change, body.length);
      for (const { appended } of followers) appended({ ...change, n: last });
      return last;
    },
    last: () => last,
    position: () => position,
    idOf,
    next: (most, mostBytes) => [...recordsIn(sql, position, contents.lastOf(most, mostBytes) ?? position)],
    advance,
    retain(from) {
      retained = from;
    },
    trim,
    kept: () => recordsIn(sql, 0, Number.MAX_SAFE_INTEGER),
    after: (n, most, mostBytes) =>
      n > last ? null : n === last ? [] : recordsAfter(sql, n, most, mostBytes),
    extent: contents.extent,
    version(secret, version) {
      const n = contents.ofVersion(secret, version);
      const [kept] = n === undefined ? [] : recordsIn(sql, n - 1, n);
      return kept?.versions.find((one) => one.secret_id === secret && one.version === version) ?? null;
    },
    concerns: (id) => contents.ofRow(id) !== undefined,
    readFirstOf: contents.readFirstOf,
  };
}

export const journal = part(({ storage, meta }) => createJournal(storage.sql, meta));
