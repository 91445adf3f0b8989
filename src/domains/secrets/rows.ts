// The rows of secrets, and of names that have tags and no value yet.
import { RESTORABLE, rowKind } from '../../db/rows';
import { type ReservedSecretRow, reservedSecrets, type SecretRow, secrets } from '../../db/schema';
import { lasting } from '../../gate/limits/quotas';

declare module '../../db/rows' {
  interface RowTypes {
    secret: SecretRow;
    reserved_secret: ReservedSecretRow;
  }
}

export const secret = rowKind('secret', {
  table: secrets,
  space: (row) => row.environment_id,
  // A deleted secret has no key.
  key: (row) => (row.deleted_at === null ? row.name : null),
  added: [
    'lost_versions',
    'lifetime_seconds',
    'revoked_at',
    'revoked_through',
    'generated',
    'rotated_at',
    'auto_rotate',
    'binary',
    'unlabelled',
  ],
  // safety: restore-period-kept
  sweepAt: ({ deleted_at }) => (deleted_at === null ? null : deleted_at + RESTORABLE),
  // Its row does not say: see the intent.
  maker: () => '',
  quota: 'bounded with their ciphertexts by wholeQuotas and secretsOfRoot',
});

/** How long tags wait for a value, in milliseconds. */
export const RESERVED = 3_600_000;

export const reservedSecret = rowKind('reserved_secret', {
  table: reservedSecrets,
  space: (row) => row.environment_id,
  key: (row) => row.name,
  added: ['stays', 'description', 'request_token'],
  sweepAt: ({ created_at, stays }) => (stays ? null : created_at + RESERVED),
  maker: ({ created_by }) => created_by,
  quota: lasting(10_000, 1000, 'names with metadata and without a value', 'Each leaves after an hour.'),
});
