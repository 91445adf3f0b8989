// Every table of D1, in one picture. Invariants: each row belongs to an org and each query begins with it; `*_at` is integer
// milliseconds, `*_hash` a digest, `*_sealed` ciphertext. A row with a `mac` decides something: the MAC is over all its other
// columns under a key of the org, and nobody acts on a row whose MAC is wrong. `revision` counts the changes of a row.
import { sql } from 'drizzle-orm';
import { check, index, integer, primaryKey, sqliteTable, text, uniqueIndex } from 'drizzle-orm/sqlite-core';
import type { Trust, Workload } from './trusts';

const tenant = () => ({ org_id: text().notNull(), id: text().notNull() });
const decided = () => ({ revision: integer().notNull(), mac: text().notNull() });
const strings = () => text({ mode: 'json' }).$type<string[]>();

/** One row: the deployment's key, wrapped by a master key. */
export const deploymentKeys = sqliteTable('deployment_keys', {
  id: text().primaryKey(),
  master_id: text().notNull(),
  key_sealed: text().notNull(),
  created_at: integer().notNull(),
});

/** Keys that sign browser sessions (ES256). The private half is encrypted under a key of the deployment's. */
export const signingKeys = sqliteTable('signing_keys', {
  id: text().primaryKey(),
  public_jwk: text().notNull(),
  key_sealed: text().notNull(),
  created_at: integer().notNull(),
});

/** One key an org, wrapped by a master key. Without it nothing of the org can be read: destroying it is what ends an org. */
export const orgKeys = sqliteTable('org_keys', {
  org_id: text().primaryKey(),
  master_id: text().notNull(),
  key_sealed: text().notNull(),
  created_at: integer().notNull(),
});

/** `shard` names the database that holds the org's rows. */
export const orgs = sqliteTable('orgs', {
  id: text().primaryKey(),
  shard: integer().notNull().default(0),
  name: text().notNull(),
  default_environment: text().notNull(),
  created_at: integer().notNull(),
  updated_at: integer().notNull(),
  deleted_at: integer(),
  /** Where members may sign in and act from; null: anywhere. */
  member_addresses: strings(),
  /** Counts panics: credentials of an earlier generation have ended, but for the one that is spared. API keys have a count of their own. */
  generation: integer(),
  keys_generation: integer(),
  spared: text(),
  panicked_at: integer(),
  /** Days for which the audit log is kept; null: 400. */
  audit_retention_days: integer(),
  ...decided(),
});

export const environments = sqliteTable(
  'environments',
  { ...tenant(), slug: text().notNull(), name: text().notNull(), created_at: integer().notNull(), ...decided() },
  (t) => [primaryKey({ columns: [t.org_id, t.id] }), uniqueIndex('environments_slug').on(t.org_id, t.slug)],
);

export const members = sqliteTable(
  'members',
  {
    ...tenant(),
    email: text().notNull(),
    name: text().notNull(),
    role: text().$type<Role>().notNull(),
    created_at: integer().notNull(),
    invited_by: text(),
    enrolled_at: integer(),
    /** The one enrolment that waits, by the hash of its token. */
    enrolment_hash: text(),
    enrolment_made_at: integer(),
    enrolment_ends_at: integer(),
    /** Members who invited, re-enrolled or promoted this one lately, and when: they are not approved by this one for a week. */
    connections: text({ mode: 'json' }).$type<Connection[]>(),
    ...decided(),
  },
  (t) => [
    primaryKey({ columns: [t.org_id, t.id] }),
    uniqueIndex('members_email').on(t.org_id, t.email),
    index('members_enrolment').on(t.org_id, t.enrolment_hash),
  ],
);

/** Who gave a member their place, and when. */
export type Connection = [member: string, at: number];

export const roles = ['owner', 'admin', 'developer', 'viewer', 'auditor'] as const;
export type Role = (typeof roles)[number];

/** What a member signs in with (WebAuthn): the public half. `credential_id` and `public_key` are base64url. */
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
  (t) => [primaryKey({ columns: [t.org_id, t.id] }), index('passkeys_member').on(t.org_id, t.member_id, t.credential_id)],
);

export const teams = sqliteTable('teams', { ...tenant(), name: text().notNull(), created_at: integer().notNull(), ...decided() }, (t) => [
  primaryKey({ columns: [t.org_id, t.id] }),
]);

