// The parts of a compliance report, as the gate returns them to the Worker. Invariant: a part is bounded in
// rows and contains no value, ciphertext or token hash.

import type { CredentialKind } from '../../db/credential-kinds';
import type { ApprovalRow, DeviceRow, MemberRow, PolicyRow, SecretRow } from '../../db/schema';
import type { Entry } from '../../gate/audit/entry';

/** A period in milliseconds, including `from` and excluding `to`. */
export interface Period {
  from: number;
  to: number;
}

/** What the Worker can ask for, the overview first. */
export type Part =
  | { part: 'overview'; from: number | null; to: number | null }
  | { part: 'secrets'; after: string }
  | { part: 'credentials'; after: string }
  | { part: 'members'; after: string }
  | { part: 'devices'; after: string }
  | { part: 'approvals'; after: string; period: Period }
  | { part: 'entries'; before: number | null; period: Period }
  | { part: 'chain'; from: number };

export interface Overview {
  now: number;
  period: Period;
  /** The root whose request this is. */
  payer: string | null;
  org: { id: string; name: string };
  /** How many days the audit log is kept, if set. */
  audit_retention_days: number | null;
  policies: readonly PolicyRow[];
  /** The newest entry of the audit log. */
  head: { sequence: number; hash: string };
  /** Session tokens and browser sessions that are live by their own rows. */
  sessions: number;
  browsers: number;
  webhooks: WebhookFacts[];
}

export interface WebhookFacts {
  id: string;
  host: string;
  /** Why it is disabled; null if it is enabled. */
  disabled: string | null;
  updated_at: number;
}

/** Rows in id order; `next` is where the next page starts. */
export interface Page<T> {
  rows: T[];
  next: string | null;
}

export type SecretFacts = Pick<
  SecretRow,
  'id' | 'name' | 'type' | 'environment_id' | 'version' | 'created_at' | 'expires_at' | 'rotate_every_seconds'
> & {
  environment: string;
  generated: boolean;
  /** When the current version was created. */
  rotated_at: number;
  /** When a value was last read; null if no read is known. */
  last_read_at: number | null;
};

/** Active secrets, and the number of others that were skipped. */
export interface SecretsPart extends Page<SecretFacts> {
  expired: number;
  revoked: number;
  deleted: number;
  /** Since when reads are recorded. */
  reads_since: number;
}

/** A live credential: an API key, agent, provider token, break-glass token or trust. */
export interface CredentialFacts {
  id: string;
  kind: CredentialKind;
  name: string | null;
  scopes: string[];
  /** Whether it can reach all environments and all names. */
  isUnlimited: boolean;
  created_at: number;
  created_by: string;
  /** The earliest expiry of it and its lineage. */
  expires_at: number | null;
  last_used_at: number | null;
}

export type MemberFacts = Pick<
  MemberRow,
  'id' | 'name' | 'role' | 'created_at' | 'enrolled_at' | 'enrolment_ends_at' | 'suspended_at'
> & {
  passkeys: number;
};

export type DeviceFacts = Pick<
  DeviceRow,
  'id' | 'name' | 'platform' | 'member_id' | 'created_at' | 'blocked_at'
>;

export type ApprovalFacts = Pick<
  ApprovalRow,
  | 'id'
  | 'status'
  | 'used_by'
  | 'operation'
  | 'requester'
  | 'accountable'
  | 'resource'
  | 'resource_name'
  | 'environment'
  | 'policies'
  | 'decisions'
  | 'reason'
  | 'created_at'
  | 'expires_at'
  | 'ended_at'
>;

export interface EntriesPart {
  entries: Entry[];
  /** Pass this to the gate for the next part; null if D1 holds the rest. */
  next: number | null;
  /** The oldest sequence that has not moved to D1. */
  oldest: number;
}
