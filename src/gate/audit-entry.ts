// One entry of the audit log: what it says, and its hash. Invariant: the hash of an entry is SHA-256 over its canonical JSON (RFC 8785) without
// `hash` itself, and covers the hash before it.
import canonicalize from 'canonicalize';
import type { Action } from '../auth/actions';
import { sha256 } from '../crypto/digest';
import { newId } from '../db/ids';

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

const sorted = <T extends object>(fields: T): T => Object.fromEntries(Object.entries(fields).sort(([a], [b]) => (a < b ? -1 : 1))) as T;

/** An entry and its text. The fields stand in the order of canonical JSON, so that the text over which the hash is made is made once. */
export function entryOf(
  draft: Draft,
  status: number,
  count: number,
  { sequence, at, hash }: { sequence: number; at: number; hash: string },
) {
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
