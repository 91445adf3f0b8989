// HTTP routes of workload identity. Tokens of issuers are verified here before the gate acts on them.
// Invariants: all refused exchanges have the same body, regardless of the reason; they are counted by client
// address before anything else; an issuer's token never leaves the functions in this file.

import QuickLRU from 'quick-lru';
import { BINDING } from '../../auth/authentication/bindings';
import { newToken } from '../../auth/authentication/token';
import { newId } from '../../db/ids';
import { forms } from '../../db/names';
import { macOf, readable } from '../../db/rows';
import type { CredentialRow } from '../../db/schema';
import type { Trust } from '../../db/trusts';
import { unavailable } from '../../db/unavailable';
import { checkTarget } from '../../delivery/egress';
import { ApiError, invalid, refuse, statusOf } from '../../errors';
import { refusalOf } from '../../gate/request/outcome';
import { waitOf } from '../../http/caller/refused-attempts';
import type { BaseContext, PublicAnswer, PublicContext } from '../../http/context';
import { listRoute } from '../../http/list';
import { by, route } from '../../http/route';
import { iso } from '../../http/wire';
import type { OrgKeys } from '../../keys/keyring';
import type { ExchangeInput, Given } from './gate/exchange';
import { keysOfIssuer } from './issuer';
import { readIssuerKey } from './keys';
import { verify } from './verify';
import * as wire from './wire';

const tag = 'Workload identity';
const trusts = '/orgs/{org_id}/trusts';

/** Shows a trust, also one of a stored response. */
const shownWithService = {
  resumes: true,
  render: (trust: { issuer: string }, _input: unknown, context: BaseContext) => ({
    json: wire.withService(trust, context),
  }),
} as const;

/** Fields in which null counts as omitted on creation. */
const OMITTABLE = [
  'audiences',
  'environments',
  'secrets',
  'upstreams',
  'allowed_addresses',
  'ttlSeconds',
  'reuse',
  'jwks',
];

/** The keys of a submitted JWKS, by thumbprint; 400 for an unusable key. */
async function keysIn({ keys }: { keys: unknown[] }): Promise<NonNullable<Trust['keys']>> {
  const read: NonNullable<Trust['keys']> = {};
  const ids = new Set<string>();
  for (const [index, jwk] of keys.entries()) {
    const found = await readIssuerKey(jwk);
    if (typeof found === 'string') throw new ApiError(invalid(`jwks.keys.${index}`, found));
    const kid = found.key.kid ?? '';
    if (ids.has(kid) || Object.hasOwn(read, found.thumbprint))
      throw new ApiError(
        invalid(`jwks.keys.${index}`, 'must not repeat a kid or a key. Several keys need a kid each'),
      );
    ids.add(kid);
    read[found.thumbprint] = found.key;
  }
  return read;
}

/** 400 for an issuer whose keys cannot be fetched. */
function mustBeReachable(issuer: string, { settings }: BaseContext): void {
  const problem = checkTarget(issuer, settings);
  if (problem) throw new ApiError(invalid('issuer', `${problem}, or jwks must be sent`));
}

/** 400 for http, which only test and development deployments accept. */
function mustBeHttps(issuer: string, { settings }: BaseContext): void {
  if (!issuer.startsWith('https://') && !settings.allowPrivate)
    throw new ApiError(invalid('issuer', 'must begin with https://'));
}

// ---------------------------------------------------------------- exchange

/**
 * Trusts as this isolate last read them, for addresses over their limit. They take about 20 kB each at most.
 */
const remembered = new QuickLRU<string, CredentialRow>({ maxSize: 200 });

/**
 * The trust in D1, with a verified MAC; null if there is none. The gate checks again with its own row. For an
 * address over its limit only a remembered one: a right exchange still passes, and a wrong one costs nobody
 * anything.
 */
async function trustOf(
  context: PublicContext,
  keys: OrgKeys,
  org: string,
  id: string,
  isOver: boolean,
): Promise<CredentialRow | null> {
  // safety: exchange-limited-before-database
  if (isOver) return remembered.get(id) ?? null;
  const row = await storedTrust(context, keys, org, id);
  if (row) remembered.set(id, row);
  else remembered.delete(id);
  return row;
}

