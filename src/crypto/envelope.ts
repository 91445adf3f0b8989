// Encryption: AES-256-GCM (NIST SP 800-38D) with a separate key for each message. Each message draws 24
// random bytes of salt; HKDF derives a data key and nonce from root key, salt and purpose, so a nonce is
// never reused under a key, regardless of the number of messages. The context (what the plaintext belongs to)
// is authenticated, length-prefixed: a ciphertext moved elsewhere does not decrypt.
import { createCipheriv, createDecipheriv } from 'node:crypto';
import { concat, fromBase64, randomBytes, toBase64, tuple } from './bytes';
import { hkdf } from './digest';

const FORMAT = 1;
const SALT = 24;
const TAG = 16;

/** The purpose of a key; part of key derivation and of the authenticated data. */
export type Purpose =
  | 'org key'
  | 'deployment key'
  | 'secret value'
  | 'shared value'
  | 'kept answer'
  | 'one-time value'
  | 'signing key'
  | 'cursor'
  | 'webhook URL'
  | 'webhook secret'
  | 'old webhook secret'
  | 'connection'
  | 'log stream'
  | 'client secret'
  | 'approval'
  | 'sign-in'
  | 'upstream token';

function derive(root: Uint8Array, salt: Uint8Array, purpose: Purpose) {
  const bytes = hkdf(root, salt, `svc/v1/seal/${purpose}`, 44);
  return { key: bytes.subarray(0, 32), iv: bytes.subarray(32) };
}

const authenticated = (purpose: Purpose, context: string[]) =>
  tuple(Uint8Array.of(FORMAT), purpose, ...context);

/**
 * Encrypts `plaintext` to base64 of format byte, salt, ciphertext and tag. Only known-answer tests pass
 * `salt`.
 */
export function encrypt(
  root: Uint8Array,
  purpose: Purpose,
  context: string[],
  plaintext: Uint8Array,
  salt = randomBytes(SALT),
): string {
  const { key, iv } = derive(root, salt, purpose);
  const cipher = createCipheriv('aes-256-gcm', key, iv, { authTagLength: TAG });
  cipher.setAAD(authenticated(purpose, context));
  const body = concat(cipher.update(plaintext), cipher.final());
  return toBase64(concat(Uint8Array.of(FORMAT), salt, body, cipher.getAuthTag()));
}

/** The salt and the ciphertext with tag from an `encrypt` result; null if the format differs. */
function parse(ciphertext: string) {
  const bytes = fromBase64(ciphertext);
  if (!bytes || bytes.length < 1 + SALT + TAG || bytes[0] !== FORMAT) return null;
  return { salt: bytes.subarray(1, 1 + SALT), body: bytes.subarray(1 + SALT) };
}

/** Whether this can be an `encrypt` result: all that somebody without its key can say. */
export const isCiphertext = (ciphertext: string): boolean => parse(ciphertext) !== null;

/** Decrypts an `encrypt` result; null if any bit of it, the key, the purpose or the context differs. */
export function decrypt(
  root: Uint8Array,
  purpose: Purpose,
  context: string[],
  ciphertext: string,
): Uint8Array | null {
  const parsed = parse(ciphertext);
  if (!parsed) return null;
  const { key, iv } = derive(root, parsed.salt, purpose);
  const decipher = createDecipheriv('aes-256-gcm', key, iv, { authTagLength: TAG });
  decipher.setAAD(authenticated(purpose, context));
  decipher.setAuthTag(parsed.body.subarray(-TAG));
  try {
    return concat(decipher.update(parsed.body.subarray(0, -TAG)), decipher.final());
  } catch {
    return null;
  }
}

/** Decrypts one secret value; null if the ciphertext, the key or the context differs. */
export type Decrypter = () => Promise<Uint8Array | null>;

/**
 * The same for a secret value that is read often: one-time work is done here. Web Crypto takes a third of the
 * time of a decipher stream; the data key cannot be extracted, and no plaintext is cached.
 */
export async function decrypterOf(
  root: Uint8Array,
  context: string[],
  ciphertext: string,
): Promise<Decrypter> {
  const parsed = parse(ciphertext);
  if (!parsed) return async () => null;
  const { key, iv } = derive(root, parsed.salt, 'secret value');
  const imported = await crypto.subtle.importKey('raw', key, 'AES-GCM', false, ['decrypt']);
  const algorithm = {
    name: 'AES-GCM',
    iv,
    additionalData: authenticated('secret value', context),
    tagLength: TAG * 8,
  };
  return () =>
    crypto.subtle.decrypt(algorithm, imported, parsed.body).then(
      (plain) => new Uint8Array(plain),
      () => null,
    );
}
