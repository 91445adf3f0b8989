// Sealing: it opens under exactly what it was sealed under, bit for bit, and never otherwise.
// The vectors were computed apart from this code: HKDF from HMAC by hand, AES-GCM by Python's `cryptography`.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { concat, fromBase64, fromUtf8, randomBytes, toBase64, utf8 } from '../../../src/crypto/bytes';
import { decrypt, encrypt, type Purpose } from '../../../src/crypto/envelope';
import { fromHex } from '../../support/hex';
import vectors from '../../support/vectors/envelope.json';

const purposes: Purpose[] = ['org key', 'deployment key', 'secret value', 'kept answer', 'one-time value'];
const root = fromHex(vectors.root);
const context = ['org_1', 'sec_2', '3'];
const plaintext = utf8('correct horse');
const sealed = encrypt(root, 'secret value', context, plaintext);
const raw = fromBase64(sealed) as Uint8Array;

/** The bytes with one of them changed by a mask. */
function flipped(bytes: Uint8Array, at: number, mask: number): Uint8Array {
  const copy = bytes.slice();
  copy[at] = (copy[at] as number) ^ mask;
  return copy;
}
const opened = (bytes: Uint8Array) => decrypt(root, 'secret value', context, toBase64(bytes));

describe('encryption: a known ciphertext', () => {
  it.each(vectors.cases)('is made and decrypted: $purpose', ({ purpose, context, plaintext, sealed }) => {
    expect(encrypt(root, purpose as Purpose, context, utf8(plaintext), fromHex(vectors.salt))).toBe(sealed);
    expect(fromUtf8(decrypt(root, purpose as Purpose, context, sealed) as Uint8Array)).toBe(plaintext);
  });
});

describe('encryption: a ciphertext', () => {
  it('decrypts to the same bytes with the same key, purpose and context', () => {
    const bytes = fc.uint8Array({ maxLength: 300 });
    const key = fc.uint8Array({ minLength: 32, maxLength: 32 });
    fc.assert(
      fc.property(
        key,
        fc.constantFrom(...purposes),
        fc.array(fc.string({ unit: 'grapheme' }), { maxLength: 4 }),
        bytes,
        (key, purpose, context, value) => {
          expect(decrypt(key, purpose, context, encrypt(key, purpose, context, value))).toEqual(value);
        },
      ),
    );
  });

  it('may hold 64 KiB', () => {
    const value = randomBytes(65_536);
    expect(decrypt(root, 'secret value', context, encrypt(root, 'secret value', context, value))).toEqual(
      value,
    );
  });

  it('differs each time, in salt, ciphertext and tag', () => {
    const all = Array.from(
      { length: 50 },
      () => fromBase64(encrypt(root, 'secret value', context, plaintext)) as Uint8Array,
    );
    for (const [from, to] of [
      [1, 25],
      [25, 25 + plaintext.length],
      [25 + plaintext.length, raw.length],
    ])
      expect(new Set(all.map((bytes) => toBase64(bytes.subarray(from, to)))).size).toBe(50);
  });

  it('is a format byte, 24 bytes of salt, the ciphertext and 16 bytes of tag, and shows nothing of the plaintext', () => {
    expect(raw).toHaveLength(1 + 24 + plaintext.length + 16);
    expect(raw[0]).toBe(1);
    expect(Buffer.from(raw).includes('correct')).toBe(false);
  });
});

describe('encryption: nothing is decrypted', () => {
  it('with any one bit of any byte flipped, nor with a whole byte inverted', () => {
    expect(opened(raw)).toEqual(plaintext);
    const masks = [1, 2, 4, 8, 16, 32, 64, 128, 255];
    for (let at = 0; at < raw.length; at++)
      for (const mask of masks) expect([at, mask, opened(flipped(raw, at, mask))]).toEqual([at, mask, null]);
  });

  it('with any character of its encoding changed', () => {
    for (let at = 0; at < sealed.length; at++) {
      for (const char of ['A', 'b', '+', '=', ' ', '-']) {
        if (char === sealed[at]) continue;
        expect(
          decrypt(root, 'secret value', context, sealed.slice(0, at) + char + sealed.slice(at + 1)),
        ).toBeNull();
      }
    }
  });

  it('cut anywhere, at either end', () => {
    for (let length = 0; length < raw.length; length++) {
      expect(opened(raw.subarray(0, length))).toBeNull();
      expect(opened(raw.subarray(raw.length - length))).toBeNull();
    }
  });

  it('with anything added, at either end or within', () => {
    for (let at = 0; at <= raw.length; at++)
      expect(opened(concat(raw.subarray(0, at), Uint8Array.of(0), raw.subarray(at)))).toBeNull();
    expect(opened(concat(raw, raw))).toBeNull();
    for (const text of [`${sealed}=`, ` ${sealed}`, `${sealed}\n`, '', 'no base64!'])
      expect(decrypt(root, 'secret value', context, text)).toBeNull();
  });

  it('with a key that differs in any bit', () => {
    for (let at = 0; at < root.length; at++)
      for (const mask of [1, 128])
        expect(decrypt(flipped(root, at, mask), 'secret value', context, sealed)).toBeNull();
  });

  it('for another purpose', () => {
    for (const from of purposes) {
      const text = encrypt(root, from, context, plaintext);
      for (const to of purposes)
        expect(decrypt(root, to, context, text)).toEqual(from === to ? plaintext : null);
    }
  });

  it.each([
    [['org_2', 'sec_2', '3']],
    [['org_1', 'sec_3', '3']],
    [['org_1', 'sec_2', '4']],
    [['sec_2', 'org_1', '3']],
    [['org_1', 'sec_23', '']],
    [['org_1sec_2', '3']],
    [['org_1', 'sec_2']],
    [['org_1', 'sec_2', '3', '']],
    [[]],
  ])('in the context %j', (other) => {
    expect(decrypt(root, 'secret value', other, sealed)).toBeNull();
  });

  it('with parts of two ciphertexts of the same plaintext', () => {
    const other = fromBase64(encrypt(root, 'secret value', context, plaintext)) as Uint8Array;
    const end = raw.length - 16;
    expect(opened(concat(raw.subarray(0, 25), other.subarray(25)))).toBeNull();
    expect(opened(concat(raw.subarray(0, end), other.subarray(end)))).toBeNull();
    expect(opened(concat(raw.subarray(0, 25), other.subarray(25, end), raw.subarray(end)))).toBeNull();
  });
});
