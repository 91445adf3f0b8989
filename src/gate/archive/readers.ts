// The last readers of a secret: which credentials and members, when, how often, and which version; and the
// bulk readers of an environment. Invariants: recording a read costs no write: new reads are counted in
// memory and written when audit entries move away, and a starting gate counts the entries still in its
// storage; the rows of a secret are bounded and deleted with it.

import { type Actor, BULK_READS, type Entry } from '../audit/entry';
import type { Core } from '../core';
import { part } from '../part';

/** What one reader read of a secret, or of an environment in bulk. */
export interface Reading {
  /** The newest actor: for an API key's session tokens, which count as one reader, the last one. */
  actor: Actor;
  at: number;
  count: number;
  /** The version of the secret; for a bulk read, the revision of the environment. */
  version: number | null;
  /** The common name prefix of a bulk read; null if the secret was read on its own. */
  prefix: string | null;
  /** Whether the reader is limited to some names. */
  isLimited: boolean;
}

export interface Readers {
  /** Records an entry if it is a successful read. */
  /** The readers of a secret, or of an environment in bulk. */
  of(target: string): Map<string, Reading>;
  /** Writes the counts, up to an entry of the audit log. */
  flush(sequence: number): void;
  /** A secret or an environment is gone. */
  forget(target: string): void;
}

/** The most readers counted in memory before the counts are written anyway. */
const MOST_PENDING = 5000;
/** The most readers kept per secret or environment; the newest are kept. */
export const MOST_READERS = 250;

/** A view through a link counts as a read by the link. */
const READS: readonly string[] = ['secret.read', ...BULK_READS, 'secret.share_view'];

/** Whether an entry is a successful read. A file without values has no version, because it reveals none. */
const isRead = ({ action, outcome, resource, version }: Entry): boolean =>
  READS.includes(action) &&
  outcome === 'success' &&
  resource !== null &&
  !(action === 'integration.generate' && version === null);

/** Who counts as one reader: the session tokens of an API key are one, separate from the key itself. */
export const readerOf = ({ kind, id, parent_id }: Actor): string =>
  kind === 'session' ? `${parent_id}:sessions` : String(id);

export function commonPrefix(a: string, b: string): string {
  let at = 0;
  while (at < a.length && a[at] === b[at]) at++;
  return a.slice(0, at);
}

/**
 * The newer of two readings with both counts. A bulk reader is recorded with the common part of all its
 * prefixes.
 */
const merged = (older: Reading | undefined, newer: Reading): Reading =>
  older
    ? {
        ...newer,
        count: older.count + newer.count,
        prefix:
          newer.prefix === null || older.prefix === null
            ? newer.prefix
            : commonPrefix(older.prefix, newer.prefix),
      }
    : newer;

const readingOf = ({
  action,
  actor,
  time,
  count,
  version,
  prefix,
  names,
  patterns,
  patterns_digest,
}: Entry): Reading => ({
  actor: { kind: actor.kind, id: actor.id, name: actor.name, parent_id: actor.parent_id },
  at: Date.parse(time),
  count,
  version,
  prefix: (BULK_READS as readonly string[]).includes(action) ? (prefix ?? '') : null,
  isLimited: names !== undefined || patterns !== undefined || patterns_digest !== undefined,
});

/** What an entry reads. A promotion reads each secret that it copied. */
const readingsOf = (entry: Entry): [string, Reading][] =>
  isRead(entry)
    ? [[entry.resource as string, readingOf(entry)]]
    : Object.entries(entry.imported?.copied ?? {}).map(([secret, version]) => [
        secret,
        readingOf({ ...entry, version }),
      ]);

type Kept = Omit<Reading, 'actor' | 'isLimited'> & { reader: string; actor: string; limited: number };

/**
 * Notes since when reads are recorded: always in the gate of a new organisation, from now on if a release
 * before 0.5.0 did not record them.
 */
function begin({ meta }: Core): void {
  if (meta.get('reads_since') === null)
    meta.set('reads_since', meta.get('org') === null ? '0' : String(Date.now()));
}

