// Request and response schemas of domains and of connections to identity providers.
import { z } from '@hono/zod-openapi';
import { sha256 } from '../../crypto/digest';
import { exampleId } from '../../db/ids';
import { type DomainRow, roles, type SsoConnectionRow } from '../../db/schema';
import type { SamlProvider } from '../../env';
import { Environments, iso, isoOrNull, Name, pageOf, Revision, Time, text } from '../../http/wire';
import { domainOf, recordOf } from './rules';

const DomainName = z
  .string()
  .min(1)
  .max(255)
  .transform((given, context) => {
    const found = domainOf(given);
    if ('domain' in found) return found.domain;
    context.addIssue({ code: 'custom', message: found.problem });
    return z.NEVER;
  })
  .openapi({ type: 'string', example: 'example.com' });

export const DomainIn = z.strictObject({ domain: DomainName }).openapi('DomainIn');

export const Domain = z
  .object({
    id: z.string().openapi({ example: exampleId('domain') }),
    revision: Revision,
    domain: z.string().openapi({ example: 'example.com' }),
    status: z.enum(['pending', 'verified']),
    record: z
      .object({
        type: z.literal('TXT'),
        name: z.string().openapi({ example: '_secrets-vault.example.com' }),
        value: z
          .string()
          .openapi({ example: `svc-domain-verification=${exampleId('org')}/${exampleId('domain')}` }),
      })
      .openapi({ description: 'The DNS record that proves the domain. Keep it: it is looked up daily.' }),
    verified_at: Time.nullable(),
    missing_since: Time.nullable().openapi({
      description: 'Since when the daily check has not found the record. After 7 days the domain is pending.',
    }),
    created_by: z.string(),
    created_at: Time,
  })
  .openapi('Domain');
export const DomainPage = pageOf(Domain, 'DomainPage');

export const domainOut = (row: DomainRow): z.infer<typeof Domain> => ({
  id: row.id,
  revision: row.revision,
  domain: row.domain,
  status: row.verified_at === null ? 'pending' : 'verified',
  record: recordOf(row),
  verified_at: isoOrNull(row.verified_at),
  missing_since: isoOrNull(row.missing_since),
  created_by: row.created_by,
  created_at: iso(row.created_at),
});

// ---------------------------------------------------------------- connections

const MOST_MAPPINGS = 100;
const distinct = (list: readonly string[]) => new Set(list).size === list.length;

const GivenRole = z.enum(roles.filter((role) => role !== 'owner') as ['admin', ...(typeof roles)[number][]]);
const Group = text(256).openapi({ description: 'Compared exactly.', example: 'vault-admins' });

const RoleMappings = z
  .array(z.strictObject({ group: Group, role: GivenRole, environments: Environments.optional() }))
  .max(MOST_MAPPINGS)
  .openapi({
    description: 'Roles that groups give. Of several, the one that holds most counts. None is owner.',
    example: [{ group: 'vault-admins', role: 'admin' }],
  });
const TeamMappings = z
  .array(
    z.strictObject({
      group: Group,
      team_id: z
        .string()
        .max(64)
        .openapi({ example: exampleId('team') }),
    }),
  )
  .max(MOST_MAPPINGS)
  .openapi({ description: 'Teams that groups give.' });

