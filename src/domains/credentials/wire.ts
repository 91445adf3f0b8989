// Request and response schemas of credentials. API keys use snake_case and session tokens camelCase, as in
// the specification.

import { z } from '@hono/zod-openapi';
import { type ProviderScope, providerScopes } from '../../auth/scopes';
import { exampleId } from '../../db/ids';
import { type CredentialRow, parentIdOf } from '../../db/schema';
import type { Use } from '../../gate/limits/last-used';
import {
  Addresses,
  Environments,
  FutureTime,
  iso,
  isoOrNull,
  limitsBelow,
  Name,
  Overlap,
  Patterns,
  pageOf,
  Revision,
  Scopes,
  Time,
  text,
} from '../../http/wire';

/** Fields in which null counts as omitted on creation. */
export const OMITTABLE = [
  'environments',
  'secrets',
  'upstreams',
  'allowed_addresses',
  'rate_limit',
  'ttlSeconds',
  'expires_at',
  'device_id',
  'mcp_limits',
];

/** Binds a session token or an agent credential to a device. */
const DeviceIn = z
  .string()
  .min(1)
  .max(64)
  .optional()
  .openapi({
    description:
      'A device with a public key. Each request with the credential then needs a DPoP proof (RFC 9449) signed by its key. Credentials that it creates are bound to the same device.',
    example: exampleId('device'),
  });
const DeviceOut = z
  .string()
  .nullable()
  .openapi({ description: 'The device it is bound to.', example: exampleId('device') });

/** A request sets either a lifetime or an expiry, not both. */
const oneEnd = {
  check: ({ ttlSeconds, expires_at }: { ttlSeconds?: number; expires_at?: number }) =>
    ttlSeconds === undefined || expires_at === undefined,
  message: { path: ['ttlSeconds'], message: 'cannot be given together with expires_at' },
};

export const ApiKeyIn = z
  .strictObject({
    name: Name.openapi({ example: 'deploy' }),
    scopes: Scopes,
    expires_at: FutureTime.optional(),
    ttlSeconds: z
      .int()
      .min(60)
      .max(315_360_000)
      .optional()
      .openapi({ description: 'A lifetime in seconds, instead of expires_at.', example: 7_776_000 }),
    ...limitsBelow('creator'),
    allowed_addresses: Addresses.optional(),
    aws: z.boolean().optional().openapi({
      description: 'Makes an access key for clients of AWS.',
      example: false,
    }),
  })
  .refine(oneEnd.check, oneEnd.message)
  .openapi('ApiKeyIn');

export const ApiKeyPatch = z
  .strictObject({
    name: Name.optional(),
    allowed_addresses: Addresses.nullable().optional(),
    aws: z.boolean().optional().openapi({
      description: 'true makes a new access key, false ends it.',
      example: false,
    }),
  })
  .openapi('ApiKeyPatch');

export const ApiKeyRotate = z
  .strictObject({
    overlap_seconds: Overlap.openapi({
      description: 'How long the old key stays valid, in seconds. 0 by default.',
    }),
  })
  .openapi('ApiKeyRotate');

/** When, how often and from where the credential was last used. */
const lastUse = {
  last_used_at: Time.nullable(),
  use_count: z.int().openapi({ description: 'Number of requests.', example: 12 }),
  last_used_place: z.string().nullable().openapi({
    description: 'As reported by Cloudflare.',
    example: 'Zurich, CH (ZRH)',
  }),
};

export const ApiKey = z
  .object({
    id: z.string().openapi({ example: exampleId('api_key') }),
    revision: Revision,
    name: z.string(),
    hint: z
      .string()
      .openapi({ description: 'Prefix and last four characters of the token.', example: 'svc_live_…x7Qd' }),
    scopes: z.array(z.string()),
    environments: z
      .array(z.string())
      .nullable()
      .openapi({ description: 'Slugs of environments. null means all.' }),
    secrets: z
      .array(z.string())
      .nullable()
      .openapi({ description: 'Patterns of secret names. null means all.' }),
    upstreams: z
      .array(z.string())
      .nullable()
      .openapi({ description: 'Patterns of upstreams that may be used. null means all.' }),
    allowed_addresses: z.array(z.string()).nullable().openapi({ description: 'null means any address.' }),
    rate_limit: z.int().openapi({ description: 'Requests per minute.' }),
    created_by: z.string().openapi({ description: 'The credential or member that created it.' }),
    parent_id: z.string().nullable().openapi({
      description: 'The credential that it is revoked together with.',
    }),
    device_id: DeviceOut,
    successor_id: z
      .string()
      .nullable()
      .openapi({ description: 'Id of the API key that replaced it in a rotation.' }),
    aws: z
      .object({ access_key_id: z.string().nullable(), secret_access_key: z.string().nullable() })
      .nullable()
      .openapi({ description: 'Shown only once.', example: null }),
    created_at: Time,
    expires_at: Time.nullable(),
    revoked_at: Time.nullable(),
    ...lastUse,
  })
  .openapi('ApiKey');

