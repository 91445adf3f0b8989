// HTTP routes of terminal login (RFC 8628). Invariants: no code is in a path, a query or a log; a member
// confirms a user code only after seeing who requests it; guessing codes is rate-limited before any login is
// looked up.
import { clientOf } from '../../auth/addresses';
import {
  newDeviceCode,
  newUserCode,
  placeOfUserCode,
  readDeviceCode,
  readUserCode,
  shownUserCode,
} from '../../auth/authentication/proofs';
import type { Asking, Decision } from '../../auth/authentication/terminal-login';
import { CODE_LIVES, INTERVAL } from '../../auth/authentication/terminal-login';
import { sha256 } from '../../crypto/digest';
import { newId } from '../../db/ids';
import type { DeviceLoginCalls } from '../../env';
import { ApiError, refuse, statusOf } from '../../errors';
import { countAttempt, countPoll } from '../../http/caller/refused-attempts';
import type { BaseContext, Context, PublicAnswer, PublicContext } from '../../http/context';
import { type Input, type Prepared, route } from '../../http/route';
import { iso } from '../../http/wire';
import { signedIn, signer, terminalTokens } from '../signin/session-tokens';
import type { Attempt, Found } from './gate/operations';
import * as wire from './wire';

const TAG = 'Terminal login';
/** How often another user code is tried if one is in use. */
const MOST_TRIES = 5;

type Keeper = Pick<DeviceLoginCalls, 'start' | 'asking' | 'claim' | 'decide' | 'poll'>;

/** Calls the Durable Object that keeps the login of a user code. */
async function keeper<T>(
  { env, deployment }: Pick<BaseContext, 'env' | 'deployment'>,
  code: string,
  ask: (keeper: Keeper) => Promise<T>,
) {
  const place = placeOfUserCode(deployment.proof, code);
  return ask(env.DEVICE_LOGIN.getByName(place) as unknown as Keeper).catch((): never => {
    throw new ApiError(refuse('UNAVAILABLE', { retry_after: 1 }));
  });
}

/** Starts a login under an unused user code. */
async function start(
  context: PublicContext,
  client_name: string,
): Promise<{ user_code: string; device_code: string }> {
  const { ip, place } = context.request;
  for (let tries = 0; tries < MOST_TRIES; tries++) {
    const code = newUserCode();
    const device_code = newDeviceCode(context.deployment.proof, code);
    const started = { hash: sha256(device_code), session: newId('ses'), client_name, ip, place };
    if (await keeper(context, code, (login) => login.start(started)))
      return { user_code: shownUserCode(code), device_code };
  }
  throw new ApiError(refuse('UNAVAILABLE', { retry_after: 1 }));
}

/**
 * The response to a terminal whose login a member confirmed: its tokens, or a refusal if the session has
 * ended in the meantime.
 */
async function fetchSession(context: PublicContext, org: string, session: string): Promise<PublicAnswer> {
  const keys = await context.keyring.org(org);
  if (!keys) return { refusal: refuse('ACCESS_DENIED') };
  const key = await signer(context);
  // The device code is the refresh token with the number 0: like any other, it works once, and again within
  // ten seconds.
  const reply = await context.ask(org, keys, { kind: 'browser', org, hash: session }, { n: 0 });
  const { outcome, rate_limit } = reply;
  if (outcome.kind === 'ok' && outcome.status === 401) return { refusal: refuse('CODE_EXPIRED'), rate_limit };
  if (outcome.kind === 'refused' && statusOf(outcome.refusal) === 401)
    return { refusal: refuse('ACCESS_DENIED'), rate_limit };
  return signedIn(context, org, key, reply, terminalTokens);
}

/**
 * The login that a member means by a user code. Every attempt counts, by member and by address, to limit
 * guessing. To confirm it, the member's organisation claims it first: the gates of two organisations do not
 * exclude each other.
 */
async function lookUp(
  { member }: Attempt,
  { body }: Input<unknown, { user_code: string }>,
  context: Context,
  find: (login: Keeper, org: string) => Promise<Asking | null> = (login) => login.asking(),
): Promise<Prepared> {
  const code = readUserCode(body.user_code);
  const who = [member, clientOf(context.request.ip)];
  // safety: user-codes-limited
  const wait = Math.max(
    ...(await Promise.all(who.map((one) => countAttempt(context.env, 'user code', one)))),
  );
  const login = wait || code === null ? null : await keeper(context, code, (one) => find(one, context.org));
  return { input: { login, wait } satisfies Found };
}

/** Records a member's decision; CODE_EXPIRED if another member was faster. */
async function decide(
  session: string,
  { body }: Input<unknown, { user_code: string }>,
  context: Context,
  decision: Decision,
) {
  const code = readUserCode(body.user_code);
  const isDecided =
    code !== null && (await keeper(context, code, (login) => login.decide(session, decision)));
  if (!isDecided) throw new ApiError(refuse('CODE_EXPIRED'));
}

