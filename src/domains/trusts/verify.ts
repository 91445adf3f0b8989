// Verifies an issuer's token (OpenID Connect, RFC 7519) for a trust. Invariants: the algorithm is one of four
// and matches the type of the one key that the token names; a refusal's reason never contains data from the
// token.
import { decodeJwt, decodeProtectedHeader, errors, importJWK, jwtVerify } from 'jose';
import { isUnverifiedAddress, refusedBy, valuesOf } from '../../auth/authentication/trusts';
import { sha256 } from '../../crypto/digest';
import type { IssuerKey, Trust, Workload } from '../../db/trusts';
import { isJwt } from '../../keys/jwt';
import type { Spent } from './gate/exchanged';
import { isAlgorithm, KEY_TYPES } from './keys';

/** The maximum age of a token, and how far ahead of ours the clock of its issuer may be, in seconds. */
const MOST_AGE = 3600;
const SKEW = 30;

/** What the gate needs to know about a genuine token. */
export interface Verified {
  workload: Workload;
  /** Its sub claim, or null. */
  subject: string | null;
  spent: Spent;
}

/**
 * The issuer's keys that can verify a token with this `kid`, or why there are none. `isDoubted`: those given
 * before did not verify it.
 */
export type FindKeys = (kid: string | undefined, isDoubted: boolean) => Promise<IssuerKey[] | string>;

type Problem = { problem: string };
type Doubt = Problem & { isDoubted?: true };

const MALFORMED = 'the token is malformed';
const EXPIRED = 'the token has expired';
const TOO_OLD = 'the token was issued too long ago';

/** What is wrong with a token, from the library's error. */
function problemOf(error: unknown): string {
  if (error instanceof errors.JWTExpired) return error.claim === 'iat' ? TOO_OLD : EXPIRED;
  if (error instanceof errors.JWTClaimValidationFailed) {
    const { claim, reason } = error;
    if (claim === 'aud') return 'the audience does not match';
    if (reason === 'check_failed' && (claim === 'nbf' || claim === 'iat'))
      return 'the token is not valid yet';
    return 'a required claim is missing or malformed';
  }
  return error instanceof errors.JWSSignatureVerificationFailed ? 'the signature is not valid' : MALFORMED;
}

/** The algorithm and key id in the header and the issuer in the payload, all unverified. */
function named(
  text: string,
): { alg: keyof typeof KEY_TYPES; kid: string | undefined; issuer: unknown } | Problem {
  try {
    const { alg, kid } = decodeProtectedHeader(text);
    if (!isAlgorithm(alg)) return { problem: 'the algorithm is not accepted' };
    if (kid !== undefined && typeof kid !== 'string') return { problem: MALFORMED };
    return { alg, kid, issuer: decodeJwt(text).iss };
  } catch {
    return { problem: MALFORMED };
  }
}

/**
 * Identifies the token: by its `jti`, otherwise by its signed part, since a signature can be encoded in
 * several ways.
 */
function spentOf(
  text: string,
  { issuer, key }: Workload,
  payload: { jti?: unknown; exp?: number; iat?: number },
): Spent {
  const { jti, exp = 0, iat = 0 } = payload;
  const which =
    typeof jti === 'string' && jti !== '' ? ['jti', jti] : ['signed', text.slice(0, text.lastIndexOf('.'))];
  return {
    digest: sha256(JSON.stringify([issuer, key, ...which])),
    until: (Math.min(exp, iat + MOST_AGE) + SKEW) * 1000,
  };
}

/**
 * Why a token is too old or expired. Clock tolerance applies only to clocks ahead of ours: applied to the
 * end, it would accept a token after its expiry.
 */
function overdue({ exp = 0, iat = 0 }: { exp?: number; iat?: number }, now: number): string | null {
  // safety: issuer-token-end
  if (exp <= now) return EXPIRED;
  // safety: issuer-token-age
  return now - iat > MOST_AGE ? TOO_OLD : null;
}

/** Verifies a token and checks its claims against the trust. */
export async function verify(
  text: string,
  trust: Trust,
  findKeys: FindKeys,
  now = Date.now(),
): Promise<Verified | Problem> {
  const said = isJwt(text) ? named(text) : { problem: MALFORMED };
  if ('problem' in said) return said;
  // Do not fetch keys for a token of another issuer.
  if (said.issuer !== trust.issuer) return { problem: 'the issuer does not match' };
  const verified = await verifyWith(
    trust.keys ? Object.values(trust.keys) : await findKeys(said.kid, false),
    text,
    said,
    trust,
    now,
  );
  // The issuer may have replaced the key under the same `kid`.
  // safety: doubted-keys-fetched-anew
  if (trust.keys || !('isDoubted' in verified)) return verified;
  return verifyWith(await findKeys(said.kid, true), text, said, trust, now);
}

/** The same with these keys. A problem is a doubt if other keys might verify the token. */
async function verifyWith(
  keys: IssuerKey[] | string,
  text: string,
  { alg, kid }: Pick<Exclude<ReturnType<typeof named>, Problem>, 'alg' | 'kid'>,
  trust: Trust,
  now: number,
): Promise<Verified | Doubt> {
  if (typeof keys === 'string') return { problem: keys };
  // safety: issuer-key-fits-algorithm
  const fitting = keys.filter(
    (key) => key.kty === KEY_TYPES[alg] && (key.alg ?? alg) === alg && (kid === undefined || key.kid === kid),
  );
  const [key] = fitting;
  if (!key || fitting.length > 1)
    return {
      problem: fitting.length ? 'several keys match the token' : 'no key of the issuer matches the token',
      // With an unknown `kid` the issuer has been asked already.
      ...(keys.some((one) => kid === undefined || one.kid === kid) && { isDoubted: true }),
    };
  try {
    const { payload } = await jwtVerify(text, await importJWK({ ...key }, alg), {
      algorithms: [alg],
      issuer: trust.issuer,
      audience: trust.audiences,
      requiredClaims: ['iss', 'aud', 'iat', 'exp'],
      // With it, the library refuses a time of issue that is to come.
      // safety: issuer-token-issued
      maxTokenAge: MOST_AGE,
      clockTolerance: SKEW,
      currentDate: new Date(now),
    });
    const over = overdue(payload, now / 1000);
    if (over) return { problem: over };
    const thumbprint = Object.entries(trust.keys ?? {}).find(([, one]) => one === key)?.[0] ?? null;
    const workload: Workload = {
      issuer: trust.issuer,
      audiences: [payload.aud].flat().filter((one) => typeof one === 'string'),
      claims: Object.fromEntries(Object.keys(trust.claims).map((claim) => [claim, valuesOf(payload, claim)])),
      key: thumbprint,
    };
    // safety: address-verified
    if (isUnverifiedAddress(trust, payload)) return { problem: 'the issuer has not verified the address' };
    const problem = refusedBy(trust, workload);
    return problem
      ? { problem }
      : { workload, subject: valuesOf(payload, 'sub')[0] ?? null, spent: spentOf(text, workload, payload) };
  } catch (error) {
    return {
      problem: problemOf(error),
      ...(error instanceof errors.JWSSignatureVerificationFailed && { isDoubted: true }),
    };
  }
}
