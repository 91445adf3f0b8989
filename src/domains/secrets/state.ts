// Where a secret stands, and what follows: whether it may be read, which of its versions may be, what an organisation may hold. Pure but
// for the subject of the audit entry. Invariant: whatever the way, the value of a secret that is deleted, expired or revoked is refused here.
import type { SecretRow, VersionRow } from '../../db/schema';
import { type Refusal, refuse } from '../../errors';
import type { Core } from '../../gate/core';
import { slugOf } from '../../gate/named';
import type { Call } from '../../gate/types';
import { etagOf, namesTag, statusOf } from './wire';

const MOST_SECRETS = 100_000;
const MOST_SEALED = 4 * 1024 ** 3;
/** Versions that a secret keeps: its newest. */
export const MOST_VERSIONS = 1000;

/** A value, encrypted by the Worker. */
export interface EncryptedValue {
  seal_id: string;
  value_sealed: string;
  fingerprint: string;
  size: number;
  /** 1 where this service generated the value, null where a caller gave it. */
  generated: number | null;
}

/** An encrypted value on its way to the Worker, with the rows that say whose it is, for it to check. */
export interface Delivered {
  row: SecretRow;
  version: VersionRow;
  environment: string;
  now: number;
}

/** Why a secret cannot be read now, or null. */
export const readable = (row: SecretRow | null, now: number): Refusal | null => {
  if (!row || row.deleted_at !== null) return refuse('NOT_FOUND');
  if (row.revoked_at !== null) return refuse('SECRET_REVOKED');
  return statusOf(row, now) === 'expired' ? refuse('SECRET_EXPIRED') : null;
};

/** 410 for a version that was revoked: it stays so, whatever came after. */
export const withdrawn = ({ revoked_through }: SecretRow, number: number): Refusal | null =>
  number <= (revoked_through ?? 0) ? refuse('SECRET_REVOKED', { message: `Version ${number} of this secret has been revoked.` }) : null;

/** 412 unless the secret stands as the caller believes. */
export const stale = (row: SecretRow, ifMatch: string | null): Refusal | null =>
  ifMatch === null || namesTag(ifMatch, etagOf(row)) ? null : refuse('VERSION_CONFLICT');

/** 503 while a change of one of these is in doubt. */
export const inDoubt = (call: Call<unknown>, ...ids: string[]): Refusal | null =>
  ids.some((id) => call.core.intents.isOpen(id)) ? refuse('UNAVAILABLE', { retry_after: 1 }) : null;

export const hasVersion = ({ version, oldest_version, lost_versions }: SecretRow, number: number): boolean =>
  number <= version && number >= oldest_version && !lost_versions?.some(([first, last]) => number >= first && number <= last);

/** Names a secret in the audit entry; answers how its environment is called. */
export function describe(call: Call<unknown>, row: SecretRow): string {
  const environment = slugOf(call.core, row.environment_id);
  Object.assign(call.subject, { resource: row.id, resource_name: row.name, environment, version: row.version });
  return environment;
}

/** Refuses unless a secret is readable and has that version. */
export const readableVersion = (row: SecretRow | null, version: number, now: number): Refusal | null =>
  readable(row, now) ??
  (row && hasVersion(row, version) ? withdrawn(row, version) : refuse('NOT_FOUND', { message: `This secret has no version ${version}.` }));

/** 409 if so many bytes of ciphertext more, or so many secrets more, go beyond what an org may hold. A change that adds none is allowed above it. */
export function limits(core: Core, sealed: number, more: number): Refusal | null {
  if (more && core.rows.count('secret') + more > MOST_SECRETS)
    return refuse('LIMIT_REACHED', {
      message: `An organisation can have at most ${MOST_SECRETS.toLocaleString('en')} secrets. Deleted ones count until they are purged.`,
    });
  return sealed > 0 && core.rows.sealedBytes() + sealed > MOST_SEALED
    ? refuse('LIMIT_REACHED', { message: 'An organisation can have at most 4 GiB of encrypted values.' })
    : null;
}
