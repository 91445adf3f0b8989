// All tables of D1. Invariants: each row belongs to an org and each query begins with it; `*_at` is in
// integer milliseconds, `*_hash` is a digest, `*_sealed` is ciphertext. A row with a `mac` affects decisions:
// the MAC covers all its other columns under a key of the org, and a row with a wrong MAC is never used.
// `revision` counts the changes of a row.

import { sql } from 'drizzle-orm';
import { check, index, integer, primaryKey, sqliteTable, text, uniqueIndex } from 'drizzle-orm/sqlite-core';
import type { CredentialKind } from './credential-kinds';
import type { McpLimits } from './mcp-limits';
import type { Region, Regions } from './regions';
import type { Trust, Workload } from './trusts';
import type { UpstreamAllow, UpstreamAuth } from './upstreams';

const tenant = () => ({ org_id: text().notNull(), id: text().notNull() });
const decided = () => ({ revision: integer().notNull(), mac: text().notNull() });
const strings = () => text({ mode: 'json' }).$type<string[]>();

/** A single row: the deployment's key, wrapped by a master key. */
export const deploymentKeys = sqliteTable('deployment_keys', {
  id: text().primaryKey(),
  master_id: text().notNull(),
  key_sealed: text().notNull(),
  created_at: integer().notNull(),
});

/** Keys that sign browser sessions (ES256). The private key is encrypted under the deployment's key. */
export const signingKeys = sqliteTable('signing_keys', {
  id: text().primaryKey(),
  public_jwk: text().notNull(),
  key_sealed: text().notNull(),
  created_at: integer().notNull(),
});

/**
 * One key per org, wrapped by a master key. Without it, nothing of the org can be decrypted: deleting an org
 * destroys it.
 */
export const orgKeys = sqliteTable('org_keys', {
  org_id: text().primaryKey(),
  master_id: text().notNull(),
  key_sealed: text().notNull(),
  created_at: integer().notNull(),
});

/** `shard` names the database that contains the org's rows. */
export const orgs = sqliteTable('orgs', {
  id: text().primaryKey(),
  shard: integer().notNull().default(0),
  name: text().notNull(),
  default_environment: text().notNull(),
  created_at: integer().notNull(),
  updated_at: integer().notNull(),
  deleted_at: integer(),
  /** The addresses from which members may sign in and act; null for any. */
  member_addresses: strings(),
  /**
   * Counts panics: credentials of an earlier generation have ended, except the one that was spared. API keys
   * have a separate count.
   */
  generation: integer(),
  keys_generation: integer(),
  spared: text(),
  panicked_at: integer(),
  /** The retention of the audit log in days; null for 400. */
  audit_retention_days: integer(),
  /** Where it has replicas; null for nowhere. */
  regions: text({ mode: 'json' }).$type<Regions>(),
  /** Where its gate was placed; null if that is not known. */
  location_hint: text().$type<Region>(),
  /**
   * Domains that had to sign in by single sign-on and no longer have to: sessions by passkey that began until
   * the time have ended. `*` stands for all.
   */
  passkeys_ended: text({ mode: 'json' }).$type<Record<string, number>>(),
  ...decided(),
});

export const environments = sqliteTable(
  'environments',
  {
    ...tenant(),
    slug: text().notNull(),
    name: text().notNull(),
    created_at: integer().notNull(),
    /** How long clients of Vault wait before they read a secret again, in seconds; null for 60. */
    lease_seconds: integer(),
    ...decided(),
  },
  (t) => [primaryKey({ columns: [t.org_id, t.id] }), uniqueIndex('environments_slug').on(t.org_id, t.slug)],
);

export const members = sqliteTable(
  'members',
  {
    ...tenant(),
    email: text().notNull(),
    name: text().notNull(),
    role: text().$type<Role>().notNull(),
    /** The ids of the environments in which the role holds; null for all. */
    environments: strings(),
    created_at: integer().notNull(),
    invited_by: text(),
    enrolled_at: integer(),
    /** The pending enrolment, by the hash of its token. */
    enrolment_hash: text(),
    enrolment_made_at: integer(),
    enrolment_ends_at: integer(),
    /**
     * Members who recently brought in this one, and when: for a week neither approves requests of the other
     * (gate/approvals/ties.ts).
     */
    connections: text({ mode: 'json' }).$type<StoredTie[]>(),
    /** Since when the member is suspended; null if they are not. */
    suspended_at: integer(),
    /** Who suspended the member: a member, a credential or a SCIM token. */
    suspended_by: text(),
    /** When the last suspension ended: what the member began until then has ended for good. */
    resumed_at: integer(),
    /** What an identity provider said of the member; null for one whom only people made. */
    provisioned: text({ mode: 'json' }).$type<Provisioned>(),
    ...decided(),
  },
  (t) => [
    primaryKey({ columns: [t.org_id, t.id] }),
    uniqueIndex('members_email').on(t.org_id, t.email),
    index('members_enrolment').on(t.org_id, t.enrolment_hash),
  ],
);

/**
 * Who invited, re-enrolled or promoted a member, or changed where a sync connection sends, and when. With a
 * third part, the tie is that of a removed member, whose row is gone.
 */
