// The ciphertext cache. A version's ciphertext never changes, so a cached one is never stale; only the
// secret's row decides whether it may be returned. Bounded: the least recently read are evicted first.

import QuickLRU from 'quick-lru';
import type { VersionRow } from '../../db/schema';
import { part } from '../part';

const MOST_BYTES = 256 * 1024 * 1024;
/** A read updates a version's position at most this often, since a write per read would cost too much. */
const FRESH = 3_600_000;

/** How many ciphertexts stay parsed in memory, and their largest size in characters. */
const PARSED = 2000;
const SMALL = 2048;

type Gone = { secret: string; version: number; bytes: number };

export interface CiphertextCache {
  get(secret: string, version: number, now: number): VersionRow | null;
  keep(version: VersionRow, now: number): void;
  /** Drops a secret's versions up to and including `version`. */
  drop(secret: string, version?: number): void;
  clear(): void;
}

export function createCiphertextCache(sql: SqlStorage, mostBytes = MOST_BYTES): CiphertextCache {
  sql.exec(`create table if not exists seals (secret text not null, version integer not null, body text not null, bytes integer not null, read_at integer not null,
    primary key (secret, version)) without rowid`);
  sql.exec('create index if not exists seals_read on seals (read_at)');
  let bytes = sql.exec<{ n: number }>('select coalesce(sum(bytes), 0) n from seals').one().n;
  const remove = (where: string, ...params: (string | number)[]) => {
    for (const gone of sql.exec<Gone>(
      `delete from seals where ${where} returning secret, version, bytes`,
      ...params,
    )) {
      bytes -= gone.bytes;
      parsed.delete(`${gone.secret} ${gone.version}`);
    }
  };
  /** The smaller ones, parsed: memory use is bounded by their number. */
  const parsed = new QuickLRU<string, { version: VersionRow; at: number }>({ maxSize: PARSED });
  return {
    get(secret, version, now) {
      const known = parsed.get(`${secret} ${version}`);
      if (known && now - known.at <= FRESH) return known.version;
      const found = sql
        .exec<{ body: string; read_at: number }>(
          'select body, read_at from seals where secret = ? and version = ?',
          secret,
          version,
        )
        .toArray()[0];
      if (!found) return null;
      if (now - found.read_at > FRESH)
        sql.exec('update seals set read_at = ? where secret = ? and version = ?', now, secret, version);
      const row = JSON.parse(found.body) as VersionRow;
      if (found.body.length <= SMALL) parsed.set(`${secret} ${version}`, { version: row, at: now });
      return row;
    },
    keep(version, now) {
      const body = JSON.stringify(version);
      const { rowsWritten } = sql.exec(
        'insert or ignore into seals values (?, ?, ?, ?, ?)',
        version.secret_id,
        version.version,
        body,
        body.length,
        now,
      );
      if (rowsWritten) bytes += body.length;
      while (bytes > mostBytes)
        remove('(secret, version) in (select secret, version from seals order by read_at limit 16)');
    },
    clear: () => remove('1'),
    drop: (secret, version = Number.MAX_SAFE_INTEGER) =>
      remove('secret = ? and version <= ?', secret, version),
  };
}

export const ciphertexts = part(({ storage }) => createCiphertextCache(storage.sql));
