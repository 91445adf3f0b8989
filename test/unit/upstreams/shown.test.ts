// What deciders are shown of the body of a held call.
import { describe, expect, it } from 'vitest';
import { utf8 } from '../../../src/crypto/bytes';
import { shownBody } from '../../../src/domains/upstreams/call/shown';

describe('approval: the body of a held call', () => {
  it('approval: what a page would not show is written out', () => {
    expect(shownBody(utf8('pay\u202e001\u200b\n\u0000é\u3164\u2800\u{e0101}'))).toMatchObject({
      text: 'pay\\u{202e}001\\u{200b}\n\\u{0}é\\u{3164}\\u{2800}\\u{e0101}',
      end: null,
      hidden: 0,
    });
  });

  it('approval: a body that is no text is shown as base64', () => {
    expect(shownBody(new Uint8Array([0xff, 0, 1]))).toMatchObject({ text: '/wAB', end: null });
    expect(shownBody(new Uint8Array(50_000).fill(0xff))).toMatchObject({ hidden: 30_000 });
  });

  it('approval: whatever the body, both ends fit, and tell how much is between them', () => {
    for (const char of ['x', 'é', '€', '😀', '\u202e', '\0']) {
      const body = utf8(`${char.repeat(40_000)}the end`);
      const { text, end, hidden, bytes } = shownBody(body);
      expect([bytes, text.length + (end ?? '').length <= 30_000]).toEqual([body.length, true]);
      expect(end).toMatch(/the end$/);
      // Written out, one of these has 8 or 5 characters.
      expect(hidden).toBe(body.length - 2 * ({ '\u202e': 5000, '\0': 2500 }[char] ?? 10_000));
    }
    expect(shownBody(utf8('x'.repeat(30_000)))).toMatchObject({ end: null, hidden: 0 });
  });
});