export type StoredTie = [member: string, at: number, other?: string];

/** What single sign-on or SCIM knows of a member, whom it made or found. */
export interface Provisioned {
  /** Whether single sign-on or SCIM made the member, rather than a person who invited them. */
  made: boolean;
  /** The connection whose people the member belongs to; null for SCIM without a connection. */
  connection: string | null;
  /** Whether the role was given by a connection. A role that a person gave is never changed. */
  role: boolean;
  /** The groups of the last sign-in, by the claim of the connection. */
  groups: string[];
  /** Of SCIM; null where it has not provisioned the member. */
  scim: ScimUser | null;
}
export interface ScimUser {
  user_name: string;
  external_id: string | null;
  given_name: string | null;
  family_name: string | null;
  /** The connection of the token that first provisioned the member; null for a token without one. */
  connection: string | null;
  created_at: number;
}

/** Whether a member is suspended. Few callers need it: `actingMember` leaves suspended members out. */
export const isSuspended = ({ suspended_at }: Pick<MemberRow, 'suspended_at'>): boolean =>
  suspended_at !== null;

export const roles = ['owner', 'admin', 'developer', 'viewer', 'auditor'] as const;
export type Role = (typeof roles)[number];

/**
 * The public part of what a member signs in with (WebAuthn). `credential_id` and `public_key` are base64url.
 */
export const passkeys = sqliteTable(
  'passkeys',
  {
    ...tenant(),
    member_id: text().notNull(),
    name: text().notNull(),
    credential_id: text().notNull(),
    public_key: text().notNull(),
    counter: integer().notNull(),
    transports: strings().notNull(),
    backed_up: integer().notNull(),
    created_at: integer().notNull(),
    ...decided(),
  },
  (t) => [
    primaryKey({ columns: [t.org_id, t.id] }),
    index('passkeys_member').on(t.org_id, t.member_id, t.credential_id),
  ],
);

export const teams = sqliteTable(
  'teams',
  {
    ...tenant(),
    name: text().notNull(),
    created_at: integer().notNull(),
    /** Of a team that SCIM made: by which token, and what the provider calls it. */
    provisioned: text({ mode: 'json' }).$type<ProvisionedTeam>(),
    ...decided(),
  },
  (t) => [primaryKey({ columns: [t.org_id, t.id] })],
);

export interface ProvisionedTeam {
  /** The connection of the token, or null for a token without one. */
  connection: string | null;
  token: string;
  external_id: string | null;
}

/** The members of teams; the id is `TEAM.MEMBER`. */
export const teamMembers = sqliteTable(
  'team_members',
  {
    ...tenant(),
    team_id: text().notNull(),
    member_id: text().notNull(),
    added_by: text().notNull(),
    /** The members who are accountable for `added_by`. */
    accountable: strings(),
    created_at: integer().notNull(),
    /**
     * Which of `scim` and `claim` hold the member in the team; null if a person added them, who then stays
     * until a person removes them.
     */
    held_by: strings(),
    ...decided(),
  },
  (t) => [primaryKey({ columns: [t.org_id, t.id] })],
);

/** Who may receive a grant. An agent receives only grants of a single secret that is shared with it. */
export type Grantee = 'member' | 'team' | 'agent';

/**
 * Permissions of a member or a team in addition to roles. A grant with a parent ends with that credential.
 */
export const grants = sqliteTable(
  'grants',
  {
    ...tenant(),
    grantee_type: text().$type<Grantee>().notNull(),
    grantee_id: text().notNull(),
    permission: text().$type<'read' | 'write' | 'use'>().notNull(),
    environments: strings(),
    secrets: strings(),
    /** Patterns on the names of upstreams, which bound use; null if unlimited. */
    upstreams: strings(),
    created_by: text().notNull(),
    /** The members who are accountable for `created_by`. Null if a release before 0.5.0 created it. */
    accountable: strings(),
    dies_with: text(),
    created_at: integer().notNull(),
    expires_at: integer(),
    ...decided(),
  },
  (t) => [primaryKey({ columns: [t.org_id, t.id] })],
);

/**
 * All credentials: API keys, session tokens, agents, provider and break-glass tokens, browser sessions; and
 * trusts, which issue session tokens. `environments` and `secrets` are null if unlimited; a credential with a
 * parent ends with it.
 */
