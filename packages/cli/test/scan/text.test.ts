// The texts of a file: what is written in any encoding, at any offset, is in one of them. Long texts are cut
// into parts that fit in a request.
import { execFileSync } from 'node:child_process';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { few, slow } from '../../../../test/packages/slow.ts';
import { batches, halves, MOST_BYTES, type Part } from '../../src/scan/text.ts';

const TOKEN = ['AKIA', 'Y3M2XTF6BQ4LZWNE'].join('');
/** The token as formats look for it: not within a longer word. */
const FOUND = new RegExp(`(?<![A-Za-z0-9])${TOKEN}(?![A-Za-z0-9])`);

const wide = (text: string) =>
  Buffer.from([...text].flatMap((char) => [...uint32(char.codePointAt(0) ?? 0)]));
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

const textsOf = (bytes: Buffer) =>
  [...batches([{ path: 'file', bytes }])].flat().map(({ content }) => content);
const isFound = (bytes: Buffer) => textsOf(bytes).some((text) => FOUND.test(text));

const encoded = (encoding: Encoding, text: string) => ENCODINGS[encoding](text);
const MARKS = ['', 'fffe', 'feff', 'efbbbf', 'fffe0000', '0000feff'];

describe('scan: encodings', () => {
  slow('encoding: a token in any encoding is found at any offset, after any text in any encoding', () => {
    const encoding = fc.constantFrom(...NAMES);
    const piece = fc.tuple(
      encoding,
      fc.oneof(fc.string({ unit: 'grapheme' }), fc.lorem(), fc.constantFrom('漢字'.repeat(9), 'ok\r\n')),
    );
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
      for (const odd of [0, 1])
        expect(isFound(Buffer.concat([words, Buffer.alloc(odd, 10), encoded(name, `\n${TOKEN}\n`)]))).toBe(
          true,
        );
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

  slow('memory: 24 MiB of UTF-16 or of NUL bytes take no more than a few copies of them', () => {
    const module = new URL('../../src/scan/text.ts', import.meta.url).href;
    const script = `
      import { batches } from ${JSON.stringify(module)};
      const bytes = process.argv[1] === 'text' ? Buffer.from('some words\\n'.repeat(1_100_000), 'utf16le') : Buffer.alloc(24 * 2 ** 20);
      for (const _ of batches([{ path: 'file', bytes }]));
      console.log(process.resourceUsage().maxRSS / 1024);
    `;
    for (const of of ['text', 'nuls'])
      expect(
        Number(execFileSync(process.execPath, ['--input-type=module', '-e', script, of]).toString()),
        of,
      ).toBeLessThan(600);
  });
});

describe('scan: parts of a long text', () => {
  /** More than any value that a scan finds. */
  const LONGEST = 65_536;
  const partsOf = (text: string, path = 'file') =>
    [...batches([{ path, bytes: Buffer.from(text) }])].map(([part]) => part as Part);
  const sizeOf = ({ path, content }: Part) => Buffer.byteLength(JSON.stringify({ path, content }));

  /** The offset of a position in a text. */
  function offsetOf(text: string, { line, column }: Pick<Part, 'line' | 'column'>): number {
    let start = 0;
    for (let at = 1; at < line; at++) start = text.indexOf('\n', start) + 1;
    return start + column - 1;
  }

  const UNITS = ['a', '"', '\\', '\n', '\t', '\u0001', '\u007f', 'é', '漢', '😀', 'some words\n'];
  it.each(few(UNITS, 3))(
    'request size: parts of repeated %j fit, hold the whole text, and overlap by more than a value',
    (unit) => {
      // Its first characters differ, so that a pair of a repeated character stands at an odd offset.
      const text = `x\n${unit.repeat(2_000_000 / unit.length)}`;
      for (const path of ['file', '"'.repeat(1024)]) {
        const parts = partsOf(text, path);
        expect(parts.length).toBeGreaterThan(1);
        let covered = 0;
        for (const part of parts) {
          expect(sizeOf(part)).toBeLessThanOrEqual(MOST_BYTES);
          const at = offsetOf(text, part);
          expect(at === 0 || covered - at > LONGEST).toBe(true);
          expect(text.startsWith(part.content, at)).toBe(true);
          covered = at + part.content.length;
        }
        expect(covered).toBe(text.length);
      }
    },
  );

  it('request size: the sizes of small files add up to no more than a request', () => {
    const files = Array.from({ length: 40 }, (_, at) => ({
      path: `${at}${'é'.repeat(1000)}`,
      bytes: Buffer.from('"\n漢é'.repeat(9_000)),
    }));
    const sent = [...batches(files)];
    for (const batch of sent)
      expect(batch.reduce((sum, part) => sum + sizeOf(part), 0)).toBeLessThanOrEqual(MOST_BYTES);
    expect(sent.flat().map(({ path }) => path)).toEqual(files.map(({ path }) => path));
  });

  it('request size: the halves of a part have their positions in the file', () => {
    const [, second] = partsOf('line\n'.repeat(400_000));
    for (const half of halves(second as Part) ?? [])
      expect([
        half.column <= 5,
        'line\n'.repeat(2).startsWith(half.content.slice(0, 6 - half.column), half.column - 1),
      ]).toEqual([true, true]);
    expect(halves({ path: 'f', content: 'short', reading: 0, line: 1, column: 1 })).toBeUndefined();
  });
});
