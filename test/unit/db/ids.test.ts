// Ids: their form, their order and that nobody can guess the next one.
import { describe, expect, it } from 'vitest';
import { randomBytes } from '../../../src/crypto/bytes';
import { idBytes, idOf, newId, type Prefix } from '../../../src/db/ids';
import { slow } from '../../support/slow';

const prefixes: Prefix[] = ['org', 'env', 'mem', 'key', 'tok', 'sec', 'ver', 'aud', 'req'];
// Ahead of the clock, since the time of ids never goes back within an isolate.
let time = Date.now() + 1_000_000;

const expectSorted = (ids: string[]) => {
  expect(new Set(ids).size).toBe(ids.length);
  expect([...ids].sort()).toEqual(ids);
};

describe('id: one', () => {
  it.each(prefixes)('of type %s is its prefix and 22 letters and digits', (prefix) => {
    expect(newId(prefix)).toMatch(new RegExp(`^${prefix}_[0-9A-Za-z]{22}$`));
  });

  it('has its time of creation in its first 6 bytes', () => {
    time += 1000;
    const bytes = idBytes('sec', newId('sec', time)) as Uint8Array;
    expect(Buffer.from(bytes).readUIntBE(0, 6)).toBe(time);
  });

  it('encodes its bytes, and decodes to them', () => {
    const id = newId('org');
    expect(idOf('org', idBytes('org', id) as Uint8Array)).toBe(id);
    const bytes = randomBytes(16);
    expect(idBytes('key', idOf('key', bytes))).toEqual(bytes);
  });

  it('is of one type, and has one encoding', () => {
    const id = newId('org');
    for (const prefix of prefixes) expect(idBytes(prefix, id) === null).toBe(prefix !== 'org');
    for (const text of [
      '',
      'org',
      'org_',
      id.slice(0, -1),
      `${id}0`,
      ` ${id}`,
      `${id}\n`,
      id.toUpperCase(),
      id.replace('_', '-'),
      `org_${'z'.repeat(22)}`,
    ])
      expect(idBytes('org', text)).toBeNull();
  });
});

describe('id: many', () => {
  slow('sort in the order of creation, within one millisecond', () => {
    time += 1000;
    expectSorted(Array.from({ length: 5000 }, () => newId('sec', time)));
  });

  it('sort in the order of creation over time', () => {
    time += 1000;
    expectSorted(Array.from({ length: 500 }, () => newId('aud', time++)));
    // Across everything that adds a digit to the time.
    expectSorted([1, 61, 62, 3843, 3844, 1e6, 1e9, 1e11].map((later) => newId('aud', time + later)));
    time += 1e11;
  });

  it('sort in creation order when the clock goes back', () => {
    time += 1000;
    expectSorted([0, -1, -5000, 1, 0, 2, -1].map((shift) => newId('ver', time + shift)));
    time += 2;
  });

  it('cannot be guessed from their neighbours, within one millisecond', () => {
    time += 1000;
    const tails = Array.from({ length: 1000 }, () =>
      Buffer.from(idBytes('req', newId('req', time)) as Uint8Array).toString('hex', 11),
    );
    expect(new Set(tails).size).toBe(1000);
  });

  it('of two milliseconds have nothing in common but the time', () => {
    const middle = () =>
      Buffer.from(idBytes('req', newId('req', ++time)) as Uint8Array).toString('hex', 6, 11);
    expect(new Set(Array.from({ length: 200 }, middle)).size).toBe(200);
  });
});