export const credentials = sqliteTable(
  'credentials',
  {
    ...tenant(),
    kind: text().$type<CredentialKind>().notNull(),
    name: text(),
    token_hash: text().notNull(),
    hint: text().notNull(),
    scopes: strings().notNull(),
    environments: strings(),
    secrets: strings(),
    allowed_addresses: strings(),
    rate_limit: integer().notNull(),
    created_by: text().notNull(),
    /**
     * 1 for an API key whose creator did not act as an owner: then neither does the key, whatever scopes it
     * holds.
     */
    below_owner: integer(),
    /** The browser session in which a member created it. */
    created_in: text(),
    dies_with: text(),
    successor_id: text(),
    created_at: integer().notNull(),
    expires_at: integer(),
    revoked_at: integer(),
    /** The org's generation when it was created; null is the first. */
    generation: integer(),
    /** Of a break-glass token: why it was issued. */
    reason: text(),
    /** Of a session of a member: the member, the passkey, and the valid refresh cookies or tokens. */
    member_id: text(),
    passkey_id: text(),
    refresh: text({ mode: 'json' }).$type<Refresh>(),
    /**
     * Of a browser session: when its member last confirmed with a passkey; null if a release before 0.4.0
     * started it.
     */
    confirmed_at: integer(),
    /**
     * The members who are accountable for it: its creator, through all ancestors. Null if a release before
     * 0.5.0 created it.
     */
    accountable: strings(),
    /** The device whose key must sign each request (DPoP); it ends with the device. */
    device_id: text(),
    /**
     * Of a trust: which tokens of which issuer it accepts. Of a session token that it issued: the claims of
     * the accepted token.
     */
    trust: text({ mode: 'json' }).$type<Trust>(),
    workload: text({ mode: 'json' }).$type<Workload>(),
    /** Of an agent, and of what it creates: what `svc mcp` may do with it. */
    mcp_limits: text({ mode: 'json' }).$type<McpLimits>(),
    /**
     * Of an API key whose requests may be signed as AWS's clients sign them, and of a session token for such
     * clients: the random part of its access key id, in hex.
     */
    aws: text(),
    /** Of a session that single sign-on began. */
    sso: text({ mode: 'json' }).$type<SsoSession>(),
    /** Of a SCIM token. */
    scim: text({ mode: 'json' }).$type<ScimToken>(),
    /** Patterns on the names of upstreams, which bound use; null if unlimited. */
    upstreams: strings(),
    ...decided(),
  },
  (t) => [
    primaryKey({ columns: [t.org_id, t.id] }),
    uniqueIndex('credentials_token').on(t.org_id, t.token_hash),
    index('credentials_end').on(t.org_id, t.expires_at, t.revoked_at),
  ],
);

/** By which connection and link a session began, and the provider's own id of it, for back-channel logout. */
export interface SsoSession {
  connection: string;
  link: string;
  sid: string | null;
}

/** For whom a SCIM token works, and whether suspending a person ends the credentials that they made. */
export interface ScimToken {
  connection: string | null;
  end_credentials: boolean;
}

/**
 * The numbers of valid cookies, of used ones with the time of use while a lost reply is tolerated, and of the
 * last issued one.
 */
export interface Refresh {
  /** Absent for a browser, which has cookies; a terminal has refresh tokens. */
  by?: 'token';
  live: number[];
  used: [number, number][];
  last: number;
  /**
   * The number of the first JWT since the last confirmation: it and later ones count as confirmed. Absent
   * before 0.4.0.
   */
  confirmed?: number;
  /** After a panic that spared the session: the numbers of the first and last valid JWT; null for no end. */
  jwts?: [number, number | null];
}

/** Whether a session of a member belongs to a terminal. */
export const isTerminal = ({ refresh }: Pick<CredentialRow, 'refresh'>): boolean => refresh?.by === 'token';

/**
 * The state of a secret. `version` is the number of the current version, `seal_id` the random id that its
 * ciphertext is bound to.
 */
export const secrets = sqliteTable(
  'secrets',
  {
    ...tenant(),
    environment_id: text().notNull(),
    name: text().notNull(),
    type: text().$type<SecretType>().notNull(),
    description: text(),
    tags: text({ mode: 'json' }).$type<Record<string, string>>().notNull(),
    version: integer().notNull(),
    /** The number of metadata changes since the current version was created. */
    amended: integer().notNull(),
    seal_id: text().notNull(),
    /** Keyed digest of the current value: distinguishes equal values from changed ones without decryption. */
    fingerprint: text().notNull(),
    /** The size of the current plaintext value, and of the ciphertexts of all versions, in bytes. */
    size: integer().notNull(),
    sealed_size: integer().notNull(),
    /** The oldest stored version. */
    oldest_version: integer().notNull(),
    /** Ranges of versions that a restored backup did not contain: their numbers are not reused. */
    lost_versions: text({ mode: 'json' }).$type<[number, number][]>(),
    rotate_every_seconds: integer(),
    created_at: integer().notNull(),
    updated_at: integer().notNull(),
    expires_at: integer(),
    /** The last lifetime that was set, if any: a rotation by a provider restarts it. */
    lifetime_seconds: integer(),
    deleted_at: integer(),
    /**
     * When the secret was revoked, and the highest version that was ever revoked: these versions stay
     * unreadable.
     */
    revoked_at: integer(),
    revoked_through: integer(),
    /** 1 if this service generated the current value. */
    generated: integer(),
    /** When the current version was created; null if a release before 0.5.0 created it. */
    rotated_at: integer(),
    /** 1 if a rotation policy may replace the value with a generated one. */
    auto_rotate: integer(),
    /** 1 if the current value is the base64 of bytes that a client of AWS wrote. */
    binary: integer(),
    /** The version before the current one if a client of AWS took its label AWSPREVIOUS away. */
    unlabelled: integer(),
    ...decided(),
  },
  (t) => [
    primaryKey({ columns: [t.org_id, t.id] }),
    uniqueIndex('secrets_live_name').on(t.org_id, t.environment_id, t.name).where(sql`deleted_at is null`),
    index('secrets_deleted').on(t.org_id, t.deleted_at),
  ],
);

