// Request and response schemas of trusts and of the token exchange.

import { z } from '@hono/zod-openapi';
import { BINDING, BINDING_WARNING } from '../../auth/authentication/bindings';
import { callerProblem, spellingProblem } from '../../auth/authentication/issuers';
import { utf8 } from '../../crypto/bytes';
import { exampleId } from '../../db/ids';
import { parentIdOf } from '../../db/schema';
import type { IssuerKey } from '../../db/trusts';
import type { BaseContext } from '../../http/context';
import {
  Addresses,
  Environments,
  iso,
  isoOrNull,
  limitsBelow,
  Name,
  Patterns,
  pageOf,
  Revision,
  Scopes,
  Time,
  text,
} from '../../http/wire';
import type { Shown } from '../credentials/wire';
import { problemOf } from './rules';

/** The most bytes of JSON in a trust's claims and in its keys. */
const MOST_CLAIMS = 4096;
const MOST_KEYS = 16_384;
/** The most characters of an issuer's token. */
export const MOST_TOKEN = 16_384;

const distinct = (list: readonly string[]) => new Set(list).size === list.length;

/**
 * An issuer as in its tokens (OpenID Connect Core): https, without user name, query or fragment. The egress
 * guard checks the address from which keys are fetched.
 */
const isIssuer = (value: string) => {
  const url =
    /^https?:\/\/[^\s\\/?#@][^\s\\?#]*$/.test(value) && !/^https?:\/\/[^/]*@/.test(value)
      ? URL.parse(value)
      : null;
  return url !== null && !url.username && !url.password;
};

const Issuer = text(512)
  .refine(isIssuer, 'must be an https URL without user name, query and fragment, exactly as in the iss claim')
  .openapi({
    description: 'The iss claim of accepted tokens, exactly as the issuer spells it.',
    example: 'https://token.actions.githubusercontent.com',
  });

const IssuerOrBinding = text(512)
  .refine(
    (value) => value === BINDING || isIssuer(value),
    'must be an https URL without user name, query and fragment, exactly as in the iss claim, or cloudflare:service-binding',
  )
  .openapi({
    description:
      'The iss claim of accepted tokens, exactly as the issuer spells it. cloudflare:service-binding is for Workers of the same account, which name the trust in the props of a service binding.',
    example: 'https://token.actions.githubusercontent.com',
  });

const Audiences = z
  .array(text(512))
  .min(1)
  .max(10)
  .refine(distinct, 'must not contain duplicates')
  .openapi({
    description:
      'The token must contain one of them in its aud claim. By default, the PUBLIC_URL of this deployment.',
    example: ['https://vault.example.com'],
  });

const Glob = text(256).refine((glob) => (glob.match(/\*/g)?.length ?? 0) <= 5, 'must contain at most five *');

const Claims = z
  .record(
    z.string().regex(/^[A-Za-z][A-Za-z0-9_.:/-]{0,127}$/, 'must be the name of a claim'),
    z.union([Glob, z.array(Glob).min(1).max(20).refine(distinct, 'must not contain duplicates')]),
  )
  .superRefine((claims, context) => {
    const count = Object.keys(claims).length;
    if (count > 20) context.addIssue({ code: 'custom', message: 'must contain at most 20 claims' });
    if (utf8(JSON.stringify(claims)).length > MOST_CLAIMS)
      context.addIssue({ code: 'custom', message: 'must have at most 4,096 bytes in total' });
    const wrong = problemOf(claims);
    if (wrong)
      context.addIssue({
        code: 'custom',
        message: wrong.problem,
        ...(wrong.claim !== null && { path: [wrong.claim] }),
      });
  })
  .openapi({
    description:
      'Claims of accepted tokens, each with a glob pattern or a list of them. * matches any run of characters, ? matches one. Every claim must match. sub, or another claim that names the workload, is required.',
    example: { sub: 'repo:acme/app:ref:refs/heads/main' },
  });

const member = (most: number) => z.string().max(most).optional();

/**
 * A key in JWKS format. Other members, such as certificates, are dropped. Private members are listed so that
 * a key with one is refused.
 */
const Jwk = z.object({
  kty: z.string().max(16),
  kid: member(256),
  alg: member(16),
  use: member(16),
  key_ops: z.array(z.string().max(16)).max(10).optional(),
  crv: member(16),
  x: member(128),
  y: member(128),
  n: member(1024),
  e: member(16),
  d: member(1024),
  p: member(1024),
  q: member(1024),
  dp: member(1024),
  dq: member(1024),
  qi: member(1024),
  k: member(1024),
  oth: z.array(z.string().max(16)).max(1).optional(),
});

/** Keys of issuers that are not public: the contents of a JWKS document. */
const Jwks = z
  .object({ keys: z.array(Jwk).min(1).max(20) })
  .refine((jwks) => utf8(JSON.stringify(jwks)).length <= MOST_KEYS, 'must have at most 16,384 bytes')
  .openapi('TrustKeys', {
    description:
      "Public keys of the issuer, for an issuer that is not on the public Internet. By default, the keys are fetched from the issuer's discovery document.",
    example: {
      keys: [
        { kty: 'OKP', crv: 'Ed25519', kid: 'cluster-1', x: '11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo' },
      ],
    },
  });

const Lifetime = z
  .int()
  .min(60)
  .max(86_400)
  .openapi({ description: 'Lifetime of its session tokens in seconds, 3600 by default.', example: 3600 });

const Reuse = z.boolean().openapi({
  description: 'Whether a token may be exchanged more than ten times, until it ends.',
  example: false,
});

/** Fields that a trust of bound Workers does not have. */
const NOT_OF_BINDINGS = ['audiences', 'jwks', 'ttlSeconds', 'reuse', 'allowed_addresses'] as const;

const fitsBinding = (trust: Record<string, unknown>, context: z.RefinementCtx) => {
  for (const field of NOT_OF_BINDINGS) {
    // safety: binding-without-tokens
    if (trust[field] !== undefined)
      context.addIssue({
        code: 'custom',
        path: [field],
        message: `must not be sent with the issuer ${BINDING}`,
      });
  }
  const other = Object.keys((trust.claims ?? {}) as object).find((claim) => claim !== 'name');
  if (other !== undefined)
    context.addIssue({
      code: 'custom',
      path: ['claims', other],
      message: 'must be name: a binding has no other',
    });
};

const fitsIssuer = (
  { issuer, claims }: { issuer?: string; claims?: Record<string, string | string[]> },
  context: z.RefinementCtx,
) => {
  const spelling = issuer === undefined ? null : spellingProblem(issuer);
  if (spelling) context.addIssue({ code: 'custom', path: ['issuer'], message: spelling });
  const problem = issuer !== undefined && claims !== undefined ? callerProblem(issuer, claims) : null;
  if (problem) context.addIssue({ code: 'custom', path: ['claims'], message: problem });
};

export const TrustIn = z
  .strictObject({
    name: Name.openapi({ example: 'GitHub Actions: acme/app' }),
    issuer: IssuerOrBinding,
    audiences: Audiences.optional(),
    claims: Claims,
    scopes: Scopes,
    ...limitsBelow('creator'),
    allowed_addresses: Addresses.optional(),
    ttlSeconds: Lifetime.optional(),
    reuse: Reuse.optional(),
    jwks: Jwks.optional(),
  })
  .superRefine((trust, context) => {
    fitsIssuer(trust, context);
    if (trust.issuer === BINDING) fitsBinding(trust, context);
  })
  .openapi('TrustIn');

export const TrustPatch = z
  .strictObject({
    name: Name.optional(),
    issuer: Issuer.optional(),
    audiences: Audiences.optional(),
    claims: Claims.optional(),
    scopes: Scopes.optional(),
    environments: Environments.nullable().optional(),
    secrets: Patterns.nullable().optional(),
    upstreams: Patterns.nullable().optional(),
    allowed_addresses: Addresses.nullable().optional(),
    ttlSeconds: Lifetime.optional(),
    reuse: Reuse.optional(),
    jwks: Jwks.nullable()
      .optional()
      .openapi({ description: 'null removes the keys. They are then fetched from the issuer.' }),
  })
  .superRefine(fitsIssuer)
  .openapi('TrustPatch');

export const Trust = z
  .object({
    id: z.string(),
    revision: Revision,
    name: z.string(),
    issuer: z.string(),
    audiences: z.array(z.string()),
    claims: z.record(z.string(), z.union([z.string(), z.array(z.string())])),
    scopes: z.array(z.string()),
    environments: z.array(z.string()).nullable().openapi({
      description: 'Slugs of the environments that its session tokens can access. null means all.',
    }),
    secrets: z.array(z.string()).nullable().openapi({
      description: 'Patterns of the secret names that its session tokens can access. null means all.',
    }),
    upstreams: z.array(z.string()).nullable().openapi({
      description: 'Patterns of the upstreams that its session tokens can use. null means all.',
    }),
    allowed_addresses: z
      .array(z.string())
      .nullable()
      .openapi({ description: 'IP addresses and ranges. null means any address.' }),
    ttlSeconds: z.int().openapi({ example: 3600 }),
    reuse: z.boolean().openapi({ example: false }),
    jwks: z
      .object({ keys: z.array(z.record(z.string(), z.unknown())) })
      .nullable()
      .openapi({ description: 'The configured keys. null if they are fetched from the issuer.' }),
    created_by: z.string().openapi({
      description:
        'Id of the credential or member that created it, or that last made it accept other tokens.',
    }),
    parent_id: z
      .string()
      .nullable()
      .openapi({ description: 'The credential that it is revoked together with. null if there is none.' }),
    created_at: Time,
    updated_at: Time.openapi({ description: 'When it was last changed, except for its name.' }),
    expires_at: Time.nullable(),
    last_used_at: Time.nullable(),
    use_count: z.int().openapi({
      description: 'Number of requests made with its session tokens, including exchanges.',
      example: 12,
    }),
    last_used_place: z.string().nullable().openapi({ example: 'Zurich, CH (ZRH)' }),
    service: z.string().optional().openapi({
      description: 'For cloudflare:service-binding: the service that bindings of Workers name.',
      example: 'secrets-vault-service',
    }),
  })
  .openapi('Trust');
export const NewTrust = Trust.extend({
  warning: z.string().optional().openapi({
    description: 'For cloudflare:service-binding: who can use the trust.',
    example: BINDING_WARNING,
  }),
}).openapi('NewTrust');
export const TrustPage = pageOf(Trust, 'TrustPage');

export const ExchangeIn = z
  .strictObject({
    org_id: z
      .string()
      .min(1)
      .max(64)
      .openapi({ example: exampleId('org') }),
    trust_id: z
      .string()
      .min(1)
      .max(64)
      .openapi({ example: exampleId('trust') }),
    token: z
      .string()
      .min(1)
      .max(MOST_TOKEN)
      .openapi({ description: 'The OIDC token of the platform, a JWT.', example: 'eyJhbGciOiJSUzI1NiIs…' }),
  })
  .openapi('ExchangeIn');

export const Exchanged = z
  .object({
    token: z.string().openapi({ description: 'A session token, shown only once.', example: 'svcsess_…' }),
    expiresAt: Time,
    id: z.string(),
  })
  .openapi('Exchanged');

/** Keys as a JWKS document. */
const jwksOf = (keys: Record<string, IssuerKey> | null) =>
  keys ? { keys: Object.values(keys).map((key) => ({ ...key })) } : null;

/** What a binding to this service names, for a trust of bound Workers. */
export const withService = <T extends { issuer: string }>(trust: T, { settings }: BaseContext) =>
  trust.issuer === BINDING ? { ...trust, service: settings.workerName } : trust;

/** A trust in a response. */
export function trustOut({ row, environments, used }: Shown): z.infer<typeof Trust> {
  const {
    id,
    revision,
    name,
    scopes,
    secrets,
    upstreams,
    allowed_addresses,
    created_by,
    created_at,
    expires_at,
    trust,
  } = row;
  return {
    id,
    revision,
    name: name ?? '',
    issuer: trust?.issuer ?? '',
    audiences: trust?.issuer === BINDING ? [] : (trust?.audiences ?? []),
    claims: trust?.claims ?? {},
    scopes,
    environments,
    secrets,
    upstreams,
    allowed_addresses,
    ttlSeconds: trust?.ttl ?? 0,
    reuse: trust?.reuse ?? false,
    jwks: jwksOf(trust?.keys ?? null),
    created_by,
    parent_id: parentIdOf(row),
    created_at: iso(created_at),
    updated_at: iso(trust?.changed_at ?? created_at),
    expires_at: isoOrNull(expires_at),
    last_used_at: isoOrNull(used?.at ?? null),
    use_count: used?.count ?? 0,
    last_used_place: used?.place ?? null,
  };
}
