// The audit log: one entry a request, chained by hash. The newest entries lie here; closed segments move to D1 (`segments.ts`).
// Invariants: an entry is appended once, when its outcome is known, and never changed; sequence and time only grow; the hash of an
// entry is SHA-256 over its canonical JSON (RFC 8785) without `hash` itself, and covers the hash before it.
import canonicalize from 'canonicalize';
import type { Action } from '../auth/actions';
import { sha256 } from '../crypto/digest';
import { newId } from '../db/ids';
import type { Meta } from './meta';

export interface Actor {
  kind: string;
  id: string | null;
  parent_id: string | null;
  name: string | null;
}

/** A lost stretch. `restore`: a backup that was put back does not hold it. `gate_lost`: it lay in a gate whose storage is gone. */
export interface Missing {
  from: number;
  to: number;
  reason: 'restore' | 'gate_lost';
}

export interface Imported {
  source: string;
  created: number;
  updated: number;
  skipped: number;
  failed: number;
  names: readonly string[];
  /** How many names are left out. */
  unnamed: number;
  /** The versions that it wrote, all of them, by the ids of secrets: what is reported of a credential later is made from this. */
  versions: Readonly<Record<string, number>>;
  dry_run: boolean;
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
  /** Of such a read too: the digest of these patterns, which stand in full in an earlier entry of the last twelve hours. */
  patterns_digest?: string;
  /** Of a bulk read: the secrets that it did not return because their reads need approval. */
  withheld?: readonly string[];
  /** Of such a read too: the digest of this list, which stands in full in an earlier entry of the last twelve hours. */
  withheld_digest?: string;
  /** The name of a secret at that time, also where it was refused or not found. */
  resource_name?: string | null;
  /** Of a rotation, or of a panic that makes a key: the credential that takes over. */
  successor?: string;
  /** Of a change that sets the lifetime of a secret: until when it holds, or null. */
  expires_at?: string | null;
  /** Of a change that takes a name away from a secret: the name. */
  former_name?: string;
  /** Of a secret that is shared: the link or grant that does it. */
  share?: string;
  /** The approval that the request used, or that it waits for. */
  approval?: string;
  /** The approval policies that a break-glass token passed. */
  bypassed_policies?: readonly string[];
  /** Of a scan: how many findings are known by their format alone, are tokens of this organisation, and are values of secrets. */
  findings?: { known: number; secrets: number; tokens: number };
  /** Of a generated file: its format, and of how many secrets it was made. */
  file?: { format: string; secrets: number };
  /** Of a sync: where secrets are sent, and how many. */
  sent?: { platform: string; secrets: number };
  /** And their names, where they are not too long together; else `prefix` and `patterns` say among which they are. */
  names?: readonly string[];
  /** Of an import: from where, how many secrets it created, changed, left and refused, and the names of those that it wrote, as far as they fit. */
  imported?: Imported;
  /** Of a restore, or of a gate that begins again: the stretches of the log that are lost, for whoever checks it without the service. */
  missing?: readonly Missing[];
  reason: string | null;
  request_id: string;
  ip: string;
  user_agent: string | null;
}

/** Actions that read several secrets of an environment at once: their entries name the environment, its revision, and which names of it. */
export const BULK_READS: readonly Action[] = ['secret.read_all', 'integration.generate', 'integration.sync_run'];

/** What an entry says of its target; `reason` where the body gives one. */
export type Subject = Pick<
  Draft,
  | 'resource'
  | 'resource_name'
  | 'environment'
  | 'version'
  | 'prefix'
  | 'patterns'
  | 'patterns_digest'
  | 'withheld'
  | 'expires_at'
  | 'former_name'
  | 'successor'
  | 'share'
  | 'approval'
  | 'bypassed_policies'
  | 'findings'
  | 'file'
  | 'sent'
  | 'names'
  | 'imported'
  | 'missing'
> & {
  reason?: string;
  /** Where the request did something else than its action says: a PUT that updates an existing secret. */
  action?: Action;
};

export interface Entry extends Draft {
  id: string;
  sequence: number;
  /** Over what the hash is made: 2 for canonical JSON. Releases before 0.5.0 wrote none: the JSON of the entry in its own order of fields. */
  format?: number;
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
  /** Any of these. */
  actions?: readonly string[];
  resource?: string;
  outcome?: string;
  from?: number;
  to?: number;
}

/** A page of entries. `next` is where to go on; null where there are no more here. */
export interface EntryPage {
  entries: Entry[];
  next: number | null;
}