/** Routes for a member's decision. They take a code in the body, and run again when repeated. */
const deciding = {
  tag: TAG,
  body: { schema: wire.CodeIn },
  unkept: true,
  prepare: () => ({ input: { login: null, wait: 0 } }),
  more: lookUp,
} as const;

export const terminalRoutes = [
  route({
    method: 'post',
    path: '/auth/device',
    action: 'auth.device',
    tag: TAG,
    summary: 'Start a terminal login',
    description:
      'Show user_code and verification_uri to the user, then poll POST /auth/device/token with device_code. At most 100 logins a minute can be started from one address.',
    body: { schema: wire.StartIn },
    answers: { 200: wire.Started },
    async public({ body }, context) {
      // safety: device-logins-limited
      const wait = await countAttempt(context.env, 'device login', clientOf(context.request.ip));
      if (wait) return { refusal: refuse('RATE_LIMITED', { retry_after: wait }) };
      const { user_code, device_code } = await start(context, body.client_name);
      const verification_uri = `${context.base}/device`;
      const verification_uri_complete = `${verification_uri}#${user_code}`;
      const times = { expires_in: CODE_LIVES / 1000, interval: INTERVAL };
      return {
        status: 200,
        json: { device_code, user_code, verification_uri, verification_uri_complete, ...times },
      };
    },
  }),
  route({
    method: 'post',
    path: '/auth/device/token',
    action: 'auth.device_token',
    tag: TAG,
    summary: 'Poll for the session of a terminal login',
    description:
      'Returns AUTHORIZATION_PENDING until a member has decided. SLOW_DOWN adds five seconds to the polling interval, and counts as a refused attempt of the address. A device code gives one session; using it again more than ten seconds after the first time ends the session.',
    body: { schema: wire.PollIn },
    answers: { 200: wire.TerminalSignedIn },
    refusals: ['AUTHORIZATION_PENDING', 'SLOW_DOWN', 'ACCESS_DENIED', 'CODE_EXPIRED'],
    async public({ body: { device_code } }, context) {
      const code = readDeviceCode(context.deployment.proof, device_code);
      if (code === null) return { refusal: await context.count(refuse('CODE_EXPIRED')) };
      // safety: device-polls-limited
      const wait = await countPoll(context.env, context.request.ip);
      if (wait) return { refusal: refuse('RATE_LIMITED', { retry_after: wait }) };
      const polled = await keeper(context, code, (login) => login.poll(sha256(device_code)));
      if (polled.state === 'approved') return fetchSession(context, polled.org, polled.session);
      // safety: early-polls-counted
      if (polled.state === 'early')
        return {
          refusal: await context.count(
            refuse('SLOW_DOWN', { message: `Wait ${polled.interval} seconds between polls.` }),
          ),
        };
      const codes = {
        pending: 'AUTHORIZATION_PENDING',
        denied: 'ACCESS_DENIED',
        ended: 'CODE_EXPIRED',
      } as const;
      return { refusal: refuse(codes[polled.state]) };
    },
  }),
  route({
    ...deciding,
    method: 'post',
    path: '/auth/device/lookup',
    action: 'auth.device_lookup',
    summary: 'Look up a terminal login',
    description:
      'For the page /device, in a browser session. At most 20 attempts a minute per member and per address, including confirmations.',
    answers: { 200: wire.Asking },
    refusals: ['CODE_EXPIRED'],
    render: ({ client_name, ip, place, created_at, ends_at }: Asking, { body }, { request }: Context) => ({
      json: {
        user_code: shownUserCode(readUserCode(body.user_code) as string),
        client_name,
        address: ip,
        place,
        // Unknown addresses count as different.
        same_address: ip !== 'unknown' && clientOf(ip) === clientOf(request.ip),
        created_at: iso(created_at),
        expires_at: iso(ends_at),
      },
    }),
  }),
  route({
    ...deciding,
    method: 'post',
    path: '/auth/device/confirm',
    action: 'auth.device_confirm',
    summary: 'Confirm a terminal login',
    description:
      'Signs the terminal in as the calling member. Needs a browser session that was confirmed with a passkey in the last five minutes (`POST /auth/confirm`). Safe to repeat.',
    answers: { 200: wire.Decided },
    refusals: ['CODE_EXPIRED'],
    // safety: device-login-claimed
    more: (attempt: Attempt, input, context: Context) =>
      lookUp(attempt, input, context, (login, org) => login.claim(org)),
    async render({ session }: { session: string }, input, context: Context) {
      await decide(session, input, context, context.org);
      return { json: { status: 'confirmed', session_id: session } };
    },
  }),
  route({
    ...deciding,
    method: 'post',
    path: '/auth/device/deny',
    action: 'auth.device_deny',
    summary: 'Deny a terminal login',
    answers: { 200: wire.Decided },
    refusals: ['CODE_EXPIRED'],
    async render({ session }: { session: string }, input, context: Context) {
      await decide(session, input, context, false);
      return { json: { status: 'denied', session_id: null } };
    },
  }),
];
