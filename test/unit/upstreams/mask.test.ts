import { describe, expect, it } from 'vitest';
import { toBase64, utf8 } from '../../../src/crypto/bytes';
import { formsOf, masker } from '../../../src/domains/upstreams/call/mask';

const VALUE = 'sk_live/"é+ab ab+é\\=';

const masked = (text: string | Uint8Array, values: string[], cut = Number.POSITIVE_INFINITY): string => {
  const bytes = typeof text === 'string' ? utf8(text) : text;
  const { take, end } = masker(values);
  const parts: number[] = [];
  for (let at = 0; at < bytes.length; at += Math.min(cut, bytes.length))
    parts.push(...take(bytes.slice(at, at + Math.min(cut, bytes.length))));
  return new TextDecoder().decode(new Uint8Array([...parts, ...end()]));
};

describe('masking', () => {
  it.each([1, 2, 3, 7, 64, 1000])('masking: each form is masked in chunks of %i bytes', (cut) => {
    for (const form of formsOf(VALUE)) {
      const text = new TextDecoder().decode(form);
      expect(masked(`<${text}><${text}`, [VALUE], cut)).toBe(
        `<${'*'.repeat(form.length)}><${'*'.repeat(form.length)}`,
      );
    }
  });

  it('masking: Basic credentials are masked at each alignment', () => {
    for (const user of ['a', 'ab', 'abc', 'abcd']) {
      const text = toBase64(utf8(`${user}:${VALUE}`));
      const out = masked(text, [VALUE]);
      expect(out).toHaveLength(text.length);
      expect(out.replaceAll('*', '').length).toBeLessThan(user.length * 2 + 8);
    }
  });

  const MARKUP = `a<b>c&d=e'f"é/+~😀\\`;
  it.each([
    ['Go and Gson', String.raw`a\u003cb\u003ec\u0026d\u003de\u0027f\"é/+~😀\\`],
    ['.NET', String.raw`a\u003Cb\u003Ec\u0026d=e\u0027f\u0022\u00E9/\u002B~\uD83D\uDE00\\`],
    ['PHP', String.raw`a\u003Cb\u003Ec\u0026d=e'f\"\u00e9\/+~\ud83d\ude00\u005C`],
    ['both cases', String.raw`\u0061\u003Cb\u003ec&d=e'f\u0022\u00E9/+~\uD83d\ude00\\`],
    ['RFC 3986', `a%3Cb%3Ec%26d%3De%27f%22%c3%A9%2F%2B~%F0%9F%98%80%5C`],
    ['few percent escapes', `a%3Cb>c&d=e'f"%C3%a9/+%7E😀%5c`],
  ])('masking: the escapes of %s', (_, form) => {
    for (const cut of [1, 3, 1000])
      expect(masked(`<${form}>`, [MARKUP], cut)).toBe(`<${'*'.repeat(utf8(form).length)}>`);
    expect(masked(form.slice(0, -1), [MARKUP], 1)).toBe(form.slice(0, -1));
  });

  it('masking: base64 is masked with what JSON and URLs escape of it', () => {
    const value = 'a\u00ff\u00fe?>\u00bf~~\u00ef\u00ff?\u00ffabc';
    for (const text of formsOf(value)
      .slice(1, 7)
      .map((form) => new TextDecoder().decode(form)))
      for (const form of [
        text.replaceAll('/', String.raw`\/`),
        text.replaceAll('+', String.raw`\u002B`),
        encodeURIComponent(text),
      ])
        for (const cut of [1, 3, 1000])
          expect(masked(`<${form}>`, [value], cut)).toBe(`<${'*'.repeat(form.length)}>`);
  });

  it('masking: bytes that are held are not copied again for each byte', () => {
    const value = Array.from({ length: 4000 }, (_, n) => n.toString(36).padStart(4, '.')).join('');
    const { take, end } = masker([value]);
    let copied = 0;
    const { set, slice } = Uint8Array.prototype;
    try {
      Uint8Array.prototype.set = function (from, at) {
        copied += from.length;
        return set.call(this, from, at);
      };
      Uint8Array.prototype.slice = function (...bounds) {
        copied += this.length;
        return slice.apply(this, bounds);
      };
      for (let n = 0; n < 8000; n++) take(Uint8Array.of(value.charCodeAt(n)));
    } finally {
      Object.assign(Uint8Array.prototype, { set, slice });
    }
    expect(end()).toHaveLength(8000);
    expect(copied).toBeLessThan(100_000);
  });

  it('masking: values that overlap are masked whole', () => {
    expect(masked('xaaaabbbbccccy', ['aaaabbbb', 'bbbbcccc'], 1)).toBe('x************y');
    expect(masked('aaaaaaaaaaa', ['aaaaaaaa'], 1)).toBe('***********');
  });

  it('masking: what only begins like a value is passed on as it is', () => {
    expect(masked('sk_live sk_liv', ['sk_live_12345'], 1)).toBe('sk_live sk_liv');
    const { take } = masker(['sk_live_12345']);
    expect(take(utf8('event: x\n\n'))).toHaveLength(10);
  });

  it('masking: a value within what only begins another is masked at the end', () => {
    expect(masked('aaaabbbbcccc', ['aaaabbbbccccdddd', 'bbbbcccc'], 1)).toBe('aaaa********');
    expect(masked('aaaabbbbccccx', ['aaaabbbbccccdddd', 'bbbbcccc'], 5)).toBe('aaaa********x');
  });

  it('masking: agrees with a search of all forms, whatever the chunks', () => {
    let seed = 7;
    const random = (most: number) => {
      seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648;
      return seed % most;
    };
    for (let round = 0; round < 300; round += 1) {
      const values = Array.from({ length: 1 + random(3) }, () =>
        Array.from({ length: 8 + random(4) }, () => 'ab'[random(2)]).join(''),
      );
      const text = Array.from({ length: 60 }, () => 'ab'[random(2)]).join('');
      const expected = utf8(text);
      for (const form of values.flatMap(formsOf).map((bytes) => new TextDecoder().decode(bytes)))
        for (let at = text.indexOf(form); at >= 0; at = text.indexOf(form, at + 1))
          expected.fill(0x2a, at, at + form.length);
      expect(masked(text, values, 1 + random(9))).toBe(new TextDecoder().decode(expected));
    }
  });

  it('masking: what takes too many steps is refused, and a long value in single bytes is not', () => {
    expect(() => masked('a'.repeat(16_384), ['a'.repeat(4096)])).toThrow('TARGET_REJECTED');
    expect(masked('ab'.repeat(100), ['ab'.repeat(50)])).toBe('*'.repeat(200));
    const value = Array.from({ length: 4096 }, (_, n) => `${n} `)
      .join('')
      .slice(0, 16_384);
    expect(masked(`<${value}${value}`, [value], 1)).toBe(`<${'*'.repeat(2 * 16_384)}`);
  });

  it('masking: 8 MB pass in chunks without being held', () => {
    const { take } = masker(['sk_live_12345', 'abcdefgh']);
    const chunk = utf8('x'.repeat(65_536));
    for (let at = 0; at < 128; at += 1) expect(take(chunk)).toHaveLength(65_536);
  });
});