const token = z.string().nullable().openapi({ description: 'Shown only once.', example: 'svc_live_…' });
export const NewApiKey = ApiKey.extend({ token }).openapi('NewApiKey');
export const ApiKeyPage = pageOf(ApiKey, 'ApiKeyPage');

export const AccessTokenIn = z
  .strictObject({
    ttlSeconds: z
      .int()
      .min(60)
      .max(86_400)
      .openapi({ description: 'Lifetime in seconds, at most one day.', example: 900 }),
    scopes: Scopes.optional().openapi({
      description: 'A subset of the scopes of its API key. All of them by default.',
    }),
    ...limitsBelow('API key'),
    allowedAddresses: Addresses.optional(),
    device_id: DeviceIn,
  })
  .openapi('AccessTokenIn');

export const AccessToken = z
  .object({
    id: z.string().openapi({ example: exampleId('session') }),
    hint: z.string(),
    scopes: z.array(z.string()),
    allowedAddresses: z.array(z.string()).nullable(),
    parentId: z
      .string()
      .openapi({ description: 'Id of the API key that the token is revoked together with.' }),
    device_id: DeviceOut,
    createdAt: Time,
    expiresAt: Time,
    lastUsedAt: Time.nullable(),
    useCount: z.int(),
    lastUsedPlace: z.string().nullable(),
  })
  .openapi('AccessToken');

export const NewAccessToken = AccessToken.extend({ token: token.openapi({ example: 'svcsess_…' }) }).openapi(
  'NewAccessToken',
);
export const AccessTokenPage = pageOf(AccessToken, 'AccessTokenPage');

export const AwsSessionIn = z
  .strictObject({
    environments: Environments.optional(),
    secrets: Patterns.optional(),
    ttlSeconds: z.int().min(60).max(86_400).optional().openapi({
      description: '3600 by default.',
      example: 3600,
    }),
  })
  .openapi('AwsSessionIn');

const once = z.string().nullable();
/** The access key of a session is shown only once. */
export const AwsSession = z
  .object({
    id: z.string().openapi({ example: exampleId('session') }),
    access_key_id: once,
    secret_access_key: once,
    session_token: once,
    expiresAt: Time,
  })
  .openapi('AwsSession');

/** A new session before the Worker adds what is shown once. */
export const awsSessionOut = ({ id, expires_at }: CredentialRow): z.infer<typeof AwsSession> => ({
  id,
  access_key_id: null,
  secret_access_key: null,
  session_token: null,
  expiresAt: iso(expires_at as number),
});

const AgentLifetime = z.int().min(60).max(31_536_000).openapi({ example: 86_400 });
const RateLimit = z
  .int()
  .min(1)
  .max(6000)
  .openapi({ description: 'Rate limit in requests per minute, 120 by default.', example: 120 });

const McpOptions = z.array(text(512)).max(50);

/** The options of `svc mcp` that an agent credential allows. One that is left out is not allowed. */
const McpLimitsIn = z.strictObject({
  bindings: McpOptions.default([]).openapi({
    description: '--bind',
    example: ['STRIPE_KEY=api.stripe.com/v1,header=Authorization'],
  }),
  hosts: McpOptions.default([]).openapi({ description: '--allow-host', example: [] }),
  run: z.boolean().default(false).openapi({ description: '--allow-run', example: false }),
  commands: McpOptions.nullable()
    .default(null)
    .openapi({ description: '--allow-command; null for every program', example: null }),
  read: z.boolean().default(false).openapi({ description: '--allow-read', example: false }),
});
const McpLimitsOut = z
  .object({
    bindings: z.array(z.string()),
    hosts: z.array(z.string()),
    run: z.boolean(),
    commands: z.array(z.string()).nullable(),
    read: z.boolean(),
  })
  .nullable()
  .openapi({ description: 'What svc mcp may do with the agent. null means what its options say.' });