/** Who is in which team; the id is `TEAM.MEMBER`. */
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
    ...decided(),
  },
  (t) => [primaryKey({ columns: [t.org_id, t.id] })],
);

/** Who may be given a grant. An agent is given grants of one secret alone, by sharing it. */
export type Grantee = 'member' | 'team' | 'agent';

/** What a member or a team may do beyond roles. A grant with a parent ends with that credential. */
export const grants = sqliteTable(
  'grants',
  {
    ...tenant(),
    grantee_type: text().$type<Grantee>().notNull(),
    grantee_id: text().notNull(),
    permission: text().$type<'read' | 'write'>().notNull(),
    environments: strings(),
    secrets: strings(),
    created_by: text().notNull(),
    dies_with: text(),
    created_at: integer().notNull(),
    expires_at: integer(),
    ...decided(),
  },
  (t) => [primaryKey({ columns: [t.org_id, t.id] })],
);

/**
 * Everything that admits a request: API keys, session tokens, agents, provider and break-glass tokens, browser sessions; and trusts, which
 * give session tokens. `environments` and `secrets` are null where unbounded; a credential with a parent ends with it.
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
    /** 1 for an API key whose maker did not act as an owner: then neither does it, whatever it holds. */
    below_owner: integer(),
    /** The browser session in which a member made it. */
    created_in: text(),
    dies_with: text(),
    successor_id: text(),
    created_at: integer().notNull(),
    expires_at: integer(),
    revoked_at: integer(),
    /** The org's generation when it was made; null is the first. */
    generation: integer(),
    /** Of a break-glass token: why it was issued. */
    reason: text(),
    /** Of a session of a member: whose, by which passkey, and the refresh cookies or tokens that are good. */
    member_id: text(),
    passkey_id: text(),
    refresh: text({ mode: 'json' }).$type<Refresh>(),
    /** Of a browser session: when its member last proved to have a passkey; null where a release before 0.4.0 began it. */
    confirmed_at: integer(),
    /** The members who are accountable for it: its maker, through all links. Null where a release before 0.5.0 made it. */
    accountable: strings(),
    /** The device whose key must sign each request (DPoP); it ends with the device. */
    device_id: text(),
    /** Of a trust: which tokens of which issuer it accepts. Of a session token that it gave: what the accepted token said. */
    trust: text({ mode: 'json' }).$type<Trust>(),
    workload: text({ mode: 'json' }).$type<Workload>(),
    ...decided(),
  },
  (t) => [
    primaryKey({ columns: [t.org_id, t.id] }),
    uniqueIndex('credentials_token').on(t.org_id, t.token_hash),
    index('credentials_end').on(t.org_id, t.expires_at, t.revoked_at),
  ],
);

export type CredentialKind = 'api_key' | 'session' | 'agent' | 'provider' | 'break_glass' | 'browser' | 'trust';

/** Numbers of the cookies that may be used, those that were used and when, for as long as a lost reply is forgiven, and the last given. */
export interface Refresh {
  /** Absent for a browser, which has cookies; a terminal has refresh tokens. */
  by?: 'token';
  live: number[];
  used: [number, number][];
  last: number;
  /** The number of the first JWT since the last confirmation: it and later ones count as confirmed. Absent before 0.4.0. */
  confirmed?: number;
  /** Once a panic has spared the session: the first and last JWT that are good, by their numbers; null is open. */
  jwts?: [number, number | null];
}

/** Whether a session of a member is that of a terminal. */
export const isTerminal = ({ refresh }: Pick<CredentialRow, 'refresh'>): boolean => refresh?.by === 'token';

/** Where a secret stands. `version` is the current one's number, `seal_id` the random id that its ciphertext is bound to. */
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
    /** Changes of metadata since the current version was made. */
    amended: integer().notNull(),
    seal_id: text().notNull(),
    /** Keyed digest of the current value: tells equal values apart from changed ones without opening either. */
    fingerprint: text().notNull(),
    /** Bytes of the current value in plaintext, and of all its versions' ciphertexts. */
    size: integer().notNull(),
    sealed_size: integer().notNull(),
    /** The oldest version that is still kept. */
    oldest_version: integer().notNull(),
    /** First and last of versions that a backup did not hold: their numbers are not given again. */
    lost_versions: text({ mode: 'json' }).$type<[number, number][]>(),
    rotate_every_seconds: integer(),
    created_at: integer().notNull(),
    updated_at: integer().notNull(),
    expires_at: integer(),
    /** The length of the lifetime that was last given, if one was: a provider's rotation starts it anew. */
    lifetime_seconds: integer(),
    deleted_at: integer(),
    /** Since when the secret is revoked, and up to which version it ever was: those stay unreadable. */
    revoked_at: integer(),
    revoked_through: integer(),
    /** 1 where this service generated the current value. */
    generated: integer(),
    /** When the current version was made; null where a release before 0.5.0 made it. */
    rotated_at: integer(),
    /** 1 where a rotation policy may replace the value with a generated one. */
    auto_rotate: integer(),
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

