// What providers and their browsers call: the callback of a sign-in, and back-channel logout. Invariants: a
// refused sign-in is one page, the same for every reason, which stands in the audit log of the organisation
// that the browser's cookie names; no sign-in is looked at for an address over its limit; a genuine logout
// token always counts.
import { html } from 'hono/html';
import { decodeJwt, type JWTPayload } from 'jose';
import { fromUtf8 } from '../../crypto/bytes';
import { sha256 } from '../../crypto/digest';
import { idBytes, newId } from '../../db/ids';
import { ApiError, invalid, type Refusal, refuse, statusOf } from '../../errors';
import type { Ask } from '../../gate/request/call';
import { refusalOf } from '../../gate/request/outcome';
import { checking, waitOf } from '../../http/caller/refused-attempts';
import type { Incoming, PublicContext } from '../../http/context';
import { page } from '../../http/html-page';
import { readBytes } from '../../http/input/body';
import { withContext } from '../../http/public';
import { errorResponse } from '../../http/responses';
import { browserTokens, signer } from '../signin/session-tokens';
import { decryptClientSecret } from '../sso/encryption';
import { entityIdOf, type OidcConfig, SSO_ACS, SSO_CALLBACK } from '../sso/wire';
import { cleared, FLOW_LIVES, type Flow, linkCookie, readFlow, sessionOf } from './flow';
import type { LogoutInput } from './gate/logout';
import type { RefusedInput, SignedIn, SsoInput } from './gate/operations';
import type { TestInput, TestResult } from './gate/tests';
import { connectionOf, type Found } from './lookup';
import { claimsOf, type Problem, unsigned } from './provider';
import { type Person, personOf, personOfSaml, subjectOf } from './rules';
import { assertionOf } from './saml';
import { testPage } from './test-page';

const refusedPage = page(
  'Not signed in',
  html`<main class="card">
<h1>You are not signed in</h1>
<p>The sign-in by single sign-on was refused. Start it again in this browser.</p>
<p>If it is refused again, ask an owner of your organisation: the reason is in the audit log.</p>
<p><a class="button primary" href="/sign-in">Sign in</a></p>
</main>`,
);

const tooManyPage = page(
  'Too many attempts',
  html`<main class="card">
<h1>Too many attempts</h1>
<p>Too many sign-ins from your network were refused. Wait a minute, then try again.</p>
</main>`,
);

/** The page of a refused sign-in. The browser forgets the sign-in. */
function shown(refusal: Refusal, trace: Incoming['trace']): Response {
  trace.code = refusal.code;
  const isLimited = refusal.code === 'RATE_LIMITED';
  const { body, headers } = isLimited ? tooManyPage : refusedPage;
  return new Response(body, {
    status: isLimited ? 429 : 403,
    headers: {
      ...headers,
      'Set-Cookie': cleared,
      ...(refusal.retry_after !== undefined && { 'Retry-After': String(refusal.retry_after) }),
    },
  });
}

function redirect(location: string, ...cookies: string[]): Response {
  const response = new Response(null, {
    status: 303,
    headers: { Location: location, 'Referrer-Policy': 'no-referrer' },
  });
  for (const cookie of cookies) response.headers.append('Set-Cookie', cookie);
  return response;
}

const spentBy = ({ state }: Flow) => ({ digest: sha256(`sso ${state}`), until: Date.now() + FLOW_LIVES });

/** Refuses a sign-in, and tells the organisation why. */
async function refusedFor(context: PublicContext, flow: Flow, reason: string): Promise<Response> {
  const refusal = await context.count(refuse('UNAUTHENTICATED'));
  const keys = refusal.code === 'RATE_LIMITED' ? null : await context.keyring.org(flow.org);
  if (keys)
    await context.ask(
      flow.org,
      keys,
      { sso: { connection: flow.connection, refused: true, subject: null, email: null } },
      { connection: flow.connection, reason, spent: spentBy(flow) } satisfies RefusedInput,
      { operation: 'auth.sso_refused' },
    );
  return shown(refusal, context.trace);
}