async function storedTrust(
  { env, trace }: PublicContext,
  keys: OrgKeys,
  org: string,
  id: string,
): Promise<CredentialRow | null> {
  trace.d1_calls++;
  const { results } = await env.DB.prepare(
    "select * from credentials where org_id = ? and id = ? and kind = 'trust'",
  )
    .bind(org, id)
    .all<Record<string, unknown>>()
    .catch(unavailable);
  const row = results[0] ? readable('credential', results[0]) : null;
  // safety: binding-exchanges-nothing
  if (row?.trust?.issuer === BINDING) return null;
  // safety: trust-mac
  return row?.trust && row.mac === macOf(keys.row, 'credential', row) ? row : null;
}

/** The same response for every refused exchange. */
const refused = async (context: PublicContext) => ({
  refusal: await context.count(refuse('UNAUTHENTICATED')),
});

/**
 * The same for an existing trust: the reason is written to the organisation's audit log, unless this address
 * is over its limit.
 */
async function refusedFor(
  context: PublicContext,
  keys: OrgKeys,
  org: string,
  trust: string,
  reason: string,
): Promise<PublicAnswer> {
  const answer = await refused(context);
  // safety: exchange-limited-before-gate
  if (answer.refusal.code !== 'RATE_LIMITED')
    await context.ask(
      org,
      keys,
      { trust, refused: true },
      { trust, reason },
      { operation: 'auth.exchange_refused' },
    );
  return answer;
}

/** How often an exchange starts again because the trust changed in the meantime. */
const MOST_ROUNDS = 3;

async function exchange(
  context: PublicContext,
  org: string,
  trust: string,
  text: string,
): Promise<PublicAnswer> {
  const isOver = waitOf(context.request.ip) > 0;
  const mayBe = forms.trust(trust) && forms.org(org) && (!isOver || remembered.get(trust)?.org_id === org);
  const keys = mayBe ? await context.keyring.org(org) : null;
  if (!keys) return refused(context);
  for (let round = 0; round < MOST_ROUNDS; round++) {
    // The gate asks for the current row only after it has seen a genuine token.
    const row = await trustOf(context, keys, org, trust, isOver && round === 0);
    if (!row?.trust) return refused(context);
    const { issuer } = row.trust;
    const verified = await verify(text, row.trust, (kid, isDoubted) =>
      keysOfIssuer(context.env, issuer, kid, isDoubted),
    );
    if ('problem' in verified) return refusedFor(context, keys, org, trust, verified.problem);
    const { token, hash, hint } = newToken('session', org, context.deployment.tokenTag);
    const input: ExchangeInput = {
      ...verified,
      revision: row.revision,
      token: { id: newId('tok'), hash, hint },
    };
    const { outcome, rate_limit } = await context.ask(org, keys, { trust }, input);
    if (outcome.kind === 'more') continue;
    if (outcome.kind === 'ok') {
      const { id, expires_at } = outcome.data as Given;
      return { status: 201, json: { token, expiresAt: iso(expires_at), id }, rate_limit };
    }
    const refusal = refusalOf(outcome);
    // safety: exchange-refusals-alike
    return statusOf(refusal) === 401 ? refused(context) : { refusal, rate_limit };
  }
  return { refusal: refuse('UNAVAILABLE', { retry_after: 1 }) };
}

/** The ids of trusts by organisation and name, as this isolate last found them. A guess: the row decides. */
const named = new QuickLRU<string, string>({ maxSize: 500 });

/** The id of the one trust with this name; null if there is none, or several. */
async function idOfTrust(context: PublicContext, org: string, name: string): Promise<string | null> {
  const place = `${org} ${name}`;
  // safety: named-exchange-limited-before-database
  if (waitOf(context.request.ip) > 0) return named.get(place) ?? null;
  const keys = forms.org(org) && name.length <= MOST_NAME ? await context.keyring.org(org) : null;
  if (!keys) return null;
  context.trace.d1_calls++;
  const { results } = await context.env.DB.prepare(
    "select * from credentials where org_id = ? and kind = 'trust' and name = ? and revoked_at is null limit 2",
  )
    .bind(org, name)
    .all<Record<string, unknown>>()
    .catch(unavailable);
  const row = results.length === 1 && results[0] ? readable('credential', results[0]) : null;
  if (!row || row.mac !== macOf(keys.row, 'credential', row)) return null;
  named.set(place, row.id);
  return row.id;
}

const MOST_NAME = 255;

/** The same for a client that names a trust by its id or its name, as Vault's clients name a role. */
export async function exchangeForRole(
  context: PublicContext,
  org: string,
  role: string,
  text: string,
): Promise<PublicAnswer> {
  const trust = forms.trust(role) ? role : await idOfTrust(context, org, role);
  return exchange(context, org, trust ?? '', text);
}

