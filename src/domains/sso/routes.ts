// HTTP routes of domains and of connections to identity providers. The Worker looks records up, asks
// providers and encrypts client secrets, after the gate has decided that the caller may do that.
import type { z } from '@hono/zod-openapi';
import { newId } from '../../db/ids';
import type { DomainRow, SsoConnectionRow } from '../../db/schema';
import { invalid } from '../../errors';
import { isRefusal } from '../../gate/request/call';
import { type Context, keysOf } from '../../http/context';
import { listRoute } from '../../http/list';
import { by, route } from '../../http/route';
import { discover } from './discovery';
import { txtRecords } from './dns';
import { decryptClientSecret, encryptClientSecret } from './encryption';
import type { Made } from './gate/connections';
import type { Found } from './gate/domains';
import { claim } from './owner';
import { recordOf } from './rules';
import { samlMade } from './saml';
import * as wire from './wire';

const tag = 'Single sign-on';
const domains = '/orgs/{org_id}/domains';
const connections = '/orgs/{org_id}/sso-connections';

/** Looks the record of a domain up, and claims the domain if it is there. */
async function lookUp(context: Context, row: DomainRow): Promise<Found> {
  const { name, value } = recordOf(row);
  const records = await txtRecords(context.settings.resolver, name);
  // safety: record-equals-exactly
  if (!records?.includes(value)) return 'missing';
  return (await claim(context, row.domain, { org: row.org_id, id: row.id })) ?? 'taken';
}

const domainRoutes = [
  route({
    method: 'post',
    path: domains,
    action: 'domain.create',
    tag,
    summary: 'Add a domain',
    description: 'The domain is pending until POST …/verify finds the record of the response in DNS.',
    body: { schema: wire.DomainIn },
    answers: { 201: wire.Domain },
    refusals: ['CONFLICT', 'LIMIT_REACHED'],
    prepare: ({ body }) => ({ input: { id: newId('dom'), domain: body.domain } }),
  }),
  listRoute({
    path: domains,
    action: 'domain.list',
    tag,
    summary: 'List domains',
    answers: { 200: wire.DomainPage },
  }),
  route({
    method: 'get',
    path: `${domains}/{id}`,
    action: 'domain.read',
    tag,
    summary: 'Show a domain',
    answers: { 200: wire.Domain },
    refusals: ['NOT_FOUND'],
    named: by('domain'),
  }),
  route({
    method: 'post',
    path: `${domains}/{id}/verify`,
    action: 'domain.verify',
    tag,
    summary: 'Verify a domain',
    description:
      'Looks the record up over DNS-over-HTTPS. A domain is verified for one organisation at a time: it is a CONFLICT until the other one deletes it.',
    answers: { 200: wire.Domain },
    refusals: ['NOT_FOUND', 'DOMAIN_NOT_VERIFIED', 'CONFLICT'],
    named: by('domain'),
    more: async (row: DomainRow, _, context) => ({ input: { found: await lookUp(context, row) } }),
  }),
  route({
    method: 'delete',
    path: `${domains}/{id}`,
    action: 'domain.delete',
    revises: true,
    tag,
    summary: 'Delete a domain',
    description: 'Its connections lose it, and another organisation can verify it.',
    answers: { 204: null },
    refusals: ['NOT_FOUND'],
    named: by('domain'),
  }),
];

/** With what the gate does not know: the address of this deployment. */
const withRedirect = (shown: wire.Shown, { base }: Pick<Context, 'base'>) => ({
  ...shown,
  redirect_uri: shown.kind === 'oidc' ? `${base}${wire.SSO_CALLBACK}` : null,
  acs_url: shown.kind === 'saml' ? `${base}${wire.SSO_ACS}` : null,
  entity_id: shown.kind === 'saml' ? wire.entityIdOf(base, shown.id) : null,
});

const SCOPES = ['openid', 'email', 'profile'];

/** A sign-in needs the scope openid. */
const withOpenid = (scopes: string[]) => (scopes.includes('openid') ? scopes : ['openid', ...scopes]);

type Fields = z.output<typeof wire.SsoConnectionPatch>;

/** What the gate gets of the body: all but what only the Worker may see. */
function givenOf(fields: Fields) {
  const { issuer, client_id, client_secret, scopes, groups_claim, ...others } = fields;
  const { metadata_xml, metadata_url, subject_attribute, ...given } = others;
  const configures = [
    ...[issuer, client_id, client_secret, scopes, groups_claim],
    ...[metadata_xml, metadata_url, subject_attribute],
  ].some((one) => one !== undefined);
  return { given, configures };
}

/** The configuration of a new or changed connection, by what its provider says now. */
async function made(context: Context, id: string, body: Fields, row: SsoConnectionRow | null): Promise<Made> {
  const revision = row?.revision ?? 0;
  const other =
    row && wire.OF_KIND[row.kind === 'oidc' ? 'saml' : 'oidc'].find((name) => body[name] !== undefined);
  if (other) return { revision, refusal: invalid(other, `is not of a connection of kind ${row.kind}`) };
  return row?.kind === 'saml' ? samlMade(context, body, row) : oidcMade(context, id, body, row);
}