export interface AuditLog {
  append(draft: Draft, status: number, now: number, count?: number): Entry;
  head(): { sequence: number; hash: string };
  /** Up to `limit` entries that match and that `shows` accepts, newest first, older than `before`. A page is bounded in bytes and in entries looked at. */
  newest(filter: Filter, before: number, limit: number, shows?: (entry: Entry) => boolean, lookedAt?: number): EntryPage;
  /** Up to `limit` entries from a sequence on, oldest first, bounded in bytes. */
  from(sequence: number, limit: number, mostBytes?: number): EntryPage;
  /** The sequence of the oldest entry that has not moved to D1; one past the head if none is left. */
  oldest(): number;
  /** How many entries have not moved to D1. */
  size(): number;
  /** Requests since a time, newest first, for what is counted by time. */
  since(time: number): Iterable<{ actor: string; parent: string | null; at: number }>;
  /** Notes that entries up to a sequence are in D1. They are deleted here, those of the last minute later: rate limits are counted from them. */
  moved(sequence: number, now: number): void;
  /** Keeps an entry here that D1 refuses, so that later ones can move. */
  hold(sequence: number): void;
  /** Entries that D1 refused, oldest first. */
  held(): Entry[];
  /** Drops those up to a sequence: they are past retention. */
  dropHeld(upTo: number): void;
  /** Starts the chain of an org, or goes on after what a lost gate had moved to D1. */
  begin(sequence: number, hash: string): void;
}

/** Entries that a gate holds before it turns requests away, and how many more there is room for by what ends credentials. */
export const MOST_ENTRIES = 100_000;
export const RESERVE = 10_000;

/** Bytes of entries that one page holds: an RPC carries 32 MiB. */
const MOST_PAGE = 4 * 1024 * 1024;
/** Entries that one page of a filtered list looks at. */
export const LOOKED_AT = 5000;
/** For how long moved entries stay for the rate limits: their window, and what may lie between two clocks. */
const COUNTED = 65_000;

/** The hash before the first entry: binds a chain to its org. */
export const genesis = (org: string): string => sha256(`svc/v1/audit/${org}`);

/** What new entries are hashed as. */
const FORMAT = 2;

/**
 * The hash of an entry, from the entry as it is shown; null where its format is not known. The format is under the hash: another one, or none,
 * gives another text, and so another hash.
 */
export function hashOf({ hash: _, ...entry }: Entry): string | null {
  const text = entry.format === FORMAT ? canonicalize(entry) : entry.format === undefined ? JSON.stringify(entry) : undefined;
  return text === undefined ? null : sha256(text);
}

export const outcomeOf = (status: number): Entry['outcome'] =>
  status < 400 ? 'success' : status === 401 || status === 403 || status === 429 ? 'denied' : 'failed';

// biome-ignore lint/complexity/noExcessiveLinesPerFunction: its methods share the head of the chain, and the statements.
export function createAuditLog(sql: SqlStorage, meta: Meta): AuditLog {
  sql.exec(`create table if not exists audit (sequence integer primary key, at integer not null, actor text not null, parent text, action text not null,
    resource text, outcome text not null, body text not null)`);
  sql.exec('create table if not exists held_entries (sequence integer primary key, body text not null)');
  const last = sql.exec<{ at: number; body: string }>('select at, body from audit order by sequence desc limit 1').toArray()[0];
  const start = JSON.parse(meta.get('chain') ?? '{"sequence":0,"hash":"","at":0}') as { sequence: number; hash: string; at: number };
  let { sequence, hash, at } = start;
  // A release before 0.4.0 deleted entries in the turn in which they had moved: there the first row is the oldest.
  const first = sql.exec<{ n: number | null }>('select min(sequence) n from audit').one().n ?? sequence + 1;
  let oldest = Math.max(first, Number(meta.get('oldest') ?? 0));
  if (last) ({ sequence, hash, at } = { ...(JSON.parse(last.body) as Entry), at: last.at });

  return {
    append(draft, status, now, count = 1) {
      at = Math.max(at, now);
      const { text, entry } = entryOf(draft, status, count, { sequence: sequence + 1, at, hash });
      sql.exec(
        'insert into audit values (?, ?, ?, ?, ?, ?, ?, ?)',
        entry.sequence,
        at,
        entry.actor.id ?? '',
        entry.actor.parent_id,
        entry.action,
        entry.resource,
        entry.outcome,
        text,
      );
      ({ sequence, hash } = entry);
      return entry;
    },
    head: () => ({ sequence, hash }),
    newest(filter, before, limit, shows = () => true, lookedAt = LOOKED_AT) {
      const { where, params } = conditionsOf(filter, before, oldest);
      const rows = sql.exec<{ sequence: number; body: string }>(
        `select sequence, body from audit where ${where} order by sequence desc limit ?`,
        ...params,
        lookedAt,
      );
      return pageOf(rows, limit, MOST_PAGE, shows, lookedAt);
    },
    from(start, limit, mostBytes = MOST_PAGE) {
      const rows = sql.exec<{ sequence: number; body: string }>(
        'select sequence, body from audit where sequence >= ? order by sequence limit ?',
        Math.max(start, oldest),
        limit,
      );
      return pageOf(rows, limit, mostBytes);
    },
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
    moved(upTo, now) {
      oldest = Math.max(oldest, upTo + 1);
      meta.set('chain', JSON.stringify({ sequence, hash, at }));
      meta.set('oldest', String(oldest));
      sql.exec('delete from audit where sequence < ? and at <= ?', oldest, now - COUNTED);
    },
    hold(at) {
      sql.exec('insert or ignore into held_entries select sequence, body from audit where sequence = ?', at);
    },
    held: () =>
      sql
        .exec<{ body: string }>('select body from held_entries order by sequence')
        .toArray()
        .map(({ body }) => JSON.parse(body)),
    dropHeld: (upTo) => void sql.exec('delete from held_entries where sequence <= ?', upTo),
    begin(first, prev) {
      sequence = first;
      hash = prev;
      oldest = first + 1;
      meta.set('chain', JSON.stringify({ sequence, hash, at }));
      meta.set('oldest', String(oldest));
    },
  };
}

