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

  it('masking: values that overlap are masked whole', () => {
    expect(masked('xaaaabbbbccccy', ['aaaabbbb', 'bbbbcccc'], 1)).toBe('x************y');
    expect(masked('aaaaaaaaaaa', ['aaaaaaaa'], 1)).toBe('***********');
  });

  it('masking: what only begins like a value is passed on as it is', () => {
    expect(masked('sk_live sk_liv', ['sk_live_12345'], 1)).toBe('sk_live sk_liv');
    const { take } = masker(['sk_live_12345']);
    expect(take(utf8('event: x\n\n'))).toHaveLength(10);
  });
});
