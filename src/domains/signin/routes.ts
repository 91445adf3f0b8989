// HTTP routes of sign-in. Proofs are verified here before a gate acts on them. Invariants: all refused logins
// have the same body, regardless of the reason; only refresh and logout read the cookie, and only from our
// own pages; a refresh token is never accepted from a page.

import { parse } from 'hono/utils/cookie';
import {
  newChallenge,
  type RefreshCookie,
  readChallenge,
  readCookie,
  readHandle,
  readRefreshToken,
  userHandle,
} from '../../auth/authentication/proofs';
import { newId } from '../../db/ids';
import { invalid, refuse, statusOf } from '../../errors';
import { type Context, keysOf, type PublicAnswer, type PublicContext } from '../../http/context';
import { listRoute } from '../../http/list';
import { type Input, route } from '../../http/route';
import {
  challengeOf,
  creationOptions,
  requestOptions,
  verifyAssertion,
  verifyCreation,
} from '../passkeys/webauthn';
import { type Assertion, CreationOptions, RequestOptions } from '../passkeys/wire';
import type { Confirming } from './gate/operations';
import type { Begun } from './gate/sessions';
import { enrolmentOf, passkeyOf } from './lookup';
import { browserTokens, COOKIE, cleared, signedIn, signer, terminalTokens } from './session-tokens';
import * as wire from './wire';

const LOGIN = ['login'];
/** The purpose that a challenge for enrolling is bound to. */
const enrolling = (hash: string) => ['enrol', hash];

/** The purpose that a challenge for confirming a session is bound to. */
const confirming = (org: string, { session, since }: Confirming) => ['confirm', org, session, String(since)];

/** The member's passkey that an assertion proves, and what it changes; null for any other assertion. */
async function provenBy(context: Context, asked: Confirming, response: Assertion) {
  const { deployment, org, base } = context;
  const challenge = challengeOf(response.response.clientDataJSON);
  const { userHandle } = response.response;
  const who = userHandle ? readHandle(deployment.proof, userHandle) : { org, member: asked.member };
  if (!readChallenge(deployment.proof, confirming(org, asked), challenge, 'ses')) return null;
  // safety: passkey-of-this-member
  if (who?.org !== org || who.member !== asked.member) return null;
  const passkey = await passkeyOf(context, keysOf(context), org, asked.member, response.id);
  const used = await verifyAssertion(base, response, challenge, passkey);
  return used && passkey ? { id: passkey.id, credential_id: passkey.credential_id, ...used } : null;
}

const gone = async (context: PublicContext) => ({ refusal: await context.count(refuse('ENROLMENT_GONE')) });
/** The same response for every refused login. */
const refused = async (context: PublicContext) => ({
  refusal: await context.count(refuse('UNAUTHENTICATED')),
});

const isOurPage = ({ headers, base }: PublicContext) => headers.get('origin') === base;

/** The cookie of a request; null if it is not ours, undefined if there is none. */
function cookieOf({ headers, deployment }: PublicContext): RefreshCookie | null | undefined {
  const cookie = parse(headers.get('cookie') ?? '', COOKIE)[COOKIE];
  return cookie === undefined ? undefined : readCookie(deployment.proof, cookie);
}

/** Refreshes a terminal session. Pages may not: a refresh token there would be within reach of scripts. */
async function refreshTerminal(text: string, context: PublicContext): Promise<PublicAnswer> {
  // safety: refresh-token-without-cookie
  if (cookieOf(context) !== undefined)
    return { refusal: invalid('refresh_token', 'must not be sent together with the refresh cookie') };
  // safety: refresh-token-without-origin
  if (context.headers.get('origin') !== null)
    return { refusal: refuse('ORIGIN_NOT_ALLOWED', { message: NOT_FROM_PAGES }) };
  const token = readRefreshToken(context.deployment.proof, text);
  const keys = token && (await context.keyring.org(token.org));
  if (!token || !keys) return refused(context);
  const key = await signer(context);
  const { org, session, n } = token;
  const reply = await context.ask(org, keys, { kind: 'browser', org, hash: session }, { n });
  const { outcome, rate_limit } = reply;
  if (outcome.kind === 'ok' && outcome.status === 401)
    return { refusal: refuse('TOKEN_REVOKED'), rate_limit };
  return signedIn(context, org, key, reply, terminalTokens);
}

const NOT_FROM_PAGES = 'A refresh token is not accepted from a web page. Send it without an Origin header.';

