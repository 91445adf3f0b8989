// One entry of the audit log: what it says. Invariants: its fields are in the order of canonical JSON, which
// `chain.ts` hashes; an entry about several secrets covers each of their names, in full or by a prefix or
// patterns, so an exposure report may count too many, never too few.
import type { Action } from '../../auth/actions';
import { newId } from '../../db/ids';
import { FORMAT, hashOfText } from './chain';

export interface Actor {
  kind: string;
  id: string | null;
  parent_id: string | null;
  name: string | null;
}

/**
 * A lost range. `restore`: the restored backup does not contain it. `gate_lost`: it was in a gate whose
 * storage was lost.
 */
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
  /** The number of omitted names. */
  unnamed: number;
  /**
   * All versions that it wrote, by the ids of secrets. Later reports about a credential are based on this.
   */
  versions: Readonly<Record<string, number>>;
  /** Of a folder or a promotion: the newest versions of the secrets that it deleted, by their ids. */
  deleted?: Readonly<Record<string, number>>;
  /** Of a promotion: the versions that it copied, by the ids of their secrets. */
  copied?: Readonly<Record<string, number>>;
  dry_run: boolean;
}

/** A call of an upstream. `path` is without the query. */
export interface Use {
  ended?: string;
  host: string;
  method: string;
  path: string;
  request_bytes?: number;
  response_bytes?: number;
  secrets: readonly { id: string; name: string; version: number }[];
}

export interface LostSecret {
  id: string;
  name: string;
  environment: string;
  /** Its newest version. */
  version: number;
}
export interface LostVersions {
  id: string;
  name: string;
  environment: string;
  from: number;
  to: number;
}
export interface KeptRevocation {
  id: string;
  kind: string;
  name: string | null;
}

/** The result, in numbers of secrets. */
export interface Restored {
  /** Restored to their state in the backup. */
  restored: number;
  /** Still deleted or destroyed, although the backup contains them. */
  ended: number;
  /** Created after the backup and lost. */
  lost: number;
  /** Rows that this organisation never wrote; removed. */
  refused: number;
  /** Rows of which D1 had a newer state, apart from secrets; taken. */
  newer: number;
  /** Audit log entries that were in D1 and are not in the backup. */
  audit_entries_lost: number;
}

/** What an adoption changed. */
export interface Adoption extends Restored {
  lost_secrets: LostSecret[];
  lost_versions: LostVersions[];
  /** Credentials that the backup holds as live and that stay ended. */
  kept_revocations: KeptRevocation[];
  /** How many of these lists are left out. */
  unnamed: number;
}

/** An entry without its outcome. */
export interface Draft {
  actor: Actor;
  action: string;
  resource: string | null;
  environment: string | null;
  version: number | null;
  prefix?: string;
  /** Of a bulk read with several prefixes: all of them, in their order. `prefix` is what they begin with. */
  prefixes?: readonly string[];
  /** Of a bulk read by a caller who is limited to some names: the patterns. */
  patterns?: readonly string[];
  /**
   * Of such a read: the digest of these patterns, which an earlier entry of the last twelve hours contains in
   * full.
   */
  patterns_digest?: string;
  /** Of a bulk read: the secrets that it did not return because their reads need approval. */
  withheld?: readonly string[];
  /**
   * Of such a read: the digest of this list, which an earlier entry of the last twelve hours contains in
   * full.
   */
  withheld_digest?: string;
  /** The name of a secret at that time, also if it was refused or not found. */
  resource_name?: string | null;
  /** Of a rotation, or of a panic that creates a key: the new credential. */
  successor?: string;
  /** Of a change that sets the lifetime of a secret: when it expires, or null. */
  expires_at?: string | null;
  /** Of a change that renames or deletes a secret: its former name. */
  former_name?: string;
  /** Of a secret that is shared: the link or grant. */
  share?: string;
  /** The approval that the request used, or that it waits for. */
  approval?: string;
  /** The incident that a containment, a panic or a change of it belongs to, and its status then. */
  incident?: { id: string; status: string };
  /** The approval policies that a break-glass token bypassed. */
  bypassed_policies?: readonly string[];
  /**
   * Of a scan: the number of findings known only by their format, of tokens of this organisation, and of
   * values of secrets.
   */
  findings?: { known: number; secrets: number; tokens: number };
  /** Of a generated file: its format, and the number of secrets in it. */
  file?: { format: string; secrets: number };
  /** Of a sync: its stored connection if it has one, the platform, and the number of secrets. */
  sent?: { integration_id?: string | null; platform: string; secrets: number };
  /** And their names, if they fit; otherwise `prefix` and `patterns` describe them. */
  names?: readonly string[];
  /**
   * Of an import, a promotion, and a change of a folder by a client of Vault: the source, the number of
   * secrets created, changed, skipped and refused, and the names of those written or deleted, as far as they
   * fit.
   */
  imported?: Imported;
  /** Of a restore: counts, and the names of what was lost or stays ended. */
  adopted?: Adoption;
  /**
   * Of a restore, or of a gate that starts again: the lost ranges of the log, for verification without the
   * service.
   */
  missing?: readonly Missing[];
  /** Of a call of an upstream: what was asked of whom, with which secrets; at its end, what came of it. */
  use?: Use;
  /** The region whose replica answered. */
  region?: string;
  reason: string | null;
  request_id: string;
  ip: string | null;
  user_agent: string | null;
}

