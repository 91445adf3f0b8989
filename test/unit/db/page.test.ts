// Cursors: they say where a list stopped, to that list of that org alone, and only as they were given.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { randomBytes, toBase62, toBase64Url, utf8 } from '../../../src/crypto/bytes';
import { fromCursor, toCursor } from '../../../src/db/page';
import { slow } from '../../support/slow';

const key = Uint8Array.from({ length: 32 }, (_, at) => 0x20 + at);
/** Computed with node:crypto alone: HKDF-SHA256 over the salt 60…77 (hex), then AES-256-GCM. */
const KNOWN = 'AWBhYmNkZWZnaGlqa2xtbm9wcXJzdHV2dyj-C-5KgBoGllz-zGZFtWoU8uWtuQ';
const cursor = toCursor(key, 'org_1', 'secrets', 'sec_9');
const read = (text: string) => fromCursor(key, 'org_1', 'secrets', text);

describe('cursor', () => {
  it('has the known encoding, computed apart from this code', () => {
    expect(fromCursor(key, 'org_1', 'secrets', KNOWN)).toBe('sec_9');
  });

  it('returns the position, any text of up to 300 bytes', () => {
    const position = fc
      .string({ unit: 'grapheme', minLength: 1, maxLength: 40 })
      .filter((text) => utf8(text).length <= 300);
    fc.assert(
      fc.property(position, (text) => {
        expect(read(toCursor(key, 'org_1', 'secrets', text))).toBe(text);
      }),
    );
    expect(read(toCursor(key, 'org_1', 'secrets', 'x'.repeat(300)))).toBe('x'.repeat(300));
  });

  it('needs no escaping in a query', () => {
    expect(toCursor(key, 'org_1', 'secrets', 'prod/é &?')).toMatch(/^[0-9A-Za-z_-]+$/);
  });

  slow('is refused with any one character changed', () => {
    expect(read(cursor)).toBe('sec_9');
    for (let at = 0; at < cursor.length; at++) {
      for (const char of '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_- ') {
        if (char === cursor[at]) continue;
        const altered = cursor.slice(0, at) + char + cursor.slice(at + 1);
        expect([altered, read(altered)]).toEqual([altered, null]);
      }
    }
  });

  it('is refused cut or lengthened anywhere', () => {
    for (let at = 0; at < cursor.length; at++) {
      expect(read(cursor.slice(0, at))).toBeNull();
      expect(read(cursor.slice(at + 1))).toBeNull();
      expect(read(cursor.slice(0, at) + cursor.slice(at + 1))).toBeNull();
    }
    for (let at = 0; at <= cursor.length; at++)
      for (const char of ['0', '_', 'z', '\n'])
        expect(read(cursor.slice(0, at) + char + cursor.slice(at))).toBeNull();
  });

  it('does not reveal its position', () => {
    const known = toBase64Url(utf8('sec_9'));
    for (let n = 0; n < 50; n++) {
      const made = toCursor(key, 'org_1', 'secrets', 'sec_9');
      expect(made.includes(known) || made.includes(toBase62(utf8('sec_9')))).toBe(false);
      expect(made).not.toBe(cursor);
    }
  });

  it('is refused by another org, by another list, and under another key', () => {
    expect(fromCursor(key, 'org_2', 'secrets', cursor)).toBeNull();
    expect(fromCursor(key, 'org_1', 'api-keys', cursor)).toBeNull();
    expect(fromCursor(key, 'org_1secrets', '', cursor)).toBeNull();
    expect(fromCursor(randomBytes(32), 'org_1', 'secrets', cursor)).toBeNull();
  });

  it.each([
    '',
    '_',
    '5',
    'sec_9',
    '5_EV5nkAMoaWaQXgbY6G1ZNvH',
    `${KNOWN}=`,
    KNOWN.slice(1),
    toBase62(new Uint8Array(41)),
  ])('%j is refused', (text) => expect(read(text)).toBeNull());

  it('cannot be made without the key, from any bytes of the right length', () => {
    for (let n = 0; n < 200; n++) expect(read(toBase64Url(randomBytes(46)))).toBeNull();
  });
});
