// The bearer token of a browser session: a JWT (RFC 7519) valid for ten minutes, signed by the deployment. It
// names the organisation and the session, and no permissions. Invariant: only ES256, only keys of this
// deployment, only for its own API.
import { decodeProtectedHeader, errors, type JWTPayload, jwtVerify, SignJWT } from 'jose';
import type { TokenRef } from '../auth/authentication/token';
import { sha256 } from '../crypto/digest';
import type { SigningKey, SigningKeys } from './signing';

/** How long a JWT is valid, in milliseconds. */
export const JWT_LIVES = 600_000;

const audienceOf = (issuer: string) => `${issuer}/api/v1`;

interface SessionClaims {
  org: string;
  member: string;
  session: string;
  /** The number of the JWT in its session: that of the refresh cookie issued with it. */
  n: number;
}

/**
 * Signs a JWT that expires at `until`, in milliseconds, or up to a second earlier, because JWTs count
 * seconds.
 */
export function signSession(
  key: SigningKey,
  issuer: string,
  { org, member, session, n }: SessionClaims,
  until: number,
  now = Date.now(),
) {
  const exp = Math.floor(until / 1000);
  const token = new SignJWT({ sid: session, org })
    .setProtectedHeader({ alg: 'ES256', typ: 'JWT', kid: key.id })
    .setIssuer(issuer)
    .setAudience(audienceOf(issuer))
    .setSubject(member)
    .setJti(String(n))
    .setIssuedAt(Math.floor(now / 1000))
    .setExpirationTime(exp)
    .sign(key.privateKey);
  return token.then((signed) => ({ token: signed, expires_at: exp * 1000 }));
}

/** Whether a bearer token has the form of a JWT. */
export const isJwt = (text: string): boolean => /^[\w-]+\.[\w-]+\.[\w-]+$/.test(text);

/** A genuine JWT: its organisation and session, and whether it has expired. */
export interface ReadSession {
  ref: TokenRef;
  isExpired: boolean;
}

/** Reads a JWT; null if this deployment did not sign it for its own API. */
export async function readSession(
  keys: SigningKeys,
  issuer: string,
  text: string,
  now = Date.now(),
): Promise<ReadSession | null> {
  // Verifying a signature is the most expensive part of a read, so each isolate does it once per token.
  const digest = sha256(`${issuer} ${text}`);
  const known = keys.verified.get(digest);
  if (known) return { ref: known.ref, isExpired: known.until <= now };
  try {
    const { alg, kid } = decodeProtectedHeader(text);
    const key = alg === 'ES256' && kid ? await keys.find(kid, now) : null;
    if (!key) return null;
    const { payload } = await jwtVerify(text, key.publicKey, {
      algorithms: ['ES256'],
      typ: 'JWT',
      issuer,
      audience: audienceOf(issuer),
      requiredClaims: ['sub', 'sid', 'org', 'iat', 'exp'],
      currentDate: new Date(now),
    });
    const ref = refOf(payload);
    if (ref) keys.verified.set(digest, { ref, until: (payload.exp as number) * 1000 });
    return ref && { ref, isExpired: false };
  } catch (error) {
    // jose checks the expiry last: an expired token is otherwise valid.
    const ref = error instanceof errors.JWTExpired ? refOf(error.payload) : null;
    if (ref) return { ref, isExpired: true };
    if (error instanceof errors.JOSEError || error instanceof TypeError) return null;
    throw error;
  }
}

function refOf({ org, sid, jti = '', exp = 0 }: JWTPayload): TokenRef | null {
  if (typeof org !== 'string' || typeof sid !== 'string') return null;
  // A JWT of a release before 0.4.0 has no number and counts as the first.
  return {
    kind: 'browser',
    org,
    hash: sid,
    jwt: /^[1-9]\d{0,8}$/.test(jti) ? Number(jti) : 0,
    until: exp * 1000,
  };
}
