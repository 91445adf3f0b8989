// Every table of D1, in one picture. Invariants: each row belongs to an org and each query begins with it; `*_at` is integer
// milliseconds, `*_hash` a digest, `*_sealed` ciphertext. A row with a `mac` decides something: the MAC is over all its other
// columns under a key of the org, and nobody acts on a row whose MAC is wrong. `revision` counts the changes of a row.
import { sql } from 'drizzle-orm';
import { check, index, integer, primaryKey, sqliteTable, text, uniqueIndex } from 'drizzle-orm/sqlite-core';

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
    ...decided(),
  },
  (t) => [
    primaryKey({ columns: [t.org_id, t.id] }),
    uniqueIndex('members_email').on(t.org_id, t.email),
    index('members_enrolment').on(t.org_id, t.enrolment_hash),
  ],
);

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
    created_at: integer().notNull(),
    ...decided(),
  },
  (t) => [primaryKey({ columns: [t.org_id, t.id] })],
);

/** What a member or a team may do beyond roles. A grant with a parent ends with that credential. */
export const grants = sqliteTable(
  'grants',
  {
    ...tenant(),
    grantee_type: text().$type<'member' | 'team'>().notNull(),
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
 * Everything that admits a request: API keys, session tokens, agents, provider and break-glass tokens, browser sessions. `environments`
 * and `secrets` are null where unbounded; a credential with a parent ends with it.
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
    /** Of a browser session: whose, by which passkey, and the refresh cookies that are good. */
    member_id: text(),
    passkey_id: text(),
    refresh: text({ mode: 'json' }).$type<Refresh>(),
    /** Of a browser session: when its member last proved to have a passkey; null where a release before 0.4.0 began it. */
    confirmed_at: integer(),
    ...decided(),
  },
  (t) => [
    primaryKey({ columns: [t.org_id, t.id] }),
    uniqueIndex('credentials_token').on(t.org_id, t.token_hash),
    index('credentials_end').on(t.org_id, t.expires_at, t.revoked_at),
  ],
);

export type CredentialKind = 'api_key' | 'session' | 'agent' | 'provider' | 'break_glass' | 'browser';

/** Numbers of the cookies that may be used, those that were used and when, for as long as a lost reply is forgiven, and the last given. */
export interface Refresh {
  live: number[];
  used: [number, number][];
  last: number;
  /** The number of the first JWT since the last confirmation: it and later ones count as confirmed. Absent before 0.4.0. */
  confirmed?: number;
  /** Once a panic has spared the session: the first and last JWT that are good, by their numbers; null is open. */
  jwts?: [number, number | null];
}

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
export type SegmentRow = typeof auditSegments.$inferSelect;

// Two columns keep the names of the first releases, which rows and their MACs contain. Code reads and writes them through these functions.

/** The credential that a credential or a grant ends with: `parent_id` in the API. */
export const parentIdOf = ({ dies_with }: Pick<CredentialRow, 'dies_with'>): string | null => dies_with;
export const parentColumn = (parent_id: string | null) => ({ dies_with: parent_id });

/** Whether an API key was made by an owner, or by a credential that acts as one. Keys of releases before roles were. */
export const isMadeByOwner = ({ below_owner }: Pick<CredentialRow, 'below_owner'>): boolean => below_owner === null;
export const madeByOwnerColumn = (isByOwner: boolean) => ({ below_owner: isByOwner ? null : 1 });
