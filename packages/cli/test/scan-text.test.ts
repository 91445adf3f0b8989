// The texts of a file: what is written in any encoding, at any offset, is in one of them.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { batches } from '../src/scan/text.ts';

const TOKEN = ['AKIA', 'Y3M2XTF6BQ4LZWNE'].join('');
/** The token as formats look for it: not within a longer word. */
const FOUND = new RegExp(`(?<![A-Za-z0-9])${TOKEN}(?![A-Za-z0-9])`);

const wide = (text: string) => Buffer.from([...text].flatMap((char) => [...uint32(char.codePointAt(0) ?? 0)]));
const uint32 = (code: number) => {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(code);
  return bytes;
};
const ENCODINGS = {
  ascii: (text: string) => Buffer.from(text, 'latin1'),
  utf8: (text: string) => Buffer.from(text),
  utf16le: (text: string) => Buffer.from(text, 'utf16le'),
  utf16be: (text: string) => Buffer.from(text, 'utf16le').swap16(),
  utf32le: wide,
  utf32be: (text: string) => wide(text).swap32(),
};
type Encoding = keyof typeof ENCODINGS;
const NAMES = Object.keys(ENCODINGS) as Encoding[];

const textsOf = (bytes: Buffer) => [...batches([{ path: 'file', bytes }])].flat().map(({ content }) => content);
const isFound = (bytes: Buffer) => textsOf(bytes).some((text) => FOUND.test(text));

const encoded = (encoding: Encoding, text: string) => ENCODINGS[encoding](text);
const MARKS = ['', 'fffe', 'feff', 'efbbbf', 'fffe0000', '0000feff'];

describe('scan: encodings', () => {
  it('encoding: a token in any encoding is found at any offset, after any text in any encoding', () => {
    const encoding = fc.constantFrom(...NAMES);
    const piece = fc.tuple(encoding, fc.oneof(fc.string({ unit: 'grapheme' }), fc.lorem(), fc.constantFrom('漢字'.repeat(9), 'ok\r\n')));
    fc.assert(
      fc.property(
        fc.record({
          mark: fc.constantFrom(...MARKS),
          offset: fc.uint8Array({ maxLength: 5 }),
          before: fc.array(piece, { maxLength: 4 }),
          after: fc.array(piece, { maxLength: 2 }),
          encoding,
          // Whether the end of the line before the token is in the encoding of what precedes it.
          isBreakBefore: fc.boolean(),
        }),
        ({ mark, offset, before, after, encoding, isBreakBefore }) => {
          const last = isBreakBefore ? (before.at(-1)?.[0] ?? 'ascii') : encoding;
          const bytes = Buffer.concat([
            Buffer.from(mark, 'hex'),
            offset,
            ...before.map((each) => encoded(...each)),
            encoded(last, '\n'),
            encoded(encoding, `${TOKEN}\n`),
            ...after.map((each) => encoded(...each)),
          ]);
          expect(isFound(bytes)).toBe(true);
        },
      ),
      { numRuns: 2_000 },
    );
  });

  it.each(NAMES)('encoding: after 8 KiB of 16-bit words, a token in %s is found', (name) => {
    for (const word of [
      [0x78, 0],
      [0, 0x78],
      [0x6f, 0x22],
    ]) {
      const words = Buffer.concat(Array(4096).fill(Buffer.from(word)));
      for (const odd of [0, 1]) expect(isFound(Buffer.concat([words, Buffer.alloc(odd, 10), encoded(name, `\n${TOKEN}\n`)]))).toBe(true);
    }
  });

  it('encoding: a file without NUL bytes and byte order mark is one text', () => {
    expect(textsOf(Buffer.from('\ufeffpläin\n'))).toEqual(['pläin\n']);
    expect(textsOf(Buffer.alloc(0))).toEqual(['']);
  });

  it('encoding: other readings of a binary file are not sent if they hold no text', () => {
    const binary = Buffer.from(Array.from({ length: 4096 }, (_, at) => (at * 7919) % 256));
    expect(binary.includes(0)).toBe(true);
    expect(textsOf(binary)).toHaveLength(1);
  });
});
