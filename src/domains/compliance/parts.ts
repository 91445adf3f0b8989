// The parts of a compliance report, as the gate gives them to the Worker. Invariant: a part is bounded in rows, and holds no value, no
// ciphertext and no hash of a token.
import type { ApprovalRow, CredentialKind, DeviceRow, MemberRow, PolicyRow, SecretRow } from '../../db/schema';
import type { Entry } from '../../gate/audit-entry';

/** A stretch of time in milliseconds: `from` belongs to it, `to` does not. */
export interface Period {
  from: number;
  to: number;
}

/** What the Worker may ask for. The first is the overview. */
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
  org: { id: string; name: string };
  /** Days for which the audit log is kept, where they are set. */
  audit_retention_days: number | null;
  policies: PolicyRow[];
  /** The newest entry of the audit log. */
  head: { sequence: number; hash: string };
  /** Session tokens and browser sessions that are alive by their own rows. */
  sessions: number;
  browsers: number;
  webhooks: WebhookFacts[];
}

export interface WebhookFacts {
  id: string;
  host: string;
  /** Why it is disabled; null where it is enabled. */
  disabled: string | null;
  updated_at: number;
}

/** Rows in the order of ids; `next` is where to go on. */
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
  /** When the current version was made. */
  rotated_at: number;
  /** When a value was last read; null where no read is known. */
  last_read_at: number | null;
};

/** Secrets that are active, and how many others were passed over. */
export interface SecretsPart extends Page<SecretFacts> {
  expired: number;
  revoked: number;
  deleted: number;
  /** Since when reads are known. */
  reads_since: number;
}

/** A live credential: an API key, agent, provider token, break-glass token or trust. */
export interface CredentialFacts {
  id: string;
  kind: CredentialKind;
  name: string | null;
  scopes: string[];
  /** Whether it reaches all environments and all names. */
  isUnlimited: boolean;
  created_at: number;
  created_by: string;
  /** The earliest end of it and of those that it ends with. */
  expires_at: number | null;
  last_used_at: number | null;
}

export type MemberFacts = Pick<MemberRow, 'id' | 'name' | 'role' | 'created_at' | 'enrolled_at' | 'enrolment_ends_at'> & {
  passkeys: number;
};

export type DeviceFacts = Pick<DeviceRow, 'id' | 'name' | 'platform' | 'member_id' | 'created_at' | 'blocked_at'>;

export type ApprovalFacts = Pick<
  ApprovalRow,
  | 'id'
  | 'status'
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
  /** Before which sequence to ask the gate again, or null: the rest lies in D1. */
  next: number | null;
  /** The oldest sequence that has not moved to D1. */
  oldest: number;
}
