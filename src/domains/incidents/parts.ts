// The parts of an exposure report, as the gate gives them to the Worker.
import type { CredentialRow, OrgRow } from '../../db/schema';
import type { Entry } from '../../gate/audit-entry';
import type { Missing } from '../../gate/missing-entries';

/** What the Worker may ask for. */
export type Part =
  | { part: 'root' }
  | { part: 'children'; of: string[]; after: string }
  | { part: 'log'; from: number }
  | { part: 'secrets'; environments: string[]; after: string }
  | { part: 'named'; ids: string[] }
  | { part: 'due'; ids: string[] };

/** What is known of a credential. `gone`: the member or the passkey behind it is gone. */
export type CredentialSummary = Pick<CredentialRow, 'id' | 'kind' | 'name' | 'created_at' | 'expires_at' | 'revoked_at' | 'generation'> & {
  parent_id: string | null;
};

/** The contained credential, and what its report has to know besides. */
export interface RootPart {
  org: Pick<OrgRow, 'generation' | 'keys_generation' | 'spared' | 'panicked_at'>;
  root: CredentialSummary;
  /** The caller's own credential and those that it ends with: they are no descendants. */
  spared: string[];
  /** Whose entries the audit log tells apart by its parent: the member of a browser session. */
  member: string | null;
}

/** Credentials that some others made or end with, and those that they end with in turn. `next` is where to go on. */
export interface ChildrenPart {
  children: string[];
  credentials: CredentialSummary[];
  next: string | null;
}

export interface LogPart {
  entries: Entry[];
  /** The oldest sequence that lies here: what is older lies in D1. */
  oldest: number;
  /** Older entries that lie here all the same. */
  held: Entry[];
  head: number;
  missing: Missing[];
}

/** Where a secret stands, as of an entry of the audit log. */
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

/** What a secret is called and is now. The name is null for a caller who may not list it. */
export interface NamedSecret {
  id: string;
  name: string | null;
  type: string;
  etag: string;
  isActive: boolean;
  /** Whether this service generated its current value. */
  generated: boolean;
}
