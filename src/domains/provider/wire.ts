// Request and response schemas of the Provider API, in camelCase as in the specification.

import { z } from '@hono/zod-openapi';
import { exampleId } from '../../db/ids';
import type { SecretRow } from '../../db/schema';
import { EnvironmentRef, iso, isoOrNull, Time } from '../../http/wire';
import { NonEmptyValue, SecretName } from '../secrets/wire';

const named = { secretName: SecretName.openapi({ example: 'db/app/password' }), environment: EnvironmentRef };
const value = NonEmptyValue.openapi({ example: 'correct-horse-battery' });

export const Issue = z
  .strictObject({
    ...named,
    value,
    ttlSeconds: z.int().min(60).max(31_536_000).openapi({
      example: 86_400,
      description: 'How long the value can be read, in seconds. Each rotation restarts the lifetime.',
    }),
  })
  .openapi('ProviderIssue');
export const Rotate = z.strictObject({ ...named, newValue: value }).openapi('ProviderRotate');
export const Revoke = z.strictObject(named).openapi('ProviderRevoke');

const shown = { secretId: z.string().openapi({ example: exampleId('secret') }), ...named };

export const Issued = z
  .object({
    ...shown,
    version: z.int().openapi({ example: 1 }),
    expiresAt: Time.nullable().openapi({
      description: 'null if the secret has no lifetime because it was not created with one.',
    }),
  })
  .openapi('ProviderIssued');
export const Revoked = z
  .object({ ...shown, status: z.enum(['revoked']), revokedAt: Time })
  .openapi('ProviderRevoked');

/** The issued or rotated secret, without its value. */
export const issuedOut = (
  { id, name, version, expires_at }: SecretRow,
  environment: string,
): z.infer<typeof Issued> => ({
  secretId: id,
  secretName: name,
  environment,
  version,
  expiresAt: isoOrNull(expires_at),
});

export const revokedOut = (
  { id, name }: SecretRow,
  environment: string,
  revokedAt: number,
): z.infer<typeof Revoked> => ({
  secretId: id,
  secretName: name,
  environment,
  status: 'revoked',
  revokedAt: iso(revokedAt),
});
