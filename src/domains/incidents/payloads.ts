// The parts of an exposure report, as the gate returns them to the Worker.
import type { CredentialRow, IntegrationRow, OrgRow, SyncStatus } from '../../db/schema';
import type { Missing } from '../../gate/archive/gaps';
import type { Entry } from '../../gate/audit/entry';

/** Actions that create or change a connection. */
export const configuring = ['integration.create', 'integration.update'] as const;

/** Actions that create or change what lets people in, or sends the log elsewhere. */
export const settingUp = {
  log_streams: ['log_stream.create', 'log_stream.update'],
  domains: ['domain.create', 'domain.verify'],
  sso_connections: ['sso_connection.create', 'sso_connection.update'],
} as const;
export type SetUp = keyof typeof settingUp;

/** What the Worker can ask for. */
export type Part =
  | { part: 'root' }
  | { part: 'descent'; spared: string[] }
  | { part: 'credentials'; ids: string[] }
  | { part: 'log'; from: number }
  | { part: 'secrets'; environments: string[]; after: string }
  | { part: 'named'; ids: string[] }
  | { part: 'connections'; connections: string[]; syncs: string[] }
  | { part: 'set_up'; kind: SetUp | 'upstreams'; ids: string[] }
  | { part: 'due'; ids: string[] };

/** What is known about a credential. `alive`: it can be used now, as far as the gate knows it. */
export type CredentialSummary = Pick<
  CredentialRow,
  'id' | 'kind' | 'name' | 'created_at' | 'expires_at' | 'revoked_at' | 'generation'
> & {
  parent_id: string | null;
  alive?: boolean;
};

/** The contained credential and other facts for its report. */
export interface RootPart {
  org: Pick<OrgRow, 'generation' | 'keys_generation' | 'spared' | 'panicked_at'>;
  root: CredentialSummary;
  /** The member of a browser session: the audit log tells its entries apart by their parent. */
  member: string | null;
  /** The root whose request this is; null for the service itself. */
  payer: string | null;
}

/** The ids of all descendants, nearest first, and whether there are more. */
export interface DescentPart {
  ids: string[];
  isCut: boolean;
}

export interface LogPart {
  entries: Entry[];
  /** The oldest sequence in the gate; D1 holds everything older. */
  oldest: number;
  /** Older entries that are still in the gate. */
  held: Entry[];
  head: number;
  missing: Missing[];
}

/** The state of a secret, as of an audit log entry. */
export interface SecretState {
  id: string;
  environment: string;
  name: string;
  version: number;
  expires_at: number | null;
  deleted: boolean;
  revoked: boolean;
}

export interface SecretsPart {
  rows: SecretState[];
  head: number;
  next: string | null;
}

/**
 * The current name and state of a secret. Name and environment are null for a caller that may not list it.
 */
export interface NamedSecret {
  id: string;
  name: string | null;
  /** Its slug. An earlier release does not say. */
  environment?: string | null;
  type: string;
  version: number;
  etag: string;
  isActive: boolean;
  /** Whether this service generated its current value. */
  generated: boolean;
  /** Whether the caller may not rotate it, or only with an approval. An earlier release does not say. */
  isBarred?: boolean;
}

/** Upstreams, log streams, domains or connections to identity providers that the caller may list. */
export type SetUpPart = { id: string; name: string }[];

/** Connections and syncs that are there and that the caller may see. */
export interface ConnectionsPart {
  connections: Pick<IntegrationRow, 'id' | 'kind' | 'platform' | 'name'>[];
  syncs: {
    id: string;
    platform: string;
    integration_id: string | null;
    environment: string;
    status: SyncStatus;
  }[];
}