const SYSTEM_ACTOR: Actor = { kind: 'system', id: 'system', parent_id: null, name: null };

/** The entry of something that the service did by itself. Most have no place, no reason and no request. */
export const systemEntry = (about: Pick<Draft, 'action' | 'resource'> & Partial<Draft>): Draft => ({
  actor: SYSTEM_ACTOR,
  environment: null,
  version: null,
  reason: null,
  request_id: '',
  ip: '',
  user_agent: null,
  ...about,
});

/**
 * Actions that read several secrets of an environment at once. Their entries name the environment, its
 * revision, and which of its names.
 */
export const BULK_READS: readonly Action[] = [
  'secret.read_all',
  'integration.generate',
  'integration.sync_run',
];

const sentTo = ({ integration_id, platform, secrets }: NonNullable<Draft['sent']>) => ({
  ...(integration_id && { integration_id }),
  platform,
  secrets,
});

/** The part of an entry that describes its target; with `reason` if the body contains one. */
export type Subject = Pick<
  Draft,
  | 'resource'
  | 'resource_name'
  | 'environment'
  | 'version'
  | 'prefix'
  | 'prefixes'
  | 'patterns'
  | 'patterns_digest'
  | 'withheld'
  | 'expires_at'
  | 'former_name'
  | 'successor'
  | 'share'
  | 'approval'
  | 'incident'
  | 'bypassed_policies'
  | 'findings'
  | 'file'
  | 'sent'
  | 'names'
  | 'imported'
  | 'missing'
  | 'adopted'
  | 'use'
> & {
  reason?: string;
  /** Another action than that of the request: for a PUT that updates an existing secret. */
  action?: Action;
};

/** The subject of a request whose target is not known. */
export const noSubject: Subject = { resource: null, environment: null, version: null };

/** Creates the draft of a request's entry; `audit` is what only the operation knows of its target. */
export type DraftOf = (about?: Partial<Subject>) => Draft;

export interface Entry extends Draft {
  id: string;
  sequence: number;
  /**
   * What the hash covers: 2 for canonical JSON. Releases before 0.5.0 wrote no format and hashed the JSON of
   * the entry in its own order of fields.
   */
  format?: number;
  time: string;
  outcome: 'success' | 'denied' | 'failed';
  status: number;
  /** The number of requests that the entry stands for: more than one only if they exceeded the rate limit. */
  count: number;
  /** The request used a break-glass token, or issued one. */
  emergency: boolean;
  prev_hash: string;
  hash: string;
}

export const outcomeOf = (status: number): Entry['outcome'] =>
  status < 400 ? 'success' : status === 401 || status === 403 || status === 429 ? 'denied' : 'failed';

const sorted = <T extends object>(fields: T): T =>
  Object.fromEntries(Object.entries(fields).sort(([a], [b]) => (a < b ? -1 : 1))) as T;

/** The same, with the fields of everything in it in order. */
const adoptedIn = (adopted: Adoption): Adoption => ({
  ...sorted(adopted),
  kept_revocations: adopted.kept_revocations.map(sorted),
  lost_secrets: adopted.lost_secrets.map(sorted),
  lost_versions: adopted.lost_versions.map(sorted),
});

