// Public keys of issuers, from a JWKS (RFC 7517). Invariants: a stored key has only its required public
// members; private and symmetric keys are never accepted; each key is large enough and meant for verifying
// signatures.
import { calculateJwkThumbprint, importJWK, type JWK } from 'jose';
import { readPublicKey } from '../../auth/authentication/jwk';
import { fromBase64Url } from '../../crypto/bytes';
import type { IssuerKey } from '../../db/trusts';

/** The accepted signature algorithms, with the key type of each. This is the only list. */
export const KEY_TYPES = { RS256: 'RSA', PS256: 'RSA', ES256: 'EC', EdDSA: 'OKP' } as const;
export type Algorithm = keyof typeof KEY_TYPES;

export const isAlgorithm = (alg: unknown): alg is Algorithm =>
  typeof alg === 'string' && Object.hasOwn(KEY_TYPES, alg);

const PRIVATE = ['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k'];
/** The size of an RSA modulus in bytes: 2,048 to 4,096 bits. */
const LEAST_MODULUS = 256;
const MOST_MODULUS = 512;
/** 65537. With a smaller exponent, signatures could be forged. */
const EXPONENT = 'AQAB';
const MOST_KID = 256;

/** The required members of a key by its type, or what is wrong with the key. */
async function membersOf(jwk: JWK): Promise<IssuerKey | string> {
  if (jwk.kty !== 'RSA') {
    const key = await readPublicKey(jwk);
    return typeof key === 'string'
      ? key.replace('must be a P-256 key', 'must be an RSA key, a P-256 key')
      : key;
  }
  const { n, e } = jwk;
  const modulus = typeof n === 'string' ? fromBase64Url(n) : null;
  // safety: issuer-key-strength
  if (
    !modulus ||
    modulus.length < LEAST_MODULUS ||
    modulus.length > MOST_MODULUS ||
    modulus[0] === 0 ||
    e !== EXPONENT
  )
    return 'must be an RSA key of 2,048 to 4,096 bits with the exponent 65537';
  const key = { kty: 'RSA', n: n as string, e } as const;
  return importJWK({ ...key }, 'RS256').then(
    () => key,
    () => 'must be a valid RSA key',
  );
}

/** A public key of an issuer with its thumbprint (RFC 7638), or what is wrong with it. */
export async function readIssuerKey(
  value: unknown,
): Promise<{ key: IssuerKey; thumbprint: string } | string> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return 'must be a JWK';
  const jwk = value as JWK;
  // safety: issuer-key-public
  if (jwk.kty === 'oct' || PRIVATE.some((name) => name in jwk))
    return 'must be a public key: it contains private members';
  const { kid, alg, use, key_ops } = jwk;
  if (kid !== undefined && (typeof kid !== 'string' || kid.length > MOST_KID))
    return 'must have a kid of at most 256 characters';
  // safety: issuer-key-for-signatures
  if (
    (use !== undefined && use !== 'sig') ||
    (key_ops !== undefined && !(Array.isArray(key_ops) && key_ops.includes('verify')))
  )
    return 'must be a key for signatures (use sig)';
  const key = await membersOf(jwk);
  if (typeof key === 'string') return key;
  if (alg !== undefined && !(isAlgorithm(alg) && KEY_TYPES[alg] === key.kty))
    return 'must have the alg RS256, PS256, ES256 or EdDSA, matching its type';
  const thumbprint = await calculateJwkThumbprint({ ...key });
  const names = {
    ...(kid !== undefined && { kid }),
    ...(alg !== undefined && { alg }),
    ...(use !== undefined && { use: 'sig' as const }),
  };
  return { key: { ...key, ...names }, thumbprint };
}