/** The client secret. If it was altered, the organisation is told. */
async function secretOf(context: PublicContext, flow: Flow, { row, keys }: Found): Promise<string> {
  try {
    return decryptClientSecret(keys, flow.org, row);
  } catch (error) {
    // The alarm follows this call: before it, no gate was asked.
    // safety: altered-client-secret-told
    await refusedFor(context, flow, 'the stored client secret of the connection was altered');
    throw error;
  }
}

/** Whom the provider has sent back, and what it said of them; or why nobody. */
interface Back {
  said: object | null;
  who: Person | { problem: string };
}
const nobody = (problem: string): Back => ({ said: null, who: { problem } });

async function personBack(
  context: PublicContext,
  flow: Flow,
  found: Found,
  query: URLSearchParams,
): Promise<Back> {
  const { row, config } = found;
  // safety: sso-issuer-of-the-start
  if (config.issuer !== flow.issuer) return nobody('the connection has another issuer than at the start');
  if (found.kind === 'saml') {
    const { config: saml } = found;
    const asserted = await checking(context, () => assertionOf(context, row.id, saml, query, flow.state));
    if (typeof asserted === 'number') throw new ApiError(refuse('RATE_LIMITED', { retry_after: asserted }));
    if ('problem' in asserted) return nobody(asserted.problem);
    const who = personOfSaml(found.config, asserted, row) ?? {
      problem: 'the assertion has no lasting id of the person: a persistent NameID, or subject_attribute',
    };
    return { said: asserted, who };
  }
  const secret = await secretOf(context, flow, found);
  const { state, nonce, verifier } = flow;
  const claims = await claimsOf(context, found.config, query, {
    state,
    nonce,
    verifier,
    secret,
    redirect_uri: context.base + SSO_CALLBACK,
    confirms: flow.confirms !== undefined,
  });
  if ('problem' in claims) return nobody((claims as Problem).problem);
  const who = personOf(config.issuer, claims, row, config.groups_claim) ?? {
    problem: 'the ID token identifies nobody of this issuer',
  };
  return { said: claims, who };
}

/** What a provider sent back to the browser that began a sign-in, or the test of a connection. */
async function answered(
  context: PublicContext,
  kind: Flow['kind'],
  query: URLSearchParams,
): Promise<Response> {
  const flow = readFlow(context.deployment, context.headers);
  const session = flow?.kind === kind && !flow.link ? sessionOf(context.deployment, flow) : null;
  // Another browser's, or none: it names no organisation to tell.
  // safety: sso-flow-of-this-browser
  if (!flow || !session) return shown(await context.count(refuse('UNAUTHENTICATED')), context.trace);
  const found = await connectionOf(context, flow.connection);
  if (found?.org !== flow.org || found.kind !== kind)
    return refusedFor(context, flow, 'the connection was deleted');
  const back = await personBack(context, flow, found, query);
  // safety: sso-test-signs-nobody-in
  if (flow.tests) return tested(context, { ...flow, tests: flow.tests }, found, back);
  return 'problem' in back.who
    ? refusedFor(context, flow, back.who.problem)
    : signIn(context, flow, found, back.who, session);
}

/** Shows an owner what the provider said, and what a sign-in would have done. */
async function tested(
  context: PublicContext,
  flow: Flow & Required<Pick<Flow, 'tests'>>,
  found: Found,
  { said, who }: Back,
): Promise<Response> {
  const isNobody = 'problem' in who;
  const input: TestInput = {
    connection: flow.connection,
    revision: found.row.revision,
    person: isNobody ? null : who,
    problem: isNobody ? who.problem : null,
    spent: spentBy(flow),
  };
  const how = { operation: 'auth.sso_test' };
  const { outcome, rate_limit } = await context.ask(flow.org, found.keys, flow.tests, input, how);
  if (outcome.kind !== 'ok') {
    const refusal = refusalOf(outcome);
    if (statusOf(refusal) >= 500) return errorResponse(refusal, context.base, context.trace, rate_limit);
    return shown(await context.count(refusal), context.trace);
  }
  const { body, headers } = testPage(found.row.name, input.person, said, outcome.data as TestResult);
  return new Response(body, { headers: { ...headers, 'Set-Cookie': cleared } });
}