/** The ciphertexts. A rollback is a new version with the seal of the old one, so no value is decrypted for it. */
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
    /** 1 where this service generated the value. */
    generated: integer(),
    mac: text().notNull(),
  },
  (t) => [primaryKey({ columns: [t.org_id, t.secret_id, t.version] })],
);

/** Rules of an org: for names, for rotation, and for what needs approval. What it applies to is null where unbounded. */
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
  /** RE2 syntax; searched for in the name. */
  pattern: string;
}
export interface RotationConfig {
  max_age_days?: number;
  /** Five fields, in UTC. */
  cron?: string;
  auto_rotate?: boolean;
}
/** What a policy can hold for approval: effects, not routes. */
export const heldOperations = [
  'secret.read',
  'secret.update',
  'secret.rotate',
  'secret.delete',
  'secret.share',
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
  approvers: { team_id: string } | { role: Role };
  /** Whether a break-glass token passes it for secrets. */
  allow_break_glass?: boolean;
}
export type PolicyConfig = NamingConfig | RotationConfig | ApprovalConfig;

/** A request that a policy holds, and what was decided about it. `digest` tells it from every other request; no value is here. */
export const approvals = sqliteTable(
  'approvals',
  {
    ...tenant(),
    status: text().$type<ApprovalStatus>().notNull(),
    operation: text().$type<HeldOperation>().notNull(),
    action: text().notNull(),
    /** Who asks: the actor of audit entries, the root of the caller, and the members who are accountable for it. */
    requester: text({ mode: 'json' }).$type<Requester>().notNull(),
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
    /** The rows that it changes or reads, by id, and the revision of each then: it is void once they changed. */
    targets: text({ mode: 'json' }).$type<Record<string, number>>().notNull(),
    /** The policies that hold it, as they were then: it is void once they changed. */
    policies: text({ mode: 'json' }).$type<{ id: string; revision: number; name: string; required: number }[]>().notNull(),
    decisions: text({ mode: 'json' }).$type<Decision[]>().notNull(),
    reason: text(),
    request_id: text().notNull(),
    ip: text().notNull(),
    place: text(),
    user_agent: text(),
    created_at: integer().notNull(),
    expires_at: integer().notNull(),
    /** When it was rejected, cancelled or used; and by which request, which may be repeated because its reply was lost. */
    ended_at: integer(),
    used_by: text(),
    ...decided(),
  },
  (t) => [primaryKey({ columns: [t.org_id, t.id] })],
);

/** Who asks for something that is done later: the actor of audit entries. */
export interface Requester {
  kind: string;
  id: string | null;
  parent_id: string | null;
  name: string | null;
}

export const approvalStatuses = ['pending', 'approved', 'rejected', 'cancelled', 'used'] as const;
export type ApprovalStatus = (typeof approvalStatuses)[number];

/** What a member decided about a request. */
export interface Decision {
  member: string;
  decision: 'approve' | 'reject';
  at: number;
}

/** Devices, their owners, and the public keys that sign requests. */
export const devices = sqliteTable(
  'devices',
  {
    ...tenant(),
    name: text().notNull(),
    platform: text().notNull(),
    serial: text(),
    /** A JWK: P-256 or Ed25519, the public members alone. */
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

/** Endpoints that events are delivered to. The URL is encrypted, for it may be a credential itself; `host` is what may be shown of it. */
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
    /** Why it was disabled; null where it is enabled. */
    disabled: text().$type<'user' | 'failing' | 'gone'>(),
    created_by: text().notNull(),
    created_at: integer().notNull(),
    updated_at: integer().notNull(),
    ...decided(),
  },
  (t) => [primaryKey({ columns: [t.org_id, t.id] })],
);

