// The rows of secrets.
import { RESTORABLE, rowKind } from '../../db/rows';
import { type SecretRow, secrets } from '../../db/schema';

declare module '../../db/rows' {
  interface RowTypes {
    secret: SecretRow;
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
  ],
  // safety: restore-period-kept
  sweepAt: ({ deleted_at }) => (deleted_at === null ? null : deleted_at + RESTORABLE),
  // Its row does not say: see the intent.
  maker: () => '',
  quota: 'bounded with their ciphertexts by wholeQuotas and secretsOfRoot',
});