const sorted = <T extends object>(fields: T): T => Object.fromEntries(Object.entries(fields).sort(([a], [b]) => (a < b ? -1 : 1))) as T;

/** An entry and its text. The fields stand in the order of canonical JSON, so that the text over which the hash is made is made once. */
function entryOf(draft: Draft, status: number, count: number, { sequence, at, hash }: { sequence: number; at: number; hash: string }) {
  const { id, kind, name, parent_id } = draft.actor;
  const body = {
    action: draft.action,
    actor: { id, kind, name, parent_id },
    // JSON leaves out what is undefined.
    approval: draft.approval,
    bypassed_policies: draft.bypassed_policies,
    count,
    emergency: kind === 'break_glass' || draft.action === 'break_glass.create',
    environment: draft.environment,
    expires_at: draft.expires_at,
    file: draft.file && { format: draft.file.format, secrets: draft.file.secrets },
    findings: draft.findings && { known: draft.findings.known, secrets: draft.findings.secrets, tokens: draft.findings.tokens },
    format: FORMAT,
    former_name: draft.former_name,
    id: newId('aud', at),
    imported: draft.imported && sorted({ ...draft.imported, versions: sorted(draft.imported.versions) }),
    ip: draft.ip,
    missing: draft.missing?.map(({ from, reason, to }) => ({ from, reason, to })),
    names: draft.names,
    outcome: outcomeOf(status),
    patterns: draft.patterns,
    patterns_digest: draft.patterns_digest,
    prefix: draft.prefix,
    // safety: audit-hash-chain
    prev_hash: hash,
    reason: draft.reason,
    request_id: draft.request_id,
    resource: draft.resource,
    resource_name: draft.resource_name ?? null,
    sent: draft.sent && { platform: draft.sent.platform, secrets: draft.sent.secrets },
    sequence,
    share: draft.share,
    status,
    successor: draft.successor,
    time: new Date(at).toISOString(),
    user_agent: draft.user_agent,
    version: draft.version,
    withheld: draft.withheld,
    withheld_digest: draft.withheld_digest,
  };
  const text = JSON.stringify(body);
  const entry: Entry = { ...body, hash: sha256(text) };
  // As JSON.stringify(entry) would spell it.
  return { entry, text: `${text.slice(0, -1)},"hash":"${entry.hash}"}` };
}

function conditionsOf(filter: Filter, before: number, oldest: number) {
  const where = ['sequence < ?', 'sequence >= ?'];
  const params: (string | number)[] = [before, oldest];
  for (const column of ['actor', 'action', 'resource', 'outcome'] as const) {
    const wanted = filter[column];
    if (wanted === undefined) continue;
    where.push(`${column} = ?`);
    params.push(wanted);
  }
  if (filter.actions !== undefined) where.push('action in (select value from json_each(?))') && params.push(JSON.stringify(filter.actions));
  if (filter.from !== undefined) where.push('at >= ?') && params.push(filter.from);
  if (filter.to !== undefined) where.push('at < ?') && params.push(filter.to);
  return { where: where.join(' and '), params };
}

/** Reads rows until a page is full. Where the rows themselves end at their limit, the page says where to go on. */
function pageOf(
  rows: Iterable<{ sequence: number; body: string }>,
  limit: number,
  mostBytes: number,
  shows: (entry: Entry) => boolean = () => true,
  lookedAt = limit,
): EntryPage {
  const entries: Entry[] = [];
  let [bytes, looked, last] = [0, 0, 0];
  for (const { sequence, body } of rows) {
    if (entries.length === limit || (entries.length && bytes + body.length > mostBytes)) return { entries, next: last };
    looked++;
    last = sequence;
    const entry = JSON.parse(body) as Entry;
    if (!shows(entry)) continue;
    entries.push(entry);
    bytes += body.length;
  }
  return { entries, next: looked >= lookedAt ? last : null };
}