export const secretTypes = [
  'api_key',
  'password',
  'database_url',
  'certificate',
  'private_key',
  'ssh_key',
  'oauth_token',
  'webhook_secret',
  'env_var',
  'json',
  'generic',
] as const;
export type SecretType = (typeof secretTypes)[number];

/** The ciphertexts. A rollback creates a new version with the seal of the old one, without decryption. */
export const secretVersions = sqliteTable(
  'secret_versions',
  {
    org_id: text().notNull(),
    secret_id: text().notNull(),
    version: integer().notNull(),
    seal_id: text().notNull(),
    value_sealed: text().notNull(),
    fingerprint: text().notNull(),
    size: integer().notNull(),
    created_by: text().notNull(),
    created_at: integer().notNull(),
    /** 1 if this service generated the value. */
    generated: integer(),
    /** As of a secret. */
    binary: integer(),
    /** Digest of the ClientRequestToken that it was written with, and of whose token that is. */
    request_token: text(),
    mac: text().notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.org_id, t.secret_id, t.version] }),
    index('secret_versions_token')
      .on(t.org_id, t.secret_id, t.request_token)
      .where(sql`request_token is not null`),
  ],
);

/**
 * Policies of an org: for names, for rotation, and for approvals. The fields that limit what a policy applies
 * to are null if unlimited.
 */
export const policies = sqliteTable(
  'policies',
  {
    ...tenant(),
    name: text().notNull(),
    kind: text().$type<PolicyKind>().notNull(),
    enabled: integer().notNull(),
    /** Ids of environments, types of secrets, and patterns of names. */
    environments: strings(),
    types: text({ mode: 'json' }).$type<SecretType[]>(),
    names: strings(),
    config: text({ mode: 'json' }).$type<PolicyConfig>().notNull(),
    /**
     * The members accountable for the agents that wrote it; null if none did. Its work is held like that of
     * an agent from then on.
     */
    of_agent: strings(),
    created_by: text().notNull(),
    created_at: integer().notNull(),
    updated_at: integer().notNull(),
    ...decided(),
  },
  (t) => [primaryKey({ columns: [t.org_id, t.id] })],
);

export const policyKinds = ['naming', 'rotation', 'approval'] as const;
export type PolicyKind = (typeof policyKinds)[number];

export interface NamingConfig {
  /** RE2 syntax; matches anywhere in the name. */
  pattern: string;
}
export interface RotationConfig {
  max_age_days?: number;
  /** Five fields, in UTC. */
  cron?: string;
  auto_rotate?: boolean;
}
/** The effects that a policy can hold for approval; not routes. */
export const heldOperations = [
  'secret.read',
  'secret.update',
  'secret.rotate',
  'secret.delete',
  'secret.share',
  'secret.use',
  'break_glass.create',
  'provider_token.create',
  'policy.change',
  'team.change',
  'member.change',
] as const;
export type HeldOperation = (typeof heldOperations)[number];
export interface ApprovalConfig {
  operations: HeldOperation[];
  required: number;
  /** `accountable`: the members accountable for the agent that asks. Such a policy holds agents alone. */
  approvers: { team_id: string } | { role: Role } | { accountable: true };
  /** Whether a break-glass token bypasses it for secrets. */
  allow_break_glass?: boolean;
  /** For how many seconds an approval to read may be repeated, at most; 0 if absent. */
  max_valid_seconds?: number;
  /** Whether calls that write may be repeated too, where a secret is used at another service. */
  repeat_writes?: boolean;
}
export type PolicyConfig = NamingConfig | RotationConfig | ApprovalConfig;

/**
 * A request that a policy holds, and the decisions about it. `digest` distinguishes it from every other
 * request; it contains no values.
 */
export const approvals = sqliteTable(
  'approvals',
  {
    ...tenant(),
    status: text().$type<ApprovalStatus>().notNull(),
    operation: text().$type<HeldOperation>().notNull(),
    action: text().notNull(),
    /**
     * The requester: the actor of audit entries, the root of the caller, and the members who are accountable
     * for it.
     */
    requester: text({ mode: 'json' }).$type<Asker>().notNull(),
    root: text().notNull(),
    accountable: strings().notNull(),
    /** Keyed digest of method, path, query and body. */
    digest: text().notNull(),
    method: text().notNull(),
    path: text().notNull(),
    summary: text().notNull(),
    resource: text(),
    resource_name: text(),
    environment: text(),
    /**
     * The ids of the environments that it concerns, each of which a decider must reach; null for the whole
     * organisation.
     */
    environments: strings(),
    /**
     * The rows that it changes or reads, by id, with their revisions at that time: it becomes invalid when
     * they change.
     */
    targets: text({ mode: 'json' }).$type<Record<string, number>>().notNull(),
    /** The policies that hold it, as of that time: it becomes invalid when they change. */
    policies: text({ mode: 'json' }).$type<HoldingPolicy[]>().notNull(),
    decisions: text({ mode: 'json' }).$type<Decision[]>().notNull(),
    reason: text(),
    request_id: text().notNull(),
    ip: text().notNull(),
    place: text(),
    user_agent: text(),
    created_at: integer().notNull(),
    expires_at: integer().notNull(),
    /**
     * When it was rejected, cancelled or used; and the request that used it, which may be repeated if its
     * reply was lost.
     */
    ended_at: integer(),
    used_by: text(),
    ...decided(),
  },
  (t) => [primaryKey({ columns: [t.org_id, t.id] })],
);

