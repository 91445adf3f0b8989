// Encryption: AES-256-GCM (NIST SP 800-38D) under a key that serves for one message alone.
// Each message draws 24 random bytes of salt; HKDF turns root key, salt and purpose into a fresh data key and nonce, so that no
// nonce is ever used twice under one key, whatever the number of messages. The context (who and what the plaintext belongs to) is
// authenticated, length-prefixed: a ciphertext moved elsewhere does not decrypt.
import { createCipheriv, createDecipheriv } from 'node:crypto';
import QuickLRU from 'quick-lru';
import { concat, fromBase64, randomBytes, toBase64, tuple } from './bytes';
import { hkdf } from './digest';

const FORMAT = 1;
const SALT = 24;
const TAG = 16;

/** What a key is used for; part of key derivation and of the authenticated data. */
export type Purpose = 'org key' | 'deployment key' | 'secret value' | 'kept answer' | 'one-time value' | 'signing key' | 'cursor';

function derive(root: Uint8Array, salt: Uint8Array, purpose: Purpose) {
  const bytes = hkdf(root, salt, `svc/v1/seal/${purpose}`, 44);
  return { key: bytes.subarray(0, 32), iv: bytes.subarray(32) };
}

const authenticated = (purpose: Purpose, context: string[]) => tuple(Uint8Array.of(FORMAT), purpose, ...context);

/** Encrypts `plaintext` to base64 of format byte, salt, ciphertext and tag. `salt` is given by known-answer tests alone. */
export function encrypt(root: Uint8Array, purpose: Purpose, context: string[], plaintext: Uint8Array, salt = randomBytes(SALT)): string {
  const { key, iv } = derive(root, salt, purpose);
  const cipher = createCipheriv('aes-256-gcm', key, iv, { authTagLength: TAG });
  cipher.setAAD(authenticated(purpose, context));
  const body = concat(cipher.update(plaintext), cipher.final());
  return toBase64(concat(Uint8Array.of(FORMAT), salt, body, cipher.getAuthTag()));
}

/** Salt, and ciphertext with tag, of what `encrypt` gave; null for what has another form. */
function parse(sealed: string) {
  const bytes = fromBase64(sealed);
  if (!bytes || bytes.length < 1 + SALT + TAG || bytes[0] !== FORMAT) return null;
  return { salt: bytes.subarray(1, 1 + SALT), body: bytes.subarray(1 + SALT) };
}

/** Decrypts what `encrypt` gave; null if a single bit of it, the key, the purpose or the context is another. */
export function decrypt(root: Uint8Array, purpose: Purpose, context: string[], sealed: string): Uint8Array | null {
  const parsed = parse(sealed);
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

interface ValueKey {
  root: Uint8Array;
  key: CryptoKey;
  iv: Uint8Array;
}

/** Data keys of values that were decrypted lately, by salt: what is read often is derived once. They cannot be extracted. */
const valueKeys = new QuickLRU<string, ValueKey>({ maxSize: 2000 });

async function valueKeyOf(root: Uint8Array, salt: Uint8Array): Promise<ValueKey> {
  const name = toBase64(salt);
  const known = valueKeys.get(name);
  // Another root's key is not this one's, even under a salt that somebody copied.
  if (known?.root === root) return known;
  const { key, iv } = derive(root, salt, 'secret value');
  const imported = { root, iv, key: await crypto.subtle.importKey('raw', key, 'AES-GCM', false, ['decrypt']) };
  valueKeys.set(name, imported);
  return imported;
}

/** The same for a secret value, which is read often: Web Crypto takes a third of the time, and its keys are kept for a while. */
export async function decryptValue(root: Uint8Array, context: string[], sealed: string): Promise<Uint8Array | null> {
  const parsed = parse(sealed);
  if (!parsed) return null;
  const { key, iv } = await valueKeyOf(root, parsed.salt);
  const algorithm = { name: 'AES-GCM', iv, additionalData: authenticated('secret value', context), tagLength: TAG * 8 };
  return crypto.subtle.decrypt(algorithm, key, parsed.body).then(
    (plain) => new Uint8Array(plain),
    () => null,
  );
}
