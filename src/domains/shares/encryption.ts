// Encryption of a link's value under a key derived from the key in the link and its passphrase, if it has
// one. Invariant: the service stores neither the key nor the passphrase, only a digest of the key and a
// digest of the scrypt output, whose salt is derived from the key. Someone with all stored data can neither
// decrypt a link nor guess passphrases; with the link as well, each guess costs one scrypt computation.
import { type ScryptOptions, scrypt } from 'node:crypto';
import { fromUtf8, utf8 } from '../../crypto/bytes';
import { hkdf, sha256 } from '../../crypto/digest';
import { decrypt, encrypt } from '../../crypto/envelope';

/**
 * 16 MiB of the 128 MB that a Worker has, and 40 ms of CPU (median of 70 calls in workerd, one Xeon core; 2
 * ** 13 takes 16 ms, 2 ** 15 takes 77 ms). The paid plan allows 30 s per request, the free plan 10 ms. A link
 * allows ten attempts, so guessing needs the link's key and the database: then each guess costs this much.
 */
const COST: ScryptOptions = { N: 2 ** 14, r: 8, p: 1, maxmem: 64 * 1024 ** 2 };
const NOTHING = new Uint8Array();

/** The output of scrypt for a passphrase and the key of a link. */
export type Stretched = Uint8Array;

export const stretch = (key: string, passphrase: string): Promise<Stretched> =>
  new Promise((done, fail) => {
    const salt = hkdf(utf8(key), NOTHING, 'svc/v1/share/salt', 16);
    // Keyboards compose the same letter differently.
    scrypt(passphrase.normalize('NFC'), salt, 32, COST, (error, made) =>
      error ? fail(error) : done(new Uint8Array(made)),
    );
  });

/** The digest that the gate compares. The value's key cannot be derived from it. */
export const verifierOf = (stretched: Stretched): string =>
  sha256(hkdf(stretched, NOTHING, 'svc/v1/share/verifier'));

/** The context that a ciphertext is bound to: moved to another link, it does not decrypt. */
export interface Shared {
  org: string;
  secret: string;
  share: string;
  version: number;
}

const contextOf = ({ org, secret, share, version }: Shared) => [org, secret, share, String(version)];
const rootOf = (key: string, stretched: Stretched | null) =>
  hkdf(utf8(key), stretched ?? NOTHING, 'svc/v1/share/value');

export const encryptForLink = (
  key: string,
  stretched: Stretched | null,
  shared: Shared,
  value: string,
): string => encrypt(rootOf(key, stretched), 'shared value', contextOf(shared), utf8(value));

/** The value of a link; null if the ciphertext was altered or belongs to another link. */
export function decryptForLink(
  key: string,
  stretched: Stretched | null,
  shared: Shared,
  ciphertext: string,
): string | null {
  const plain = decrypt(rootOf(key, stretched), 'shared value', contextOf(shared), ciphertext);
  return plain && fromUtf8(plain);
}