/** A policy that holds a request, as of the time of the request. */
export interface HoldingPolicy {
  id: string;
  revision: number;
  name: string;
  required: number;
  /** The members accountable for the agent decide, and nobody else. */
  accountable?: true;
  /**
   * For how many seconds the request may be repeated: only one that reads, and only if the policy allows it.
   */
  max_valid_seconds?: number;
}

/** The requester of an action that is performed later: the actor of audit entries. */
export interface Requester {
  kind: string;
  id: string | null;
  parent_id: string | null;
  name: string | null;
}

/**
 * The requester of an approval, with the credential of the request (for a member, the session), and the
 * device or passkey that this credential ends with. Absent before 0.5.0.
 */
export interface Asker extends Requester {
  credential?: string;
  device_id?: string | null;
  passkey_id?: string | null;
  /**
   * Of an agent, or of what an agent created: the members accountable for it, who decide for policies on
   * agents.
   */
  for_agent?: string[];
}

export const approvalStatuses = ['pending', 'approved', 'rejected', 'cancelled', 'used'] as const;
export type ApprovalStatus = (typeof approvalStatuses)[number];

/** The decision of a member about a request. */
export interface Decision {
  member: string;
  decision: 'approve' | 'reject';
  at: number;
  /** For how many seconds the call may be repeated; absent for once. */
  valid_for?: number;
  /** The passkey of the session that decided. A decision counts only while it exists. */
  passkey?: string;
}

/** Devices, their owners, and the public keys that sign requests. */
export const devices = sqliteTable(
  'devices',
  {
    ...tenant(),
    name: text().notNull(),
    platform: text().notNull(),
    serial: text(),
    /** A JWK: P-256 or Ed25519, with only its public members. */
    public_key: text({ mode: 'json' }).$type<Record<string, string>>(),
    member_id: text(),
    created_by: text().notNull(),
    created_at: integer().notNull(),
    updated_at: integer().notNull(),
    assigned_at: integer(),
    blocked_at: integer(),
    ...decided(),
  },
  (t) => [primaryKey({ columns: [t.org_id, t.id] })],
);

/**
 * Endpoints that events are delivered to. The URL is encrypted, because it may be a credential itself; only
 * `host` may be shown.
 */
export const webhooks = sqliteTable(
  'webhooks',
  {
    ...tenant(),
    host: text().notNull(),
    url_sealed: text().notNull(),
    description: text(),
    /** Kinds of events; null for all. */
    events: strings(),
    secret_sealed: text().notNull(),
    /** The signing secret before the last rotation, and until when both sign. */
    old_secret_sealed: text(),
    old_secret_until: integer(),
    /** Why it was disabled; null if it is enabled. */
    disabled: text().$type<'user' | 'failing' | 'gone'>(),
    created_by: text().notNull(),
    created_at: integer().notNull(),
    updated_at: integer().notNull(),
    ...decided(),
  },
  (t) => [primaryKey({ columns: [t.org_id, t.id] })],
);

/**
 * Stored connections to other platforms. `config` may be shown; the credentials are encrypted as one JSON
 * object.
 */
export const integrations = sqliteTable(
  'integrations',
  {
    ...tenant(),
    kind: text().$type<'sync' | 'notify'>().notNull(),
    platform: text().notNull(),
    name: text().notNull(),
    config: text({ mode: 'json' }).$type<Record<string, unknown>>().notNull(),
    credentials_sealed: text(),
    environments: strings(),
    auto: integer().notNull(),
    prune: integer().notNull(),
    events: strings(),
    /**
     * Of kind sync: the member on whose behalf it runs, and what they could read when they set its target.
     */
    maker: text(),
    reach: text({ mode: 'json' }).$type<
      { scopes: string[]; environments: string[] | null; secrets: string[] | null; generation?: number }[]
    >(),
    /**
     * The members accountable for the agents that stored it or widened what it sends; null if none did.
     * Approval policies on agents hold it from then on.
     */
    of_agent: strings(),
    /**
     * Of kind sync: who changed where it sends or widened what it sends, and when, for as long as ties last.
     * They approve no run of it.
     */
    changed_by: text({ mode: 'json' }).$type<StoredTie[]>(),
    created_by: text().notNull(),
    created_at: integer().notNull(),
    updated_at: integer().notNull(),
    ...decided(),
  },
  (t) => [primaryKey({ columns: [t.org_id, t.id] })],
);

/** Domains of an org: only members with a verified address of these sign in by single sign-on. */
export const domains = sqliteTable(
  'domains',
  {
    ...tenant(),
    /** In lower case, without a final dot. */
    domain: text().notNull(),
    created_by: text().notNull(),
    created_at: integer().notNull(),
    /** Since when the record proves it; null while it is pending. */
    verified_at: integer(),
    /** Since when a daily check has not found the record; null if the last one did. */
    missing_since: integer(),
    ...decided(),
  },
  (t) => [primaryKey({ columns: [t.org_id, t.id] }), uniqueIndex('domains_domain').on(t.org_id, t.domain)],
);

