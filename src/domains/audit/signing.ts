// The key that signs an organisation's audit checkpoints: Ed25519 (RFC 8032), from a seed derived from the
// organisation's key. Invariants: the key is never stored; it signs only checkpoints; the same statement
// always has the same signature.
import canonicalize from 'canonicalize';
import { calculateJwkThumbprint } from 'jose';
import { concat, fromBase64, toBase64, utf8 } from '../../crypto/bytes';
import type { CheckpointRow } from '../../db/schema';
import type { Statement } from '../../gate/archive/checkpoints';

/** The public key as a JWK (RFC 8037). */
export interface PublicKey {
  kty: 'OKP';
  crv: 'Ed25519';
  x: string;
}

export interface CheckpointKey {
  /** Thumbprint of the public key (RFC 7638). */
  id: string;
  jwk: PublicKey;
  /** SubjectPublicKeyInfo (RFC 8410). */
  spki: Uint8Array;
  sign(org: string, statement: Statement): Promise<string>;
  /** Whether a stored checkpoint is a statement that this key signed. */
  isGenuine(checkpoint: CheckpointRow): Promise<boolean>;
}

/** PKCS #8 prefix of an Ed25519 private key (RFC 8410), before its 32-byte seed. */
const PKCS8 = Uint8Array.from([0x30, 0x2e, 2, 1, 0, 0x30, 5, 6, 3, 0x2b, 0x65, 0x70, 4, 0x22, 4, 0x20]);
const ED25519 = { name: 'Ed25519' };

/** The signed message: the canonical JSON (RFC 8785) of a checkpoint. */
const messageOf = (org: string, { sequence, hash, time }: Statement): Uint8Array =>
  utf8(canonicalize({ org, sequence, hash, time: new Date(time).toISOString() }) as string);

const known = new WeakMap<Uint8Array, Promise<CheckpointKey>>();

/** The key for a seed. */
export function checkpointKey(seed: Uint8Array): Promise<CheckpointKey> {
  const made = known.get(seed) ?? importKey(seed);
  known.set(seed, made);
  return made;
}

async function importKey(seed: Uint8Array): Promise<CheckpointKey> {
  const pair = await crypto.subtle.importKey('pkcs8', concat(PKCS8, seed), ED25519, true, ['sign']);
  const { x } = (await crypto.subtle.exportKey('jwk', pair)) as { x: string };
  const jwk: PublicKey = { kty: 'OKP', crv: 'Ed25519', x };
  const verifying = await crypto.subtle.importKey('jwk', jwk, ED25519, true, ['verify']);
  const id = await calculateJwkThumbprint(jwk);
  return {
    id,
    jwk,
    spki: new Uint8Array((await crypto.subtle.exportKey('spki', verifying)) as ArrayBuffer),
    sign: async (org, statement) =>
      toBase64(new Uint8Array(await crypto.subtle.sign(ED25519, pair, messageOf(org, statement)))),
    async isGenuine({ org_id, key_id, signature, ...statement }) {
      try {
        const bytes = fromBase64(signature);
        // safety: checkpoint-signature-checked
        return (
          key_id === id &&
          bytes !== null &&
          (await crypto.subtle.verify(ED25519, verifying, bytes, messageOf(org_id, statement)))
        );
      } catch {
        // The time is invalid, or a field has the wrong type.
        return false;
      }
    },
  };
}
