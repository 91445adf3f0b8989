// The rows that authorisation decisions depend on: their kinds, D1 tables, unique keys, MACs and purge times. Invariant: a row keeps its
// MAC when a later release adds columns.
import { getTableColumns, getTableName } from 'drizzle-orm';
import { tuple } from '../crypto/bytes';
import { hmacHex } from '../crypto/digest';
import type {
  ApprovalRow,
  CredentialKind,
  CredentialRow,
  DeviceRow,
  EnvironmentRow,
  GrantRow,
  IncidentRow,
  IntegrationRow,
  MemberRow,
  OrgRow,
  PasskeyRow,
  PolicyRow,
  SecretRow,
  ShareRow,
  SyncRow,
  TeamMemberRow,
  TeamRow,
  WebhookRow,
} from './schema';
import * as schema from './schema';

export interface RowTypes {
  org: OrgRow;
  environment: EnvironmentRow;
  member: MemberRow;
  passkey: PasskeyRow;
  team: TeamRow;
  team_member: TeamMemberRow;
  grant: GrantRow;
  credential: CredentialRow;
  secret: SecretRow;
  policy: PolicyRow;
  approval: ApprovalRow;
  device: DeviceRow;
  webhook: WebhookRow;
  integration: IntegrationRow;
  share: ShareRow;
  sync: SyncRow;
  incident: IncidentRow;
}
export type RowKind = keyof RowTypes;

/** Finds rows by id. */
export interface RowReader {
  get<K extends RowKind>(kind: K, id: string): RowTypes[K] | null;
}

/** The D1 table of each kind, and the unique key that finds a row within a space. A deleted secret has no key. */
export const places: {
  [K in RowKind]: { table: (typeof tables)[K]; space(row: RowTypes[K]): string; key(row: RowTypes[K]): string | null };
} = {
  org: { table: schema.orgs, space: () => '', key: (row) => row.id },
  environment: { table: schema.environments, space: () => '', key: (row) => row.slug },
  member: { table: schema.members, space: () => '', key: (row) => row.email.toLowerCase() },
  passkey: { table: schema.passkeys, space: (row) => row.member_id, key: (row) => row.credential_id },
  team: { table: schema.teams, space: () => '', key: () => null },
  team_member: { table: schema.teamMembers, space: (row) => row.member_id, key: (row) => row.team_id },
  grant: { table: schema.grants, space: (row) => row.grantee_id, key: (row) => row.id },
  credential: { table: schema.credentials, space: (row) => row.kind, key: (row) => row.token_hash },
  secret: { table: schema.secrets, space: (row) => row.environment_id, key: (row) => (row.deleted_at === null ? row.name : null) },
  policy: { table: schema.policies, space: () => '', key: (row) => row.id },
  // A request is held once: a repeat finds the approval that has not ended.
  approval: { table: schema.approvals, space: (row) => row.root, key: (row) => (row.ended_at === null ? row.digest : null) },
  device: { table: schema.devices, space: (row) => row.member_id ?? '', key: (row) => row.id },
  webhook: { table: schema.webhooks, space: () => '', key: (row) => row.id },
  integration: { table: schema.integrations, space: (row) => row.kind, key: (row) => row.id },
  share: { table: schema.shares, space: (row) => row.secret_id, key: (row) => (row.revoked_at === null ? row.id : null) },
  sync: { table: schema.syncs, space: (row) => (row.finished_at === null ? 'open' : 'ended'), key: (row) => row.id },
  // A credential has one incident, however often it is contained.
  incident: { table: schema.incidents, space: (row) => row.credential?.id ?? '', key: (row) => row.id },
};
/** All kinds of rows that decide. */
export const rowKinds = Object.keys(places) as RowKind[];
const tables = {
  org: schema.orgs,
  environment: schema.environments,
  member: schema.members,
  passkey: schema.passkeys,
  team: schema.teams,
  team_member: schema.teamMembers,
  grant: schema.grants,
  credential: schema.credentials,
  secret: schema.secrets,
  policy: schema.policies,
  approval: schema.approvals,
  device: schema.devices,
  webhook: schema.webhooks,
  integration: schema.integrations,
  share: schema.shares,
  sync: schema.syncs,
  incident: schema.incidents,
};