/** Connections to identity providers. The client secret is encrypted. */
export const ssoConnections = sqliteTable(
  'sso_connections',
  {
    ...tenant(),
    kind: text().$type<'oidc' | 'saml'>().notNull(),
    name: text().notNull(),
    config: text({ mode: 'json' }).$type<Record<string, unknown>>().notNull(),
    client_secret_sealed: text(),
    /** The ids of the domains whose members sign in here. */
    domains: strings().notNull(),
    jit: integer().notNull(),
    enforce: integer().notNull(),
    default_role: text().$type<Role>().notNull(),
    default_environments: strings(),
    role_mappings: text({ mode: 'json' }).$type<RoleMapping[]>().notNull(),
    team_mappings: text({ mode: 'json' }).$type<TeamMapping[]>().notNull(),
    /** Who made or changed what it gives, and when, for as long as ties last. */
    changed_by: text({ mode: 'json' }).$type<StoredTie[]>(),
    created_by: text().notNull(),
    created_at: integer().notNull(),
    updated_at: integer().notNull(),
    ...decided(),
  },
  // Browsers and providers name a connection without its organisation.
  (t) => [primaryKey({ columns: [t.org_id, t.id] }), index('sso_connections_id').on(t.id)],
);

/** What a group of the provider gives. */
export interface RoleMapping {
  group: string;
  role: Role;
  environments?: string[];
}
export interface TeamMapping {
  group: string;
  team_id: string;
}

/** Which member an identity of a connection is. An identity is its issuer and subject, never an address. */
export const ssoLinks = sqliteTable(
  'sso_links',
  {
    ...tenant(),
    member_id: text().notNull(),
    connection_id: text().notNull(),
    issuer: text().notNull(),
    subject: text().notNull(),
    created_at: integer().notNull(),
    ...decided(),
  },
  (t) => [primaryKey({ columns: [t.org_id, t.id] })],
);

/**
 * Members whom a person removed, by address, with their links at the time: single sign-on and SCIM do not
 * make them anew until an owner allows it.
 */
export const formerMembers = sqliteTable(
  'former_members',
  {
    ...tenant(),
    /** In lower case. */
    email: text().notNull(),
    links: text({ mode: 'json' })
      .$type<{ connection: string; issuer: string; subject: string }[]>()
      .notNull(),
    removed_by: text().notNull(),
    removed_at: integer().notNull(),
    ...decided(),
  },
  (t) => [primaryKey({ columns: [t.org_id, t.id] })],
);

export const logStreamKinds = ['splunk', 'datadog', 's3', 'otlp', 'https'] as const;
export type LogStreamKind = (typeof logStreamKinds)[number];

/**
 * Streams of the audit log to a SIEM. Credentials, and addresses that may be some, are encrypted as one JSON
 * object; how far a stream has come is stored in the gate.
 */
export const logStreams = sqliteTable(
  'log_streams',
  {
    ...tenant(),
    name: text().notNull(),
    kind: text().$type<LogStreamKind>().notNull(),
    /** What may be shown. */
    config: text({ mode: 'json' }).$type<Record<string, unknown>>().notNull(),
    credentials_sealed: text().notNull(),
    format: text().$type<'svc' | 'ocsf'>().notNull(),
    /** Why it was disabled; null if it is enabled. */
    disabled: text().$type<'user' | 'failing' | 'gone'>(),
    created_by: text().notNull(),
    /** The member or credential on whose behalf it runs: it stops with them, until another takes it over. */
    maker: text().notNull(),
    /** The number of panics when the maker took it over: a member's stream stops with a later one. */
    generation: integer().notNull(),
    /** It began after this sequence of the audit log. */
    starts_after: integer().notNull(),
    created_at: integer().notNull(),
    updated_at: integer().notNull(),
    ...decided(),
  },
  (t) => [primaryKey({ columns: [t.org_id, t.id] })],
);

/**
 * HTTP APIs that callers use through the service, which places secrets in their requests. `secrets`: the
 * names, in its environment, of those that `auth` places.
 */
export const upstreams = sqliteTable(
  'upstreams',
  {
    ...tenant(),
    name: text().notNull(),
    base_url: text().notNull(),
    environment_id: text().notNull(),
    auth: text({ mode: 'json' }).$type<UpstreamAuth[]>().notNull(),
    secrets: strings().notNull(),
    allow: text({ mode: 'json' }).$type<UpstreamAllow[]>().notNull(),
    max_request_bytes: integer().notNull(),
    max_response_bytes: integer().notNull(),
    timeout_seconds: integer().notNull(),
    /** Calls a minute; null for no bound of its own. */
    rate_limit: integer(),
    created_by: text().notNull(),
    /** The member or credential on whose behalf it places secrets: it works while they may read each. */
    maker: text().notNull(),
    /** When, and the number of panics then: a member's upstream stops with a later one, or a suspension. */
    taken_at: integer().notNull(),
    generation: integer().notNull(),
    created_at: integer().notNull(),
    updated_at: integer().notNull(),
    ...decided(),
  },
  (t) => [primaryKey({ columns: [t.org_id, t.id] })],
);

