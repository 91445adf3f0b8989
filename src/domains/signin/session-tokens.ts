// The tokens of a session that the gate has begun: a JWT, and the cookie or refresh token that renews it.
// Invariant: the signing key is fetched first, so no session begins or continues whose tokens cannot be
// signed.
import { generateCookie } from 'hono/cookie';
import { toCookie, toRefreshToken } from '../../auth/authentication/proofs';
import type { Reply } from '../../gate/request/call';
import { refusalOf } from '../../gate/request/outcome';
import type { PublicAnswer, PublicContext } from '../../http/context';
import { iso } from '../../http/wire';
import { JWT_LIVES, signSession } from '../../keys/jwt';
import { type SigningKey, signingKeysOf } from '../../keys/signing';
import type { Begun } from './gate/sessions';

export const COOKIE = '__Host-svc_refresh';
const setCookie = (value: string, maxAge: number) => ({
  'Set-Cookie': generateCookie(COOKIE, value, {
    maxAge,
    path: '/',
    httpOnly: true,
    secure: true,
    sameSite: 'Strict',
  }),
});
export const cleared = setCookie('', 0);

type Signing = Pick<PublicContext, 'base' | 'deployment'>;

export const signer = ({ env, deployment }: Pick<PublicContext, 'env' | 'deployment'>): Promise<SigningKey> =>
  signingKeysOf(env.DB, deployment).current();

/** The tokens for a session that the gate has begun or renewed. */
type TokensOf = (
  context: Signing,
  org: string,
  key: SigningKey,
  begun: Begun,
) => Promise<{ json: object; headers?: Record<string, string> }>;

/** The response to a sign-in or refresh, from the gate's outcome. */
export async function signedIn(
  context: PublicContext,
  org: string,
  key: SigningKey,
  reply: Reply,
  tokens: TokensOf,
): Promise<PublicAnswer> {
  const { outcome, rate_limit } = reply;
  if (outcome.kind !== 'ok') return { refusal: refusalOf(outcome), rate_limit };
  return { status: 200, ...(await tokens(context, org, key, outcome.data as Begun)), rate_limit };
}

async function jwtOf(
  { base }: Signing,
  org: string,
  key: SigningKey,
  { session, member }: Begun,
  now: number,
) {
  const until = Math.min(now + JWT_LIVES, session.ends_at);
  const claims = { org, member: member.id, session: session.id, n: session.n };
  const { token, expires_at } = await signSession(key, base, claims, until, now);
  return { token, expiresAt: iso(expires_at), member };
}

/** For a browser: the refresh token is a cookie that scripts cannot read. */
export const browserTokens: TokensOf = async (context, org, key, begun) => {
  const now = Date.now();
  const { id, n, expires_at } = begun.session;
  const cookie = toCookie(context.deployment.proof, { org, session: id, n });
  return {
    json: await jwtOf(context, org, key, begun, now),
    headers: setCookie(cookie, Math.max(1, Math.floor((expires_at - now) / 1000))),
  };
};

/** For a terminal: the refresh token is in the body. */
export const terminalTokens: TokensOf = async (context, org, key, begun) => {
  const { id, n } = begun.session;
  const { member, ...jwt } = await jwtOf(context, org, key, begun, Date.now());
  return {
    json: {
      ...jwt,
      refresh_token: toRefreshToken(context.deployment.proof, { org, session: id, n }),
      member,
    },
  };
};
