// Bytes and their spellings: what goes in comes out, one value has one spelling, and no two lists share a
// tuple.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  concat,
  fromBase62,
  fromBase64,
  fromUtf8,
  randomBytes,
  toBase62,
  toBase64,
  tuple,
  utf8,
} from '../../../src/crypto/bytes';

const bytes = fc.uint8Array({ maxLength: 80 });

describe('encoding: UTF-8', () => {
  it('decodes to the same text, a byte order mark included', () => {
    fc.assert(fc.property(fc.string({ unit: 'binary' }), (text) => fromUtf8(utf8(text)) === text));
    expect(fromUtf8(utf8('\ufeffa'))).toBe('\ufeffa');
  });

  it.each([
    ['a lone continuation', [0x80]],
    ['a text cut short', [0xe2, 0x98]],
    ['an overlong form', [0xc0, 0xaf]],
    ['a surrogate', [0xed, 0xa0, 0x80]],
    ['a number above U+10FFFF', [0xf4, 0x90, 0x80, 0x80]],
  ])('%s is invalid', (_what, list) => {
    expect(fromUtf8(Uint8Array.from(list))).toBeNull();
  });
});

describe('encoding: base64', () => {
  it.each([
    ['', ''],
    ['f', 'Zg=='],
    ['fo', 'Zm8='],
    ['foo', 'Zm9v'],
    ['foob', 'Zm9vYg=='],
    ['fooba', 'Zm9vYmE='],
    ['foobar', 'Zm9vYmFy'],
  ])('encodes %j as RFC 4648 does', (text, spelled) => {
    expect(toBase64(utf8(text))).toBe(spelled);
    expect(fromBase64(spelled)).toEqual(utf8(text));
  });

  it('decodes to the same bytes, few or many', () => {
    fc.assert(
      fc.property(bytes, (value) => {
        expect(fromBase64(toBase64(value))).toEqual(value);
      }),
    );
    for (const length of [8191, 8192, 8193, 40_000]) {
      const value = randomBytes(length);
      expect(toBase64(value)).toBe(Buffer.from(value).toString('base64'));
      expect(fromBase64(toBase64(value))).toEqual(value);
    }
  });

  it.each([
    ['without padding', 'Zg'],
    ['with half of it', 'Zg='],
    ['with more of it', 'Zm9v===='],
    ['with padding in the middle', 'Zg==Zm9v'],
    ['with bits left over', 'Zh=='],
    ['with bits left over after two bytes', 'Zm9='],
    ['with a space', 'Zm 9v'],
    ['with a line end', 'Zm9v\n'],
    ['in the URL alphabet', '-_-_'],
    ['with a character outside the alphabet', 'Zm9é'],
    ['of an impossible length', 'Zm9vY'],
  ])('refuses %s', (_how, text) => {
    expect(fromBase64(text)).toBeNull();
  });

  it('has one encoding of any bytes', () => {
    const text = fc.string({
      unit: fc.constantFrom('A', 'B', 'Q', 'g', '8', '+', '/', '=', ' ', '-'),
      maxLength: 8,
    });
    fc.assert(
      fc.property(text, (spelled) => {
        const value = fromBase64(spelled);
        return value === null || toBase64(value) === spelled;
      }),
      { numRuns: 2000 },
    );
  });
});

describe('encoding: base62', () => {
  it('has a fixed width, from all zeros to all ones', () => {
    expect(toBase62(new Uint8Array(16))).toBe('0000000000000000000000');
    expect(toBase62(new Uint8Array(16).fill(255))).toBe('7n42DGM5Tflk9n8mt7Fhc7');
    expect(toBase62(new Uint8Array())).toBe('');
    expect(toBase62(Uint8Array.of(61))).toBe('0z');
    expect(toBase62(Uint8Array.of(62))).toBe('10');
  });

  it('decodes to the same bytes', () => {
    fc.assert(
      fc.property(bytes, (value) => {
        expect(fromBase62(toBase62(value), value.length)).toEqual(value);
      }),
    );
  });

  it('sorts as the bytes do', () => {
    const pair = fc.integer({ min: 1, max: 20 }).chain((length) => {
      const one = fc.uint8Array({ minLength: length, maxLength: length });
      return fc.tuple(one, one);
    });
    fc.assert(
      fc.property(pair, ([a, b]) => {
        const x = toBase62(a);
        const y = toBase62(b);
        expect(Math.sign(Buffer.compare(a, b))).toBe(x < y ? -1 : x > y ? 1 : 0);
      }),
    );
  });

  it.each([
    ['too short', '7n42DGM5Tflk9n8mt7Fhc'],
    ['too long', '07n42DGM5Tflk9n8mt7Fhc7'],
    ['one too large', '7n42DGM5Tflk9n8mt7Fhc8'],
    ['the largest of its width', 'zzzzzzzzzzzzzzzzzzzzzz'],
    ['with a character outside the alphabet', '7n42DGM5Tflk9n8mt7Fhc_'],
    ['with a full-width digit', '7n42DGM5Tflk9n8mt7Fhc７'],
    ['with a character of two units', '7n42DGM5Tflk9n8mt7Fh😀'],
    ['with a space', ' 000000000000000000000'],
    ['empty', ''],
  ])('refuses %s', (_how, text) => {
    expect(fromBase62(text, 16)).toBeNull();
  });
});

describe('encoding: a tuple', () => {
  it('puts the length before each part', () => {
    expect([...tuple('a', '', Uint8Array.of(9, 8))]).toEqual([0, 0, 0, 1, 97, 0, 0, 0, 0, 0, 0, 0, 2, 9, 8]);
    expect([...tuple('é')]).toEqual([0, 0, 0, 2, 0xc3, 0xa9]);
    expect([...tuple()]).toEqual([]);
  });

  it('is different for different lists', () => {
    // Few different characters, the zero byte and small lengths among them, so that lists do come close.
    const part = fc.string({ unit: fc.constantFrom('\0', '\x01', '\x04', 'a'), maxLength: 6 });
    const list = fc.array(part, { maxLength: 4 });
    fc.assert(
      fc.property(list, list, (a, b) => {
        expect(toBase64(tuple(...a)) === toBase64(tuple(...b))).toBe(JSON.stringify(a) === JSON.stringify(b));
      }),
      { numRuns: 2000 },
    );
    expect(tuple('ab', 'c')).not.toEqual(tuple('a', 'bc'));
    expect(tuple('a', '')).not.toEqual(tuple('a'));
  });

  it('can be decoded, so that nothing of the list is lost', () => {
    const read = (joined: Uint8Array) => {
      const parts: Uint8Array[] = [];
      const view = new DataView(joined.buffer, joined.byteOffset, joined.byteLength);
      for (let at = 0; at < joined.length; ) {
        const end = at + 4 + view.getUint32(at);
        parts.push(joined.slice(at + 4, end));
        at = end;
      }
      return parts;
    };
    fc.assert(
      fc.property(fc.array(bytes, { maxLength: 6 }), (parts) => {
        expect(read(tuple(...parts))).toEqual(parts);
      }),
    );
  });
});

it('encoding: joined bytes are those of all parts in their order', () => {
  fc.assert(
    fc.property(fc.array(bytes), (parts) => {
      expect([...concat(...parts)]).toEqual(parts.flatMap((part) => [...part]));
    }),
  );
});

it('encoding: random bytes have the given length and do not repeat', () => {
  expect(randomBytes(24)).toHaveLength(24);
  expect(new Set(Array.from({ length: 100 }, () => toBase64(randomBytes(16)))).size).toBe(100);
});
