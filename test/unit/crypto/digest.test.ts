// Hashes and MACs against the vectors of their standards: FIPS 180-4, RFC 4231, RFC 5869.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { utf8 } from '../../../src/crypto/bytes';
import { equal, equalSecret, hkdf, hmac, hmacHex, sha256 } from '../../../src/crypto/digest';
import { fromHex, toHex } from '../../support/hex';

describe('digest: SHA-256', () => {
  it.each([
    ['', 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855'],
    ['abc', 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad'],
    [
      'abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq',
      '248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1',
    ],
    ['a'.repeat(1_000_000), 'cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0'],
  ])('agrees with FIPS 180-4 (%#)', (text, digest) => {
    expect(sha256(text)).toBe(digest);
    expect(sha256(utf8(text))).toBe(digest);
  });
});

describe('digest: HMAC-SHA256', () => {
  const long = 'aa'.repeat(131);
  it.each([
    [
      1,
      '0b'.repeat(20),
      toHex(utf8('Hi There')),
      'b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7',
    ],
    [
      2,
      toHex(utf8('Jefe')),
      toHex(utf8('what do ya want for nothing?')),
      '5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843',
    ],
    [3, 'aa'.repeat(20), 'dd'.repeat(50), '773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe'],
    [
      4,
      '0102030405060708090a0b0c0d0e0f10111213141516171819',
      'cd'.repeat(50),
      '82558a389a443c0ea4cc819899f2083a85f0faa3e578f8077a2e3ff46729665b',
    ],
    [
      6,
      long,
      toHex(utf8('Test Using Larger Than Block-Size Key - Hash Key First')),
      '60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54',
    ],
    [
      7,
      long,
      toHex(
        utf8(
          'This is a test using a larger than block-size key and a larger than block-size data. The key needs to be hashed before being used by the HMAC algorithm.',
        ),
      ),
      '9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2',
    ],
  ])('agrees with RFC 4231, case %i', (_case, key, data, mac) => {
    expect(hmacHex(fromHex(key), fromHex(data))).toBe(mac);
    expect(toHex(hmac(fromHex(key), fromHex(data)))).toBe(mac);
  });
});

describe('digest: HKDF-SHA256', () => {
  it('agrees with RFC 5869, case 3: no salt, no info', () => {
    expect(toHex(hkdf(fromHex('0b'.repeat(22)), new Uint8Array(), '', 42))).toBe(
      '8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d9d201395faa4b61a96c8',
    );
  });

  it('expands with info as RFC 5869 defines it, block by block', () => {
    // The info of the RFC's first case is no UTF-8, and ours always is: the definition stands in for its
    // vector.
    const key = fromHex('0b'.repeat(22));
    const salt = fromHex('000102030405060708090a0b0c');
    const info = 'svc/é';
    const prk = hmac(salt, key);
    expect(toHex(prk)).toBe('077709362c2e32df0ddc3f0dc47bba6390b6c73bb50f9c3122ec844ad7c2b3e5');
    const first = hmac(prk, Uint8Array.of(...utf8(info), 1));
    const second = hmac(prk, Uint8Array.of(...first, ...utf8(info), 2));
    expect(toHex(hkdf(key, salt, info, 44))).toBe(toHex(first) + toHex(second).slice(0, 24));
    expect(toHex(hkdf(key, salt, info))).toBe(toHex(first));
  });
});

describe('digest: comparison', () => {
  it('distinguishes bytes and texts', () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 4 }), fc.string({ maxLength: 4 }), (a, b) => {
        expect(equal(a, b)).toBe(a === b);
        expect(equal(utf8(a), b)).toBe(a === b);
        expect(equalSecret(a, b)).toBe(a === b);
      }),
    );
  });

  it('refuses a text that begins with the other', () => {
    for (const compare of [equal, equalSecret]) {
      expect(compare('secret', 'secret')).toBe(true);
      for (const guess of ['', 'secre', 'secret ', 'Secret', 'secres'])
        expect(compare('secret', guess)).toBe(false);
    }
  });
});