/** Columns added after the first release, by kind. */
const ADDED: Partial<Record<RowKind | 'version', ReadonlySet<string>>> = {
  org: new Set(['member_addresses', 'generation', 'keys_generation', 'spared', 'panicked_at', 'audit_retention_days']),
  member: new Set(['invited_by', 'enrolled_at', 'enrolment_hash', 'enrolment_made_at', 'enrolment_ends_at', 'connections', 'environments']),
  approval: new Set(['environments']),
  team_member: new Set(['accountable']),
  grant: new Set(['accountable']),
  credential: new Set([
    'below_owner',
    'created_in',
    'generation',
    'reason',
    'member_id',
    'passkey_id',
    'refresh',
    'confirmed_at',
    'accountable',
    'device_id',
    'trust',
    'workload',
  ]),
  secret: new Set(['lost_versions', 'lifetime_seconds', 'revoked_at', 'revoked_through', 'generated', 'rotated_at', 'auto_rotate']),
  integration: new Set(['maker', 'reach']),
  sync: new Set(['pins']),
  version: new Set(['generated']),
};

/** A stored row. An earlier release may have written it without columns that were added later. */
export const rowOf = <K extends RowKind>(kind: K, body: string): RowTypes[K] => {
  const row = JSON.parse(body);
  for (const column of ADDED[kind] ?? []) row[column] ??= null;
  return row;
};

export const DAY = 86_400_000;
/** How long a deleted secret can be restored, and how long an ended credential is remembered. */
export const RESTORABLE = 7 * DAY;
export const REMEMBERED = 90 * DAY;
/** How long an approval is kept after it ends: a compliance report looks back a year. */
const APPROVALS_KEPT = 400 * DAY;

/** How long a sync is kept. */
const SYNCS_KEPT = 30 * DAY;

/** Short-lived credentials: they do not count towards the limit of 10,000. */
export const isBrief = (kind: CredentialKind): boolean => kind === 'session' || kind === 'browser';

/**
 * How long a revoked session stays in the gate: longer than a challenge is valid, so no challenge begins a session twice. D1 keeps it
 * longer.
 */
const STAYS_REVOKED = 600_000;

/** When a row may be swept, or null if it stays. An ended session token leaves the gate early; D1 keeps it. */
export function sweepAt<K extends RowKind>(kind: K, row: RowTypes[K]): number | null {
  if (kind === 'secret') {
    const { deleted_at } = row as SecretRow;
    // safety: restore-period-kept
    return deleted_at === null ? null : deleted_at + RESTORABLE;
  }
  if (kind === 'grant') return (row as GrantRow).expires_at;
  if (kind === 'approval') return (row as ApprovalRow).expires_at + APPROVALS_KEPT;
  if (kind === 'share') return (row as ShareRow).expires_at;
  if (kind === 'sync') return (row as SyncRow).finished_at === null ? null : (row as SyncRow).created_at + SYNCS_KEPT;
  if (kind !== 'credential') return null;
  const { kind: of, expires_at, revoked_at } = row as CredentialRow;
  if (isBrief(of)) return Math.min(expires_at as number, revoked_at === null ? Number.POSITIVE_INFINITY : revoked_at + STAYS_REVOKED);
  const end = Math.min(expires_at ?? Number.POSITIVE_INFINITY, revoked_at ?? Number.POSITIVE_INFINITY);
  return Number.isFinite(end) ? end + REMEMBERED : null;
}

/**
 * The MAC of a row: over its kind and every column except the MAC itself and ciphertext, which is authenticated on its own. A column added
 * by a later release is left out while it is null, so rows of earlier releases keep their MACs.
 */
export function macOf(key: Uint8Array, kind: RowKind | 'version', row: object): string {
  const values = row as Record<string, unknown>;
  const columns = Object.keys(row)
    .filter((name) => name !== 'mac' && !name.endsWith('_sealed') && !(values[name] === null && ADDED[kind]?.has(name)))
    .sort()
    .map((name) => [name, values[name]]);
  return hmacHex(key, tuple('svc/v1/row', kind, JSON.stringify(columns)));
}

/** A row from a raw D1 query, with its JSON columns parsed. */
export function fromD1<T>(table: (typeof tables)[RowKind] | typeof schema.secretVersions, raw: Record<string, unknown>): T {
  const row: Record<string, unknown> = {};
  for (const [name, column] of Object.entries(getTableColumns(table)))
    row[name] = raw[name] === null ? null : column.mapFromDriverValue(raw[name] as never);
  return row as T;
}

/** The same for a row that may have been altered: null if a column does not parse. */
export function readable<K extends RowKind>(kind: K, raw: Record<string, unknown>): RowTypes[K] | null {
  try {
    return fromD1<RowTypes[K]>(places[kind].table, raw);
  } catch {
    return null;
  }
}

/** A table's name in SQL. */
export const tableName = (kind: RowKind): string => getTableName(places[kind].table);