async function signIn(
  context: PublicContext,
  flow: Flow,
  found: Found,
  person: Person,
  session: string,
): Promise<Response> {
  // The key is fetched first, so no session begins whose tokens cannot be signed.
  const key = await signer(context);
  const bearer: Ask['bearer'] = {
    sso: { connection: flow.connection, subject: person, email: person.email },
  };
  const input: SsoInput = {
    connection: flow.connection,
    revision: found.row.revision,
    person,
    spent: spentBy(flow),
    session: flow.confirms ?? session,
    member: newId('mem'),
  };
  const { outcome, rate_limit } = await context.ask(flow.org, found.keys, bearer, input, {
    operation: flow.confirms === undefined ? 'auth.sso' : 'auth.sso_confirm',
  });
  if (outcome.kind !== 'ok') {
    const refusal = refusalOf(outcome);
    if (statusOf(refusal) >= 500) return errorResponse(refusal, context.base, context.trace, rate_limit);
    return shown(await context.count(refusal), context.trace);
  }
  const data = outcome.data as SignedIn;
  if (data.is === 'asked') {
    const link = { person, member: data.member, session };
    const waiting = { ...flow, link, until: Date.now() + FLOW_LIVES };
    return redirect(`/sso/link#${flow.return_to}`, linkCookie(context.deployment, waiting));
  }
  const { headers } = await browserTokens(context, flow.org, key, data.begun);
  return redirect(flow.return_to, headers?.['Set-Cookie'] ?? '', cleared);
}

function answerBack(
  incoming: Incoming,
  kind: Flow['kind'],
  read: () => Promise<URLSearchParams>,
): Promise<Response> {
  const wait = waitOf(incoming.facts.ip);
  if (wait) return Promise.resolve(shown(refuse('RATE_LIMITED', { retry_after: wait }), incoming.trace));
  return withContext('auth.sso', incoming, async (context) => answered(context, kind, await read()));
}

/** `GET /sso/callback`. */
export const answerCallback = (incoming: Incoming): Promise<Response> =>
  answerBack(incoming, 'oidc', async () => new URL(incoming.request.url).searchParams);

/** `POST /sso/acs`: the assertion consumer service. A response that is no form has no fields. */
export const answerAcs = (incoming: Incoming): Promise<Response> =>
  answerBack(incoming, 'saml', async () => (await formOf(incoming)) ?? new URLSearchParams());

/** `GET /sso/saml/{connection_id}`: the metadata of this service. The same for every id. */
export function answerMetadata({ base, params, trace }: Incoming): Promise<Response> {
  const id = params.connection_id ?? '';
  if (!idBytes('sso', id)) return Promise.resolve(errorResponse(refuse('NOT_FOUND'), base, trace));
  const protocol = 'urn:oasis:names:tc:SAML:2.0';
  const xml = `<?xml version="1.0"?>
<md:EntityDescriptor xmlns:md="${protocol}:metadata" entityID="${entityIdOf(base, id)}">
<md:SPSSODescriptor AuthnRequestsSigned="false" WantAssertionsSigned="true" protocolSupportEnumeration="${protocol}:protocol">
<md:NameIDFormat>${protocol}:nameid-format:persistent</md:NameIDFormat>
<md:AssertionConsumerService Binding="${protocol}:bindings:HTTP-POST" Location="${base}${SSO_ACS}" index="0" isDefault="true"/>
</md:SPSSODescriptor>
</md:EntityDescriptor>
`;
  return Promise.resolve(
    new Response(xml, {
      headers: { 'Content-Type': 'application/samlmetadata+xml', 'Cache-Control': 'no-store' },
    }),
  );
}