/**
 * How far streams had come a minute ago or less: a gate that lost its storage continues from here. `mac`
 * authenticates the position under the key for rows.
 */
export const logStreamPositions = sqliteTable(
  'log_stream_positions',
  { ...tenant(), sequence: integer().notNull(), mac: text().notNull() },
  (t) => [primaryKey({ columns: [t.org_id, t.id] })],
);

export const syncStatuses = ['queued', 'running', 'completed', 'partial', 'failed'] as const;
export type SyncStatus = (typeof syncStatuses)[number];

/** Syncs, with their requests and results. The result for each name is stored in the gate. */
export const syncs = sqliteTable(
  'syncs',
  {
    ...tenant(),
    platform: text().notNull(),
    /** The stored connection; null if the request contained the config. */
    integration_id: text(),
    /** The config of the request, without its credentials; null for a stored connection. */
    config: text({ mode: 'json' }).$type<Record<string, unknown>>(),
    /** Its credentials, until the sync has ended. */
    credentials_sealed: text(),
    environment_id: text().notNull(),
    /**
     * Digest of platform, config without credentials, and environment: syncs with the same digest run one
     * after the other.
     */
    place: text().notNull(),
    names: strings(),
    prune: integer().notNull(),
    /** The requester, for the audit log, and the credential of the request; null for an automatic sync. */
    requester: text({ mode: 'json' }).$type<Requester>().notNull(),
    credential: text(),
    /** The approval that it used. */
    approval: text(),
    /**
     * The rows that decide where it sends, by id, with their revisions when it was requested: it stops once
     * one of them has changed.
     */
    pins: text({ mode: 'json' }).$type<Record<string, number>>(),
    status: text().$type<Exclude<SyncStatus, 'running'>>().notNull(),
    retry_after: integer(),
    cancelled_at: integer(),
    created_at: integer().notNull(),
    started_at: integer(),
    finished_at: integer(),
    ...decided(),
  },
  (t) => [primaryKey({ columns: [t.org_id, t.id] })],
);

/**
 * Names of secrets that have tags and no value yet: clients of Vault write metadata first, and Terraform
 * creates a secret of AWS before its value.
 */
export const reservedSecrets = sqliteTable(
  'reserved_secrets',
  {
    ...tenant(),
    environment_id: text().notNull(),
    name: text().notNull(),
    tags: text({ mode: 'json' }).$type<Record<string, string>>().notNull(),
    created_by: text().notNull(),
    created_at: integer().notNull(),
    /** 1 if it stays until it is deleted; else it leaves after an hour. */
    stays: integer(),
    description: text(),
    /** As of a version. */
    request_token: text(),
    ...decided(),
  },
  (t) => [primaryKey({ columns: [t.org_id, t.id] })],
);

/**
 * Links that show one version of a secret a limited number of times. The value is encrypted under a key that
 * only the link contains.
 */
export const shares = sqliteTable(
  'shares',
  {
    ...tenant(),
    secret_id: text().notNull(),
    version: integer().notNull(),
    /** Digest of the link's key, and the value under that key. */
    key_hash: text().notNull(),
    value_sealed: text().notNull(),
    /**
     * Digest of the scrypt output for the passphrase, if there is one. The salt is derived from the link's
     * key.
     */
    passphrase: text(),
    max_views: integer().notNull(),
    views: integer().notNull(),
    /** The number of wrong passphrases: the tenth disables the link. */
    failures: integer().notNull(),
    created_by: text().notNull(),
    dies_with: text(),
    created_at: integer().notNull(),
    expires_at: integer().notNull(),
    revoked_at: integer(),
    ...decided(),
  },
  (t) => [primaryKey({ columns: [t.org_id, t.id] })],
);

export const incidentKinds = ['contain', 'panic'] as const;
export const incidentStatuses = ['open', 'closed'] as const;

/** What is kept of a contained credential, whose row leaves earlier. */
export type Contained = Pick<CredentialRow, 'id' | 'kind' | 'name' | 'created_at' | 'member_id'>;

/** Containments and panics, and what people noted about them. Their reports follow from the audit log. */
export const incidents = sqliteTable(
  'incidents',
  {
    ...tenant(),
    kind: text().$type<(typeof incidentKinds)[number]>().notNull(),
    status: text().$type<(typeof incidentStatuses)[number]>().notNull(),
    /** Null for a panic. */
    credential: text({ mode: 'json' }).$type<Contained>(),
    /** The start of the report; null for the creation of the credential. */
    since: integer(),
    /** The lineage of whoever contained it: the report does not follow what these created. */
    spared: strings().notNull(),
    reason: text(),
    note: text(),
    /** Who opened it, and the root of that caller. */
    opened_by: text({ mode: 'json' }).$type<Requester>().notNull(),
    root: text().notNull(),
    created_at: integer().notNull(),
    updated_at: integer().notNull(),
    closed_at: integer(),
    ...decided(),
  },
  (t) => [primaryKey({ columns: [t.org_id, t.id] })],
);

