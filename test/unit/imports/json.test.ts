// JSON of exports: strict, with every digit and every key, bounded, and refused without a word of what it
// holds.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  compact,
  type Json,
  JsonNumber,
  JsonObject,
  Node,
  parseJson,
  TooLarge,
  Unreadable,
} from '../../../src/adapters/import/json';
import { slow } from '../../support/slow';

/** As JSON.parse would have it: of keys that are there twice the last. */
function plain(value: Json): unknown {
  if (value instanceof JsonNumber) return Number(value.source);
  if (Array.isArray(value)) return value.map(plain);
  if (!(value instanceof JsonObject)) return value;
  return Object.fromEntries(value.entries.map(([key, inner]) => [key, plain(inner)]));
}

const outcome = (parse: () => unknown) => {
  try {
    return { value: parse() };
  } catch {
    return 'refused';
  }
};

const messageOf = (text: string): string => {
  try {
    parseJson(text);
  } catch (error) {
    return (error as Error).message;
  }
  return '';
};

describe('JSON of exports', () => {
  slow('import: agrees with JSON.parse on any JSON', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.constantFrom(undefined, 1, '\t'), (value, space) => {
        const text = JSON.stringify(value, null, space);
        expect(plain(parseJson(text))).toEqual(JSON.parse(text));
      }),
      { numRuns: 3000 },
    );
  });

  slow('import: agrees with JSON.parse on invalid JSON', () => {
    const pieces = [
      '{',
      '}',
      '[',
      ']',
      ',',
      ':',
      '"a"',
      '"',
      '\\',
      '\\u12',
      '1',
      '-',
      '.',
      'e',
      '0',
      'true',
      'nul',
      'NaN',
      ' ',
      '\n',
      '\t',
      '//',
      '/**/',
      '\u00A0',
      '\uFEFF',
      '\u2028',
      "'",
      '\0',
      '"\n"',
    ];
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...pieces), { maxLength: 12 }), (parts) => {
        const text = parts.join('');
        expect(
          outcome(() => plain(parseJson(text))),
          JSON.stringify(text),
        ).toEqual(outcome(() => JSON.parse(text)));
      }),
      { numRuns: 30_000 },
    );
  });

  it('import: keeps every digit, every key and their order', () => {
    const text =
      '{"n":12345678901234567890.1230,"e":1E400,"z":-0,"__proto__":{"polluted":1},"a":1,"a":2,"constructor":"c"}';
    expect(compact(parseJson(text))).toBe(text);
    expect(({} as Record<string, unknown>).polluted).toBeUndefined();
    expect(new Node(parseJson(text)).get('__proto__')?.isObject).toBe(true);
  });

  it('import: compact text equals that of JSON.stringify', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const text = JSON.stringify(value);
        expect(compact(parseJson(JSON.stringify(value, null, 3)))).toBe(text);
      }),
    );
  });

  it('import: depth is refused at the 65th level, before anything deeper is read', () => {
    const nested = (depth: number) => `${'['.repeat(depth)}1${']'.repeat(depth)}`;
    expect(messageOf(nested(64))).toBe('');
    expect(messageOf(nested(65))).toBe('nested more than 64 levels deep at line 1, column 65');
    expect(messageOf('['.repeat(500_000))).toMatch(/^nested more/);
    expect(messageOf('{"a":'.repeat(200_000))).toMatch(/^nested more/);
  });

  it('import: more than 250,000 values are refused', () => {
    expect(() => parseJson(`[${'0,'.repeat(300_000)}0]`)).toThrow(TooLarge);
  });

  it('secrecy: an error tells line and column, and nothing of the text', () => {
    const secret = 'hunter2-correct-horse';
    for (const [text, place] of [
      [`{"a": "${secret}",\n  "b": ${secret} }`, 'line 2, column 8'],
      [`{"a": "${secret}`, 'line 1, column 7'],
      [`{"a": "${secret}"\n}\n${secret}`, 'line 3, column 1'],
      [`{"a": "${secret}",}`, 'line 1'],
      [`{"a": '${secret}'}`, 'line 1'],
      [`// ${secret}\n{}`, 'line 1'],
      ['', 'line 1'],
    ] as const) {
      const message = messageOf(text);
      expect(message).toContain(place);
      expect(message).not.toContain('hunter2');
    }
    fc.assert(
      fc.property(fc.nat(400), (cut) => {
        const text = JSON.stringify({
          records: Array.from({ length: 9 }, () => ({ password: secret })),
        }).slice(0, cut);
        expect(messageOf(text)).not.toContain('hunter');
      }),
    );
  });

  it('import: a field of ours that is there twice, or has another type, is refused with its path', () => {
    const node = new Node(parseJson('{"records":[{"a":1,"a":2,"b":[3],"secret-name":true}]}'));
    const [record] = node.need('records').items() as [Node];
    expect(() => record.get('a')).toThrow(new Unreadable('$.records[0] has the field a more than once'));
    expect(() => record.need('b').text()).toThrow(new Unreadable('$.records[0].b is not a text'));
    expect(() => record.need('c')).toThrow(new Unreadable('$.records[0] has no field c'));
    expect(() => record.entries()[3]?.[1].items()).toThrow(
      new Unreadable('$.records[0][field 4] is not an array'),
    );
  });
});
