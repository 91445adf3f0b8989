// The rules of secrets: the status of a secret, whether it may be read, and which of its versions may be.
// Pure. Invariant: however a value is requested, the value of a deleted, expired or revoked secret is refused
// here.
import type { SecretRow, VersionRow } from '../../db/schema';
import { type Refusal, refuse } from '../../errors';
import { matchesETag } from '../../etag';

/** How many versions a secret keeps. */
export const MOST_VERSIONS = 1000;

/** How many tags a secret can have, and their total bytes, keys and values, in UTF-8. */
export const MOST_TAGS = 64;
export const MOST_TAGS_BYTES = 16_384;

/** A value encrypted by the Worker. */
export interface EncryptedValue {
  seal_id: string;
  value_sealed: string;
  fingerprint: string;
  size: number;
  /** 1 if this service generated the value, null if a caller sent it. */
  generated: number | null;
  /** 1 if it is the base64 of bytes, as a client of AWS wrote them. */
  binary?: number | null;
  /** Digest of the ClientRequestToken that it comes with. */
  request_token?: string | null;
}

/** A secret and the version to read, with its encrypted value. */
export interface Readable {
  row: SecretRow;
  version: VersionRow;
}

/**
 * The same in transit to the Worker, which verifies it. `text` is its JSON, by which the Worker recognises
 * what it has already verified; a gate sends no text to a 0.4.0 Worker, and none for a long value.
 */
export type Delivered = (Readable | { seal_id: string; text: string }) & { environment: string; now: number };

export const statuses = ['active', 'expired', 'revoked', 'deleted'] as const;
export type Status = (typeof statuses)[number];

/** The status of a secret at a given time. A secret expires without being written. */
export function statusOf(row: SecretRow, now: number): Status {
  if (row.deleted_at !== null) return 'deleted';
  if (row.revoked_at !== null) return 'revoked';
  return row.expires_at !== null && row.expires_at <= now ? 'expired' : 'active';
}

/** The refusal of a read: 404 if deleted, 410 if revoked or expired; null if the secret may be read now. */
export const readable = (row: SecretRow | null, now: number): Refusal | null => {
  if (!row || row.deleted_at !== null) return refuse('NOT_FOUND');
  // safety: revoked-secret
  if (row.revoked_at !== null) return refuse('SECRET_REVOKED');
  // safety: expired-secret
  return statusOf(row, now) === 'expired' ? refuse('SECRET_EXPIRED') : null;
};

/** 410 for a version that was revoked. It stays revoked when the secret gets a new value. */
export const revokedVersion = ({ revoked_through }: SecretRow, number: number): Refusal | null =>
  // safety: revoked-version
  number <= (revoked_through ?? 0)
    ? refuse('SECRET_REVOKED', { message: `Version ${number} of this secret has been revoked.` })
    : null;

export const hasVersion = ({ version, oldest_version, lost_versions }: SecretRow, number: number): boolean =>
  number <= version &&
  number >= oldest_version &&
  !lost_versions?.some(([first, last]) => number >= first && number <= last);

/** Refuses unless the secret is readable and has that version. */
export const readableVersion = (row: SecretRow | null, version: number, now: number): Refusal | null =>
  readable(row, now) ??
  (row && hasVersion(row, version)
    ? revokedVersion(row, version)
    : refuse('NOT_FOUND', { message: `This secret has no version ${version}.` }));

/** The ETag of a secret: `"vN"`, or `"vN.R"` after the R-th change of metadata since version N. */
export const etagOf = (row: Pick<SecretRow, 'version' | 'amended'>): string =>
  row.amended ? `"v${row.version}.${row.amended}"` : `"v${row.version}"`;

/** 412 if If-Match does not name the secret's ETag. */
export const preconditionFailed = (row: SecretRow, ifMatch: string | null): Refusal | null =>
  // safety: if-match
  ifMatch === null || matchesETag(ifMatch, etagOf(row)) ? null : refuse('VERSION_CONFLICT');