async function oidcMade(
  context: Context,
  id: string,
  body: Fields,
  row: SsoConnectionRow | null,
): Promise<Made> {
  const revision = row?.revision ?? 0;
  const before = row && wire.oidcOf(row);
  const issuer = body.issuer ?? (before?.issuer as string);
  // safety: new-issuer-takes-its-own-secret
  if (before && issuer !== before.issuer && body.client_secret === undefined)
    return {
      revision,
      refusal: invalid(
        'client_secret',
        'must be sent with another issuer, which must not get the stored one',
      ),
    };
  const provider = await discover(issuer, context.settings);
  if (isRefusal(provider)) return { revision, refusal: provider };
  const keys = keysOf(context);
  const secret = body.client_secret ?? decryptClientSecret(keys, context.org, row as SsoConnectionRow);
  return {
    revision,
    config: {
      issuer,
      client_id: body.client_id ?? (before?.client_id as string),
      scopes: body.scopes ? withOpenid(body.scopes) : (before?.scopes ?? SCOPES),
      groups_claim: body.groups_claim ?? before?.groups_claim ?? 'groups',
      provider,
    },
    client_secret_sealed: encryptClientSecret(keys, context.org, id, secret),
  };
}

/** The input of the gate for a new connection. */
function newInput(body: z.output<typeof wire.SsoConnectionIn>, id: string) {
  const { kind, ...fields } = body;
  return {
    id,
    kind,
    jit: false,
    enforce: false,
    default_role: 'viewer' as const,
    default_environments: null,
    role_mappings: [],
    team_mappings: [],
    ...givenOf(fields).given,
  };
}

const connectionRoutes = [
  route({
    method: 'post',
    path: connections,
    action: 'sso_connection.create',
    tag,
    summary: 'Connect an identity provider',
    description: "Reads the provider's discovery document. No redirect is followed.",
    body: { schema: wire.SsoConnectionIn, nulls: wire.OMITTABLE },
    answers: { 201: wire.SsoConnection },
    refusals: ['REAUTHENTICATION_REQUIRED', 'LIMIT_REACHED', 'TARGET_UNREACHABLE', 'TARGET_TIMEOUT'],
    prepare: ({ body }) => ({ input: newInput(body, newId('sso')) }),
    async more({ id }: { id: string }, { body }, context) {
      const how = body.kind === 'saml' ? samlMade(context, body, null) : oidcMade(context, id, body, null);
      return { input: { ...newInput(body, id), made: await how } };
    },
    render: (shown: wire.Shown, _, context) => ({ json: withRedirect(shown, context) }),
  }),
  listRoute({
    path: connections,
    action: 'sso_connection.list',
    tag,
    summary: 'List connections to identity providers',
    answers: { 200: wire.SsoConnectionPage },
    shows: (item, context) => withRedirect(item as wire.Shown, context),
  }),
  route({
    method: 'get',
    path: `${connections}/{id}`,
    action: 'sso_connection.read',
    tag,
    summary: 'Show a connection to an identity provider',
    answers: { 200: wire.SsoConnection },
    refusals: ['NOT_FOUND'],
    named: by('sso_connection'),
    render: (shown: wire.Shown, _, context) => ({ json: withRedirect(shown, context) }),
  }),
  route({
    method: 'patch',
    path: `${connections}/{id}`,
    action: 'sso_connection.update',
    revises: true,
    tag,
    summary: 'Change a connection to an identity provider',
    description:
      'Lists are replaced as a whole. Whom a removed team mapping put into its team leaves it. Another issuer needs its own client_secret in the same request.',
    body: { schema: wire.SsoConnectionPatch },
    answers: { 200: wire.SsoConnection },
    refusals: [
      'NOT_FOUND',
      'REAUTHENTICATION_REQUIRED',
      'LIMIT_REACHED',
      'TARGET_UNREACHABLE',
      'TARGET_TIMEOUT',
    ],
    named: by('sso_connection'),
    prepare({ body }) {
      const { given, configures } = givenOf(body);
      return { input: { ...given, configures } };
    },
    async more(row: SsoConnectionRow, { body }, context) {
      const { given, configures } = givenOf(body);
      return { input: { ...given, configures, made: await made(context, row.id, body, row) } };
    },
    render: (shown: wire.Shown, _, context) => ({ json: withRedirect(shown, context) }),
  }),
  route({
    method: 'delete',
    path: `${connections}/{id}`,
    action: 'sso_connection.delete',
    revises: true,
    tag,
    summary: 'Delete a connection to an identity provider',
    description: 'Sessions that began with it end before the response is sent.',
    answers: { 204: null },
    refusals: ['NOT_FOUND', 'REAUTHENTICATION_REQUIRED'],
    named: by('sso_connection'),
  }),
];

export const ssoRoutes = [...domainRoutes, ...connectionRoutes];