const sessions = '/auth/sessions';
export const signinRoutes = [
  route({
    method: 'post',
    path: '/auth/enrol/options',
    action: 'auth.enrol',
    operation: 'auth.enrol_options',
    tag: 'Sign-in',
    summary: 'Get options to register a passkey with a link',
    description: 'Pass them to navigator.credentials.create(). The options work once, within five minutes.',
    body: { schema: wire.EnrolOptionsIn },
    answers: { 200: CreationOptions },
    refusals: ['ENROLMENT_GONE'],
    async public({ body }, context) {
      const found = await enrolmentOf(body.token, context);
      if (!found) return gone(context);
      const { org, hash, member, passkeys } = found;
      const { base, deployment } = context;
      const { email, name } = member;
      const handle = userHandle(deployment.proof, org, member.id);
      const challenge = newChallenge(deployment.proof, enrolling(hash));
      return {
        status: 200,
        json: await creationOptions(base, challenge, { handle, email, name, has: passkeys }),
      };
    },
  }),
  route({
    method: 'post',
    path: '/auth/enrol',
    action: 'auth.enrol',
    tag: 'Sign-in',
    summary: 'Register a passkey with an enrolment link',
    description:
      'Uses up the enrolment link and signs in. Existing passkeys of the member are kept. Sets the refresh cookie.',
    body: { schema: wire.EnrolIn },
    answers: { 200: wire.SignedIn },
    refusals: ['ENROLMENT_GONE', 'SSO_REQUIRED', 'CONFLICT', 'LIMIT_REACHED'],
    async public({ body }, context) {
      const found = await enrolmentOf(body.token, context);
      if (!found) return gone(context);
      const { org, keys, hash, member } = found;
      const challenge = challengeOf(body.response.response.clientDataJSON);
      const session = readChallenge(context.deployment.proof, enrolling(hash), challenge, 'ses');
      const made = session && (await verifyCreation(context.base, body.response, challenge));
      if (!made)
        return {
          refusal: await context.count(
            invalid(
              'response',
              'must answer options that were issued in the last five minutes and not used yet',
            ),
          ),
        };
      const key = await signer(context);
      const passkey = { id: newId('psk'), ...made };
      const reply = await context.ask(
        org,
        keys,
        { member: member.id },
        { session, enrolment: hash, passkey },
      );
      const { outcome } = reply;
      if (outcome.kind === 'refused' && ['ENROLMENT_GONE', 'UNAUTHENTICATED'].includes(outcome.refusal.code))
        return gone(context);
      return signedIn(context, org, key, reply, browserTokens);
    },
  }),
  route({
    method: 'post',
    path: '/auth/login/options',
    action: 'auth.login',
    operation: 'auth.login_options',
    tag: 'Sign-in',
    summary: 'Get options to sign in',
    description:
      'Pass them to navigator.credentials.get(). They do not name a member, and work once, within five minutes.',
    body: { schema: wire.LoginOptionsIn, optional: true },
    answers: { 200: RequestOptions },
    public: async (_, { base, deployment }) => ({
      status: 200,
      json: requestOptions(base, newChallenge(deployment.proof, LOGIN)),
    }),
  }),
  route({
    method: 'post',
    path: '/auth/login',
    action: 'auth.login',
    tag: 'Sign-in',
    summary: 'Sign in with a passkey',
    description:
      'Sets the refresh cookie. The response to a refused sign-in is the same for every reason, except SSO_REQUIRED.',
    body: { schema: wire.LoginIn },
    answers: { 200: wire.SignedIn },
    refusals: ['SSO_REQUIRED'],
    async public({ body: { response } }, context) {
      const { deployment, keyring, base } = context;
      const challenge = challengeOf(response.response.clientDataJSON);
      const session = readChallenge(deployment.proof, LOGIN, challenge, 'ses');
      const who = readHandle(deployment.proof, response.response.userHandle ?? '');
      if (!session || !who) return refused(context);
      const keys = await keyring.org(who.org);
      const passkey = keys && (await passkeyOf(context, keys, who.org, who.member, response.id));
      const used = await verifyAssertion(base, response, challenge, passkey);
      if (!used || !keys || !passkey) return refused(context);
      const key = await signer(context);
      const { id, credential_id } = passkey;
      const input = { session, passkey: { id, credential_id, ...used } };
      const reply = await context.ask(who.org, keys, { member: who.member }, input);
      const { outcome } = reply;
      // Whoever has proved a passkey may know that it does not serve.
      if (outcome.kind === 'refused' && outcome.refusal.code === 'SSO_REQUIRED')
        return { refusal: await context.count(outcome.refusal) };
      if (outcome.kind === 'refused' && statusOf(outcome.refusal) < 500) return refused(context);
      return signedIn(context, who.org, key, reply, browserTokens);
    },
  }),
  route({
    method: 'post',
    path: '/auth/confirm/options',
    action: 'auth.confirm',
    operation: 'auth.confirm_options',
    tag: 'Sign-in',
    summary: 'Get options to confirm a browser session',
    description:
      "Pass them to navigator.credentials.get(). They name the member's passkeys, and work once, in this browser session, within five minutes.",
    body: { schema: wire.LoginOptionsIn, optional: true },
    answers: { 200: RequestOptions },
    unkept: true,
    render: (
      { passkeys, ...asked }: Confirming & { passkeys: string[] },
      _: Input,
      { base, deployment, org }: Context,
    ) => ({
      json: requestOptions(base, newChallenge(deployment.proof, confirming(org, asked)), passkeys),
    }),
  }),
  route({
    method: 'post',
    path: '/auth/confirm',
    action: 'auth.confirm',
    tag: 'Sign-in',
    summary: 'Confirm a browser session with a passkey',
    description:
      'The browser session counts as confirmed for five minutes, with the JWT in the response and those from later refreshes. Sets the refresh cookie. Earlier refresh cookies are no longer valid, and using one ends the session. The response to a refused confirmation is the same for every reason.',
    body: { schema: wire.LoginIn },
    answers: { 200: wire.SignedIn },
    unkept: true,
    prepare: () => ({ input: { since: 0, passkey: null } }),
    async more(asked: Confirming, { body }, context) {
      const passkey = await provenBy(context, asked, body.response);
      // The key is fetched first, so nothing is confirmed whose token cannot be signed.
      if (passkey) await signer(context);
      return { input: { since: asked.since, passkey } };
    },
    render: async (begun: Begun, _: Input, context: Context) =>
      browserTokens(context, context.org, await signer(context), begun),
  }),
  route({
    method: 'post',
    path: '/auth/refresh',
    action: 'auth.refresh',
    tag: 'Sign-in',
    summary: 'Refresh a session',
    description:
      'A page of this deployment sends no body: the request uses the refresh cookie and sets a new one. A terminal sends its refresh_token, without a cookie or Origin, and gets a new one in the body. Both get a new JWT. Each cookie and refresh token works once. Using one again ends the session, except within ten seconds: the response may have been lost, so the repeat gets a new one.',
    body: { schema: wire.RefreshIn, optional: true },
    answers: { 200: wire.Refreshed },
    refusals: ['ORIGIN_NOT_ALLOWED'],
    async public({ body }, context) {
      if (body.refresh_token !== undefined) return refreshTerminal(body.refresh_token, context);
      if (!isOurPage(context)) return { refusal: refuse('ORIGIN_NOT_ALLOWED') };
      const cookie = cookieOf(context);
      // A request without a cookie is not a failed attempt: a page sends it because it cannot see whether it
      // has one.
      if (cookie === undefined) return { refusal: refuse('UNAUTHENTICATED') };
      const keys = cookie && (await context.keyring.org(cookie.org));
      if (!cookie || !keys) return { ...(await refused(context)), headers: cleared };
      const key = await signer(context);
      const { org, session, n } = cookie;
      const reply = await context.ask(org, keys, { kind: 'browser', org, hash: session }, { n });
      const { outcome, rate_limit } = reply;
      if (outcome.kind === 'ok' && outcome.status === 401)
        return { refusal: refuse('TOKEN_REVOKED'), headers: cleared, rate_limit };
      if (outcome.kind === 'refused' && statusOf(outcome.refusal) === 401)
        return { refusal: outcome.refusal, headers: cleared, rate_limit };
      return signedIn(context, org, key, reply, browserTokens);
    },
  }),
  route({
    method: 'post',
    path: '/auth/logout',
    action: 'auth.logout',
    tag: 'Sign-in',
    summary: 'Sign out',
    description:
      'Uses the refresh cookie, from a page of this deployment. Ends the browser session and its JWTs immediately and clears the cookie. Safe to repeat.',
    answers: { 204: null },
    refusals: ['ORIGIN_NOT_ALLOWED'],
    async public(_, context) {
      if (!isOurPage(context)) return { refusal: refuse('ORIGIN_NOT_ALLOWED') };
      const cookie = cookieOf(context);
      const keys = cookie && (await context.keyring.org(cookie.org));
      if (!cookie || !keys) return { status: 204, headers: cleared };
      const { org, session } = cookie;
      const { outcome, rate_limit } = await context.ask(
        org,
        keys,
        { kind: 'browser', org, hash: session },
        {},
      );
      if (outcome.kind === 'refused' && statusOf(outcome.refusal) !== 401)
        return { refusal: outcome.refusal, rate_limit };
      return { status: 204, headers: cleared, rate_limit };
    },
  }),
  listRoute({
    path: sessions,
    action: 'auth.session_list',
    tag: 'Sign-in',
    summary: 'List your sessions',
    answers: { 200: wire.SessionPage },
  }),
  route({
    method: 'delete',
    path: sessions,
    action: 'auth.session_end',
    tag: 'Sign-in',
    summary: 'Revoke all your sessions',
    answers: { 204: null },
  }),
  route({
    method: 'delete',
    path: `${sessions}/{id}`,
    action: 'auth.session_end',
    tag: 'Sign-in',
    summary: 'Revoke one of your sessions',
    answers: { 204: null },
    named: ({ params }) => ({ credential: params.id as string }),
  }),
];