const fields = {
  name: Name.openapi({ example: 'Okta' }),
  issuer: z.string().min(1).max(1024).openapi({
    description: 'Exactly as the discovery document of the provider has it.',
    example: 'https://login.example.com',
  }),
  client_id: z.string().regex(/^[\x20-\x7e]{1,512}$/, 'must be 1 to 512 printable characters'),
  client_secret: z
    .string()
    .regex(/^[\x20-\x7e]{1,2048}$/, 'must be 1 to 2,048 printable characters')
    .openapi({ writeOnly: true, description: 'Encrypted, and never returned.' }),
  scopes: z
    .array(z.string().regex(/^[\x21\x23-\x5b\x5d-\x7e]{1,100}$/, 'must be an OAuth scope'))
    .min(1)
    .max(20)
    .refine(distinct, 'must not contain duplicates')
    .openapi({ description: 'openid, email and profile by default.', example: ['openid', 'email'] }),
  groups_claim: z.string().min(1).max(255).openapi({
    description: 'The claim of the ID token, or the attribute of SAML, that lists groups. groups by default.',
    example: 'groups',
  }),
  metadata_xml: z.string().min(1).max(262_144).openapi({
    description: 'Of a SAML provider: its metadata (EntityDescriptor).',
  }),
  metadata_url: z.string().min(1).max(1024).openapi({
    description: 'Of a SAML provider: where its metadata is. Send it again to read it anew.',
    example: 'https://login.example.com/metadata.xml',
  }),
  subject_attribute: z.string().min(1).max(255).nullable().openapi({
    description:
      'Of a SAML provider: the attribute with the immutable id of a person. Without one, the NameID must be persistent.',
    example: 'http://schemas.microsoft.com/identity/claims/objectidentifier',
  }),
  domains: z
    .array(z.string().max(64))
    .max(100)
    .refine(distinct, 'must not contain duplicates')
    .openapi({
      description: 'Ids of the domains whose members sign in here.',
      example: [exampleId('domain')],
    }),
  jit: z.boolean().openapi({
    description:
      'Whether a first sign-in with an address of a verified domain makes a member. false by default.',
  }),
  enforce: z.boolean().openapi({
    description: 'Whether members of the domains other than owners can sign in here only. false by default.',
  }),
  default_role: GivenRole.openapi({
    description: 'The role of those whose groups give none. viewer by default.',
    example: 'viewer',
  }),
  default_environments: Environments.nullable().openapi({
    description: 'The environments in which default_role holds, by id or slug. All by default.',
  }),
  role_mappings: RoleMappings,
  team_mappings: TeamMappings,
};

const { name, domains, issuer, client_id, client_secret, ...optional } = fields;
const oidcOnly = { issuer, client_id, client_secret };
const optionals = z.object(optional).partial().shape;

/** The fields of one kind of connection alone. */
export const OF_KIND = {
  oidc: ['issuer', 'client_id', 'client_secret', 'scopes'],
  saml: ['metadata_xml', 'metadata_url', 'subject_attribute'],
} as const;

export const SsoConnectionIn = z
  .strictObject({
    kind: z.enum(['oidc', 'saml']).openapi({ description: 'OpenID Connect, or SAML 2.0.' }),
    name,
    domains,
    ...z.object(oidcOnly).partial().shape,
    ...optionals,
  })
  .superRefine((given, context) => {
    for (const path of OF_KIND[given.kind === 'oidc' ? 'saml' : 'oidc'])
      if (given[path] !== undefined && given[path] !== null)
        context.addIssue({
          code: 'custom',
          path: [path],
          message: `is not of a connection of kind ${given.kind}`,
        });
    if (given.kind === 'oidc')
      for (const path of ['issuer', 'client_id', 'client_secret'] as const)
        if (given[path] === undefined)
          context.addIssue({ code: 'custom', path: [path], message: 'is required for kind oidc' });
    if (given.kind === 'saml' && (given.metadata_xml === undefined) === (given.metadata_url === undefined))
      context.addIssue({
        code: 'custom',
        path: ['metadata_xml'],
        message: 'must be sent for kind saml, or metadata_url in its place',
      });
  })
  .openapi('SsoConnectionIn', {
    example: {
      kind: 'oidc',
      name: 'Okta',
      domains: [exampleId('domain')],
      issuer: 'https://login.example.com',
      client_id: '0oa1b2c3d4',
      client_secret: 'the secret of the client',
    },
  });
/** Fields in which null counts as omitted when a connection is made. */
export const OMITTABLE = Object.keys(optional);

export const SsoConnectionPatch = z
  .strictObject(z.object(fields).partial().shape)
  .openapi('SsoConnectionPatch');