export const trustRoutes = [
  route({
    method: 'post',
    path: trusts,
    action: 'trust.create',
    tag,
    summary: 'Create a trust',
    description:
      'A trust accepts tokens of an OIDC issuer whose claims match, and issues session tokens for them (POST /auth/exchange). It cannot hold more than its creator. A trust created by a session token or an agent is revoked together with its creator.',
    body: { schema: wire.TrustIn, nulls: OMITTABLE },
    answers: { 201: wire.NewTrust },
    refusals: ['SCOPE_EXCEEDS_PARENT', 'NOT_FOUND', 'LIMIT_REACHED'],
    ...shownWithService,
    async prepare({ body }, context) {
      const { name, issuer, claims, scopes, jwks } = body;
      const isBound = issuer === BINDING;
      if (!isBound) mustBeHttps(issuer, context);
      if (!jwks && !isBound) mustBeReachable(issuer, context);
      const id = newId('trs');
      const { environments = null, secrets = null, upstreams = null, allowed_addresses = null } = body;
      const accepted = {
        issuer,
        claims,
        audiences: isBound ? [BINDING] : (body.audiences ?? [context.base]),
        ttl: isBound ? 0 : (body.ttlSeconds ?? 3600),
        ...(body.reuse && { reuse: true }),
      };
      const trust = { ...accepted, keys: jwks ? await keysIn(jwks) : null };
      return {
        input: {
          token: { id, hash: id, hint: '' },
          name,
          scopes,
          environments,
          secrets,
          upstreams,
          allowed_addresses,
          trust,
        },
      };
    },
  }),
  listRoute({
    path: trusts,
    action: 'trust.list',
    tag,
    summary: 'List trusts',
    answers: { 200: wire.TrustPage },
    shows: (trust, context) => wire.withService(trust as { issuer: string }, context),
  }),
  route({
    method: 'get',
    path: `${trusts}/{id}`,
    action: 'trust.read',
    tag,
    summary: 'Show a trust',
    answers: { 200: wire.Trust },
    refusals: ['NOT_FOUND'],
    named: by('credential'),
    render: shownWithService.render,
  }),
  route({
    method: 'patch',
    path: `${trusts}/{id}`,
    action: 'trust.update',
    revises: true,
    tag,
    summary: 'Change a trust',
    description:
      'The change applies from the next request of each session token: a token whose workload is no longer accepted is refused, and no token holds more than the trust. The caller must hold everything the change adds, and everything the trust gives if it then accepts other tokens. To narrow it, tokens:write is enough.',
    body: { schema: wire.TrustPatch },
    answers: { 200: wire.Trust },
    refusals: ['NOT_FOUND', 'SCOPE_EXCEEDS_PARENT'],
    named: by('credential'),
    ...shownWithService,
    async prepare({ body }, context) {
      const { name = null, issuer, audiences, claims, ttlSeconds, reuse, jwks, ...rest } = body;
      if (issuer !== undefined) mustBeHttps(issuer, context);
      const trust = {
        ...(issuer !== undefined && { issuer }),
        ...(audiences && { audiences }),
        ...(claims && { claims }),
        ...(ttlSeconds !== undefined && { ttl: ttlSeconds }),
        ...(reuse !== undefined && { reuse }),
        ...(jwks !== undefined && { keys: jwks && (await keysIn(jwks)) }),
      };
      return { input: { name, ...rest, trust, allowPrivate: context.settings.allowPrivate } };
    },
  }),
  route({
    method: 'delete',
    path: `${trusts}/{id}`,
    action: 'trust.delete',
    revises: true,
    tag,
    summary: 'Delete a trust',
    description: 'Its session tokens are refused as soon as this request returns.',
    answers: { 204: null },
    refusals: ['NOT_FOUND'],
    named: by('credential'),
  }),
  route({
    method: 'post',
    path: '/auth/exchange',
    action: 'auth.exchange',
    tag,
    summary: 'Exchange an OIDC token for a session token',
    description:
      'A CI job or workload sends the OIDC token of its platform and gets a session token of the trust. RS256, PS256, ES256 and EdDSA are accepted. A token must be at most an hour old and can be exchanged at most ten times. The response to a refused exchange is the same for every reason; the audit log of the organisation contains the reason.',
    body: { schema: wire.ExchangeIn },
    answers: { 201: wire.Exchanged },
    refusals: ['LIMIT_REACHED'],
    public: ({ body }, context) => exchange(context, body.org_id, body.trust_id, body.token),
  }),
];
