// Credentials on the wire. API keys are snake_case, session tokens camelCase, as the specification spells them.
import { z } from '@hono/zod-openapi';
import type { CredentialRow } from '../../db/schema';
import { Addresses, Environments, FutureTime, iso, isoOrNull, Name, Patterns, pageOf, Scopes, Time } from '../../http/wire';

export const ApiKeyIn = z
  .strictObject({
    name: Name.openapi({ example: 'deploy' }),
    scopes: Scopes,
    expires_at: FutureTime.optional(),
    environments: Environments.optional().openapi({
      description: 'Where it may act, by id or slug; where absent, wherever its creator may.',
    }),
    secrets: Patterns.optional().openapi({ description: 'Names that it may touch, as glob patterns; where absent, those of its creator.' }),
    allowed_addresses: Addresses.optional(),
  })
  .openapi('ApiKeyIn');

export const ApiKeyPatch = z
  .strictObject({ name: Name.optional(), allowed_addresses: Addresses.nullable().optional() })
  .openapi('ApiKeyPatch');

export const ApiKeyRotate = z.strictObject({ overlap_seconds: z.int().min(0).max(86_400).optional() }).openapi('ApiKeyRotate');

export const ApiKey = z
  .object({
    id: z.string().openapi({ example: 'key_01M9xQeKcX3vTz6nWJfQ4b' }),
    name: z.string(),
    hint: z.string().openapi({ example: 'svc_live_…x7Qd' }),
    scopes: z.array(z.string()),
    environments: z.array(z.string()).nullable(),
    secrets: z.array(z.string()).nullable(),
    allowed_addresses: z.array(z.string()).nullable(),
    rate_limit: z.int(),
    created_by: z.string(),
    parent_id: z.string().nullable().openapi({ description: 'The credential that it dies with.' }),
    successor_id: z.string().nullable(),
    created_at: Time,
    expires_at: Time.nullable(),
    revoked_at: Time.nullable(),
    last_used_at: Time.nullable(),
  })
  .openapi('ApiKey');

const token = z.string().nullable().openapi({ description: 'Shown this once.', example: 'svc_live_…' });
export const NewApiKey = ApiKey.extend({ token }).openapi('NewApiKey');
export const ApiKeyPage = pageOf(ApiKey, 'ApiKeyPage');

export const AccessTokenIn = z
  .strictObject({
    ttlSeconds: z.int().min(60).max(86_400).openapi({ example: 900 }),
    scopes: Scopes.optional().openapi({ description: "A subset of the parent key's; where absent, all of them." }),
    allowedAddresses: Addresses.optional(),
  })
  .openapi('AccessTokenIn');

export const AccessToken = z
  .object({
    id: z.string().openapi({ example: 'tok_01M9xQeKcX3vTz6nWJfQ4b' }),
    hint: z.string(),
    scopes: z.array(z.string()),
    allowedAddresses: z.array(z.string()).nullable(),
    parentId: z.string(),
    createdAt: Time,
    expiresAt: Time,
    lastUsedAt: Time.nullable(),
  })
  .openapi('AccessToken');

export const NewAccessToken = AccessToken.extend({ token: token.openapi({ example: 'svcsess_…' }) }).openapi('NewAccessToken');
export const AccessTokenPage = pageOf(AccessToken, 'AccessTokenPage');

export const WhoAmI = z
  .object({
    kind: z.string().openapi({ example: 'api_key' }),
    id: z.string(),
    org_id: z.string(),
    name: z.string().nullable(),
    scopes: z.array(z.string()),
    environments: z.array(z.string()).nullable(),
    secrets: z.array(z.string()).nullable(),
    expires_at: Time.nullable(),
    parent_id: z.string().nullable(),
    rate_limit: z.int(),
  })
  .openapi('WhoAmI');

/** `environments` are shown by slug. */
export const apiKeyOut = (row: CredentialRow, environments: string[] | null, lastUsed: number | null): z.infer<typeof ApiKey> => ({
  id: row.id,
  name: row.name ?? '',
  hint: row.hint,
  scopes: row.scopes,
  environments,
  secrets: row.secrets,
  allowed_addresses: row.allowed_addresses,
  rate_limit: row.rate_limit,
  created_by: row.created_by,
  parent_id: row.dies_with,
  successor_id: row.successor_id,
  created_at: iso(row.created_at),
  expires_at: isoOrNull(row.expires_at),
  revoked_at: isoOrNull(row.revoked_at),
  last_used_at: isoOrNull(lastUsed),
});

export const accessTokenOut = (row: CredentialRow, lastUsed: number | null): z.infer<typeof AccessToken> => ({
  id: row.id,
  hint: row.hint,
  scopes: row.scopes,
  allowedAddresses: row.allowed_addresses,
  parentId: row.dies_with ?? '',
  createdAt: iso(row.created_at),
  expiresAt: iso(row.expires_at as number),
  lastUsedAt: isoOrNull(lastUsed),
});