export const SsoConnection = z
  .object({
    id: z.string().openapi({ example: exampleId('sso_connection') }),
    revision: Revision,
    kind: z.enum(['oidc', 'saml']),
    name: z.string(),
    issuer: z.string().openapi({ example: 'https://login.example.com' }),
    client_id: z.string().nullable().openapi({ description: 'null for saml.' }),
    scopes: z.array(z.string()),
    groups_claim: z.string().openapi({ example: 'groups' }),
    metadata_url: z.string().nullable(),
    subject_attribute: z.string().nullable(),
    certificates: z
      .array(z.string())
      .openapi({ description: 'Of saml: SHA-256 of each certificate that may sign, in hexadecimal.' }),
    redirect_uri: z.string().nullable().openapi({
      description: 'Of oidc: the redirect URI to register at the provider.',
      example: 'https://vault.example.com/sso/callback',
    }),
    acs_url: z
      .string()
      .nullable()
      .openapi({ description: 'Of saml: the assertion consumer service (HTTP-POST).' }),
    entity_id: z.string().nullable().openapi({
      description:
        'Of saml: the entity id of this service for the provider, which is also the address of its metadata.',
    }),
    domains: z.array(z.string()),
    jit: z.boolean(),
    enforce: z.boolean(),
    default_role: z.enum(roles),
    default_environments: z.array(z.string()).nullable().openapi({ description: 'Slugs; null means all.' }),
    role_mappings: z.array(
      z.object({ group: z.string(), role: z.enum(roles), environments: z.array(z.string()).nullable() }),
    ),
    team_mappings: z.array(z.object({ group: z.string(), team_id: z.string() })),
    stopped_at: Time.nullable().openapi({
      description: 'When a panic stopped sign-ins by it. Any change by an owner lets them begin again.',
    }),
    created_by: z.string(),
    created_at: Time,
    updated_at: Time,
  })
  .openapi('SsoConnection');
export const SsoConnectionPage = pageOf(SsoConnection, 'SsoConnectionPage');

/** A connection as the gate shows it; the Worker adds the addresses of this deployment. */
export type Shown = Omit<z.infer<typeof SsoConnection>, 'redirect_uri' | 'acs_url' | 'entity_id'>;

/** The configuration of a connection by OpenID Connect. */
export interface OidcConfig {
  issuer: string;
  client_id: string;
  scopes: string[];
  groups_claim: string;
  provider: import('./discovery').Provider;
}

/** The configuration of a connection by SAML. */
export interface SamlConfig {
  /** The entity id of the provider. */
  issuer: string;
  groups_claim: string;
  subject_attribute: string | null;
  metadata_url: string | null;
  provider: SamlProvider;
  /** A digest of the certificates: who has their keys decides who signs in. */
  signers: string;
}

export const samlOf = ({ config }: Pick<SsoConnectionRow, 'config'>): SamlConfig =>
  config as unknown as SamlConfig;

export const oidcOf = ({ config }: Pick<SsoConnectionRow, 'config'>): OidcConfig =>
  config as unknown as OidcConfig;

/** A connection as it is shown; its environments by slug. */
export function connectionOut(row: SsoConnectionRow, slug: (id: string) => string): Shown {
  const isSaml = row.kind === 'saml';
  const { issuer, client_id, scopes, groups_claim } = oidcOf(row);
  const { metadata_url, subject_attribute, provider } = samlOf(row);
  return {
    id: row.id,
    revision: row.revision,
    kind: row.kind,
    name: row.name,
    issuer,
    client_id: isSaml ? null : client_id,
    scopes: isSaml ? [] : scopes,
    groups_claim,
    metadata_url: isSaml ? metadata_url : null,
    subject_attribute: isSaml ? subject_attribute : null,
    certificates: isSaml ? provider.certificates.map(fingerprint) : [],
    domains: row.domains,
    jit: row.jit === 1,
    enforce: row.enforce === 1,
    default_role: row.default_role,
    default_environments: row.default_environments?.map(slug) ?? null,
    role_mappings: row.role_mappings.map(({ group, role, environments }) => ({
      group,
      role,
      environments: environments?.map(slug) ?? null,
    })),
    team_mappings: row.team_mappings,
    stopped_at: isoOrNull((row.config.stopped_at as number | undefined) ?? null),
    created_by: row.created_by,
    created_at: iso(row.created_at),
    updated_at: iso(row.updated_at),
  };
}

const fingerprint = (pem: string): string =>
  sha256(Buffer.from(pem.replace(/-----[^-]*-----|\s/g, ''), 'base64'));

export const SSO_CALLBACK = '/sso/callback';
/** Where SAML providers send responses (HTTP-POST). */
export const SSO_ACS = '/sso/acs';
/** The entity id of this service for a SAML connection, and the address of its metadata. */
export const entityIdOf = (base: string, connection: string) => `${base}/sso/saml/${connection}`;
