// Plans shared by changes of secrets: a new secret, a new version, a changed row. Invariants: version numbers
// are assigned here, consecutively; the audit entry of every change that sets a lifetime records the expiry;
// a row's `sealed_size` is the size of its ciphertexts in D1.

import { macOf } from '../../../db/rows';
import type { EnvironmentRow, SecretRow, VersionRow } from '../../../db/schema';
import { type Refusal, refuse } from '../../../errors';
import type { Core } from '../../../gate/core';
import { caughtUp } from '../../../gate/journal/mirror';
import { type Call, isRefusal } from '../../../gate/request/call';
import { type More, wants } from '../../../gate/request/outcome';
import type { Plan, Put } from '../../../gate/request/plan';
import { slugOf } from '../../../gate/request/target';
import { insertion, revision, rowKeyOf } from '../../../gate/request/writes';
import { isoOrNull } from '../../../http/wire';
import { type EncryptedValue, etagOf, MOST_VERSIONS } from '../rules';
import { secretOut } from '../wire';
import { limits, subjectOf } from './state';

/**
 * Asks the Worker to encrypt the value for another secret, or for a new one (null). The name may belong to
 * yet another secret by then, and the Worker is asked again: each time, another request has made progress.
 */
export const encryptFor = (
  { ask }: Call<unknown>,
  id: string | null,
): Refusal | More<{ id: string | null }> =>
  ask.is_last ? refuse('UNAVAILABLE', { retry_after: 1 }) : wants('value', { id });

/** Whether a secret has or had this id, so a new one cannot use it. */
export const isUsedId = ({ rows }: Core, id: string): boolean =>
  rows.get('secret', id) !== null || rows.isBuried('secret', id);

/** The lock for assigning a name, or depending on its assignment. */
export const nameLock = (environment: string, name: string) => `name:${environment}:${name}`;

/**
 * The locks of a change of secrets by their names: on each name, which it may assign, and on each secret that
 * has one.
 */
export const locksOf = (
  environment: EnvironmentRow | null,
  names: readonly string[],
  rows: readonly (SecretRow | null)[],
): string[] => [
  ...names.map((name) => nameLock(environment?.id ?? '', name)),
  ...rows.flatMap((row) => row?.id ?? []),
];

/** A lifetime in seconds as an expiry in a row; null for none. */
export const lifetime = (seconds: number | null, now: number) => ({
  expires_at: seconds === null ? null : now + seconds * 1000,
  lifetime_seconds: seconds,
});

function newVersion(
  call: Call<unknown>,
  secret: string,
  version: number,
  value: EncryptedValue,
  now: number,
): VersionRow {
  const row = {
    org_id: call.ask.org,
    secret_id: secret,
    version,
    ...value,
    binary: value.binary ?? null,
    request_token: value.request_token ?? null,
    created_by: call.caller.id,
    created_at: now,
    mac: '',
  };
  return { ...row, mac: macOf(rowKeyOf(call), 'version', row) };
}

type Fields = Pick<SecretRow, 'id' | 'name' | 'type' | 'description' | 'tags' | 'rotate_every_seconds'> &
  Partial<Pick<SecretRow, 'auto_rotate'>>;

/**
 * The plan for a new secret with an unused name in its environment. `ttl` is its lifetime in seconds, null
 * for none.
 */
export function begin(
  call: Call<unknown>,
  environment: EnvironmentRow,
  fields: Fields,
  encrypted: EncryptedValue,
  ttl: number | null,
  now: number,
): Plan | Refusal {
  const { core, ask } = call;
  const { value_sealed, request_token: _, ...value } = encrypted;
  const limit = limits(core, value_sealed.length, 1);
  if (limit) return limit;
  const reserved = core.rows.find('reserved_secret', environment.id, fields.name);
  const put = insertion(call, 'secret', {
    org_id: ask.org,
    environment_id: environment.id,
    ...fields,
    ...value,
    version: 1,
    amended: 0,
    sealed_size: value_sealed.length,
    oldest_version: 1,
    created_at: now,
    updated_at: now,
    rotated_at: now,
    ...lifetime(ttl, now),
  });
  const row = put.row as SecretRow;
  return {
    status: 201,
    data: secretOut(row, environment.slug, now),
    etag: etagOf(row),
    writes: [put],
    versions: [newVersion(call, row.id, 1, encrypted, now)],
    // It takes the place of metadata without a value.
    ...(reserved && { deletes: [{ kind: 'reserved_secret' as const, id: reserved.id }] }),
    environments: [environment.id],
    resource: row.id,
    audit: { ...subjectOf(core, row), expires_at: isoOrNull(row.expires_at) },
  };
}

/** Adds fields to the audit entry of a plan. */
export const withAudit = <P extends Plan | Refusal>(plan: P, about: Plan['audit']): P =>
  isRefusal(plan) ? plan : { ...plan, audit: { ...plan.audit, ...about } };

