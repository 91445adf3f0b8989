// HTTP routes of single sign-on that our own pages call; what a provider calls is in pages.ts. Invariants: an
// unknown domain has the same answer as one without a connection; a sign-in is bound to the browser that
// began it; a link takes the passkey of the member whom the provider named.
import { newChallenge, readChallenge, readHandle } from '../../auth/authentication/proofs';
import { newId } from '../../db/ids';
import { ApiError, refuse, statusOf } from '../../errors';
import type { Ask } from '../../gate/request/call';
import { refusalOf } from '../../gate/request/outcome';
import type { PublicAnswer, PublicContext } from '../../http/context';
import { listRoute } from '../../http/list';
import { by, route } from '../../http/route';
import { isJwt, readSession } from '../../keys/jwt';
import { signingKeysOf } from '../../keys/signing';
import { challengeOf, requestOptions, verifyAssertion } from '../passkeys/webauthn';
import { RequestOptions } from '../passkeys/wire';
import { passkeyOf } from '../signin/lookup';
import { browserTokens, signedIn, signer } from '../signin/session-tokens';
import { SignedIn as SignedInOut } from '../signin/wire';
import { begin } from './begin';
import { type Flow, readFlow } from './flow';
import type { Confirmable, SignedIn, SsoInput } from './gate/operations';
import type { Testable } from './gate/tests';
import { connectionFor, connectionOf } from './lookup';
import * as wire from './wire';

const tag = 'Single sign-on';

/** Whether another site asks. Programs send no Origin. */
const isElsewhere = ({ headers, base }: PublicContext) => ![null, base].includes(headers.get('origin'));

/** The session that calls, by its JWT. */
async function callerOf({ env, deployment, base, headers }: PublicContext) {
  const [, token] = /^Bearer +([\x21-\x7e]{1,2048}) *$/i.exec(headers.get('authorization') ?? '') ?? [];
  return token !== undefined && isJwt(token)
    ? readSession(signingKeysOf(env.DB, deployment), base, token)
    : null;
}

/** The same response for every address and connection that nobody signs in by. */
const unknown = async (context: PublicContext) => ({ refusal: await context.count(refuse('SSO_NOT_FOUND')) });

/** Begins a sign-in that confirms the calling session. */
async function beginConfirmation(context: PublicContext, return_to?: string): Promise<PublicAnswer> {
  const caller = await callerOf(context);
  if (!caller) return { refusal: await context.count(refuse('UNAUTHENTICATED')) };
  if (caller.isExpired) return { refusal: refuse('TOKEN_EXPIRED') };
  const keys = await context.keyring.org(caller.ref.org);
  if (!keys) return { refusal: refuse('UNAUTHENTICATED') };
  const { outcome, rate_limit } = await context.ask(
    caller.ref.org,
    keys,
    caller.ref,
    {},
    { operation: 'auth.sso_confirm_start' },
  );
  if (outcome.kind !== 'ok') return { refusal: refusalOf(outcome), rate_limit };
  const { session, connection } = outcome.data as Confirmable;
  const found = await connectionOf(context, connection);
  return found?.org === caller.ref.org
    ? begin(context, found, { return_to, confirms: session })
    : { refusal: refuse('SSO_NOT_FOUND') };
}

// ---------------------------------------------------------------- links

/** The purpose that a challenge for a link is bound to. */
const linking = ({ org, state }: Flow) => ['sso-link', org, state];

/** The link that this browser has to finish. */
function pending(context: PublicContext): (Flow & Required<Pick<Flow, 'link'>>) | null {
  const flow = readFlow(context.deployment, context.headers);
  return flow?.link ? { ...flow, link: flow.link } : null;
}

const refused = async (context: PublicContext) => ({
  refusal: await context.count(refuse('UNAUTHENTICATED')),
});

async function link(
  context: PublicContext,
  response: Parameters<typeof verifyAssertion>[1],
): Promise<PublicAnswer> {
  const flow = pending(context);
  const found = flow && (await connectionOf(context, flow.connection));
  if (!flow || found?.org !== flow.org) return refused(context);
  // safety: sso-link-by-the-issuer-of-the-start
  if (found.config.issuer !== flow.issuer) return refused(context);
  const { keys, row } = found;
  const { person, member, session } = flow.link;
  const challenge = challengeOf(response.response.clientDataJSON);
  const { proof } = context.deployment;
  const who = readHandle(proof, response.response.userHandle ?? '');
  // safety: sso-link-of-this-browser
  if (
    !readChallenge(proof, linking(flow), challenge, 'ses') ||
    who?.org !== flow.org ||
    who.member !== member
  )
    return refused(context);
  const passkey = await passkeyOf(context, keys, flow.org, member, response.id);
  const used = await verifyAssertion(context.base, response, challenge, passkey);
  if (!used || !passkey) return refused(context);
  const key = await signer(context);
  const input: SsoInput = {
    connection: flow.connection,
    revision: row.revision,
    person,
    spent: null,
    session,
    member: newId('mem'),
    passkey: { id: passkey.id, credential_id: passkey.credential_id, member, ...used },
  };
  const bearer: Ask['bearer'] = {
    sso: { connection: flow.connection, subject: person, email: person.email },
  };
  const reply = await context.ask(flow.org, keys, bearer, input);
  const { outcome } = reply;
  if (outcome.kind === 'refused' && statusOf(outcome.refusal) < 500) return refused(context);
  if (outcome.kind !== 'ok') return { refusal: refusalOf(outcome) };
  const data = outcome.data as SignedIn;
  if (data.is !== 'begun') return refused(context);
  return signedIn(
    context,
    flow.org,
    key,
    { ...reply, outcome: { ...outcome, data: data.begun } },
    browserTokens,
  );
}

