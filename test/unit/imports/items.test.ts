// From an export to secrets: names, values, collisions, bounds.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { bounded, shortened } from '../../../src/domains/imports/answer';
import { nameOf, type Prepared, readExport } from '../../../src/domains/imports/items';
import { SecretName } from '../../../src/domains/secrets/wire';
import type { Refusal } from '../../../src/errors';

const taken = (found: Prepared | Refusal): Prepared => {
  if ('code' in found) throw new Error(found.code);
  return found;
};
const read = (text: string, prefix = '') => taken(readExport('svc', text, '', prefix, 0));
const failuresOf = (text: string) => read(text).failed.map(({ name, reason }) => `${name} ${reason}`);
const codeOf = (found: Prepared | Refusal): string => ('code' in found ? found.code : 'none');
const codeOfText = (text: string) => codeOf(readExport('svc', text, '', '', 0));

describe('items of an import', () => {
  it.each([
    ['A', '', 'A'],
    ['app/db.url-1', '', 'app/db.url-1'],
    ['A', 'x/', 'x/A'],
    ['A B\tC', '', 'A_B_C'],
    ['clé 😀', '', 'cl___'],
    ['.env', '', '_.env'],
    ['-a', '', '_-a'],
    ['.env', 'x/', 'x/.env'],
    ['/app/db', '', 'app/db'],
    ['/app/db', 'x/', 'x/app/db'],
    ['//app', '', null],
    ['a//b', '', null],
    ['a/../b', '', null],
    ['a/', '', null],
    ['', '', null],
    ['', 'x', 'x'],
    ['a'.repeat(255), '', 'a'.repeat(255)],
    ['a'.repeat(255), 'x', null],
  ])('names: %s with the prefix "%s" is %s', (original, prefix, name) => {
    expect(nameOf(original, prefix)).toBe(name);
  });

  it('names: every result is a valid name, and a valid name stays unchanged', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: 'binary', maxLength: 300 }),
        fc.constantFrom('', 'x', 'x/'),
        (original, prefix) => {
          const name = nameOf(original, prefix);
          if (name !== null) expect(SecretName.safeParse(name).success).toBe(true);
          if (SecretName.safeParse(prefix + original).success) expect(name).toBe(prefix + original);
        },
      ),
      { numRuns: 5000 },
    );
  });

  it('values: numbers and booleans are their text, with every digit; objects and arrays compact JSON', () => {
    const { items } = read(
      '{"n":12345678901234567890.10,"e":1e400,"t":true,"o":{"b": 1.0, "a":[ ]},"s":" x\\u0000\\r\\n"}',
    );
    expect(items.map(({ name, value }) => [name, value])).toEqual([
      ['n', '12345678901234567890.10'],
      ['e', '1e400'],
      ['t', 'true'],
      ['o', '{"b":1.0,"a":[]}'],
      ['s', ' x\0\r\n'],
    ]);
  });

  it('values: null, over 64 KiB and lone surrogates fail with their names; an empty one is a value', () => {
    const most = 'é'.repeat(32_768);
    expect(failuresOf(JSON.stringify({ a: null, b: '', c: `${most}x`, d: '\uD800', e: most }))).toEqual([
      ...['a VALUE_NULL', 'c VALUE_TOO_LARGE'],
      'd UNSUPPORTED: the value is not well-formed Unicode',
    ]);
  });

  it('collisions: none of several values for one name is taken; equal ones are one', () => {
    const { items, failed } = read(
      '{"a b":"1","a_b":"2","same":"x","same":"x","k":"1","k":"2","__proto__":"p"}',
    );
    expect(items.map(({ name }) => name)).toEqual(['same', '__proto__']);
    expect(failed.map(({ name, reason }) => [name, reason])).toEqual([
      ['a b', 'NAME_COLLISION'],
      ['a_b', 'NAME_COLLISION'],
      ['k', 'NAME_COLLISION'],
      ['k', 'NAME_COLLISION'],
    ]);
  });

  it('bounds: 5,000 items are taken, one more is 413, failures counted', () => {
    const many = (count: number) =>
      JSON.stringify(
        Object.fromEntries(Array.from({ length: count }, (_, n) => [`N${n}`, n % 2 ? 'v' : null])),
      );
    expect(read(many(5000)).items).toHaveLength(2500);
    expect(codeOfText(many(5001))).toBe('PAYLOAD_TOO_LARGE');
    expect(codeOfText(`{"a":[${'0,'.repeat(260_000)}0]}`)).toBe('PAYLOAD_TOO_LARGE');
  });

  it('bounds: names of failed items fit into an answer, however often an item repeats its title', () => {
    const title = 'é'.repeat(100_000);
    const fields = Array.from({ length: 4000 }, (_, n) => ({ id: `${n}`, label: `f${n}`, value: 'v' }));
    const { failed } = taken(readExport('1password', JSON.stringify({ title, fields }), '', '', 0));
    expect(failed).toHaveLength(4000);
    // No more than the names of as many secrets, and 100 kB.
    expect(new TextEncoder().encode(JSON.stringify(failed)).length).toBeLessThan(4000 * 258 + 100_000);
    const worst = Array.from({ length: 5000 }, (_, n) => ({
      name: `\u0001${'\u0001é'.repeat(2000)}${n}`,
      reason: `POLICY_VIOLATED: ${'x'.repeat(900)}`,
    }));
    expect(new TextEncoder().encode(JSON.stringify(bounded(worst))).length).toBeLessThan(
      5000 * 258 + 100_000,
    );
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), fc.integer({ min: 8, max: 40 }), (name, most) => {
        const short = shortened(name, most);
        const bytes = (text: string) => new TextEncoder().encode(JSON.stringify(text)).length - 2;
        expect(bytes(short)).toBeLessThanOrEqual(most);
        if (bytes(name.toWellFormed()) <= most) expect(short).toBe(name.toWellFormed());
      }),
    );
  });

  it('JSON data is read from the bytes of the request, the last one if repeated', () => {
    const body = '{"source":"svc","data":{"a":"old"},"data":{"n":12345678901234567890}}';
    expect(taken(readExport('svc', {}, body, '', 0)).items[0]?.value).toBe('12345678901234567890');
    const deep = `{"data":{"a":${'['.repeat(63)}${']'.repeat(63)}}}`;
    expect(taken(readExport('svc', {}, deep, '', 0)).items).toHaveLength(1);
    expect(codeOf(readExport('svc', {}, deep.replace('[', '[['), '', 0))).toBe('IMPORT_UNREADABLE');
  });
});
