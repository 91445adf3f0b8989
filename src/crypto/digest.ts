// Hashes and MACs. Synchronous (node:crypto), because the gate decides and writes within one turn: an await
// in between would let another call interleave.
import { createHmac, hash, hkdfSync, timingSafeEqual } from 'node:crypto';
import { utf8 } from './bytes';

/** SHA-256 (FIPS 180-4) in lowercase hex. */
export const sha256 = (data: string | Uint8Array): string => hash('sha256', data, 'hex');

/** SHA-256 in base64url. */
export const sha256Url = (data: string | Uint8Array): string => hash('sha256', data, 'base64url');

/** HMAC-SHA256 (RFC 2104), 32 bytes. */
export const hmac = (key: Uint8Array, data: Uint8Array): Uint8Array =>
  new Uint8Array(createHmac('sha256', key).update(data).digest());

/** HMAC-SHA256 in lowercase hex. */
export const hmacHex = (key: Uint8Array, data: Uint8Array): string =>
  createHmac('sha256', key).update(data).digest('hex');

/** HKDF-SHA256 (RFC 5869). */
export const hkdf = (key: Uint8Array, salt: Uint8Array, info: string, length = 32): Uint8Array =>
  new Uint8Array(hkdfSync('sha256', key, salt, utf8(info), length));

/** Compares in time that depends only on the lengths. */
export function equal(a: string | Uint8Array, b: string | Uint8Array): boolean {
  const [x, y] = [a, b].map((side) => (typeof side === 'string' ? utf8(side) : side)) as [
    Uint8Array,
    Uint8Array,
  ];
  return x.length === y.length && timingSafeEqual(x, y);
}

/** Compares a secret with a guess of any length, without revealing the secret's length through timing. */
export function equalSecret(secret: string, guess: string): boolean {
  return equal(sha256(secret), sha256(guess));
}