export const ssoSigninRoutes = [
  route({
    method: 'post',
    path: '/auth/sso/start',
    action: 'auth.sso',
    operation: 'auth.sso_start',
    tag,
    summary: 'Start a sign-in by single sign-on',
    description:
      'Send the browser to url. The provider sends it back to /sso/callback, within ten minutes. With confirm, and the JWT of a session that single sign-on began, the sign-in confirms that session for five minutes; a member who has a passkey confirms with it instead.',
    body: { schema: wire.StartIn },
    answers: { 200: wire.Started },
    refusals: ['SSO_NOT_FOUND', 'ORIGIN_NOT_ALLOWED', 'CONFLICT', 'TOKEN_EXPIRED', 'TOKEN_REVOKED'],
    async public({ body: { email, connection_id, confirm, return_to } }, context) {
      if (isElsewhere(context)) return { refusal: refuse('ORIGIN_NOT_ALLOWED') };
      if (confirm) return beginConfirmation(context, return_to);
      const found =
        connection_id === undefined
          ? await connectionFor(context, email as string)
          : await connectionOf(context, connection_id);
      return found ? begin(context, found, { return_to, hint: email ?? null }) : unknown(context);
    },
  }),
  route({
    method: 'post',
    path: '/auth/sso/link/options',
    action: 'auth.sso',
    operation: 'auth.sso_link_options',
    tag,
    summary: 'Get options to link an identity with a passkey',
    description: 'For the page /sso/link, in the browser that the provider sent back.',
    body: { schema: wire.LinkOptionsIn, optional: true },
    answers: { 200: RequestOptions },
    refusals: ['ORIGIN_NOT_ALLOWED'],
    async public(_, context) {
      if (isElsewhere(context)) return { refusal: refuse('ORIGIN_NOT_ALLOWED') };
      const flow = pending(context);
      if (!flow) return refused(context);
      const challenge = newChallenge(context.deployment.proof, linking(flow));
      return { status: 200, json: requestOptions(context.base, challenge) };
    },
  }),
  route({
    method: 'post',
    path: '/auth/sso/link',
    action: 'auth.sso',
    operation: 'auth.sso_link',
    tag,
    summary: 'Link an identity with a passkey',
    description:
      'Links the identity to the member and signs in. The session counts as confirmed. The response to a refused link is the same for every reason.',
    body: { schema: wire.LinkIn },
    answers: { 200: SignedInOut },
    refusals: ['ORIGIN_NOT_ALLOWED'],
    async public({ body: { response } }, context) {
      return isElsewhere(context) ? { refusal: refuse('ORIGIN_NOT_ALLOWED') } : link(context, response);
    },
  }),
  route({
    method: 'post',
    path: '/orgs/{org_id}/sso-connections/{id}/test',
    action: 'sso_connection.test',
    tag,
    summary: 'Test a connection to an identity provider',
    description:
      'Send this browser to url. The provider sends it back, within ten minutes, to a page with the claims and what they would give. Nobody is signed in, and nothing is changed. For an owner in a confirmed browser session, which must still be signed in then.',
    answers: { 200: wire.Started },
    refusals: ['NOT_FOUND', 'REAUTHENTICATION_REQUIRED'],
    named: by('sso_connection'),
    unkept: true,
    async render({ tests, connection }: Testable, _, context) {
      const found = await connectionOf(context, connection);
      // The gate has the connection, and D1 has not yet heard of it.
      if (found?.org !== context.org) throw new ApiError(refuse('UNAVAILABLE', { retry_after: 1 }));
      const { json, headers } = await begin(context, found, { tests });
      return { json, headers };
    },
  }),
  listRoute({
    path: '/orgs/{org_id}/members/{id}/links',
    action: 'member.links',
    tag,
    summary: "List a member's links to identity providers",
    answers: { 200: wire.SsoLinkPage },
    refusals: ['NOT_FOUND'],
    named: by('member'),
  }),
  route({
    method: 'delete',
    path: '/orgs/{org_id}/members/{id}/links',
    action: 'member.unlink',
    tag,
    summary: "Free a member's links to identity providers",
    description:
      'Ends their sessions by single sign-on. The member links anew at the next sign-in, as if for the first time. For an owner in a confirmed browser session.',
    answers: { 204: null },
    refusals: ['NOT_FOUND'],
    named: by('member'),
  }),
];
