// The audit log: one entry a request, chained by hash. The newest entries lie here; closed segments move to D1 (`segments.ts`).
// Invariants: an entry is appended once, when its outcome is known, and never changed; sequence and time only grow; the hash of an
// entry is SHA-256 over the JSON of the entry as the API shows it, without `hash` itself, which holds the hash before it.
import { sha256 } from '../crypto/digest';
import { newId } from '../db/ids';
import type { Meta } from './core';

export interface Actor {
  kind: string;
  id: string | null;
  parent_id: string | null;
  name: string | null;
}

/** What is known of an entry before its outcome is. */
export interface Draft {
  actor: Actor;
  action: string;
  resource: string | null;
  environment: string | null;
  version: number | null;
  prefix?: string;
  /** Of a bulk read by a caller who is limited to some names: their patterns. */
  patterns?: readonly string[];
  /** Of a change that sets the lifetime of a secret: until when it holds, or null. */
  expires_at?: string | null;
  /** Of a change that takes a name away from a secret: the name. */
  former_name?: string;
  reason: string | null;
  request_id: string;
  ip: string;
  user_agent: string | null;
}

export interface Entry extends Draft {
  id: string;
  sequence: number;
  time: string;
  outcome: 'success' | 'denied' | 'failed';
  status: number;
  /** How many requests the entry stands for: more than one only where they were over the rate limit. */
  count: number;
  /** By a break-glass token, or the issue of one. */
  emergency: boolean;
  prev_hash: string;
  hash: string;
}

export interface Filter {
  actor?: string;
  action?: string;
  resource?: string;
  outcome?: string;
  from?: number;
  to?: number;
}

export interface Chain {
  append(draft: Draft, status: number, now: number, count?: number): Entry;
  head(): { sequence: number; hash: string };
  /** Up to `limit` entries that match, newest first, older than `before`. */
  newest(filter: Filter, before: number, limit: number): Entry[];
  /** Up to `limit` entries from a sequence on, oldest first. */
  from(sequence: number, limit: number): Entry[];
  /** The sequence of the oldest entry that lies here; one past the head if none does. */
  oldest(): number;
  /** How many entries lie here. */
  size(): number;
  /** Entries of the last `ms`, newest first, for what is counted by time. */
  since(time: number): Iterable<{ actor: string; parent: string | null; at: number }>;
  /** Forgets entries up to a sequence: they are in D1. */
  moved(sequence: number): void;
  /** Starts the chain of an org, or goes on after what a lost gate had moved to D1. */
  begin(sequence: number, hash: string): void;
}

/** The hash before the first entry: binds a chain to its org. */
export const genesis = (org: string): string => sha256(`svc/v1/audit/${org}`);

/** The hash of an entry, from the entry as it is shown. */
export function hashOf({ hash: _, ...entry }: Entry): string {
  return sha256(JSON.stringify(entry));
}

export const outcomeOf = (status: number): Entry['outcome'] =>
  status < 400 ? 'success' : status === 401 || status === 403 || status === 429 ? 'denied' : 'failed';

export function openChain(sql: SqlStorage, meta: Meta): Chain {
  sql.exec(`create table if not exists audit (sequence integer primary key, at integer not null, actor text not null, parent text, action text not null,
    resource text, outcome text not null, body text not null)`);
  const last = sql.exec<{ at: number; body: string }>('select at, body from audit order by sequence desc limit 1').toArray()[0];
  const start = JSON.parse(meta.get('chain') ?? '{"sequence":0,"hash":"","at":0}') as { sequence: number; hash: string; at: number };
  let { sequence, hash, at } = start;
  let oldest = sql.exec<{ n: number | null }>('select min(sequence) n from audit').one().n ?? sequence + 1;
  if (last) ({ sequence, hash, at } = { ...(JSON.parse(last.body) as Entry), at: last.at });

  return {
    append(draft, status, now, count = 1) {
      at = Math.max(at, now);
      const { prefix, patterns, expires_at, former_name, ...rest } = draft;
      const body = {
        id: newId('aud', at),
        sequence: sequence + 1,
        time: new Date(at).toISOString(),
        ...rest,
        ...(prefix !== undefined && { prefix }),
        ...(patterns !== undefined && { patterns }),
        ...(expires_at !== undefined && { expires_at }),
        ...(former_name !== undefined && { former_name }),
        outcome: outcomeOf(status),
        status,
        count,
        emergency: draft.actor.kind === 'break_glass' || draft.action === 'break_glass.create',
        prev_hash: hash,
      };
      const text = JSON.stringify(body);
      const entry: Entry = { ...body, hash: sha256(text) };
      sql.exec(
        'insert into audit values (?, ?, ?, ?, ?, ?, ?, ?)',
        entry.sequence,
        at,
        entry.actor.id ?? '',
        entry.actor.parent_id,
        entry.action,
        entry.resource,
        entry.outcome,
        // As JSON.stringify(entry) would spell it.
        `${text.slice(0, -1)},"hash":"${entry.hash}"}`,
      );
      ({ sequence, hash } = entry);
      return entry;
    },
    head: () => ({ sequence, hash }),
    newest(filter, before, limit) {
      const where = ['sequence < ?'];
      const params: (string | number)[] = [before];
      for (const column of ['actor', 'action', 'resource', 'outcome'] as const) {
        const wanted = filter[column];
        if (wanted !== undefined) {
          where.push(`${column} = ?`);
          params.push(wanted);
        }
      }
      if (filter.from !== undefined) where.push('at >= ?') && params.push(filter.from);
      if (filter.to !== undefined) where.push('at < ?') && params.push(filter.to);
      return sql
        .exec<{ body: string }>(`select body from audit where ${where.join(' and ')} order by sequence desc limit ?`, ...params, limit)
        .toArray()
        .map(({ body }) => JSON.parse(body));
    },
    from: (first, limit) =>
      sql
        .exec<{ body: string }>('select body from audit where sequence >= ? order by sequence limit ?', first, limit)
        .toArray()
        .map(({ body }) => JSON.parse(body)),
    oldest: () => oldest,
    size: () => sequence + 1 - oldest,
    *since(time) {
      for (const row of sql.exec<{ actor: string; parent: string | null; at: number }>(
        'select actor, parent, at from audit order by sequence desc',
      )) {
        if (row.at < time) return;
        yield row;
      }
    },
    moved(upTo) {
      meta.set('chain', JSON.stringify({ sequence, hash, at }));
      sql.exec('delete from audit where sequence <= ?', upTo);
      oldest = Math.max(oldest, upTo + 1);
    },
    begin(first, prev) {
      sequence = first;
      hash = prev;
      oldest = first + 1;
      meta.set('chain', JSON.stringify({ sequence, hash, at }));
    },
  };
}
