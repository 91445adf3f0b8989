// Session tokens that have ended and whose rows have left. They are refused as expired or revoked for half a
// day, and can be contained and revoked again; after that they are unknown. Invariant: their number is
// bounded, for each root too, and the oldest leave first.
import { DAY } from '../../db/rows';
import type { CredentialRow } from '../../db/schema';
import type { Core } from '../core';
import { part } from '../part';
import { oldestLeave } from '../rows/oldest-leave';
import { type RootReader, rootOfCredential } from '../rows/quota-root';

export interface FormerSessions {
  /** Remembers session tokens whose rows are about to leave. */
  leave(rows: CredentialRow[]): void;
  find(by: 'id' | 'token_hash', value: string): CredentialRow | null;
  /** Forgets those that ended half a day ago. */
  sweep(now: number): void;
  clear(): void;
}

export const formerSessionQuota = { org: 20_000, root: 5_000 };
const REMEMBERED = DAY / 2;

const endOf = ({ expires_at, revoked_at }: CredentialRow): number =>
  Math.min(expires_at ?? Number.POSITIVE_INFINITY, revoked_at ?? Number.POSITIVE_INFINITY);

export function createFormerSessions(sql: SqlStorage, rows: RootReader): FormerSessions {
  sql.exec(
    'create table if not exists ended_sessions (id text primary key, token_hash text not null, body text not null, root text not null, at integer not null) without rowid',
  );
  sql.exec('create index if not exists ended_sessions_token on ended_sessions (token_hash)');
  sql.exec('create index if not exists ended_sessions_root on ended_sessions (root, at)');
  sql.exec('create index if not exists ended_sessions_at on ended_sessions (at)');
  return {
    leave(ended) {
      const roots = new Set<string>();
      for (const row of ended) {
        const root = rootOfCredential({ rows }, row.id);
        roots.add(root);
        sql.exec(
          'insert or replace into ended_sessions values (?, ?, ?, ?, ?)',
          ...[row.id, row.token_hash, JSON.stringify(row), root, endOf(row)],
        );
      }
      for (const root of roots) oldestLeave(sql, 'ended_sessions', 'id', formerSessionQuota, root);
    },
    find(by, value) {
      const [found] = sql
        .exec<{ body: string }>(`select body from ended_sessions where ${by} = ?`, value)
        .toArray();
      return found ? (JSON.parse(found.body) as CredentialRow) : null;
    },
    // safety: former-sessions-forgotten
    sweep: (now) => void sql.exec('delete from ended_sessions where at < ?', now - REMEMBERED),
    clear: () => void sql.exec('delete from ended_sessions'),
  };
}

export const formerSessions = part(({ storage, rows }: Core) => createFormerSessions(storage.sql, rows));