/** The oldest version that is kept after one more version. */
const oldestAfter = ({ version, oldest_version }: SecretRow) =>
  Math.max(oldest_version, version + 1 - MOST_VERSIONS + 1);

/**
 * The bytes of ciphertext that remain after one more version destroys older ones; `of` is the MAC of the row
 * that this was calculated for.
 */
export interface Kept {
  of: string;
  bytes: number;
}

/**
 * Asks D1 how many bytes of ciphertext remain if one more version destroys older ones: the row has only the
 * sum, not the size of each version. The secret must be locked, so the result holds until the plan is carried
 * out.
 */
export async function keptOf({ core, ask }: Call<unknown>, row: SecretRow | null): Promise<Kept | null> {
  if (!row || oldestAfter(row) === row.oldest_version) return null;
  await caughtUp(core);
  const [found] = await core.database.all<{ bytes: number }>({
    sql: 'select coalesce(sum(octet_length(value_sealed)), 0) bytes from secret_versions where org_id = ? and secret_id = ? and version >= ?',
    params: [ask.org, row.id, oldestAfter(row)],
  });
  return { of: row.mac, bytes: found?.bytes ?? 0 };
}

/** The same for many secrets, in one query. */
export async function keptOfAll(
  { core, ask }: Call<unknown>,
  rows: readonly SecretRow[],
): Promise<Map<string, Kept>> {
  const trimming = rows.filter((row) => oldestAfter(row) !== row.oldest_version);
  if (trimming.length === 0) return new Map();
  await caughtUp(core);
  const found = await core.database.all<{ id: string; bytes: number }>({
    sql: `select w.value ->> 0 id, (select coalesce(sum(octet_length(value_sealed)), 0) from secret_versions
      where org_id = ? and secret_id = w.value ->> 0 and version >= w.value ->> 1) bytes from json_each(?) w`,
    params: [ask.org, JSON.stringify(trimming.map((row) => [row.id, oldestAfter(row)]))],
  });
  const macs = new Map(trimming.map(({ id, mac }) => [id, mac]));
  return new Map(found.map(({ id, bytes }) => [id, { of: macs.get(id) as string, bytes }]));
}

/** The plan for a secret's next version; the oldest version beyond the limit is destroyed. */
export function advance(
  call: Call<unknown>,
  row: SecretRow,
  value: EncryptedValue,
  fields: Partial<SecretRow>,
  kept: Kept | null,
  now: number,
): Plan | Refusal {
  const version = row.version + 1;
  const oldest = oldestAfter(row);
  const trims = oldest > row.oldest_version;
  // Calculated for a different row: a database was restored in the meantime.
  // safety: count-of-this-row
  if (trims && kept?.of !== row.mac) return refuse('UNAVAILABLE', { retry_after: 1 });
  // safety: quota-counts-kept-versions
  const sealed_size = (trims && kept ? kept.bytes : row.sealed_size) + value.value_sealed.length;
  const limit = limits(call.core, sealed_size - row.sealed_size, 0);
  if (limit) return limit;
  const moved = {
    ...fields,
    version,
    amended: 0,
    seal_id: value.seal_id,
    fingerprint: value.fingerprint,
    size: value.size,
    generated: value.generated,
    binary: value.binary ?? null,
    rotated_at: now,
    sealed_size,
    oldest_version: oldest,
  };
  return {
    ...changed(call, row, moved, now),
    versions: [newVersion(call, row.id, version, value, now)],
    ...(trims && { trimmed: [{ secret: row.id, version: oldest - 1 }] }),
  };
}

/** The plan for a changed row; a change without a new version increments `amended`. */
export function changed(
  call: Call<unknown>,
  before: SecretRow,
  fields: Partial<SecretRow>,
  now: number,
): Plan {
  const put = revision(call, 'secret', before, { amended: before.amended + 1, ...fields, updated_at: now });
  const row = put.row as SecretRow;
  return {
    status: 200,
    data: secretOut(row, slugOf(call.core, row.environment_id), now),
    etag: etagOf(row),
    writes: [put],
    environments: [row.environment_id],
    resource: row.id,
    audit: {
      ...subjectOf(call.core, row),
      ...(fields.expires_at !== undefined && { expires_at: isoOrNull(row.expires_at) }),
    },
  };
}

/** What several plans of secrets write together, and the bytes of ciphertext that they add. */
export function joined(core: Core, plans: readonly Plan[]) {
  const writes = plans.flatMap((plan) => plan.writes ?? []);
  const sizeOf = ({ row }: Put) => (row as SecretRow).sealed_size;
  return {
    added: writes.reduce(
      (sum, put) => sum + sizeOf(put) - (core.rows.get('secret', put.row.id)?.sealed_size ?? 0),
      0,
    ),
    parts: {
      writes,
      deletes: plans.flatMap((plan) => plan.deletes ?? []),
      versions: plans.flatMap((plan) => plan.versions ?? []),
      trimmed: plans.flatMap((plan) => plan.trimmed ?? []),
      destroyed: plans.flatMap((plan) => plan.destroyed ?? []),
    },
  };
}