export const AgentIn = z
  .strictObject({
    name: Name.openapi({ example: 'triage agent' }),
    scopes: Scopes,
    ...limitsBelow('creator'),
    ttlSeconds: AgentLifetime.optional().openapi({
      description: 'Lifetime in seconds. By default 30 days, or until its creator expires if that is sooner.',
    }),
    expires_at: FutureTime.optional(),
    rate_limit: RateLimit.optional(),
    allowed_addresses: Addresses.optional(),
    device_id: DeviceIn,
    mcp_limits: McpLimitsIn.optional().openapi({
      description: 'What svc mcp may do with the agent. By default, that of a creating agent.',
    }),
  })
  .refine(oneEnd.check, oneEnd.message)
  .openapi('AgentIn');

export const AgentPatch = z
  .strictObject({
    name: Name.optional(),
    scopes: Scopes.optional(),
    environments: Environments.nullable().optional(),
    secrets: Patterns.nullable().optional(),
    upstreams: Patterns.nullable().optional(),
    ttlSeconds: AgentLifetime.nullable()
      .optional()
      .openapi({ description: 'A new lifetime in seconds, counted from now. null removes the lifetime.' }),
    rate_limit: RateLimit.optional(),
    allowed_addresses: Addresses.nullable().optional(),
    mcp_limits: McpLimitsIn.nullable().optional(),
  })
  .openapi('AgentPatch');

export const Agent = ApiKey.omit({ successor_id: true, aws: true })
  .extend({
    id: z.string().openapi({ example: exampleId('agent') }),
    hint: z.string().openapi({ example: 'svcag_…x7Qd' }),
    mcp_limits: McpLimitsOut,
  })
  .openapi('Agent');
export const NewAgent = Agent.extend({ token: token.openapi({ example: 'svcag_…' }) }).openapi('NewAgent');
export const AgentPage = pageOf(Agent, 'AgentPage');

export const ProviderTokenIn = z
  .strictObject({
    name: Name.openapi({ example: 'database provisioner' }),
    scopes: z
      .array(z.enum(Object.keys(providerScopes) as [ProviderScope, ...ProviderScope[]]))
      .min(1)
      .max(3)
      .refine((scopes) => new Set(scopes).size === scopes.length, 'must not contain duplicates')
      .openapi({ example: ['issue', 'rotate', 'revoke'] }),
    environments: Environments.optional(),
    secrets: Patterns.optional(),
    allowed_addresses: Addresses.optional(),
  })
  .openapi('ProviderTokenIn');

export const ProviderToken = Agent.omit({ expires_at: true, mcp_limits: true })
  .extend({
    id: z.string().openapi({ example: exampleId('provider') }),
    hint: z.string().openapi({ example: 'svcprov_…x7Qd' }),
  })
  .openapi('ProviderToken');
export const NewProviderToken = ProviderToken.extend({
  token: token.openapi({ example: 'svcprov_…' }),
}).openapi('NewProviderToken');
export const ProviderTokenPage = pageOf(ProviderToken, 'ProviderTokenPage');

export const BreakGlassIn = z
  .strictObject({
    reason: text(1024).min(10).openapi({ example: 'the primary database is down' }),
    ttlSeconds: z
      .int()
      .min(60)
      .max(14_400)
      .optional()
      .openapi({ description: 'Lifetime in seconds, 3600 by default, at most 14400.' }),
  })
  .openapi('BreakGlassIn');

export const BreakGlass = z
  .object({
    id: z.string().openapi({ example: exampleId('break_glass') }),
    revision: Revision,
    reason: z.string(),
    hint: z.string(),
    scopes: z.array(z.string()),
    allowed_addresses: z.array(z.string()).nullable(),
    rate_limit: z.int(),
    created_by: z.string(),
    parent_id: z.string().nullable(),
    device_id: DeviceOut,
    created_at: Time,
    expires_at: Time,
    revoked_at: Time.nullable(),
    ...lastUse,
  })
  .openapi('BreakGlass');