function createReaders(core: Core): Readers {
  const {
    storage: { sql },
    meta,
    rows,
    auditLog,
  } = core;
  begin(core);
  sql.exec(`create table if not exists readers (target text not null, reader text not null, actor text not null, at integer not null, count integer not null,
    version integer, prefix text, limited integer not null, primary key (target, reader)) without rowid`);
  const pending = new Map<string, Map<string, Reading>>();
  let many = 0;
  const add = (target: string, reading: Reading) => {
    const readers = pending.get(target) ?? new Map<string, Reading>();
    pending.set(target, readers);
    const reader = readerOf(reading.actor);
    const known = readers.get(reader);
    if (!known) many++;
    readers.set(reader, merged(known, reading));
  };
  takeUp(sql, Number(meta.get('readers') ?? 0), add);

  const kept = (target: string, reader?: string): [string, Reading][] =>
    sql
      .exec<Kept & Record<string, SqlStorageValue>>(
        `select * from readers where target = ?${reader === undefined ? '' : ' and reader = ?'}`,
        ...[target, reader].filter((value) => value !== undefined),
      )
      .toArray()
      .map(({ reader, actor, at, count, version, prefix, limited }) => [
        reader,
        { actor: JSON.parse(actor), at, count, version, prefix, isLimited: limited === 1 },
      ]);
  const flush = (sequence: number) => {
    for (const [target, readers] of pending) {
      if (!rows.get('secret', target) && !rows.get('environment', target)) continue;
      for (const [reader, reading] of readers) {
        const { actor, at, count, version, prefix, isLimited } = merged(
          kept(target, reader)[0]?.[1],
          reading,
        );
        const values = [target, reader, JSON.stringify(actor), at, count, version, prefix, isLimited ? 1 : 0];
        sql.exec('insert or replace into readers values (?, ?, ?, ?, ?, ?, ?, ?)', ...values);
      }
      // safety: readers-bounded
      sql.exec(
        'delete from readers where target = ?1 and reader in (select reader from readers where target = ?1 order by at desc, reader limit -1 offset ?2)',
        target,
        MOST_READERS,
      );
    }
    pending.clear();
    many = 0;
    meta.set('readers', String(sequence));
  };
  auditLog.follow((entry) => {
    for (const [target, reading] of readingsOf(entry)) add(target, reading);
    if (many >= MOST_PENDING) flush(entry.sequence);
  });
  return {
    of(target) {
      const readers = new Map(kept(target));
      for (const [reader, reading] of pending.get(target) ?? [])
        readers.set(reader, merged(readers.get(reader), reading));
      return readers;
    },
    flush,
    forget(target) {
      many -= pending.get(target)?.size ?? 0;
      pending.delete(target);
      sql.exec('delete from readers where target = ?', target);
    },
  };
}

/** Counts the entries in the gate that are not written yet, each reader of a target once. */
function takeUp(sql: SqlStorage, after: number, add: (target: string, reading: Reading) => void): void {
  takeUpReads(sql, after, add);
  for (const { body } of sql.exec<{ body: string }>(
    "select body from audit where sequence > ? and action = 'secret.promote' and outcome = 'success'",
    after,
  ))
    for (const [target, reading] of readingsOf(JSON.parse(body) as Entry)) add(target, reading);
}

function takeUpReads(sql: SqlStorage, after: number, add: (target: string, reading: Reading) => void): void {
  for (const { body, count, low, high } of sql.exec<{
    body: string;
    count: number;
    low: string;
    high: string;
  }>(
    // The body of a group is that of its greatest sequence. Everything between two prefixes shares their
    // common part.
    `select max(sequence), body, sum(body ->> 'count') count, min(coalesce(body ->> 'prefix', '')) low, max(coalesce(body ->> 'prefix', '')) high
      from audit where sequence > ? and action in (${READS.map((action) => `'${action}'`).join(', ')}) and outcome = 'success'
        and resource is not null and not (action = 'integration.generate' and body ->> 'version' is null)
      group by resource, actor, parent`,
    after,
  )) {
    const entry = JSON.parse(body) as Entry;
    const reading = readingOf({ ...entry, count });
    add(
      entry.resource as string,
      reading.prefix === null ? reading : { ...reading, prefix: commonPrefix(low, high) },
    );
  }
}

export const readers = part(createReaders);
