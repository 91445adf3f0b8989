// Sealed boxes in the real runtime: the random numbers of the library come from it, and what libsodium sealed
// opens.
import nacl from 'tweetnacl';
import { open, seal } from 'tweetnacl-sealedbox-js';
import { expect, it } from 'vitest';
import { fromBase64, fromUtf8, utf8 } from '../../../src/crypto/bytes';

it('sync: a sealed box opens only with its key, and differs each time', () => {
  const pair = nacl.box.keyPair.fromSecretKey(Uint8Array.from({ length: 32 }, (_, i) => i + 1));
  const message = utf8('made-up sécret');
  const one = seal(message, pair.publicKey);
  const two = seal(message, pair.publicKey);
  expect(one).not.toEqual(two);
  for (const box of [one, two])
    expect(fromUtf8(open(box, pair.publicKey, pair.secretKey) as Uint8Array)).toBe('made-up sécret');
  const other = nacl.box.keyPair();
  expect(open(one, other.publicKey, other.secretKey)).toBeNull();
  // A box that libsodium opens (PyNaCl).
  const known = fromBase64(
    'ST6C/HRGSlkmiBdiPSBTxeuOLMSpiLT+4XnsawENUx2qKmZVBK/6LbiY/DFxMV1K+vaqoAvqloqRvyXeashK',
  ) as Uint8Array;
  expect(fromUtf8(open(known, pair.publicKey, pair.secretKey) as Uint8Array)).toBe('made-up sécret');
});