export const NewBreakGlass = BreakGlass.extend({ token: token.openapi({ example: 'svcbg_…' }) }).openapi(
  'NewBreakGlass',
);
export const BreakGlassPage = pageOf(BreakGlass, 'BreakGlassPage');

export const WhoAmI = z
  .object({
    kind: z.string().openapi({ example: 'api_key' }),
    id: z.string(),
    org_id: z.string(),
    name: z.string().nullable(),
    scopes: z.array(z.string()),
    granted_scopes: z.array(z.string()).optional().openapi({
      description: 'For a member: the scopes that grants add to their role, each for some secrets only.',
      example: [],
    }),
    granted: z
      .array(
        z.object({
          scopes: z.array(z.string()),
          environments: z.array(z.string()).nullable(),
          secrets: z.array(z.string()).nullable(),
          upstreams: z.array(z.string()).nullable(),
        }),
      )
      .optional()
      .openapi({
        description:
          'For a member: what each grant adds, and in which environments and for which names; null for all.',
        example: [],
      }),
    environments: z.array(z.string()).nullable(),
    default_environment: z.string().nullable().openapi({
      description: 'The environment of requests that name none. null if this credential cannot reach it.',
      example: 'production',
    }),
    secrets: z.array(z.string()).nullable(),
    upstreams: z.array(z.string()).nullable(),
    expires_at: Time.nullable(),
    parent_id: z.string().nullable(),
    rate_limit: z.int(),
    device_id: DeviceOut,
    mcp_limits: McpLimitsOut.optional(),
    claimed_name: z.string().optional().openapi({
      description:
        'For a bound Worker: its name in the props of its binding, which whoever deploys it chooses.',
      example: 'billing',
    }),
  })
  .openapi('WhoAmI');

/** What is shown of a credential: its row, environment slugs and last use. */
export interface Shown {
  row: CredentialRow;
  environments: string[] | null;
  used: Use | null;
}

const common = ({ row, used }: Shown) => ({
  id: row.id,
  revision: row.revision,
  hint: row.hint,
  scopes: row.scopes,
  allowed_addresses: row.allowed_addresses,
  rate_limit: row.rate_limit,
  created_by: row.created_by,
  parent_id: parentIdOf(row),
  device_id: row.device_id,
  created_at: iso(row.created_at),
  revoked_at: isoOrNull(row.revoked_at),
  last_used_at: isoOrNull(used?.at ?? null),
  use_count: used?.count ?? 0,
  last_used_place: used?.place ?? null,
});
const reach = ({ row, environments }: Shown) => ({
  environments,
  secrets: row.secrets,
  upstreams: row.upstreams,
});

export const providerTokenOut = (shown: Shown): z.infer<typeof ProviderToken> => ({
  ...common(shown),
  name: shown.row.name ?? '',
  ...reach(shown),
});

const lasting = (shown: Shown) => ({
  ...providerTokenOut(shown),
  expires_at: isoOrNull(shown.row.expires_at),
});

export const agentOut = (shown: Shown): z.infer<typeof Agent> => ({
  ...lasting(shown),
  mcp_limits: shown.row.mcp_limits,
});

export const apiKeyOut = (shown: Shown): z.infer<typeof ApiKey> => ({
  ...lasting(shown),
  successor_id: shown.row.successor_id,
  aws: shown.row.aws === null ? null : { access_key_id: null, secret_access_key: null },
});

export const breakGlassOut = (shown: Shown): z.infer<typeof BreakGlass> => ({
  ...common(shown),
  reason: shown.row.reason ?? '',
  expires_at: iso(shown.row.expires_at as number),
});

export const accessTokenOut = ({ row, used }: Shown): z.infer<typeof AccessToken> => ({
  id: row.id,
  hint: row.hint,
  scopes: row.scopes,
  allowedAddresses: row.allowed_addresses,
  parentId: parentIdOf(row) ?? '',
  device_id: row.device_id,
  createdAt: iso(row.created_at),
  expiresAt: iso(row.expires_at as number),
  lastUsedAt: isoOrNull(used?.at ?? null),
  useCount: used?.count ?? 0,
  lastUsedPlace: used?.place ?? null,
});
