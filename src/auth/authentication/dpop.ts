// DPoP proofs (RFC 9449): a JWT in the DPoP header with which a request proves possession of a device's
// private key. Here a proof is checked on its own and against its request; the gate checks whether the key is
// the device's, and whether the proof is recent and unused. Invariant: a proof that is not invalid was signed
// by the key that it names, for this method, URL and token.
import {
  decodeProtectedHeader,
  errors,
  importJWK,
  type JWTPayload,
  jwtVerify,
  type ProtectedHeaderParameters,
} from 'jose';
import { sha256Url } from '../../crypto/digest';
import { algorithmOf, formOf, type PublicKey, thumbprintOf } from './jwk';

/** The contents of a proof, or what is wrong with it, as worded in the refusal. */
export type Proof =
  | { thumbprint: string; jti: string /** In milliseconds. */; iat: number }
  | { invalid: string };

/** What a proof must be for. */
export interface Proven {
  method: string;
  /** The URL of the request, with the deployment's public origin. */
  url: string;
  /** The token as it was sent. */
  token: string;
}

/** The most characters of a proof: two keys and a long URL fit. */
const MOST_PROOF = 8192;

const invalid = (why: string): Proof => ({ invalid: why });

/** Reads and verifies the DPoP header. `now` is only for `exp` and `nbf`, which are optional. */
export async function readProof(header: string, request: Proven, now: number): Promise<Proof> {
  // Headers with the same name are joined by commas, which no JWT contains.
  // safety: proof-single-header
  if (header.includes(',')) return invalid('the request has more than one DPoP header');
  if (header.length > MOST_PROOF) return invalid(`it has more than ${MOST_PROOF} characters`);
  const protectedHeader = headerOf(header);
  const key = keyOf(protectedHeader);
  if (!protectedHeader || typeof key === 'string') return invalid(typeof key === 'string' ? key : MALFORMED);
  const payload = await verified(header, key, now);
  if (typeof payload === 'string') return invalid(payload);
  const wrong = mismatch(payload, request);
  if (wrong) return invalid(wrong);
  return {
    thumbprint: thumbprintOf(key),
    jti: payload.jti as string,
    iat: Math.floor((payload.iat as number) * 1000),
  };
}

const MALFORMED = 'it is not a well-formed JWT';

function headerOf(header: string): ProtectedHeaderParameters | null {
  try {
    return decodeProtectedHeader(header);
  } catch {
    return null;
  }
}

/** The key that a proof names, or what is wrong with its header. */
function keyOf(header: ProtectedHeaderParameters | null): PublicKey | string {
  if (!header) return MALFORMED;
  // safety: proof-typ
  if (header.typ !== 'dpop+jwt') return 'typ must be dpop+jwt';
  const key = formOf(header.jwk);
  if (typeof key === 'string') return `jwk ${key}`;
  // safety: proof-alg
  return header.alg === algorithmOf(key) ? key : `alg must be ${algorithmOf(key)} for this key`;
}

/** The claims of a proof with a valid signature, or what is wrong. */
async function verified(proof: string, key: PublicKey, now: number): Promise<JWTPayload | string> {
  try {
    const algorithm = algorithmOf(key);
    const { payload } = await jwtVerify(proof, await importJWK({ ...key }, algorithm), {
      algorithms: [algorithm],
      currentDate: new Date(now),
    });
    return payload;
  } catch (error) {
    if (error instanceof errors.JWSSignatureVerificationFailed) return 'the signature is wrong';
    if (error instanceof errors.JWTExpired || error instanceof errors.JWTClaimValidationFailed)
      return `${error.claim} is wrong`;
    if (error instanceof errors.JOSEError) return MALFORMED;
    // The runtime rejects the point as a key.
    return 'jwk must be a valid point of its curve';
  }
}

/** The first claim that does not match this request. */
function mismatch({ htm, htu, ath, jti, iat }: JWTPayload, { method, url, token }: Proven): string | null {
  // safety: proof-method
  if (htm !== method) return `htm must be ${method}`;
  // safety: proof-url
  if (typeof htu !== 'string' || targetOf(htu) !== targetOf(url))
    return `htu must be the URL of the request without its query, which starts with ${new URL(url).origin}`;
  // safety: proof-token
  if (ath !== sha256Url(token)) return 'ath must be the SHA-256 of the token that is sent, in base64url';
  if (typeof jti !== 'string' || !/^[\x21-\x7e]{1,128}$/.test(jti))
    return 'jti must be 1 to 128 printable ASCII characters without spaces';
  return typeof iat === 'number' && Number.isFinite(iat) ? null : 'iat must be a time in seconds';
}

/**
 * A URL without query and fragment, in a normalised form (RFC 3986 §6.2.2 and §6.2.3); null if it is not a
 * URL or contains a user name.
 */
export function targetOf(text: string): string | null {
  if (!URL.canParse(text)) return null;
  const { protocol, username, password, origin, pathname } = new URL(text);
  return /^https?:$/.test(protocol) && !username && !password ? origin + spelled(pathname) : null;
}

/** A path with upper-case escapes and without unnecessary ones. */
const spelled = (path: string): string =>
  path.replace(/%([0-9A-Fa-f]{2})/g, (found, hex: string) => {
    const char = String.fromCharCode(Number.parseInt(hex, 16));
    return /[\w.~-]/.test(char) ? char : found.toUpperCase();
  });
