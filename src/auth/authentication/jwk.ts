// Public keys of devices as JWKs (RFC 7517): P-256 and Ed25519. Invariant: a key has only the required public
// members in one encoding, so equal keys have equal thumbprints; no one can sign for it without its private
// key.
import { importJWK } from 'jose';
import { fromBase64Url } from '../../crypto/bytes';
import { sha256Url } from '../../crypto/digest';
import { isStrongPoint } from '../../crypto/ed25519';

/** A public key: its required members (RFC 7638 §3.2). */
export type PublicKey =
  | { kty: 'EC'; crv: 'P-256'; x: string; y: string }
  | { kty: 'OKP'; crv: 'Ed25519'; x: string };

/** Members of private and symmetric keys. */
const PRIVATE = ['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k'];

/** The signature algorithm of a key. */
export const algorithmOf = ({ crv }: PublicKey) => (crv === 'P-256' ? 'ES256' : 'EdDSA');

const isCoordinate = (value: unknown): value is string =>
  typeof value === 'string' && fromBase64Url(value)?.length === 32;

/** A public key with a valid form, reduced to its required members; or what is wrong with it. */
export function formOf(jwk: unknown): PublicKey | string {
  if (typeof jwk !== 'object' || jwk === null) return 'must be a JWK';
  // safety: device-key-public
  if (PRIVATE.some((name) => name in jwk)) return 'must be a public key: it contains private members';
  const { kty, crv, x, y } = jwk as Record<string, unknown>;
  if (kty === 'EC' && crv === 'P-256' && isCoordinate(x) && isCoordinate(y)) return { kty, crv, x, y };
  if (kty === 'OKP' && crv === 'Ed25519' && isCoordinate(x) && y === undefined) return { kty, crv, x };
  return 'must be a P-256 key (kty EC, crv P-256, x, y) or an Ed25519 key (kty OKP, crv Ed25519, x)';
}

/** The same, also checking that it is a point of its curve. */
export async function readPublicKey(jwk: unknown): Promise<PublicKey | string> {
  const key = formOf(jwk);
  if (typeof key === 'string') return key;
  // The runtime rejects points that are not on P-256, but accepts any 32 bytes as an Ed25519 key.
  const isPoint = await importJWK({ ...key }, algorithmOf(key)).then(
    // safety: device-key-strong
    () => key.crv === 'P-256' || isStrongPoint(fromBase64Url(key.x) as Uint8Array),
    () => false,
  );
  return isPoint ? key : 'must be a valid point of its curve';
}

/** The thumbprint of a key (RFC 7638): base64url of SHA-256 over its required members, sorted. */
export const thumbprintOf = (key: PublicKey): string =>
  sha256Url(
    JSON.stringify(
      key.crv === 'P-256'
        ? { crv: key.crv, kty: key.kty, x: key.x, y: key.y }
        : { crv: key.crv, kty: key.kty, x: key.x },
    ),
  );
