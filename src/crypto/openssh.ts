// The container format of OpenSSH for an unencrypted Ed25519 private key: a pure encoder without randomness
// or key derivation. For the same seed, public key, checkint and comment, its output equals the file of
// ssh-keygen byte for byte.

import { concat, tuple as strings, toBase64, utf8 } from './bytes';
import { pem } from './pem';

// `strings` is a sequence of RFC 4251 `string`s (section 5). `tuple` has the same encoding: each part is
// preceded by its uint32 length in bytes.

const KEY_TYPE = 'ssh-ed25519';
/** The block size of the cipher `none`, to which the private section is padded. */
const BLOCK = 8;

/**
 * Encodes an Ed25519 key pair as OpenSSH does: format openssh-key-v1, cipher and kdf `none`.
 * Source: PROTOCOL.key in the OpenSSH source tree; RFC 8709, section 4, for the public key.
 * @param seed 32 bytes, the private key of RFC 8032
 * @param publicKey 32 bytes; must belong to the seed, which is not checked here
 * @param checkint unsigned 32-bit integer, random for each file
 * @param comment one line, may be empty; stored in the private key and shown after the public key
 * @returns privateKey: PEM in lines of 70, ending with a line end; publicKey: one authorized_keys line
 *   without a line end
 * @throws RangeError when a length, the checkint or the comment does not fit
 */
export function encodeOpenSsh(
  seed: Uint8Array,
  publicKey: Uint8Array,
  checkint: number,
  comment: string,
): { privateKey: string; publicKey: string } {
  if (seed.length !== 32 || publicKey.length !== 32)
    throw new RangeError('an Ed25519 seed and public key have 32 bytes each');
  if (checkint !== checkint >>> 0) throw new RangeError('the checkint is an unsigned 32-bit integer');
  // A line break would let a comment add a second line, that is a second key, to an authorized_keys file.
  if (/[\r\n\0]/.test(comment)) throw new RangeError('the comment of a key is a single line');

  const publicBlob = strings(KEY_TYPE, publicKey);
  const check = uint32(checkint);
  // The number is repeated: after decryption with a wrong passphrase, the two differ.
  const secret = concat(check, check, publicBlob, strings(concat(seed, publicKey), comment));
  const padding = Uint8Array.from({ length: -secret.length & (BLOCK - 1) }, (_, i) => i + 1);
  const file = concat(
    utf8('openssh-key-v1\0'),
    strings('none', 'none', ''), // cipher, kdf, options of the kdf
    uint32(1), // number of keys
    strings(publicBlob, concat(secret, padding)),
  );
  return {
    privateKey: pem('OPENSSH PRIVATE KEY', file, 70),
    publicKey: [KEY_TYPE, toBase64(publicBlob), comment].filter(Boolean).join(' '),
  };
}

/** The `uint32` of RFC 4251, section 5: four bytes, big-endian. */
function uint32(value: number): Uint8Array {
  const bytes = new Uint8Array(4);
  new DataView(bytes.buffer).setUint32(0, value);
  return bytes;
}