/** A closed segment of an org's events: `events` is gzip in base64. */
export const eventSegments = sqliteTable(
  'event_segments',
  {
    org_id: text().notNull(),
    first_sequence: integer().notNull(),
    last_sequence: integer().notNull(),
    first_at: integer().notNull(),
    last_at: integer().notNull(),
    events: text().notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.org_id, t.first_sequence] }),
    index('event_segments_end').on(t.org_id, t.last_at),
  ],
);

/** Signed states of the audit chain of an org (Ed25519). */
export const auditCheckpoints = sqliteTable(
  'audit_checkpoints',
  {
    org_id: text().notNull(),
    sequence: integer().notNull(),
    hash: text().notNull(),
    time: integer().notNull(),
    key_id: text().notNull(),
    signature: text().notNull(),
  },
  (t) => [primaryKey({ columns: [t.org_id, t.sequence] })],
);

/**
 * A closed segment of an org's audit chain: `entries` is gzip in base64; the sets are used by filters to skip
 * segments.
 */
export const auditSegments = sqliteTable(
  'audit_segments',
  {
    org_id: text().notNull(),
    first_sequence: integer().notNull(),
    last_sequence: integer().notNull(),
    first_at: integer().notNull(),
    last_at: integer().notNull(),
    prev_hash: text().notNull(),
    last_hash: text().notNull(),
    actors: strings().notNull(),
    actions: strings().notNull(),
    resources: strings().notNull(),
    entries: text().notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.org_id, t.first_sequence] }),
    index('audit_segments_end').on(t.org_id, t.last_at),
  ],
);

/**
 * How far D1 follows the journal of an organisation's gate: it has all records of a term up to a position,
 * the last of which has the id `record`. `holds` is 1 if everything was as the gate expected: a batch that
 * expected something else fails.
 */
export const journalPositions = sqliteTable(
  'journal_positions',
  {
    org_id: text().primaryKey(),
    term: text().notNull(),
    position: integer().notNull(),
    record: text().notNull(),
    holds: integer().notNull(),
  },
  (t) => [check('journal_positions_holds', sql`${t.holds} = 1`)],
);

/** Until release 0.5.0, the gate that may write: a batch with another epoch fails. */
export const fences = sqliteTable('fences', { org_id: text().primaryKey(), epoch: integer().notNull() });

/**
 * Until release 0.5.0, one marker per change, in the same batch as its rows. A gate that an earlier release
 * left settles by them what was in doubt.
 */
export const commits = sqliteTable(
  'commits',
  {
    id: text().primaryKey(),
    org_id: text().notNull(),
    holds: integer().notNull(),
    created_at: integer().notNull(),
  },
  (t) => [check('commits_holds', sql`${t.holds} = 1`), index('commits_age').on(t.org_id, t.created_at)],
);

export type OrgRow = typeof orgs.$inferSelect;
export type EnvironmentRow = typeof environments.$inferSelect;
export type MemberRow = typeof members.$inferSelect;
export type PasskeyRow = typeof passkeys.$inferSelect;
export type TeamRow = typeof teams.$inferSelect;
export type TeamMemberRow = typeof teamMembers.$inferSelect;
export type GrantRow = typeof grants.$inferSelect;
export type CredentialRow = typeof credentials.$inferSelect;
export type SecretRow = typeof secrets.$inferSelect;
export type VersionRow = typeof secretVersions.$inferSelect;
export type PolicyRow = typeof policies.$inferSelect;
export type ApprovalRow = typeof approvals.$inferSelect;
export type DeviceRow = typeof devices.$inferSelect;
export type WebhookRow = typeof webhooks.$inferSelect;
export type IntegrationRow = typeof integrations.$inferSelect;
export type SyncRow = typeof syncs.$inferSelect;
export type ShareRow = typeof shares.$inferSelect;
export type ReservedSecretRow = typeof reservedSecrets.$inferSelect;
export type IncidentRow = typeof incidents.$inferSelect;
export type DomainRow = typeof domains.$inferSelect;
export type SsoConnectionRow = typeof ssoConnections.$inferSelect;
export type SsoLinkRow = typeof ssoLinks.$inferSelect;
export type FormerMemberRow = typeof formerMembers.$inferSelect;
export type LogStreamRow = typeof logStreams.$inferSelect;
export type UpstreamRow = typeof upstreams.$inferSelect;
export type CheckpointRow = typeof auditCheckpoints.$inferSelect;
export type SegmentRow = typeof auditSegments.$inferSelect;

// Two columns keep old names, because rows and their MACs contain them. Code accesses them through these
// functions.

/** The credential that a credential or a grant ends with: `parent_id` in the API. */
export const parentIdOf = ({ dies_with }: Pick<CredentialRow, 'dies_with'>): string | null => dies_with;
export const parentColumn = (parent_id: string | null) => ({ dies_with: parent_id });

/**
 * Whether an API key was created by an owner, or by a credential that acts as one. True for keys of releases
 * without roles.
 */
export const isMadeByOwner = ({ below_owner }: Pick<CredentialRow, 'below_owner'>): boolean =>
  below_owner === null;
export const madeByOwnerColumn = (isByOwner: boolean) => ({ below_owner: isByOwner ? null : 1 });