/** The same of an import. */
const importedIn = ({ copied, deleted, ...imported }: Imported): Imported =>
  sorted({
    ...imported,
    versions: sorted(imported.versions),
    ...(copied && { copied: sorted(copied) }),
    ...(deleted && { deleted: sorted(deleted) }),
  });

/** The same of a call of an upstream. */
const usedIn = (use: Use): Use => sorted({ ...use, secrets: use.secrets.map(sorted) });

/** The ids of all secrets that an entry about several of them changed or copied. */
export const secretsIn = ({ imported }: Pick<Draft, 'imported'>): string[] =>
  [imported?.versions, imported?.deleted, imported?.copied].flatMap((ids) => Object.keys(ids ?? {}));

/** The address that an entry shows: a bound Worker has none. */
const addressIn = ({ actor, ip }: Draft): string | null =>
  actor.kind === 'workload' && ip === 'unknown' ? null : ip;

/**
 * An entry and its text. The fields are in the order of canonical JSON, so that the hashed text is created
 * only once.
 */
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
    adopted: draft.adopted && adoptedIn(draft.adopted),
    // JSON omits undefined fields.
    approval: draft.approval,
    bypassed_policies: draft.bypassed_policies,
    count,
    emergency: kind === 'break_glass' || draft.action === 'break_glass.create',
    environment: draft.environment,
    expires_at: draft.expires_at,
    file: draft.file && { format: draft.file.format, secrets: draft.file.secrets },
    findings: draft.findings && {
      known: draft.findings.known,
      secrets: draft.findings.secrets,
      tokens: draft.findings.tokens,
    },
    format: FORMAT,
    former_name: draft.former_name,
    id: newId('aud', at),
    imported: draft.imported && importedIn(draft.imported),
    incident: draft.incident && { id: draft.incident.id, status: draft.incident.status },
    ip: addressIn(draft),
    missing: draft.missing?.map(({ from, reason, to }) => ({ from, reason, to })),
    names: draft.names,
    outcome: outcomeOf(status),
    patterns: draft.patterns,
    patterns_digest: draft.patterns_digest,
    prefix: draft.prefix,
    prefixes: draft.prefixes,
    // safety: audit-hash-chain
    prev_hash: hash,
    reason: draft.reason,
    region: draft.region,
    request_id: draft.request_id,
    resource: draft.resource,
    resource_name: draft.resource_name ?? null,
    sent: draft.sent && sentTo(draft.sent),
    sequence,
    share: draft.share,
    status,
    successor: draft.successor,
    time: new Date(at).toISOString(),
    use: draft.use && usedIn(draft.use),
    user_agent: draft.user_agent,
    version: draft.version,
    withheld: draft.withheld,
    withheld_digest: draft.withheld_digest,
  };
  const text = JSON.stringify(body);
  const entry: Entry = { ...body, hash: hashOfText(text) };
  // Equal to JSON.stringify(entry).
  return { entry, text: `${text.slice(0, -1)},"hash":"${entry.hash}"}` };
}

/** The most bytes of names in the audit entry of a change of several secrets. */
const MOST_LISTED = 4000;

/** The names that fit in the entry of a change of several secrets, and the number of the others. */
export function namesListed(all: readonly string[]): Pick<Imported, 'names' | 'unnamed'> {
  let bytes = 0;
  const past = all.findIndex((name) => {
    bytes += name.length;
    return bytes > MOST_LISTED;
  });
  const names = past < 0 ? all : all.slice(0, past);
  return { names, unnamed: all.length - names.length };
}

/** The most characters of names in one audit entry. */
const MOST_NAMES = 16_384;

/**
 * What an entry records of these sorted names; `patterns` are the name patterns that limit the caller, if
 * any.
 */
export function namesNoted(names: readonly string[], patterns: readonly string[] | null) {
  const isShort = names.join('').length <= MOST_NAMES;
  return { prefix: prefixOf(names), ...(isShort ? { names } : { patterns: patterns ?? undefined }) };
}

/** The common prefix: that of the first and the last name. */
function prefixOf(names: readonly string[]): string {
  const first = names[0] ?? '';
  const last = names.at(-1) ?? '';
  let at = 0;
  while (at < first.length && first[at] === last[at]) at++;
  return first.slice(0, at);
}