// ---------------------------------------------------------------- back-channel logout

const EVENT = 'http://schemas.openid.net/event/backchannel-logout';
/** How old a logout token may be, and how far ahead of ours the provider's clock, in seconds. */
const MOST_AGE = 300;
const AHEAD = 30;

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** What a genuine logout token ends; null for any other token (OpenID Connect Back-Channel Logout 1.0). */
function endedBy(
  config: OidcConfig,
  claims: JWTPayload,
  now: number,
): Omit<LogoutInput, 'connection'> | null {
  const { iss, aud, iat, jti, events, sid } = claims;
  const isOurs = iss === config.issuer && [aud].flat().includes(config.client_id);
  const isRecent = typeof iat === 'number' && iat <= now + AHEAD && iat > now - MOST_AGE;
  const isLogout = isObject(events) && isObject(events[EVENT]) && claims.nonce === undefined;
  // safety: sso-logout-token
  if (!isOurs || !isRecent || !isLogout || typeof jti !== 'string' || jti === '' || jti.length > 255)
    return null;
  const subject = subjectOf(config.issuer, claims);
  const session = typeof sid === 'string' && sid !== '' ? sid : null;
  if (subject === null && session === null) return null;
  return {
    subject: subject === null ? null : { issuer: config.issuer, subject },
    sid: session,
    spent: { digest: sha256(`sso-logout ${config.issuer} ${jti}`), until: (now + 2 * MOST_AGE) * 1000 },
  };
}

/** The fields of a form; null if the body is none. */
async function formOf({ request }: Incoming): Promise<URLSearchParams | null> {
  const bytes = await readBytes(request);
  const isForm = /^application\/x-www-form-urlencoded\s*(;|$)/i.test(
    request.headers.get('content-type') ?? '',
  );
  const text = bytes && isForm ? fromUtf8(bytes) : null;
  return text === null ? null : new URLSearchParams(text);
}

/** The logout token of a form; null if there is not exactly one. */
async function logoutTokenOf(incoming: Incoming): Promise<string | null> {
  const [token, ...more] = (await formOf(incoming))?.getAll('logout_token') ?? [];
  return token !== undefined && more.length === 0 ? token : null;
}

async function logout(context: PublicContext, incoming: Incoming): Promise<Response> {
  const { base, trace } = context;
  const no = async () =>
    errorResponse(await context.count(invalid('logout_token', 'was not accepted')), base, trace);
  const token = await logoutTokenOf(incoming);
  const found = token === null ? null : await connectionOf(context, incoming.params.connection_id ?? '');
  if (token === null || found?.kind !== 'oidc') return no();
  const { org, keys, row, config } = found;
  const problem = await unsigned(context, config.issuer, token);
  const ends = problem === null ? endedBy(config, decodeJwt(token), Math.floor(Date.now() / 1000)) : null;
  if (!ends) return no();
  const input: LogoutInput = { connection: row.id, ...ends };
  const { outcome, rate_limit } = await context.ask(
    org,
    keys,
    { sso: { connection: row.id, subject: null, email: null } },
    input,
  );
  if (outcome.kind === 'ok') return new Response(null, { status: 200 });
  const refusal = refusalOf(outcome);
  return statusOf(refusal) >= 429 ? errorResponse(refusal, base, trace, rate_limit) : no();
}

/**
 * `POST /sso/{connection_id}/logout`. An address over its limit is not refused before its token is verified:
 * the customers of a provider share its addresses, and one of them could keep the sessions of others alive.
 */
export const answerLogout = (incoming: Incoming): Promise<Response> =>
  withContext('auth.sso_logout', incoming, (context) => logout(context, incoming));