/** Stored connections to other platforms. `config` is what may be shown; its credentials are encrypted as one JSON object. */
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
    /** Of kind sync: for whom it is run, and what they could read when they said where it points. */
    maker: text(),
    reach: text({ mode: 'json' }).$type<
      { scopes: string[]; environments: string[] | null; secrets: string[] | null; generation?: number }[]
    >(),
    created_by: text().notNull(),
    created_at: integer().notNull(),
    updated_at: integer().notNull(),
    ...decided(),
  },
  (t) => [primaryKey({ columns: [t.org_id, t.id] })],
);

export const syncStatuses = ['queued', 'running', 'completed', 'partial', 'failed'] as const;
export type SyncStatus = (typeof syncStatuses)[number];

/** Syncs: what was asked, and how it ended. What was written name by name lies in the gate. */
export const syncs = sqliteTable(
  'syncs',
  {
    ...tenant(),
    platform: text().notNull(),
    /** The stored connection; null where the config came with the request. */
    integration_id: text(),
    /** The config of the request, without its credentials; null where a connection is stored. */
    config: text({ mode: 'json' }).$type<Record<string, unknown>>(),
    /** Its credentials, until the sync has ended. */
    credentials_sealed: text(),
    environment_id: text().notNull(),
    /** Digest of platform, config without credentials and environment: syncs of one place run one after the other. */
    place: text().notNull(),
    names: strings(),
    prune: integer().notNull(),
    /** Who asked, for the audit log, and the credential that admitted them; null for an automatic sync. */
    requester: text({ mode: 'json' }).$type<Requester>().notNull(),
    credential: text(),
    /** The approval that was used for it. */
    approval: text(),
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

/** Links that show one version of a secret, so many times. The value is encrypted under a key that only the link has. */
export const shares = sqliteTable(
  'shares',
  {
    ...tenant(),
    secret_id: text().notNull(),
    version: integer().notNull(),
    /** Digest of the link's key, and the value under that key. */
    key_hash: text().notNull(),
    value_sealed: text().notNull(),
    /** Digest of what scrypt makes of the passphrase, if there is one. Its salt comes from the link's key. */
    passphrase: text(),
    max_views: integer().notNull(),
    views: integer().notNull(),
    /** Wrong passphrases so far: the tenth ends the link. */
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

/** A closed stretch of an org's events: `events` is gzip in base64. */
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
  (t) => [primaryKey({ columns: [t.org_id, t.first_sequence] }), index('event_segments_end').on(t.org_id, t.last_at)],
);

/** Signed statements of where the audit chain of an org stood (Ed25519). */
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

/** A closed stretch of an org's audit chain: `entries` is gzip in base64, the sets say what a filter may find inside. */
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
  (t) => [primaryKey({ columns: [t.org_id, t.first_sequence] }), index('audit_segments_end').on(t.org_id, t.last_at)],
);

/** Which gate may write: a batch that carries another epoch fails. */
export const fences = sqliteTable('fences', { org_id: text().primaryKey(), epoch: integer().notNull() });

/** One marker a commit, in the same batch as its rows: present means done. `holds` is 1 where all that the commit relied on was so. */
export const commits = sqliteTable(
  'commits',
  { id: text().primaryKey(), org_id: text().notNull(), holds: integer().notNull(), created_at: integer().notNull() },
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
export type EventSegmentRow = typeof eventSegments.$inferSelect;
export type CheckpointRow = typeof auditCheckpoints.$inferSelect;
export type SegmentRow = typeof auditSegments.$inferSelect;

// Two columns keep the names of the first releases, which rows and their MACs contain. Code reads and writes them through these functions.

/** The credential that a credential or a grant ends with: `parent_id` in the API. */
export const parentIdOf = ({ dies_with }: Pick<CredentialRow, 'dies_with'>): string | null => dies_with;
export const parentColumn = (parent_id: string | null) => ({ dies_with: parent_id });

/** Whether an API key was made by an owner, or by a credential that acts as one. Keys of releases before roles were. */
export const isMadeByOwner = ({ below_owner }: Pick<CredentialRow, 'below_owner'>): boolean => below_owner === null;
export const madeByOwnerColumn = (isByOwner: boolean) => ({ below_owner: isByOwner ? null : 1 });
